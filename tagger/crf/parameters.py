"""The encoded corpus, and the layout of the parameter vector that is learned from it.

A chain has as many transitions as pairs of tags, most of which never occur: only those seen get a weight.
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
    """A tagged corpus as numbers: N tokens, K tags."""

    features: Features
    values: dict[str, np.ndarray]  # of each feature function, the ids of its values at the distinct words
    windows: Windows
    lengths: np.ndarray  # (sentences,)
    tags: np.ndarray  # (N,) gold, OPEN where a choice is left
    choices: Choices
    K: int
    tag_parts: TagParts


class ParameterLayout:
    """The order of the weights: those of the features, then one for each tag bigram seen, K starts, K ends."""

    def __init__(self, corpus: EncodedCorpus, feature_counts: np.ndarray, also_seen: np.ndarray | None = None) -> None:
        self.K, self.features_end = corpus.K, len(feature_counts)
        bigrams, occurrences = np.unique(tag_bigrams(corpus), return_counts=True)
        self.seen = bigrams if also_seen is None else np.union1d(bigrams, also_seen)  # previous · K + next
        bigram_counts = np.zeros(len(self.seen))
        bigram_counts[np.searchsorted(self.seen, bigrams)] = occurrences
        ends = np.cumsum(corpus.lengths)
        firsts, lasts = corpus.tags[ends - corpus.lengths], corpus.tags[ends - 1]
        edge_counts = [np.bincount(tags[tags != OPEN], minlength=self.K) for tags in (firsts, lasts)]
        self.counts = np.concatenate([feature_counts, bigram_counts, *edge_counts]).astype(np.float64)  # in the corpus
        self.size = len(self.counts)
        self.centre = np.zeros(self.size)  # the L2 penalty is the distance from here

    def join(self, w: np.ndarray, start: np.ndarray, transitions: np.ndarray, end: np.ndarray) -> np.ndarray:
        """Join all weights to one vector; the inverse of `split`."""
        return np.concatenate([w, transitions.ravel()[self.seen], start, end]).astype(np.float64)

    def split(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Split the vector into the weights of the features, start (K,), transitions (K, K) and end (K,)."""
        w, steps, start, end = np.split(weights, np.cumsum([self.features_end, len(self.seen), self.K]))
        transitions = np.zeros(self.K * self.K)
        transitions[self.seen] = steps
        return w, start, transitions.reshape(self.K, self.K), end


def tag_bigrams(corpus: EncodedCorpus) -> np.ndarray:
    """List previous · K + next for all pairs of tags that two neighbouring tokens can have; open tokens have none."""
    tokens, tags = corpus.choices.events(corpus.tags)
    begins = np.searchsorted(
        tokens, np.arange(len(corpus.tags) + 1)
    )  # token t has the events begins[t] : begins[t + 1]
    widths = np.diff(begins)
    before = np.delete(np.arange(len(corpus.tags)), np.cumsum(corpus.lengths) - 1)  # all but the last tokens
    # Tokens t, t + 1 with m and n events make m · n pairs, numbered i · n + j: divmod by n gives the events i and j.
    pairs = widths[before] * widths[before + 1]
    first, second = np.divmod(ranges(pairs), np.repeat(widths[before + 1], pairs))
    first += np.repeat(begins[before], pairs)
    second += np.repeat(begins[before + 1], pairs)
    return np.asarray(tags[first] * corpus.K + tags[second])
