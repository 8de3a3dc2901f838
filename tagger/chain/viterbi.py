"""The best path, and the n best, through a chain: log space, maximum instead of sum.

    delta[t, j] = max_i (delta[t-1, i] + transitions[i, j]) + emissions[t, j]

No back-pointers are kept. The way back recomputes one argmax per token from the scores, which is cheaper than storing
K of them. Every row of delta leaves out the best score of the row before, so that the last token of a long sentence is
decided as exactly as the first; a path's score is added up afterwards, in float64. How a step finds its maximum is
left to a function: `plain_step` tries all tags, `Dominance` those that can matter.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Any, TypeAlias

import numpy as np

from tagger.chain.forward_backward import Chain, path_scores

Step = Callable[[np.ndarray, np.ndarray], None]  # from the scores (B, K) of a row's predecessors to the row's own
Path: TypeAlias = "tuple[int, Any] | None"  # a tag and the path after it; unfinished paths share their ends


def best(chain: Chain, step: Step | None = None) -> tuple[np.ndarray, np.ndarray]:
    """The best tag of each row (N,), and the score of each sentence's path (B,); -inf where there is no path."""
    pack, into = chain.pack, np.ascontiguousarray(chain.transitions.T)  # [next, previous]
    delta = forward(chain, step)
    tags = np.zeros(len(delta), np.int64)
    tags[pack.last] = np.argmax(delta[pack.last] + chain.end, axis=1)
    for before, here in reversed(list(pack.steps())):
        tags[before] = np.argmax(delta[before] + into[tags[here]], axis=1)
    return tags, path_scores(chain, tags)


def forward(chain: Chain, step: Step | None = None) -> np.ndarray:
    """(N, K) the best score of a path that ends in tag k at the row, less the best score at the row before."""
    E = chain.emissions
    step = step or plain_step(chain.transitions.astype(E.dtype))
    delta = np.empty_like(E)
    first = chain.pack.first
    np.add(chain.start, E[:first], out=delta[:first], casting="same_kind")
    for before, here in chain.pack.steps():
        now = delta[here]
        step(delta[before], now)
        now += E[here]
    return delta


def plain_step(A: np.ndarray) -> Step:
    """now[j] = max_i (previous[i] - max previous + A[i, j]), one tag i after the other."""

    def step(previous: np.ndarray, now: np.ndarray) -> None:
        top = previous.max(axis=1, keepdims=True)
        top[np.isneginf(top)] = 0.0  # nothing is possible there
        below, candidate = previous - top, np.empty_like(now)
        np.add(below[:, :1], A[0], out=now)
        for i in range(1, len(A)):
            np.add(below[:, i : i + 1], A[i], out=candidate)
            np.maximum(now, candidate, out=now)

    return step


def n_best(chain: Chain, n: int) -> list[list[tuple[float, np.ndarray]]]:
    """For each sentence by rank, up to n paths as (score, tags (T,)), best first, each path once."""
    chain = replace(chain, emissions=chain.emissions.astype(np.float64))
    delta = forward(chain)
    rows = [chain.pack.starts[:length] + rank for rank, length in enumerate(chain.pack.lengths.tolist())]
    return [search(delta[own], chain.emissions[own], chain, n) for own in rows]


def search(delta: np.ndarray, E: np.ndarray, chain: Chain, n: int) -> list[tuple[float, np.ndarray]]:
    """The n best paths of one sentence with the forward scores delta (T, K) and the emissions E (T, K).

    Tree-trellis search (Soong & Huang 1991): paths are built from their end, and delta tells exactly how much is lost
    by each choice of a tag, compared with the best one there. The heap gives up whole paths by rising loss. The best
    choice loses nothing at all, not even by rounding, and of equal losses the path that is nearest to its beginning
    comes first: so ties do not make the search visit half-built paths without end.
    """
    if len(delta) == 0:
        return [(0.0, np.empty(0, np.int64))][:n]
    found: list[tuple[float, np.ndarray]] = []
    heap: list[tuple[float, int, int, Path, float]] = []  # (loss, t, tie, tags from t on, their score)
    tie = count()

    def push(t: int, scores: np.ndarray, path: Path, loss: float) -> None:
        """Put every tag of token t in front of the path; `scores` (K,) is what follows delta[t]."""
        bounds = delta[t] + scores
        top = bounds.max()
        for k in np.flatnonzero(bounds > -np.inf).tolist():
            heapq.heappush(heap, (loss + float(top - bounds[k]), t, next(tie), (k, path), float(scores[k])))

    push(len(delta) - 1, chain.end, None, 0.0)
    while heap and len(found) < n:
        loss, t, _, path, score = heapq.heappop(heap)
        assert path is not None
        if t == 0:
            best = found[0][0] if found else float(delta[0, path[0]]) + score
            found.append((best - loss, np.array(unlinked(path))))
        else:
            push(t - 1, chain.transitions[:, path[0]] + E[t, path[0]] + score, path, loss)
    return found


def unlinked(path: Path) -> list[int]:
    tags = []
    while path is not None:
        k, path = path
        tags.append(k)
    return tags
