"""Pretrained word vectors in the text format of word2vec, GloVe and fastText: a word and its numbers on each line.

An optional first line holds the number of words and of dimensions. Such files are large and sorted by frequency: the
vectors of the training corpus's words are kept, and those of the first `others` words besides. The vectors are not
trained further. The learned embedding of a word is a separate input, so words outside the corpus keep their position
relative to those inside.
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

MAX_DIMENSIONS = 10_000


class WordVectors:
    """A table of pretrained vectors in float16, with a row of zeros for words without one."""

    def __init__(self, words: StringTable, table: np.ndarray) -> None:
        self.words = words
        self.table = np.vstack([table, np.zeros((1, table.shape[1]), table.dtype)])  # (words + 1, P)

    @classmethod
    def none(cls) -> WordVectors:
        """Make an empty table, of dimension 0."""
        return cls(StringTable.build([])[0], np.empty((0, 0), np.float16))

    @property
    def size(self) -> int:
        """The number of dimensions, P."""
        return int(self.table.shape[1])

    def __call__(self, words: Sequence[str]) -> np.ndarray:
        """Look up vectors (words, P): of the word as written, else in lower case, else zeros."""
        return self.table[self.words.find_in_any_case(words)].astype(np.float32)

    def arrays(self) -> Arrays:
        """Return the arrays to store."""
        return self.words.arrays("vectors") | {"vectors": self.table[:-1]}

    @classmethod
    def restore(cls, archive: Archive) -> WordVectors:
        """Read the vectors of a stored model."""
        words = StringTable.restore(archive, "vectors")
        table = archive.take("vectors", "f", len(words), None)
        archive.check(table.dtype == np.float16, "its vectors have more than 16 bits")
        return cls(words, table)


def read_vectors(path: str | os.PathLike[str], wanted: Container[str], others: int) -> WordVectors:
    """Read the vectors of the `wanted` words, given in NFC, and of the first `others` words besides.

    Parameters
    ----------
    path : str or path-like
        A text file, possibly compressed: on each line a word and its numbers.
    wanted : container of str
        Words whose vectors are kept.
    others : int
        The number of further words, from the beginning of the file.

    Returns
    -------
    WordVectors
        A table for `BiLSTMTagger.fit`.

    Raises
    ------
    FileError
        If the file cannot be read, a line is no vector, or there is none.
    """
    with closing(Lines(path)) as lines:
        vectors = dict(selected(lines, wanted, others))
    if not vectors:
        raise FileError(f"{lines.name}: no vector in it; expected lines of a word and its numbers")
    words, ids = StringTable.build(list(vectors))
    table = np.array(list(vectors.values()))
    return WordVectors(words, table[np.argsort(ids)])


def selected(lines: Lines, wanted: Container[str], others: int) -> Iterator[tuple[str, np.ndarray]]:
    """Yield each selected word once, with its vector (P,)."""
    seen: set[str] = set()
    size = 0
    for line in lines:
        word, *numbers = line.rstrip(" \t").replace("\t", " ").split(" ")
        if lines.number == 1 and len(numbers) == 1:  # number of words, number of dimensions
            continue
        size = size or len(numbers)  # the first vector decides; a word may contain spaces
        if size > MAX_DIMENSIONS:
            raise lines.error(f"expected at most {MAX_DIMENSIONS:,} numbers after a word, got {size:,}")
        word = normalize(NFC, " ".join([word, *numbers[: len(numbers) - size]]))
        numbers = numbers[len(numbers) - size :]
        if word in seen or (word not in wanted and others <= 0):
            continue
        others -= word not in wanted
        seen.add(word)
        yield word, parsed(numbers, size, word, lines)


def parsed(numbers: list[str], size: int, word: str, lines: Lines) -> np.ndarray:
    """Convert the numbers after a word to float16; anything but `size` finite numbers is an error."""
    try:
        with np.errstate(over="ignore"):
            vector = np.array(numbers, np.float16)
    except ValueError:
        vector = np.empty(0, np.float16)
    if len(vector) != size or not size or not np.isfinite(vector).all():
        expected = f"{size or 'some'} numbers below {np.finfo(np.float16).max:,.0f}"
        raise lines.error(f"expected {expected} after {quote(word)}, got {quote(' '.join(numbers[:20]))}")
    return vector
