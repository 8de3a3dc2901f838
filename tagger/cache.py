"""What has been computed for a word is kept for the next time it appears, up to a limit of memory.

Text repeats its words. A cache computes arrays for all new words of a block together and remembers one row per word;
when it is full it forgets everything and starts again, which happens seldom and costs little.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

CACHE_BYTES = 1 << 28

Arrays = dict[str, np.ndarray]


class WordCache:
    """`compute` turns words into named arrays, a row for each; the rows of `compute([])` come before those of words."""

    def __init__(self, compute: Callable[[Sequence[str]], Arrays]) -> None:
        self.compute = compute
        self.always = compute([])
        self.forget()

    def forget(self) -> None:
        self.slots: dict[str, int] = {}
        self.arrays = dict(self.always)
        self.used = self.first = len(next(iter(self.always.values())))

    def find(self, words: Sequence[str]) -> np.ndarray:
        """The row of each word."""
        fresh = [word for word in words if word not in self.slots]
        if fresh and sum(rows.nbytes for rows in self.arrays.values()) > CACHE_BYTES:
            self.forget()
            fresh = list(words)
        if fresh:
            self.extend(fresh)
        return np.fromiter(map(self.slots.__getitem__, words), np.int64, len(words))

    def extend(self, words: list[str]) -> None:
        end = self.used + len(words)
        for name, rows in self.compute(words).items():
            own = rows[self.first :]
            if len(self.arrays[name]) < end:  # grow by doubling, so that each row is copied once on average
                larger = np.empty((max(end, 2 * self.used), *own.shape[1:]), own.dtype)
                larger[: self.used] = self.arrays[name][: self.used]
                self.arrays[name] = larger
            self.arrays[name][self.used : end] = own
        self.slots.update(zip(words, range(self.used, end), strict=True))
        self.used = end
