"""The n best paths of each sentence, by tree-trellis search (Soong & Huang 1991).

Paths are built from their end. The forward scores say exactly how much a choice loses against the best one at its
token, so a heap ordered by loss gives up whole paths from best to worst. The best choice loses exactly 0, not even a
rounding error, and among equal losses the path nearest to its first token comes first: ties cannot make the search
expand half-built paths without end.
"""

from __future__ import annotations

import heapq
from itertools import count
from typing import Any, TypeAlias

import numpy as np

from tagger.chain.kernels import MaxKernel
from tagger.chain.recursion import forward

ScoredPath = tuple[float, np.ndarray]  # score, tags (T,)
Path: TypeAlias = "tuple[int, Any] | None"  # a state and the path after it; unfinished paths share their ends


def n_best(kernel: MaxKernel, n: int) -> list[list[ScoredPath]]:
    """Find up to n paths per sentence, by rank, best first, each path once."""
    delta = forward(kernel).reshape(-1)
    return [search(kernel, delta, rank, length, n) for rank, length in enumerate(kernel.pack.lengths.tolist())]


def search(kernel: MaxKernel, delta: np.ndarray, rank: int, length: int, n: int) -> list[ScoredPath]:
    """Search the sentence of this rank; `delta` (states,) are the forward scores of the pack."""
    if not length:
        return [(0.0, np.empty(0, np.int64))][:n]
    paths: list[ScoredPath] = []
    heap: list[tuple[float, int, int, Path, float]] = []  # (loss, t, tie, states from t on, score of what follows t)
    tie = count()

    def push(t: int, states: np.ndarray, scores: np.ndarray, path: Path, loss: float) -> None:
        """Put each state of token t in front of the path; `scores` is what follows delta[t]."""
        bounds = delta[states] + scores
        top = bounds.max()
        for i in np.flatnonzero(bounds > -np.inf).tolist():
            extended = (int(states[i]), path)
            heapq.heappush(heap, (loss + float(top - bounds[i]), t, next(tie), extended, float(scores[i])))

    push(length - 1, *kernel.last_states(rank), None, 0.0)
    while heap and len(paths) < n:
        loss, t, _, path, score = heapq.heappop(heap)
        assert path is not None
        if t == 0:
            best = paths[0][0] if paths else float(delta[path[0]]) + score
            paths.append((best - loss, kernel.tags(np.array(unlinked(path)))))
        else:
            push(t - 1, *kernel.states_before(path[0], score), path, loss)
    return paths


def unlinked(path: Path) -> list[int]:
    """List the states of a linked path."""
    states = []
    while path is not None:
        state, path = path
        states.append(state)
    return states
