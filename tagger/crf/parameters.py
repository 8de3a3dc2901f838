"""A tagged corpus as numbers, and where each weight that is learned from it lives.

A chain has as many transitions as pairs of tags, most of which never occur: only those that were seen get a weight.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tagger.arrays.ragged import ranges
from tagger.corpus.partial import OPEN, Choices
from tagger.features.encoder import Features
from tagger.features.tag_parts import TagParts
from tagger.words.windows import Windows


@dataclass(frozen=True)
class EncodedCorpus:
    """A tagged corpus as numbers."""

    features: Features
    values: dict[str, np.ndarray]  # of the functions at the distinct words
    windows: Windows
    lengths: np.ndarray  # (sentences,)
    tags: np.ndarray  # (N,) gold, OPEN where a choice is left
    choices: Choices
    K: int
    parts: TagParts


class ParameterLayout:
    """Where each weight lives: first those of the features, then one for each tag bigram seen, K starts, K ends."""

    def __init__(self, corpus: EncodedCorpus, feature_counts: np.ndarray, also_seen: np.ndarray | None = None) -> None:
        self.K, self.features_end = corpus.K, len(feature_counts)
        ends = np.cumsum(corpus.lengths)
        bigrams, often = np.unique(seen_bigrams(corpus), return_counts=True)
        self.seen = bigrams if also_seen is None else np.union1d(bigrams, also_seen)  # previous · K + next
        counts = np.zeros(len(self.seen))
        counts[np.searchsorted(self.seen, bigrams)] = often
        firsts, lasts = corpus.tags[ends - corpus.lengths], corpus.tags[ends - 1]
        chain_counts = [counts, *(np.bincount(tags[tags != OPEN], minlength=self.K) for tags in (firsts, lasts))]
        self.counts = np.concatenate([feature_counts, *chain_counts]).astype(np.float64)  # how often each was seen
        self.size = len(self.counts)
        self.centre = np.zeros(self.size)  # the penalty is the distance from here

    def join(self, w: np.ndarray, start: np.ndarray, transitions: np.ndarray, end: np.ndarray) -> np.ndarray:
        """All weights in one; the other way round than `split`."""
        return np.concatenate([w, transitions.ravel()[self.seen], start, end]).astype(np.float64)

    def split(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """The weights of the features, and start (K,), transitions (K, K), end (K,)."""
        w, steps, start, end = np.split(weights, np.cumsum([self.features_end, len(self.seen), self.K]))
        transitions = np.zeros(self.K * self.K)
        transitions[self.seen] = steps
        return w, start, transitions.reshape(self.K, self.K), end


def seen_bigrams(corpus: EncodedCorpus) -> np.ndarray:
    """previous · K + next of every step between tags that are said of two neighbours."""
    tokens, tags = corpus.choices.events(corpus.tags)
    begins = np.searchsorted(tokens, np.arange(len(corpus.tags) + 1))  # the events of each token
    widths = np.diff(begins)
    before = np.delete(np.arange(len(corpus.tags)), np.cumsum(corpus.lengths) - 1)  # all but the last tokens
    pairs = widths[before] * widths[before + 1]
    first, second = np.divmod(ranges(pairs), np.repeat(widths[before + 1], pairs))
    first += np.repeat(begins[before], pairs)
    second += np.repeat(begins[before + 1], pairs)
    return np.asarray(tags[first] * corpus.K + tags[second])
