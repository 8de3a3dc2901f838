"""Word forms, and sparse tables of one number per word and tag.

A word form is a string, or a `FirstWord`: the capitalised first word of a sentence, if the lexicon lacks it. A
`WordTagTable` holds what a user's lexicon allows, a `RawTextTable` the probabilities that EM has added.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, compress
from typing import NamedTuple

import numpy as np

from tagger.arrays.npz import Archive, Arrays
from tagger.arrays.ragged import RaggedRows
from tagger.arrays.string_table import StringTable
from tagger.errors import TrainingError
from tagger.escaping import quote
from tagger.sentence import Words


class FirstWord(NamedTuple):
    """The capitalised, unknown first word of a sentence: its capital may be due to its position only.

    A type of its own, because no character in front of a string is safe as a mark: words may begin with it.
    """

    word: str


WordForm = str | FirstWord
MAX_FIRST_WORDS = 1 << 14  # whose forms are kept


class FirstWordForms:
    """A function from sentences to word forms, as `find_forms` is, that keeps the forms of first words."""

    def __init__(self, find_forms: Callable[[list[Words]], list[Sequence[WordForm]]]) -> None:
        self.find_forms = find_forms
        self.kept: dict[str, WordForm] = {}

    def __call__(self, sentences: Sequence[Words]) -> list[Sequence[WordForm]]:
        """Return the word forms of sentences."""
        if len(self.kept) > MAX_FIRST_WORDS:
            self.kept.clear()
        new = list({words[0]: None for words in sentences if len(words) and words[0] not in self.kept})
        if new:
            self.kept.update(zip(new, chain.from_iterable(self.find_forms([[word] for word in new])), strict=True))
        return [self.with_first(words) if len(words) else words for words in sentences]

    def with_first(self, words: Words) -> Sequence[WordForm]:
        """Return the word forms of a sentence whose first word is known here."""
        first = self.kept[words[0]]
        return words if isinstance(first, str) else [first, *words[1:]]


def split_forms(forms: Sequence[WordForm]) -> tuple[list[str], np.ndarray]:
    """Return the words as strings, and a mask (words,) of first words."""
    words = [form if isinstance(form, str) else form.word for form in forms]
    return words, np.array([isinstance(form, FirstWord) for form in forms], bool)


def lower_first_words(words: Sequence[str], first: np.ndarray, table: StringTable) -> list[str]:
    """Lower the case of those first words that the table lacks."""
    lower = first & (table.find(words) < 0)
    return [word.lower() if low else word for word, low in zip(words, lower.tolist(), strict=True)]


@dataclass(frozen=True)
class WordTagTable:
    """Words with some of the tags, and a positive number for each pair."""

    words: StringTable
    rows: RaggedRows
    values: np.ndarray

    @classmethod
    def of(cls, words: Sequence[str], cells: np.ndarray, values: np.ndarray, K: int) -> WordTagTable:
        """Build the table from cells, word · K + tag."""
        table, ids = StringTable.build(words)
        cells = ids[cells // K] * K + cells % K
        order = np.argsort(cells)
        return cls(table, RaggedRows.of(cells[order], len(table), K), values[order])

    @classmethod
    def empty(cls, K: int) -> WordTagTable:
        """Make a table without words."""
        return cls.of([], np.empty(0, np.int64), np.empty(0), K)

    @classmethod
    def from_dense(cls, words: Sequence[str], values: np.ndarray) -> WordTagTable:
        """Keep the numbers of an array (words, K) that are not 0."""
        word, tag = np.nonzero(values)
        K = values.shape[1]
        return cls.of(words, word * K + tag, values[word, tag], K)

    @classmethod
    def from_lexicon(cls, lexicon: Mapping[str, Sequence[str]], classes: list[str]) -> WordTagTable:
        """Build the table of allowed tags from a user's lexicon; every number is 1."""
        numbers, K = {tag: k for k, tag in enumerate(classes)}, len(classes)
        unknown = [(quote(word), quote(tag)) for word, tags in lexicon.items() for tag in tags if tag not in numbers]
        if unknown:
            word, tag = unknown[0]
            raise TrainingError(f"lexicon, word {word}: expected tags of the corpus, got {tag}. Correct or remove it.")
        cells = [i * K + k for i, tags in enumerate(lexicon.values()) for k in sorted({numbers[tag] for tag in tags})]
        return cls.of(list(lexicon), np.array(cells, np.int64), np.ones(len(cells)), K)

    def dense(self, words: Sequence[str], K: int) -> np.ndarray:
        """Look up the numbers of words, (words, K); 0 where there is none."""
        entries, owners = self.rows.known_entries(self.words.find(words))
        out = np.zeros((len(words), K))
        out[owners, self.rows.tags[entries]] = self.values[entries]
        return out

    def arrays(self, name: str) -> Arrays:
        return self.words.arrays(f"{name}.words") | self.rows.arrays(name) | {f"{name}.values": self.values}

    @classmethod
    def restore(cls, archive: Archive, name: str, K: int) -> WordTagTable:
        words = StringTable.restore(archive, f"{name}.words")
        rows = RaggedRows.restore(archive, name, len(words), K)
        values = archive.take(f"{name}.values", "f", len(rows.tags))
        archive.check(bool((values > 0).all()), f"expected positive numbers in {name!r}")
        return cls(words, rows, values)


@dataclass(frozen=True)
class RawTextTable:
    """Probabilities added by EM, for words inside sentences and for first words."""

    inside: WordTagTable
    first: WordTagTable

    @classmethod
    def from_dense(cls, words: Sequence[str], first: np.ndarray, values: np.ndarray) -> RawTextTable:
        """Keep the numbers of an array (words, K) that are not 0; `first` (words,) marks first words."""
        masks = (~first, first)
        return cls(*(WordTagTable.from_dense(list(compress(words, mask)), values[mask]) for mask in masks))

    def __len__(self) -> int:
        return len(self.inside.words) + len(self.first.words)

    def forms(self) -> list[WordForm]:
        """List all word forms of the table."""
        return [*self.inside.words.strings(), *map(FirstWord, self.first.words.strings())]

    def dense(self, words: Sequence[str], first: np.ndarray, K: int) -> np.ndarray:
        """Look up the numbers of words, (words, K), 0 where there is none; `first` (words,) marks first words."""
        out = self.inside.dense(words, K)
        out[first] = self.first.dense(list(compress(words, first)), K)
        return out

    def arrays(self) -> Arrays:
        """Return the arrays to store. An empty table has those of earlier file versions."""
        return self.inside.arrays("raw") | (self.first.arrays("raw.first") if len(self) else {})

    @classmethod
    def restore(cls, archive: Archive, K: int) -> RawTextTable:
        """Read the table. Earlier versions stored one, with a line feed or carriage return in front of first words."""
        inside = WordTagTable.restore(archive, "raw", K)
        if archive.has("raw.first.words.blob"):
            return cls(inside, WordTagTable.restore(archive, "raw.first", K))
        words = inside.words.strings()
        first = np.array([word.startswith(("\n", "\r")) for word in words], bool)
        bare = [word[1:] if is_first else word for word, is_first in zip(words, first.tolist(), strict=True)]
        return cls.from_dense(bare, first, inside.dense(words, K))
