"""Emission scores of any text from the weights of features, each distinct word scored once.

The features that look at one word make a row of K scores for that word at that offset; a token's emissions are the sum
of one such row per offset, plus what its features of several words add. Rows are computed when a word first appears,
for all new words of a block together, and kept in a cache. A template of several words with few features (a pair of
shapes, say), each of which knows many tags, gets a table of such rows too, as soon as a text is worth it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tagger.arrays.hash_index import Keys
from tagger.chain.pack import Pack
from tagger.features.encoder import Features, token_keys, word_keys
from tagger.features.tag_parts import TagParts
from tagger.words.cache import WordCache
from tagger.words.windows import MARKS, Windows, laid_out

TABLE_CELLS = 1 << 18  # the largest table of a template of several words
BEFORE, AFTER = range(MARKS)  # the rows of the marks in the cache


class FeatureScorer:
    """A function from sentences to their emissions (N, K), in the rows of a pack."""

    def __init__(self, features: Features, weights: np.ndarray, parts: TagParts) -> None:
        self.features, self.weights, self.parts, self.K = features, weights, parts, parts.K
        self.by_offset = {
            offset: [t for t, template in enumerate(features.templates) if template.offset == offset]
            for offset in features.offsets
        }
        self.several = [t for t, template in enumerate(features.templates) if template.offset is None]
        self.paired = {part.function for t in self.several for part in features.templates[t].parts}
        self.indexes: dict[int, Keys] = {}  # of templates, for quick answers to many questions
        self.cache = WordCache(self.score)
        self.tables: dict[int, np.ndarray] = {}  # for a template of several words: (features + 1, K), the last row zero

    def __call__(self, sentences: list[Sequence[str]], pack: Pack) -> np.ndarray:
        rows, lengths = self.cache.find(sentences), np.array([len(words) for words in sentences], np.int64)
        places, around = laid_out(rows, lengths, self.features.margin, (BEFORE, AFTER))
        windows = Windows((), places[pack.tokens], around)
        E = np.zeros((len(places), self.K), np.float32)
        for offset in self.by_offset:
            E += np.take(self.cache.arrays[f"scores {offset}"], windows.at(offset), axis=0)
        if self.several:
            self.add_several(E, windows, {name: self.cache.arrays[name] for name in self.paired})
        return E

    def add_several(self, E: np.ndarray, windows: Windows, values: dict[str, np.ndarray]) -> None:
        """What the features of several words add to the emissions (N, K)."""
        features, flat = self.features, E.reshape(-1)
        for t in self.several:
            keys, size = token_keys(features.templates[t], values, windows, features.radix), len(features.keys[t])
            ids = self.ids(t, keys)
            if size * self.K > TABLE_CELLS or (size > len(E) and t not in self.tables):
                there = np.flatnonzero(ids >= 0)
                params, widths = features.rows.entries(ids[there])
                flat[np.repeat(there * self.K, widths) + features.rows.tags[params]] += self.weights[params]
                continue
            if t not in self.tables:
                self.tables[t] = np.append(
                    self.sums([t], [features.keys[t]]), np.zeros((1, self.K), np.float32), axis=0
                )
            E += np.take(self.tables[t], np.where(ids < 0, size, ids - features.bases[t]), axis=0)

    def ids(self, t: int, keys: np.ndarray) -> np.ndarray:
        """The features with these keys of template t, -1 where there is none."""
        own = self.features.keys[t]
        if t not in self.indexes and len(own) > len(keys):  # few questions are not worth an index
            return self.features.ids(t, keys)
        index = self.indexes[t] = self.indexes.get(t) or Keys(own)
        found = index.find(keys)
        return np.where(found < 0, -1, self.features.bases[t] + found)

    def score(self, words: Sequence[str]) -> dict[str, np.ndarray]:
        """For the two marks, then the words: the value of each function, and for each offset a row of scores (K,)."""
        features = self.features
        found = {name: np.roll(ids, MARKS) for name, ids in features.values(words).items()}
        rows = {}
        for offset, own in self.by_offset.items():
            keys = [word_keys(features.templates[t], found, features.radix) for t in own]
            rows[f"scores {offset}"] = self.sums(own, keys)
        return {name: found[name] for name in self.paired} | rows

    def sums(self, templates: list[int], keys: list[np.ndarray]) -> np.ndarray:
        """(rows, K) the weights of the features with these keys (rows,), added up."""
        rows = len(keys[0])
        ids = np.concatenate([self.ids(t, key) for t, key in zip(templates, keys, strict=True)])
        there = np.flatnonzero(ids >= 0)
        params, widths = self.features.rows.entries(ids[there])
        columns = self.parts.columns
        cells = np.repeat(there % rows * columns, widths) + self.features.rows.tags[params]
        sums = np.bincount(cells, weights=self.weights[params], minlength=rows * columns)
        return self.parts.spread(sums.reshape(rows, columns)).astype(np.float32)
