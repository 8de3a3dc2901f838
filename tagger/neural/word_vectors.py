"""Word vectors from outside, as word2vec, GloVe and fastText write them: text, a word and its numbers on each line.

The first line may tell how many words and numbers follow. Such files are sorted by frequency and large: the words of
the training corpus are kept, and of the others the first so many. The vectors are not trained further: what is learned
of a word stands beside them, and words that the corpus lacks keep their place among those it has.
"""

from __future__ import annotations

import os
from collections.abc import Container, Iterator, Sequence
from contextlib import closing
from unicodedata import normalize

import numpy as np

from tagger.arrays.npz import Archive, Arrays
from tagger.arrays.string_table import StringTable
from tagger.errors import FileError
from tagger.escaping import quote
from tagger.files.reading import Lines
from tagger.normalization import NFC

MOST_NUMBERS = 10_000  # of a vector


class WordVectors:
    def __init__(self, words: StringTable, table: np.ndarray) -> None:
        self.words = words
        self.table = np.vstack([table, np.zeros((1, table.shape[1]), table.dtype)])  # (words + 1, P), the last for none

    @classmethod
    def none(cls) -> WordVectors:
        return cls(StringTable.build([])[0], np.empty((0, 0), np.float16))

    @property
    def size(self) -> int:
        return int(self.table.shape[1])

    def __call__(self, words: Sequence[str]) -> np.ndarray:
        """(words, P) those of the words as they are, else in lower case, else zeros."""
        ids = self.words.find(words)
        missing = np.flatnonzero(ids < 0)
        ids[missing] = self.words.find([words[i].lower() for i in missing.tolist()])
        return self.table[ids].astype(np.float32)

    def arrays(self) -> Arrays:
        return self.words.arrays("vectors") | {"vectors": self.table[:-1]}

    @classmethod
    def restore(cls, archive: Archive) -> WordVectors:
        words = StringTable.restore(archive, "vectors")
        table = archive.take("vectors", "f", len(words), None)
        archive.check(table.dtype == np.float16, "its vectors have more than 16 bits")
        return cls(words, table)


def read_vectors(path: str | os.PathLike[str], wanted: Container[str], others: int) -> WordVectors:
    """The vectors of the words that are wanted, given in NFC, and of the first `others` besides."""
    with closing(Lines(path)) as lines:
        found = dict(chosen(lines, wanted, others))
    if not found:
        raise FileError(f"{lines.name}: no vector in it; expected lines of a word and its numbers")
    words, ids = StringTable.build(list(found))
    table = np.array(list(found.values()))
    return WordVectors(words, table[np.argsort(ids)])


def chosen(lines: Lines, wanted: Container[str], others: int) -> Iterator[tuple[str, np.ndarray]]:
    """Each word once, with its vector (P,)."""
    done: set[str] = set()
    size = 0
    for line in lines:
        word, *numbers = line.rstrip(" \t").replace("\t", " ").split(" ")
        if lines.number == 1 and len(numbers) == 1:  # so many words, so many numbers each
            continue
        size = size or len(numbers)
        if size > MOST_NUMBERS:
            raise lines.error(f"expected at most {MOST_NUMBERS:,} numbers after a word, got {size:,}")
        word = normalize(NFC, " ".join([word, *numbers[: len(numbers) - size]]))
        numbers = numbers[len(numbers) - size :]
        if word in done or (word not in wanted and others <= 0):
            continue
        others -= word not in wanted
        done.add(word)
        yield word, parsed(numbers, size, word, lines)


def parsed(numbers: list[str], size: int, word: str, lines: Lines) -> np.ndarray:
    try:
        with np.errstate(over="ignore"):
            vector = np.array(numbers, np.float16)
    except ValueError:
        vector = np.empty(0, np.float16)
    if len(vector) != size or not size or not np.isfinite(vector).all():
        expected = f"{size or 'some'} numbers below {np.finfo(np.float16).max:,.0f}"
        raise lines.error(f"expected {expected} after {quote(word)}, got {quote(' '.join(numbers[:20]))}")
    return vector
