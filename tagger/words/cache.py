"""What has been computed for a word is kept for the next time it appears, up to a limit of memory.

Text repeats its words. A cache computes arrays for all new words of a block together and remembers one row per word.
When it is full, words that have not come back since it was full the last time are forgotten: the frequent ones stay,
the many that occur once make room. Each thread that tags has a cache of its own; where there are many, they share the
room of a few.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from itertools import islice
from typing import Any
from weakref import WeakSet

import numpy as np

from tagger.words.vocabulary import Vocabulary, numbers

CACHE_BYTES = 1 << 25
LEAST_WORDS = 1 << 12  # kept however large their rows are
FULL_CACHES = 4  # of full size; when more are alive, all of them together have that much room

Arrays = dict[str, np.ndarray]


class WordCache:
    """`compute` turns words into named arrays, a row for each; the rows of `compute([])` come before those of words."""

    def __init__(self, compute: Callable[[Sequence[Any]], Arrays]) -> None:
        self.compute = compute
        self.arrays = compute([])
        self.words = Vocabulary()  # in the order of their rows
        self.used = self.first = len(next(iter(self.arrays.values())))
        self.returned = np.zeros(self.first, bool)  # whether a row was asked for again
        row_bytes = sum(rows.itemsize * math.prod(rows.shape[1:]) for rows in self.arrays.values())
        self.full = max(LEAST_WORDS, CACHE_BYTES // row_bytes)
        ALIVE.add(self)

    @property
    def limit(self) -> int:
        """The number of words that there is room for."""
        return max(1, self.full * FULL_CACHES // max(FULL_CACHES, len(ALIVE)))

    def find(self, sentences: Sequence[Sequence[Hashable]]) -> np.ndarray:
        """(N,) the row of each word of these sentences."""
        found = self.first + numbers(sentences, self.words)
        if len(self.words) > self.limit and self.used > self.first:
            self.make_room(len(self.words) - (self.used - self.first))
            found = self.first + numbers(sentences, self.words)
        before = self.used
        fresh = len(self.words) - (self.used - self.first)
        if fresh:
            self.extend(list(islice(reversed(self.words), fresh))[::-1])
        self.returned[found[found < before]] = True
        return found

    def make_room(self, wanted: int) -> None:
        """Only words that came back stay, if that leaves room for so many others; else none."""
        keep = np.flatnonzero(self.returned[: self.used])
        keep = keep if len(keep) + wanted <= self.limit else keep[:0]
        stay = np.concatenate([np.arange(self.first), keep])
        self.arrays = {name: rows[stay] for name, rows in self.arrays.items()}
        words = list(self.words)
        self.words = Vocabulary.of(words[row - self.first] for row in keep.tolist())
        self.used, self.returned = len(stay), np.zeros(len(stay), bool)

    def extend(self, words: list[Any]) -> None:
        end = self.used + len(words)
        room = max(end, min(2 * self.used, self.first + self.limit))  # doubled, so that a row is copied once on average
        self.returned = with_room(self.returned, self.used, end, room)
        for name, rows in self.compute(words).items():
            self.arrays[name] = with_room(self.arrays[name], self.used, end, room)
            self.arrays[name][self.used : end] = rows[self.first :]
        self.used = end


ALIVE: WeakSet[WordCache] = WeakSet()


def with_room(array: np.ndarray, used: int, end: int, room: int) -> np.ndarray:
    """The array itself if it has `end` rows, else its first `used` ones in a larger one."""
    if len(array) >= end:
        return array
    larger = np.zeros((room, *array.shape[1:]), array.dtype)
    larger[:used] = array[:used]
    return larger
