"""The scores of one sentence by a CRF of second order, for the recursions on lists (`chain.single.candidates`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tagger.arrays.keyed import KeyedValues
from tagger.chain.single.candidates import ContextRows, factor_rows


class SingleCRF:
    """Weights that sentences share: rows of those of the steps from tags (u, v) to w, computed when first needed."""

    def __init__(self, steps: np.ndarray, trigrams: KeyedValues) -> None:
        self.table, self.trigrams, self.width = steps, trigrams, len(steps)
        self.steps, self.factors = ContextRows(self.onward, self.width), factor_rows(self.onward, self.width)

    def onward(self, pairs: np.ndarray) -> np.ndarray:
        """Add up the weights of the bigrams (v, w) and the trigrams (u, v, w), for pairs (n,) and all w, (n, K + 1)."""
        trigrams = self.trigrams((pairs[:, None] * self.width + np.arange(self.width)).ravel())
        return np.asarray(self.table[pairs % self.width] + trigrams.reshape(-1, self.width))


@dataclass(frozen=True)
class SingleSentence:
    """The scores of one sentence (`SentenceScores`), by node; the last node is the mark."""

    crf: SingleCRF
    tags: list[int]
    emissions: list[float]

    @property
    def stride(self) -> int:
        return self.crf.width

    @property
    def keys(self) -> list[int]:
        return self.tags

    @property
    def steps(self) -> ContextRows:
        return self.crf.steps

    @property
    def factors(self) -> ContextRows:
        return self.crf.factors

    def arrivals(self, node: int, before: Sequence[int]) -> list[float]:
        """Return the emission of a node, for each tag before it."""
        return [self.emissions[node]] * len(before)
