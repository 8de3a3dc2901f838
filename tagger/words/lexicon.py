"""The words of the training corpus, and how often each was seen with each tag.

It decides what *known* means: the exact form occurs in the tagged training corpus. *Ambiguous* is a word that was
seen there with two or more tags. Every model carries one. Its `form` is the Unicode normalisation of the whole model.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tagger.arrays.caching import cached_property
from tagger.arrays.keyed import count_keys
from tagger.arrays.npz import MOST, Archive, Arrays, narrow
from tagger.arrays.ragged import RaggedRows
from tagger.arrays.string_spans import ByteStrings
from tagger.arrays.string_table import StringTable
from tagger.escaping import quote
from tagger.normalization import FORMS, NFC, Form, normalized


class Lexicon:
    def __init__(self, words: StringTable, rows: RaggedRows, counts: np.ndarray, form: Form = NFC) -> None:
        self.words = words  # in the form
        self.rows = rows  # one for each word
        self.counts = counts  # of each entry
        self.form = form

    @classmethod
    def of(cls, words: ByteStrings, ids: np.ndarray, tags: np.ndarray, K: int) -> Lexicon:
        """Of a text: its distinct words, and for each token the word's place among them and the tag."""
        return cls.with_places(words, ids, tags, K)[0]

    @classmethod
    def with_places(cls, words: ByteStrings, ids: np.ndarray, tags: np.ndarray, K: int) -> tuple[Lexicon, np.ndarray]:
        """The same, and the number that each of the words has in it; -1 for a word without any tag."""
        there = np.bincount(ids, minlength=len(words)) > 0
        places = np.full(len(words), -1)
        table, places[there] = StringTable.build(words if there.all() else words.take(np.flatnonzero(there)))
        cells, counts = count_keys(places[ids] * K + tags, len(table) * K)
        return cls(table, RaggedRows.of(cells, len(table), K), counts), places

    def find(self, words: Sequence[str]) -> np.ndarray:
        """The place of each word, in whichever form it is written; -1 for an unknown one."""
        return self.words.find(normalized(words, self.form))

    def known(self, words: Sequence[str]) -> np.ndarray:
        """Whether each word occurs."""
        return np.asarray(self.find(words) >= 0)

    def ambiguous(self, words: Sequence[str]) -> np.ndarray:
        """Whether each word occurs with two or more tags."""
        ids = self.find(words)
        return np.asarray(np.append(self.rows.widths, 0)[ids] > 1)  # of an unknown word, -1, the last

    def frequency(self, words: Sequence[str]) -> np.ndarray:
        """How often each word occurs."""
        return np.asarray(np.append(self.totals, 0)[self.find(words)])  # of an unknown word, -1, the last

    @cached_property
    def totals(self) -> np.ndarray:
        """(words,) how often each word of it occurs."""
        return np.bincount(self.rows.owners, weights=self.counts, minlength=len(self.rows)).astype(np.int64)

    def tag_counts(self, K: int) -> np.ndarray:
        """(K,) how often each tag occurs."""
        return np.bincount(self.rows.tags, weights=self.counts, minlength=K)

    def joined(self, other: Lexicon, K: int) -> Lexicon:
        """The words of both in the form of this one, their counts added; the tags of both are numbered alike."""
        words, _ = StringTable.build(list(dict.fromkeys([*self.words.strings(), *other.words.strings()])))
        cells = [words.find(side.words.strings())[side.rows.owners] * K + side.rows.tags for side in (self, other)]
        every, place = np.unique(np.concatenate(cells), return_inverse=True)
        counts = np.bincount(place, weights=np.concatenate([self.counts, other.counts])).astype(np.int64)
        return Lexicon(words, RaggedRows.of(every, len(words), K), counts, self.form)

    def arrays(self) -> Arrays:
        return self.words.arrays("words") | self.rows.arrays("lexicon") | {"lexicon.counts": narrow(self.counts)}

    @classmethod
    def restore(cls, archive: Archive, K: int) -> Lexicon:
        words = StringTable.restore(archive, "words")
        rows = RaggedRows.restore(archive, "lexicon", len(words), K)
        counts = archive.take("lexicon.counts", "u", len(rows.tags))
        archive.check(int(counts.max(initial=0)) < MOST, "the counts of its words are out of all bounds")
        form = archive.meta.get("normalization")  # format 1 knew none
        archive.check(form in FORMS, f"unknown normalization {quote(str(form))}; expected {NFC} or null")
        return cls(words, rows, counts.astype(np.int64), form)
