"""The scores of a linear chain of first order, and the score of one path through it.

The score of a tag path y through a sentence of T tokens is

    s(y) = start[y_1] + Σ_t emissions[t, y_t] + Σ_{t>1} transitions[y_{t-1}, y_t] + end[y_T]

A model has one table of transitions, unless it has features of steps: then there is a table for each step. Those of a
long sentence would not fit into memory, so they are made a block of steps at a time (`StepTransitions`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tagger.arrays.caching import cached_property
from tagger.chain.pack import Pack

BLOCK_CELLS = 1 << 20  # of the transitions that are made together


class StepTransitions:
    """Transitions (rows, K, K) for each row of a pack after the first ones; the block used last is kept.

    `make` returns those of a slice of rows, which is one of the `blocks`, counted without the first rows of the pack.
    """

    ndim = 3

    def __init__(self, rows: int, size: int, make: Callable[[slice], np.ndarray]) -> None:
        self.rows, self.size, self.make = rows, size, make
        self.kept: tuple[int, np.ndarray] = (-1, np.empty(0))  # number of a block, and its transitions

    @classmethod
    def of(cls, transitions: np.ndarray) -> StepTransitions:
        """Take an array that is there already as one block."""
        return cls(len(transitions), max(1, len(transitions)), lambda rows: transitions[rows])

    @property
    def blocks(self) -> list[slice]:
        """The blocks of rows."""
        return [slice(i, min(i + self.size, self.rows)) for i in range(0, self.rows, self.size)]

    def block(self, number: int) -> np.ndarray:
        """Return the transitions of a block."""
        kept, transitions = self.kept
        if kept != number:
            self.kept = (-1, np.empty(0))  # frees the memory of the other block
            transitions = self.make(slice(number * self.size, min((number + 1) * self.size, self.rows)))
            self.kept = (number, transitions)
        return transitions

    def __getitem__(self, rows: slice) -> np.ndarray:
        """Return the transitions of some rows, of one block or more."""
        parts = []
        first = rows.start // self.size
        for number in range(first, max(first + 1, -(-rows.stop // self.size))):
            begin = number * self.size
            parts.append(self.block(number)[max(0, rows.start - begin) : rows.stop - begin])
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def changed(self, function: Callable[[np.ndarray], np.ndarray]) -> StepTransitions:
        """Apply a function to the transitions of each block."""
        return StepTransitions(self.rows, self.size, lambda rows: function(self.block(rows.start // self.size)))

    @cached_property
    def bounds(self) -> tuple[np.ndarray, float, float]:
        """Whether each step of tags is always possible (K, K); the smallest and the largest score that is finite."""
        possible, lows, highs = [], [], []
        for number in range(max(1, len(self.blocks))):  # sentences of one token have an empty block
            A = self.block(number)
            finite = np.isfinite(A)
            possible.append(finite.all(axis=0))
            own = A if finite.all() else A[finite]
            if own.size:
                lows.append(float(own.min()))
                highs.append(float(own.max()))
        return np.logical_and.reduce(possible), min(lows, default=0.0), max(highs, default=0.0)


def block_rows(K: int) -> int:
    """Return how many rows of transitions (K, K) make a block."""
    return max(1, BLOCK_CELLS // K**2)


@dataclass(frozen=True)
class Chain:
    """Scores of a pack of sentences; -inf forbids a tag or a step."""

    pack: Pack
    start: np.ndarray  # (K,)
    transitions: np.ndarray | StepTransitions  # (K, K) [previous, next], or for each row after the first ones
    end: np.ndarray  # (K,)
    emissions: np.ndarray  # (N, K) rows as in the pack

    def into(self, rows: slice) -> np.ndarray:
        """Return the transitions into rows after the first ones, (K, K) or (rows, K, K)."""
        if isinstance(self.transitions, np.ndarray):
            return self.transitions
        first = self.pack.first
        return self.transitions[rows.start - first : rows.stop - first]

    @property
    def by_row(self) -> bool:
        """Whether each row after the first ones has transitions of its own."""
        return not isinstance(self.transitions, np.ndarray)

    def along(self, tags: np.ndarray) -> np.ndarray:
        """Return the score of each step (N - first,) of one path per sentence, given its tags (N,)."""
        before, here = tags[self.pack.before], tags[self.pack.first :]
        if isinstance(self.transitions, np.ndarray):
            return np.asarray(self.transitions[before, here])
        blocks, A = self.transitions.blocks, self.transitions
        parts = [A[rows][np.arange(len(here[rows])), before[rows], here[rows]] for rows in blocks]
        return np.concatenate([np.empty(0), *parts])


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
    scores += pack.sums(np.concatenate([np.zeros(first), chain.along(tags)]))
    scores[:first] += chain.start[tags[:first]]
    scores[:first] += chain.end[tags[pack.last]]
    return scores
