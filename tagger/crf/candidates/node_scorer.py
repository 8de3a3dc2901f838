"""The scorer of nodes for large tag sets: no row of scores for all tags is made or kept.

With a thousand tags a row costs more than the few nodes of a word that need scores. So the cache keeps the features of
each word instead, and a cache of fixed size the scores of words with a tag, which text repeats. For new ones, the
weights of narrow features are added up for the words of a block; wide templates, such as the length of a word, have few
features with weights for many tags, and a table each, of which nodes take what they need. The weights of a tag's parts
are added at the nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise

import numpy as np

from tagger.arrays.hash_index import KeyedCache
from tagger.crf.scorer import FeatureScorer
from tagger.features.encoder import Features
from tagger.features.keys import word_keys
from tagger.features.tag_parts import TagParts
from tagger.words.windows import MARKS, Windows

BLOCK_CELLS = 1 << 17  # of the scores of a block of words, few enough to stay in the processor's cache
CACHE_SLOTS = 1 << 21  # of the scores of words with a tag, 16 bytes each
WIDE_TEMPLATE = 100  # features of a template that is laid out as a table


class NodeScorer(FeatureScorer):
    """A `FeatureScorer` whose cache holds the features of words."""

    def __init__(self, features: Features, weights: np.ndarray, tag_parts: TagParts) -> None:
        sizes = np.diff(features.bases)
        one_word = [t for t in self.of_tokens(features) if features.templates[t].offset is not None]
        self.wide = {t: np.empty(0) for t in one_word if sizes[t] < WIDE_TEMPLATE}  # (features + 1, K)
        self.narrow = [t for t in one_word if t not in self.wide]
        super().__init__(features, weights, tag_parts)
        self.known_scores, self.renumbered = KeyedCache(CACHE_SLOTS), 0
        self.W = tag_parts.columns
        columns = tag_parts.columns_by_tag
        self.columns = np.where(columns < 0, self.W, columns)  # (K, columns of a tag); column W is zero
        for t in self.wide:
            first, end = features.bases[t : t + 2].tolist()
            rows = self.weight_rows(np.append(np.arange(first, end), -1)[:, None])  # the last is for no feature
            self.wide[t] = tag_parts.spread(rows[:, : self.W])

    def score(self, words: Sequence[str]) -> dict[str, np.ndarray]:
        """For the two marks, then the words, find the values of functions, and the features of one word."""
        features = self.features
        values = {name: np.roll(ids, MARKS) for name, ids in features.values(words).items()}  # the marks come first
        ids = np.full((len(words) + MARKS, len(features.templates)), -1, np.int32)
        for t in [*self.narrow, *self.wide]:
            ids[:, t] = self.ids(t, word_keys(features.templates[t], values, features.radix))
        return {name: values[name] for name in self.functions_of_several} | {"features": ids}

    def one_word_scores(self, windows: Windows, tags: np.ndarray) -> np.ndarray:
        if self.renumbered != self.cache.renumbered:
            self.known_scores.clear()
            self.renumbered = self.cache.renumbered
        scores = np.zeros(len(tags))
        for number, offset in enumerate(self.by_offset):
            at = windows.at(offset).astype(np.int64)
            keys = (at * len(self.by_offset) + number) * self.K + tags
            scores += self.known_scores.find(keys, partial(self.scores_of_words, offset, at, tags))
        return scores

    def scores_of_words(self, offset: int, at: np.ndarray, tags: np.ndarray, nodes: np.ndarray) -> np.ndarray:
        """Add up the weights of some of the nodes, which have these words `at` an offset and these tags."""
        at, tags = at[nodes], tags[nodes]
        order = np.argsort(at, kind="stable")  # nodes by word
        words, first = np.unique(at[order], return_index=True)
        place, tag = np.repeat(np.arange(len(words)), np.diff(first, append=len(at))), tags[order]
        ids = self.cache.arrays["features"][words]  # (words, templates)
        templates = self.by_offset[offset]
        sums = self.narrow_scores(ids[:, [t for t in templates if t not in self.wide]], place, tag)
        for t in templates:
            if t in self.wide:
                row = np.where(ids[:, t] < 0, len(self.wide[t]) - 1, ids[:, t] - self.features.bases[t])
                sums += self.wide[t][row[place], tag]
        scores = np.empty(len(at))
        scores[order] = sums
        return scores

    def narrow_scores(self, ids: np.ndarray, place: np.ndarray, tags: np.ndarray) -> np.ndarray:
        """Add up the weights of narrow features `ids` (words, templates) at nodes, by ascending `place` of the word."""
        scores, columns = np.empty(len(tags)), self.columns[tags]
        size = max(1, BLOCK_CELLS // (self.W + 1))  # words of a block
        bounds = np.searchsorted(place, np.arange(0, len(ids) + size, size))
        for i, (begin, end) in enumerate(pairwise(bounds.tolist())):
            rows = self.weight_rows(ids[i * size : (i + 1) * size])
            at = place[begin:end] - i * size
            scores[begin:end] = sum(rows[at, column] for column in columns[begin:end].T)
        return scores

    def weight_rows(self, ids: np.ndarray) -> np.ndarray:
        """Add up the weights (rows, W + 1) of features (rows, templates), -1 for none; the last column is zero."""
        row, column = np.nonzero(ids >= 0)
        params, widths = self.features.rows.entries(ids[row, column].astype(np.int64))
        cells = np.repeat(row * (self.W + 1), widths) + self.features.rows.tags[params]
        sums = np.bincount(cells, weights=self.weights[params], minlength=len(ids) * (self.W + 1))
        return sums.reshape(len(ids), self.W + 1)
