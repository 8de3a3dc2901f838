"""Interpolated search in sorted hashes: `np.searchsorted` with a good first guess.

Hashes are uniform over all 64-bit numbers, so the highest bits of one give nearly its index among the sorted ones. A
table holds the first index for each value of those bits; the search is rarely more than one step from there. In one
run, four million lookups among 50,000 numbers took 27 ns each instead of 98.
"""

from __future__ import annotations

import numpy as np

from tagger.arrays.keyed import find_keys

MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # odd, so that multiplication modulo 2^64 is a bijection


class HashIndex:
    """Index of ascending 64-bit hashes (n,)."""

    def __init__(self, numbers: np.ndarray) -> None:
        self.numbers = np.append(numbers, np.uint64(2**64 - 1))
        # About two buckets per number: starts[b] is the first index whose number has the highest bits b.
        bits = max(1, len(numbers).bit_length() + 1)
        self.shift = np.uint64(64 - bits)
        counts = np.bincount((numbers >> self.shift).view(np.int64), minlength=1 << bits)
        self.starts = np.zeros(1 << bits, np.int32)
        self.starts[1:] = np.cumsum(counts, out=counts)[:-1]

    def find(self, wanted: np.ndarray) -> np.ndarray:
        """Return for each wanted number (m,) the first index whose number is not smaller, as `np.searchsorted`."""
        indices = self.starts[wanted >> self.shift].astype(np.int64)
        smaller = np.flatnonzero(self.numbers[indices] < wanted)  # queries whose index must still rise
        while smaller.size:
            indices[smaller] += 1
            smaller = smaller[self.numbers[indices[smaller]] < wanted[smaller]]
        return indices


class Keys:
    """Index of distinct integers in any order; multiplication makes hashes of them."""

    def __init__(self, keys: np.ndarray) -> None:
        hashes = keys.astype(np.uint64) * MULTIPLIER
        self.order = np.append(np.argsort(hashes), -1)
        self.index = HashIndex(hashes[self.order[:-1]])

    def find(self, keys: np.ndarray) -> np.ndarray:
        """Return the index of each key, -1 for absent keys."""
        hashes = keys.astype(np.uint64) * MULTIPLIER
        rank = self.index.find(hashes)
        return np.where(self.index.numbers[rank] == hashes, self.order[rank], -1)


class AscendingKeys:
    """Ascending integers that are searched for; as soon as more have been asked for than there are, by an index."""

    def __init__(self, keys: np.ndarray) -> None:
        self.keys, self.asked = keys, 0
        self.index: Keys | None = None

    def find(self, keys: np.ndarray) -> np.ndarray:
        """Return the index of each key, -1 for absent keys."""
        self.asked += len(keys)
        if self.index is None and self.asked < len(self.keys):  # an index would cost more than it saves
            return find_keys(self.keys, keys)
        self.index = self.index or Keys(self.keys)
        return self.index.find(keys)
