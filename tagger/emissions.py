"""Emission scores of any text from the weights of features, each distinct word scored once.

The features that look at one word make a row of K scores for that word at that offset; a token's emissions are the sum
of one such row per offset, plus what its features of several words add. Rows are computed when a word first appears,
for all new words of a block together, and kept in a bounded cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from tagger.features import Features, token_keys, word_keys
from tagger.pack import Pack
from tagger.windows import Windows

CACHED_WORDS = 100_000
Key = TypeVar("Key")
MARKS = 2  # the cache begins with the places before and after a sentence


class Emissions:
    """A function from sentences to their emissions (N, K), in the rows of a pack."""

    def __init__(self, features: Features, weights: np.ndarray, K: int) -> None:
        self.features, self.weights, self.K = features, weights, K
        self.by_offset = {
            offset: [t for t, template in enumerate(features.templates) if template.offset == offset]
            for offset in features.offsets
        }
        self.several = [t for t, template in enumerate(features.templates) if template.offset is None]
        self.forget()

    def forget(self) -> None:
        """Empty the cache but for the two marks."""
        self.slots: dict[str, int] = {}
        self.values = self.features.values([])
        self.rows = self.score(self.values)

    def __call__(self, sentences: list[Sequence[str]], pack: Pack) -> np.ndarray:
        windows = Windows.of(sentences, self.features.margin, pack.tokens)
        slots = self.find(windows.words)
        E = np.zeros((len(windows.places), self.K), np.float32)
        for offset, rows in self.rows.items():
            E += rows[slots[windows.at(offset)]]
        if self.several:
            values = {name: ids[slots] for name, ids in self.values.items()}
            radix = self.features.radix
            keys = [token_keys(self.features.templates[t], values, windows, radix) for t in self.several]
            E += self.sums(self.several, keys)
        return E

    def find(self, words: list[str]) -> np.ndarray:
        """The place of each word in the cache, then of the two marks."""
        if len(self.slots) + len(words) > CACHED_WORDS and self.slots:
            self.forget()
        self.extend([word for word in words if word not in self.slots])
        return np.array([*map(self.slots.__getitem__, words), 0, 1])

    def extend(self, words: list[str]) -> None:
        """Compute the rows of new words."""
        if not words:
            return
        begin = MARKS + len(self.slots)
        self.slots.update(zip(words, range(begin, begin + len(words)), strict=True))
        values = {name: ids[:-MARKS] for name, ids in self.features.values(words).items()}
        self.rows = joined(self.rows, self.score(values))
        self.values = joined(self.values, values)

    def score(self, values: dict[str, np.ndarray]) -> dict[int, np.ndarray]:
        """For each offset (words, K): the scores of words with these values."""
        features = self.features
        return {
            offset: self.sums(own, [word_keys(features.templates[t], values, features.radix) for t in own])
            for offset, own in self.by_offset.items()
        }

    def sums(self, templates: list[int], keys: list[np.ndarray]) -> np.ndarray:
        """(rows, K) the weights of the features with these keys (rows,), added up."""
        rows = len(keys[0])
        ids = np.concatenate([self.features.ids(t, key) for t, key in zip(templates, keys, strict=True)])
        there = np.flatnonzero(ids >= 0)
        params, widths = self.features.rows.entries(ids[there])
        cells = np.repeat(there % rows * self.K, widths) + self.features.rows.tags[params]
        sums = np.bincount(cells, weights=self.weights[params], minlength=rows * self.K)
        return sums.reshape(rows, self.K).astype(np.float32)


def joined(old: dict[Key, np.ndarray], new: dict[Key, np.ndarray]) -> dict[Key, np.ndarray]:
    return {key: np.concatenate([rows, new[key]]) for key, rows in old.items()}
