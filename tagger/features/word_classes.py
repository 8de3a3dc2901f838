"""Word classes: groups of words that occur in the same contexts, in several partitions of different size.

A table has the class of each word among 32, among 128, among 512. Templates name it with `class:128`. Most words of the
table never occur in the tagged corpus. That is the point: a word that the corpus lacks still has neighbours in raw
text, and so a class whose weights were learned from other words.

A word is looked up with every digit as 0, and if it is not there in lower case. `clustering` learns classes,
`read_clusters` reads those of another program.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import IO

import numpy as np

from tagger.arrays.npz import Archive, Arrays, narrow
from tagger.arrays.string_spans import StringSpans
from tagger.arrays.string_table import StringTable
from tagger.errors import CorpusError
from tagger.escaping import quote
from tagger.files.reading import Lines
from tagger.normalization import NormalizationForm, normalized

DIGIT = re.compile(r"\d")
SIZES = (32, 128, 512)  # by default
TREE_SIZES = tuple(2**n for n in range(4, 13))  # of the partitions made from a tree of clusters
MAX_SIZES = 64


def digits_as_zero(word: str) -> str:
    """Replace every digit by 0: 1987 and 2024 become one word."""
    return DIGIT.sub("0", word)


class WordClasses:
    """A table of word classes: for each size, the class of each of V words, a number below the size.

    Words may have vectors, too, which networks learn from. A model does not store them.
    """

    def __init__(self, words: StringTable, classes: dict[int, np.ndarray], vectors: np.ndarray | None = None) -> None:
        self.words = words  # V, every digit as 0
        self.classes = classes  # size → (V,)
        self.vectors = vectors  # (V, D), of length 1

    @classmethod
    def of(cls, words: Sequence[str], classes: dict[int, np.ndarray], vectors: np.ndarray | None = None) -> WordClasses:
        """Build the table of distinct words in any order, with their classes and vectors in the same order."""
        table, ids = StringTable.build(words)
        order = np.argsort(ids)
        sorted_vectors = None if vectors is None else vectors[order]
        return cls(table, {size: numbers[order] for size, numbers in classes.items()}, sorted_vectors)

    def __len__(self) -> int:
        return len(self.words)

    @property
    def sizes(self) -> list[int]:
        return sorted(self.classes)

    def find(self, words: Sequence[str]) -> np.ndarray:
        """Find the row of each word, else of its lower-case form, else -1."""
        return self.words.find_in_any_case([digits_as_zero(word) for word in words])

    def numbers(self, size: int, rows: np.ndarray) -> np.ndarray:
        """Return the classes of these rows, -1 where a row is -1."""
        return np.asarray(np.append(self.classes[size].astype(np.int64), -1)[rows])

    def names(self, size: int, rows: np.ndarray) -> StringSpans:
        """Return the classes of these rows as text, none where a row is -1."""
        return StringSpans.of(list(map(str, self.numbers(size, rows).tolist()))).only(rows >= 0)

    def restricted(self, sizes: Iterable[int]) -> WordClasses:
        """Keep only these sizes."""
        return WordClasses(self.words, {size: self.classes[size] for size in sorted(sizes)}, self.vectors)

    def normalized(self, form: NormalizationForm) -> WordClasses:
        """Normalise the words; of words that become equal the last one stays."""
        written = self.words.strings()
        words = normalized(written, form)
        if words is written:
            return self
        places = {word: i for i, word in enumerate(words)}
        chosen = np.array(list(places.values()))
        classes = {size: numbers[chosen] for size, numbers in self.classes.items()}
        return WordClasses.of(list(places), classes, None if self.vectors is None else self.vectors[chosen])

    def arrays(self, with_vectors: bool = False) -> Arrays:
        """Return the arrays of a model file; of a file of classes `with_vectors`, if the words have some."""
        classes = {f"classes.{size}": narrow(self.classes[size]) for size in self.sizes}
        if with_vectors and self.vectors is not None:
            classes["classes.vectors"] = self.vectors
        return {"classes.sizes": narrow(np.array(self.sizes))} | self.words.arrays("classes.words") | classes

    @classmethod
    def restore(cls, archive: Archive, with_vectors: bool = False) -> WordClasses:
        """Read the arrays of a model file, or of a file of classes, which may have vectors."""
        sizes = archive.take("classes.sizes", "u", None).tolist()
        fits = 0 < len(sizes) <= MAX_SIZES and sizes == sorted(set(sizes)) and sizes[0] > 0
        archive.check(fits, "the sizes of its word classes are not a rising list of numbers")
        words = StringTable.restore(archive, "classes.words")
        classes = {size: archive.take(f"classes.{size}", "u", len(words)) for size in sizes}
        for size, numbers in classes.items():
            highest = int(numbers.max(initial=0))
            archive.check(highest < size, f"expected word classes below {size}, got {highest}")
        has_vectors = with_vectors and archive.has("classes.vectors")
        return cls(words, classes, archive.take("classes.vectors", "f", len(words), None) if has_vectors else None)


def read_clusters(path: str, opened: IO[bytes] | None = None) -> WordClasses:
    """Read the clusters of another program: lines `path TAB word TAB count`, where the path leads through a binary tree
    (Brown et al. 1992).

    Classes of size n are the subtrees at the greatest depth that has at most n of them. A cluster name that is no path
    is cut in the same way: names with the same first characters are one class.
    """
    lines = Lines(path, opened=opened)
    paths: dict[str, str] = {}
    for line in lines:
        cells = line.split("\t")
        if len(cells) not in (2, 3) or not cells[0] or not cells[1]:
            raise lines.error(f"expected path TAB word TAB count, got {quote(line)}")
        paths.setdefault(digits_as_zero(cells[1]), cells[0])
    if not paths:
        raise CorpusError(f"{path}: no word in it; expected lines path TAB word TAB count")
    return WordClasses.of(list(paths), {size: cut(list(paths.values()), size) for size in TREE_SIZES})


def cut(paths: list[str], size: int) -> np.ndarray:
    """Cut the tree to at most `size` subtrees; return the class of each path, numbered in the order of the subtrees."""
    low, high = 0, max(map(len, paths))  # the number of subtrees rises with depth: bisect
    while low < high:
        depth = (low + high + 1) // 2
        if len({path[:depth] for path in paths}) <= size:
            low = depth
        else:
            high = depth - 1
    numbers = {subtree: i for i, subtree in enumerate(sorted({path[:low] for path in paths}))}
    return np.array([numbers[path[:low]] for path in paths])
