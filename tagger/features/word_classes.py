"""Word classes: groups of words that stand in the same places, several partitions of different fineness.

A table that says of each word which class it belongs to among 32, among 128, among 512. Templates ask for it with
`class:128`. Most words of the table never occur in the tagged corpus: that is the point, a word that the corpus lacks
still has neighbours in raw text, and so a class whose weights were learned from other words.

A word is looked up as it stands, with every digit as 0, and if it is not there in lower case. Where classes come from
is the business of others: `clustering` learns them, `read_clusters` takes those of another program.
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
SIZES = (32, 128, 512)  # usually
SIZES_OF_TREES = tuple(2**n for n in range(4, 13))  # how fine a tree of clusters is cut
MOST_SIZES = 64


def normalised(word: str) -> str:
    """Every digit as 0: 1987 and 2024 are one word."""
    return DIGIT.sub("0", word)


class WordClasses:
    """For each of its words and each size the number of a class, below the size."""

    def __init__(self, words: StringTable, classes: dict[int, np.ndarray]) -> None:
        self.words = words  # V normalised words
        self.classes = classes  # size → (V,)

    @classmethod
    def of(cls, words: Sequence[str], classes: dict[int, np.ndarray]) -> WordClasses:
        """Of distinct words in any order."""
        table, ids = StringTable.build(words)
        order = np.argsort(ids)
        return cls(table, {size: own[order] for size, own in classes.items()})

    def __len__(self) -> int:
        return len(self.words)

    @property
    def sizes(self) -> list[int]:
        return sorted(self.classes)

    def find(self, words: Sequence[str]) -> np.ndarray:
        """The row of each word, of its lower-case form if it has none, or -1."""
        plain = [normalised(word) for word in words]
        found = self.words.find(plain)
        missing = np.flatnonzero(found < 0)
        found[missing] = self.words.find([plain[i].lower() for i in missing.tolist()])
        return found

    def names(self, size: int, rows: np.ndarray) -> StringSpans:
        """The classes of these rows as text, none where a row is -1."""
        numbers = np.append(self.classes[size].astype(np.int64), 0)[rows]
        return StringSpans.of(list(map(str, numbers.tolist()))).only(rows >= 0)

    def restricted(self, sizes: Iterable[int]) -> WordClasses:
        """Only these sizes."""
        return WordClasses(self.words, {size: self.classes[size] for size in sorted(sizes)})

    def normalized(self, form: NormalizationForm) -> WordClasses:
        """The same with words in that form; of words that become equal one stays."""
        written = self.words.strings()
        words = normalized(written, form)
        if words is written:
            return self
        places = {word: i for i, word in enumerate(words)}
        chosen = np.array(list(places.values()))
        return WordClasses.of(list(places), {size: own[chosen] for size, own in self.classes.items()})

    def arrays(self) -> Arrays:
        own = {f"classes.{size}": narrow(self.classes[size]) for size in self.sizes}
        return {"classes.sizes": narrow(np.array(self.sizes))} | self.words.arrays("classes.words") | own

    @classmethod
    def restore(cls, archive: Archive) -> WordClasses:
        sizes = archive.take("classes.sizes", "u", None).tolist()
        fits = 0 < len(sizes) <= MOST_SIZES and sizes == sorted(set(sizes)) and sizes[0] > 0
        archive.check(fits, "the sizes of its word classes are not a rising list of numbers")
        words = StringTable.restore(archive, "classes.words")
        classes = {size: archive.take(f"classes.{size}", "u", len(words)) for size in sizes}
        for size, own in classes.items():
            archive.check(int(own.max(initial=0)) < size, f"a word class is outside the {size} there are")
        return cls(words, classes)


def read_clusters(path: str, opened: IO[bytes] | None = None) -> WordClasses:
    """The clusters of another program: lines `path TAB word TAB count`, the path a way through a binary tree (Brown
    et al. 1992). Classes of size n are the subtrees at the greatest depth that has at most n of them; names that are no
    paths are cut in the same way, after so many characters."""
    lines = Lines(path, opened=opened)
    paths: dict[str, str] = {}
    for line in lines:
        cells = line.split("\t")
        if len(cells) not in (2, 3) or not cells[0] or not cells[1]:
            raise lines.error(f"expected path TAB word TAB count, got {quote(line)}")
        paths.setdefault(normalised(cells[1]), cells[0])
    if not paths:
        raise CorpusError(f"{path}: no word in it; expected lines path TAB word TAB count")
    return WordClasses.of(list(paths), {size: cut(list(paths.values()), size) for size in SIZES_OF_TREES})


def cut(paths: list[str], size: int) -> np.ndarray:
    """(words,) the class of each path, numbered in the order of the paths."""
    deepest = max(map(len, paths))
    low, high = 0, deepest  # the number of subtrees rises with depth: search by halves
    while low < high:
        depth = (low + high + 1) // 2
        if len({path[:depth] for path in paths}) <= size:
            low = depth
        else:
            high = depth - 1
    numbers = {subtree: i for i, subtree in enumerate(sorted({path[:low] for path in paths}))}
    return np.array([numbers[path[:low]] for path in paths])
