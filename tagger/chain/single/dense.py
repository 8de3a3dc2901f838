"""The best path of one sentence: Viterbi with a few NumPy calls per token.

The packed recursion (`viterbi`) does a step of many sentences at once. For one sentence its cost is that of calling
NumPy, not of computing. Here a step looks at the tags that pruning leaves (`pruning`), mostly one, so nearly all steps
are

    delta[t] = A[best] + emissions[t],    best = argmax delta[t-1]

and the way back needs no search. Scores and answers are those of the packed recursion, bit by bit.
"""

from __future__ import annotations

import numpy as np

from tagger.chain.pruning import PrunedStep


def best_path(step: PrunedStep, start: np.ndarray, end: np.ndarray, emissions: np.ndarray) -> list[int]:
    """Find the best tags of one sentence with T tokens; `emissions` are (T, K)."""
    A, reach = step.A, step.reach
    delta = start + emissions[0]
    origins: list[tuple[int, list[int], np.ndarray]] = []  # of each step: the best tag before, others, and delta
    for e in emissions[1:]:
        best = int(delta.argmax())
        top = delta[best]
        if top == -np.inf:  # no tag is possible
            origins.append((best, [], delta))
            delta = np.full_like(delta, -np.inf)
            continue
        below = top - delta
        others = (below <= reach[best]).nonzero()[0].tolist()
        origins.append((best, others, delta))
        now = A[best]
        for i in others:
            now = np.maximum(now, A[i] - below[i])
        delta = now + e
    tags = [int((delta + end).argmax())]
    for best, others, before in reversed(origins):
        tags.append(best_origin(best, others, before, A, tags[-1]) if others else best)
    return tags[::-1]


def best_origin(best: int, others: list[int], before: np.ndarray, A: np.ndarray, tag: int) -> int:
    """Choose the tag before `tag` with the highest before[i] + A[i, tag], the first of equals."""
    return max(sorted([best, *others]), key=lambda i: before[i] + A[i, tag])
