"""The tags before and after the tokens of frequent words.

An *entry* is a frequent word with one of the tags it was seen with. Which words are frequent is known when all of a
corpus is counted, so these counts are made afterwards, again part by part. The smoothing constant of the tags after a
word needs single tokens: about `smoothing.SAMPLE_SIZE` of them, evenly spaced in the corpus.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tagger.arrays.keyed import KeyedValues
from tagger.corpus.partial import OPEN
from tagger.hmm.counting.counts import CellCounts
from tagger.hmm.counting.tagged_text import TaggedText
from tagger.hmm.smoothing import subsample
from tagger.hmm.transitions import NO_TOKEN, Steps


@dataclass(frozen=True)
class EntryTokens:
    """The tokens of entries, in the order of the text: the entry of each, the tag u before and the tag w after."""

    entry: np.ndarray  # (n,) its index among all entries
    u: np.ndarray  # (n,)
    w: np.ndarray  # (n,)

    @classmethod
    def of(cls, steps: Steps, words: np.ndarray, entries: np.ndarray) -> EntryTokens:
        """Find the tokens of `entries`, ascending numbers word · K + tag, in a text with these `words` (N,)."""
        K, steps = steps.K, steps.without(OPEN)
        tagged = np.flatnonzero(steps.token != NO_TOKEN)
        cells = max(int(words.max(initial=0)) + 1, int(entries[-1]) // K + 1) * K
        number = KeyedValues(entries, np.arange(1.0, len(entries) + 1), cells)
        entry = number(words[steps.token[tagged]] * K + steps.v[tagged]).astype(np.int64) - 1  # -1 for a missing key, 0
        is_entry = entry >= 0
        kept = tagged[is_entry]
        return cls(entry[is_entry], steps.u[kept], steps.w[kept])

    def __len__(self) -> int:
        return len(self.entry)

    def at(self, tokens: slice) -> EntryTokens:
        """Return some of the tokens."""
        return EntryTokens(self.entry[tokens], self.u[tokens], self.w[tokens])

    @classmethod
    def joined(cls, several: Sequence[EntryTokens]) -> EntryTokens:
        """Join tokens, one after the other."""
        columns = zip(*((part.entry, part.u, part.w) for part in several), strict=True)
        return cls(*map(np.concatenate, columns))

    def counts(self, E: int, width: int) -> tuple[CellCounts, CellCounts]:
        """Count the tags before and after E entries, under the keys entry · width + tag."""
        before, after = (CellCounts.of(self.entry * width + tags, E * width) for tags in (self.u, self.w))
        return before, after


@dataclass(frozen=True)
class EntryCounts:
    """The tags before and after entries, and a sample of their tokens."""

    before: CellCounts  # entry · (K + 1) + u
    after: CellCounts  # entry · (K + 1) + w
    sample: EntryTokens


CountEntries = Callable[[np.ndarray], EntryCounts]  # from entries, ascending numbers word · K + tag of the lexicon


def entry_counter(text: TaggedText) -> CountEntries:
    """Make the function that counts the entries of a text."""

    def count(entries: np.ndarray) -> EntryCounts:
        tokens = EntryTokens.of(text.steps, text.words, entries)
        return EntryCounts(*tokens.counts(len(entries), text.K + 1), tokens.at(subsample(len(tokens))))

    return count
