"""Cache of values computed per word, within a memory limit.

Text repeats its words. The cache computes arrays for all new words of a block together and keeps one row per word. When
it is full, it drops the words that have not occurred again since it was last full: frequent words stay, and the many
that occur once make room. Each thread that tags has its own cache; more than `FULL_CACHES` of them share the memory of
that many.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from itertools import islice
from typing import Any
from weakref import WeakSet

import numpy as np

from tagger.words.vocabulary import Vocabulary, word_ids

CACHE_BYTES = 1 << 25
MIN_CAPACITY = 1 << 12  # words, however large their rows are
FULL_CACHES = 4  # caches of full size; more of them share the memory of this many

Arrays = dict[str, np.ndarray]


class WordCache:
    """Cache of the rows that `compute` returns for words.

    `compute` takes words and returns named arrays with a row per word. The rows of `compute([])`, if any, come before
    those of the words in every result.
    """

    def __init__(self, compute: Callable[[Sequence[Any]], Arrays]) -> None:
        self.compute = compute
        self.arrays = compute([])
        self.words = Vocabulary()  # by row, beginning at `first`
        self.used = self.first = len(next(iter(self.arrays.values())))
        self.returned = np.zeros(self.first, bool)  # rows looked up again since the cache was last full
        self.renumbered = 0  # how often rows have got other numbers
        row_bytes = sum(rows.itemsize * math.prod(rows.shape[1:]) for rows in self.arrays.values())
        self.full = max(MIN_CAPACITY, CACHE_BYTES // row_bytes)
        ALIVE.add(self)

    @property
    def limit(self) -> int:
        """Number of words that the cache may hold."""
        return max(1, self.full * FULL_CACHES // max(FULL_CACHES, len(ALIVE)))

    def find(self, sentences: Sequence[Sequence[Hashable]]) -> np.ndarray:
        """Return the row of each token (N,), after computing the rows of new words."""
        rows = self.first + word_ids(sentences, self.words)
        if len(self.words) > self.limit and self.used > self.first:
            self.make_room(len(self.words) - (self.used - self.first))
            rows = self.first + word_ids(sentences, self.words)
        before = self.used
        new_words = len(self.words) - (self.used - self.first)
        if new_words:
            self.extend(list(islice(reversed(self.words), new_words))[::-1])
        self.returned[rows[rows < before]] = True
        return rows

    def make_room(self, wanted: int) -> None:
        """Keep only the words that occurred again, if that leaves room for `wanted` others; else none."""
        keep = np.flatnonzero(self.returned[: self.used])
        keep = keep if len(keep) + wanted <= self.limit else keep[:0]
        kept_rows = np.concatenate([np.arange(self.first), keep])
        self.arrays = {name: rows[kept_rows] for name, rows in self.arrays.items()}
        words = list(self.words)
        self.words = Vocabulary.of(words[row - self.first] for row in keep.tolist())
        self.used, self.returned = len(kept_rows), np.zeros(len(kept_rows), bool)
        self.renumbered += 1

    def extend(self, words: list[Any]) -> None:
        """Compute and append the rows of new words."""
        end = self.used + len(words)
        room = max(end, min(2 * self.used, self.first + self.limit))  # doubling copies each row once on average
        self.returned = with_room(self.returned, self.used, end, room)
        for name, rows in self.compute(words).items():
            self.arrays[name] = with_room(self.arrays[name], self.used, end, room)
            self.arrays[name][self.used : end] = rows[self.first :]
        self.used = end


ALIVE: WeakSet[WordCache] = WeakSet()


def with_room(array: np.ndarray, used: int, end: int, room: int) -> np.ndarray:
    """Return the array if it has `end` rows, else a copy of its first `used` rows in an array of `room` rows."""
    if len(array) >= end:
        return array
    larger = np.zeros((room, *array.shape[1:]), array.dtype)
    larger[:used] = array[:used]
    return larger
