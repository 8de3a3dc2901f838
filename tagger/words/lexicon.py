"""The lexicon of a model: the words of its training corpus with their tag counts.

It defines two terms. A word is *known* if its exact form occurs in the tagged training corpus, and *ambiguous* if it
occurs there with two or more tags. Every model has a lexicon; `form` is its Unicode normalization form.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tagger.arrays.caching import cached_property
from tagger.arrays.keyed import count_keys
from tagger.arrays.npz import MAX_COUNT, Archive, Arrays, narrow
from tagger.arrays.ragged import RaggedRows
from tagger.arrays.string_spans import ByteStrings
from tagger.arrays.string_table import StringTable
from tagger.escaping import quote
from tagger.normalization import NFC, NORMALIZATION_FORMS, NormalizationForm, normalized


class Lexicon:
    """Table of words, with the tags of each and their counts."""

    def __init__(self, words: StringTable, rows: RaggedRows, counts: np.ndarray, form: NormalizationForm = NFC) -> None:
        self.words = words  # normalized
        self.rows = rows  # the tags of each word
        self.counts = counts  # (entries,) of `rows`
        self.form = form

    @classmethod
    def of(cls, words: ByteStrings, ids: np.ndarray, tags: np.ndarray, K: int) -> Lexicon:
        """Count the tags of a text, given as distinct words and, for each token (N,), its word id and tag."""
        return cls.with_places(words, ids, tags, K)[0]

    @classmethod
    def with_places(cls, words: ByteStrings, ids: np.ndarray, tags: np.ndarray, K: int) -> tuple[Lexicon, np.ndarray]:
        """Build the lexicon as `of` does, and return the id of each word in it; -1 for a word without tokens."""
        occurs = np.bincount(ids, minlength=len(words)) > 0
        new_ids = np.full(len(words), -1, np.int64)
        table, new_ids[occurs] = StringTable.build(words if occurs.all() else words.take(np.flatnonzero(occurs)))
        cells, counts = count_keys(new_ids[ids] * K + tags, len(table) * K)
        return cls(table, RaggedRows.of(cells, len(table), K), counts), new_ids

    def find(self, words: Sequence[str]) -> np.ndarray:
        """Return the id of each word, in any normalization form; -1 for unknown words."""
        return self.words.find(normalized(words, self.form))

    def known(self, words: Sequence[str]) -> np.ndarray:
        """Return whether each word is known."""
        return np.asarray(self.find(words) >= 0)

    def ambiguous(self, words: Sequence[str]) -> np.ndarray:
        """Return whether each word has two or more tags."""
        ids = self.find(words)
        return np.asarray(np.append(self.rows.widths, 0)[ids] > 1)  # unknown words, -1, get the 0

    def frequency(self, words: Sequence[str]) -> np.ndarray:
        """Return the training frequency of each word."""
        return np.asarray(np.append(self.totals, 0)[self.find(words)])  # unknown words, -1, get the 0

    @cached_property
    def totals(self) -> np.ndarray:
        """Training frequency of each word of the lexicon, by id."""
        return np.bincount(self.rows.owners, weights=self.counts, minlength=len(self.rows)).astype(np.int64)

    def tag_counts(self, K: int) -> np.ndarray:
        """Count the tokens of each tag (K,)."""
        return np.bincount(self.rows.tags, weights=self.counts, minlength=K)

    @classmethod
    def union(cls, lexicons: Sequence[Lexicon], K: int) -> Lexicon:
        """Merge lexicons of one tag set and form, adding counts."""
        words, ids = StringTable.union([lexicon.words for lexicon in lexicons])
        cells = [own[side.rows.owners] * K + side.rows.tags for own, side in zip(ids, lexicons, strict=True)]
        distinct, inverse = np.unique(np.concatenate(cells), return_inverse=True)
        counts = np.bincount(inverse, weights=np.concatenate([side.counts for side in lexicons])).astype(np.int64)
        return cls(words, RaggedRows.of(distinct, len(words), K), counts, lexicons[0].form)

    def arrays(self) -> Arrays:
        """Return the arrays to store in a model file."""
        return self.words.arrays("words") | self.rows.arrays("lexicon") | {"lexicon.counts": narrow(self.counts)}

    @classmethod
    def restore(cls, archive: Archive, K: int) -> Lexicon:
        """Read the lexicon of a model file."""
        words = StringTable.restore(archive, "words")
        rows = RaggedRows.restore(archive, "lexicon", len(words), K)
        counts = archive.take("lexicon.counts", "u", len(rows.tags))
        archive.check(int(counts.max(initial=0)) < MAX_COUNT, f"its word counts exceed {MAX_COUNT:,}")
        archive.check(bool(counts.all()), "expected a count for each tag of a word, got 0")
        form = archive.meta.get("normalization")  # absent in files of format 1
        archive.check(form in NORMALIZATION_FORMS, f"expected normalization {NFC} or null, got {quote(str(form))}")
        return cls(words, rows, counts.astype(np.int64), form)
