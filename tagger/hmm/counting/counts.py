"""The counts of words, tags, tag bigrams and tag trigrams of a text: they add up over texts.

Each text has its own tag set. Merged counts have the union, in which all tags keep their order, so that sorted keys
stay sorted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tagger.arrays.keyed import count_keys
from tagger.arrays.ragged import RaggedRows
from tagger.corpus.partial import OPEN
from tagger.hmm.counting.tagged_text import TaggedText
from tagger.words.lexicon import Lexicon


@dataclass(frozen=True)
class CellCounts:
    """Counts under integer keys."""

    keys: np.ndarray  # ascending
    counts: np.ndarray  # positive

    @classmethod
    def of(cls, keys: np.ndarray, cells: int) -> CellCounts:
        """Count keys below `cells`."""
        return cls(*count_keys(keys, cells))

    @classmethod
    def none(cls) -> CellCounts:
        """Count nothing."""
        return cls(np.empty(0, np.int64), np.empty(0, np.int64))

    @classmethod
    def merged(cls, several: Sequence[CellCounts]) -> CellCounts:
        """Add counts."""
        keys, inverse = np.unique(np.concatenate([one.keys for one in several]), return_inverse=True)
        # sums of whole numbers are exact up to 2^53
        sums = np.bincount(inverse, weights=np.concatenate([one.counts for one in several]), minlength=len(keys))
        return cls(keys, sums.astype(np.int64))


@dataclass(frozen=True)
class HMMCounts:
    """Counts of tags, tag n-grams and words, from which an HMM is estimated; tag K is the boundary of sentences."""

    tag_set: list[str]  # K, sorted
    lexicon: Lexicon
    inside: np.ndarray  # (words of the lexicon,) whether each occurs inside sentences, after the first token
    frequency: np.ndarray  # (words of the lexicon,) tokens, those with open tags included
    unigrams: np.ndarray  # (K + 1,)
    bigrams: np.ndarray  # (K + 1, K + 1)
    trigrams: CellCounts  # (u · (K + 1) + v) · (K + 1) + w
    seen: np.ndarray  # marks of the sentences (`words.overlap`)
    sentences: int
    tokens: int

    @classmethod
    def of(cls, text: TaggedText) -> HMMCounts:
        """Count a text. Bigrams and trigrams with open tags are left out."""
        steps, V = text.steps, len(text.lexicon.words)
        width, words, closed = text.K + 1, text.words, text.tags != OPEN
        inside = np.bincount(words[closed & ~text.is_first], minlength=V) > 0
        frequency = np.bincount(words[words >= 0], minlength=V)
        whole = steps.without(OPEN)
        trigrams = CellCounts.of(whole.pairs * width + whole.w, width**3)
        size = (len(text.lengths), len(text.tags))
        return cls(text.tag_set, text.lexicon, inside, frequency, *count_bigrams(text), trigrams, text.seen, *size)

    @property
    def K(self) -> int:
        return len(self.tag_set)

    @classmethod
    def merged(cls, several: Sequence[HMMCounts]) -> HMMCounts:
        """Merge the counts of texts without open tags."""
        tag_set = sorted(set().union(*(counts.tag_set for counts in several)))
        parts = [counts.renumbered(tag_set) for counts in several]
        lexicon = Lexicon.union([part.lexicon for part in parts], len(tag_set))
        inside = np.zeros(len(lexicon.words), bool)
        frequency = np.zeros(len(lexicon.words), np.int64)
        for part in parts:
            ids = lexicon.words.ids_of(part.lexicon.words)
            inside[ids] |= part.inside
            frequency[ids] += part.frequency
        return cls(
            tag_set,
            lexicon,
            inside,
            frequency,
            np.sum([part.unigrams for part in parts], axis=0),
            np.sum([part.bigrams for part in parts], axis=0),
            CellCounts.merged([part.trigrams for part in parts]),
            np.unique(np.concatenate([part.seen for part in parts])),
            sum(part.sentences for part in parts),
            sum(part.tokens for part in parts),
        )

    def renumbered(self, tag_set: list[str]) -> HMMCounts:
        """Return the counts with the numbers of a larger tag set."""
        if tag_set == self.tag_set:
            return self
        K, old, new = len(tag_set), self.K + 1, len(tag_set) + 1
        numbers = np.append(np.searchsorted(tag_set, self.tag_set), K)  # of the old tags and the mark
        rows, keys = self.lexicon.rows, self.trigrams.keys
        lexicon = Lexicon(
            self.lexicon.words, RaggedRows(rows.widths, numbers[rows.tags]), self.lexicon.counts, self.lexicon.form
        )
        unigrams, bigrams = np.zeros(new, np.int64), np.zeros((new, new), np.int64)
        unigrams[numbers], bigrams[np.ix_(numbers, numbers)] = self.unigrams, self.bigrams
        u, v, w = numbers[keys // old**2], numbers[keys // old % old], numbers[keys % old]
        trigrams = CellCounts((u * new + v) * new + w, self.trigrams.counts)
        own = (self.inside, self.frequency, unigrams, bigrams, trigrams, self.seen, self.sentences, self.tokens)
        return HMMCounts(tag_set, lexicon, *own)

    def steps(self, outside: str) -> frozenset[tuple[str, str]]:
        """List the pairs of tags that follow each other; the mark is called `outside`."""
        names = [*self.tag_set, outside]
        return frozenset((names[v], names[w]) for v, w in np.argwhere(self.bigrams).tolist())


def count_bigrams(text: TaggedText) -> tuple[np.ndarray, np.ndarray]:
    """Count the tags (K + 1,) and the tag bigrams (K + 1, K + 1) of a text, without open tags."""
    width, steps = text.K + 1, text.steps
    closed = steps.w != OPEN
    unigrams = np.bincount(steps.w[closed], minlength=width)
    closed &= steps.v != OPEN
    bigrams = np.bincount(steps.v[closed] * width + steps.w[closed], minlength=width**2)
    return unigrams, bigrams.reshape(width, width)
