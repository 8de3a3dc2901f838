"""The scores of a linear chain of first order, and the score of one path through it.

The score of a tag path y through a sentence of T tokens is

    s(y) = start[y_1] + Σ_t emissions[t, y_t] + Σ_{t>1} transitions[y_{t-1}, y_t] + end[y_T]

A model has one table of transitions. The functions of `tagger.chain` also take a table for each step.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tagger.chain.pack import Pack


@dataclass(frozen=True)
class Chain:
    """Scores of a pack of sentences; -inf forbids a tag or a step."""

    pack: Pack
    start: np.ndarray  # (K,)
    transitions: np.ndarray  # (K, K) [previous, next]; (N - first, K, K) if each row after the first ones has its own
    end: np.ndarray  # (K,)
    emissions: np.ndarray  # (N, K) rows as in the pack

    def into(self, rows: slice) -> np.ndarray:
        """Return the transitions into rows after the first ones, (K, K) or (rows, K, K)."""
        if self.transitions.ndim == 2:
            return self.transitions
        first = self.pack.first
        return self.transitions[rows.start - first : rows.stop - first]

    def steps_along(self, tags: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return the index into the transitions of each step of one path per sentence, given its tags (N,)."""
        before, here = tags[self.pack.before], tags[self.pack.first :]
        return (before, here) if self.transitions.ndim == 2 else (np.arange(len(here)), before, here)


def forbid(
    allowed: np.ndarray | None, start: np.ndarray, transitions: np.ndarray, end: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Set the scores of all steps that are not `allowed` (K + 1, K + 1) to -inf; None allows all.

    The last row of `allowed` is the place before a sentence, the last column the place after it.
    """
    if allowed is None:
        return start, transitions, end
    cells = ((start, allowed[-1, :-1]), (transitions, allowed[:-1, :-1]), (end, allowed[:-1, -1]))
    return tuple(np.where(own, scores, scores.dtype.type(-np.inf)) for scores, own in cells)  # type: ignore[return-value]


def path_scores(chain: Chain, tags: np.ndarray) -> np.ndarray:
    """Add up s(y) for one path per sentence: `tags` (N,) by row, result (B,) by rank."""
    pack = chain.pack
    scores = pack.sums(chain.emissions[np.arange(len(tags)), tags])
    first = pack.first
    steps = chain.transitions[chain.steps_along(tags)]
    scores += pack.sums(np.concatenate([np.zeros(first), steps]))
    scores[:first] += chain.start[tags[:first]]
    scores[:first] += chain.end[tags[pack.last]]
    return scores
