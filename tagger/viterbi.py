"""The best path, and the n best, through a chain: log space, maximum instead of sum.

    delta[t, j] = max_i (delta[t-1, i] + transitions[i, j]) + emissions[t, j]

No back-pointers are kept. The way back recomputes one argmax per token from the scores, which is cheaper than storing
K of them. In float32 every row of delta is shifted to a maximum of 0, so that the last token of a long sentence is
decided as exactly as the first; a path's score is added up afterwards, in float64.
"""

from __future__ import annotations

import heapq
from dataclasses import replace
from itertools import count
from typing import Any, TypeAlias

import numpy as np

from tagger.chain import Chain, path_scores

Path: TypeAlias = "tuple[int, Any] | None"  # a tag and the path after it; unfinished paths share their ends


def best(chain: Chain) -> tuple[np.ndarray, np.ndarray]:
    """The best tag of each row (N,), and the score of each sentence's path (B,); -inf where there is no path."""
    pack, A = chain.pack, chain.transitions
    delta = forward(chain)
    tags = np.zeros(len(delta), np.int64)
    tags[pack.last] = np.argmax(delta[pack.last] + chain.end, axis=1)
    for before, here in reversed(list(pack.steps())):
        tags[before] = np.argmax(delta[before] + A.T[tags[here]], axis=1)
    return tags, path_scores(chain, tags)


def forward(chain: Chain) -> np.ndarray:
    """(N, K) the best score of a path that ends in tag k at the row; in float32, less the row's maximum."""
    E, pack = chain.emissions, chain.pack
    A = chain.transitions.astype(E.dtype)
    settle = shift if E.dtype == np.float32 else lambda rows: None
    delta = np.empty_like(E)
    first = len(pack.last)
    np.add(chain.start, E[:first], out=delta[:first], casting="same_kind")
    settle(delta[:first])
    for before, here in pack.steps():
        previous, now = delta[before], delta[here]
        candidate = np.empty_like(now)
        np.add(previous[:, :1], A[0], out=now)
        for i in range(1, len(A)):
            np.add(previous[:, i : i + 1], A[i], out=candidate)
            np.maximum(now, candidate, out=now)
        now += E[here]
        settle(now)
    return delta


def shift(rows: np.ndarray) -> None:
    """Subtract each row's maximum, unless nothing is possible there."""
    highest = rows.max(axis=1, keepdims=True)
    highest[np.isneginf(highest)] = 0.0
    rows -= highest


def n_best(chain: Chain, n: int) -> list[list[tuple[float, np.ndarray]]]:
    """For each sentence by rank, up to n paths as (score, tags (T,)), best first, each path once."""
    chain = replace(chain, emissions=chain.emissions.astype(np.float64))
    delta = forward(chain)
    rows = [chain.pack.starts[:length] + rank for rank, length in enumerate(chain.pack.lengths.tolist())]
    return [search(delta[own], chain.emissions[own], chain, n) for own in rows]


def search(delta: np.ndarray, E: np.ndarray, chain: Chain, n: int) -> list[tuple[float, np.ndarray]]:
    """The n best paths of one sentence with the forward scores delta (T, K) and the emissions E (T, K).

    Tree-trellis search (Soong & Huang 1991): paths are built from their end, and delta tells exactly how well each
    unfinished one can be completed. So the heap gives up whole paths in order, and none that is not wanted.
    """
    if len(delta) == 0:
        return [(0.0, np.empty(0, np.int64))][:n]
    found: list[tuple[float, np.ndarray]] = []
    heap: list[tuple[float, int, int, Path, float]] = []  # (-bound, tie, t, tags from t on, their score)
    tie = count()

    def push(t: int, scores: np.ndarray, path: Path) -> None:
        """Put every tag of token t in front of the path; `scores` (K,) is what follows delta[t]."""
        bounds = delta[t] + scores
        for k in np.flatnonzero(bounds > -np.inf).tolist():
            heapq.heappush(heap, (-float(bounds[k]), next(tie), t, (k, path), float(scores[k])))

    push(len(delta) - 1, chain.end, None)
    while heap and len(found) < n:
        bound, _, t, path, score = heapq.heappop(heap)
        assert path is not None
        if t == 0:
            found.append((-bound, np.array(unlinked(path))))
        else:
            push(t - 1, chain.transitions[:, path[0]] + E[t, path[0]] + score, path)
    return found


def unlinked(path: Path) -> list[int]:
    tags = []
    while path is not None:
        k, path = path
        tags.append(k)
    return tags
