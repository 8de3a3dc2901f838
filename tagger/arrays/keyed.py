"""Counts, sums and values under integer keys, usually cells of a sparse table: key = row · width + column.

Each operation chooses between a dense array of all cells and sorting, by the number of keys and cells.
"""

from __future__ import annotations

import numpy as np

from tagger.arrays.hash_index import KeyIndex

MAX_DENSE_CELLS = 1 << 22  # of a dense array
ALWAYS_DENSE_CELLS = 1 << 16  # up to here a dense array is faster for any number of keys
CELLS_PER_KEY = 32  # with more cells per key, sorting is faster
MIN_VECTORIZED = 4000  # keys; fewer are sorted faster by a stable sort
PLACE_BITS = 31  # of the place of a key among others
SLOTS_PER_KEY = 8  # so that about one absent key in this many has to be searched for


def find_keys(table: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """Return the index of each key (n,) in an ascending table, -1 for absent keys."""
    if not len(table):
        return np.full(keys.shape, -1, np.int64)
    cells = int(table[-1]) + 1
    if cells <= min(MAX_DENSE_CELLS, CELLS_PER_KEY * keys.size):
        places = np.full(cells + 1, -1, np.int64)  # the last cell is for keys outside of the table
        places[np.minimum(table, cells)] = np.arange(len(table))  # the table of a damaged file may not ascend
        return places[np.where((keys < 0) | (keys > cells), cells, keys)]
    index = np.minimum(np.searchsorted(table, keys), len(table) - 1)
    return np.where(table[index] == keys, index, -1)


def sorting_is_faster(keys: np.ndarray, cells: int) -> bool:
    """Decide between sorting the keys and a dense array of all cells."""
    return cells > min(MAX_DENSE_CELLS, max(ALWAYS_DENSE_CELLS, CELLS_PER_KEY * len(keys)))


def count_keys(keys: np.ndarray, cells: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct keys, ascending, and the count of each."""
    if sorting_is_faster(keys, cells):
        return np.unique(keys, return_counts=True)
    counts = np.bincount(keys, minlength=cells)
    distinct = np.flatnonzero(counts > 0)
    return distinct, counts[distinct]


def number_keys(keys: np.ndarray, cells: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct keys, ascending, and the place of each key among them."""
    if sorting_is_faster(keys, cells):
        return np.unique(keys, return_inverse=True)
    present = np.zeros(cells, bool)
    present[keys] = True
    return np.flatnonzero(present), (np.cumsum(present, dtype=np.int64) - 1)[keys]


def sum_by_key(keys: np.ndarray, weights: np.ndarray, cells: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sum positive weights by key: return the distinct keys, ascending, their sums, and the sum at every given key."""
    if sorting_is_faster(keys, cells):
        distinct, inverse = np.unique(keys, return_inverse=True)
        sums = np.bincount(inverse, weights=weights, minlength=len(distinct))
        return distinct, sums, sums[inverse]
    sums = np.bincount(keys, weights=weights, minlength=cells)
    distinct = np.flatnonzero(sums > 0)
    return distinct, sums[distinct], sums[keys]


def stable_order(keys: np.ndarray) -> np.ndarray:
    """Return the order that sorts keys, equal ones by place, as a stable `np.argsort` does.

    Of thousands of numbers of 64 bits it takes a quarter of the time: NumPy's other sorts are vectorised.
    """
    if len(keys) < MIN_VECTORIZED:
        return np.argsort(keys, kind="stable")
    order = np.argsort(keys)
    ascending = keys[order]
    # One number for each key, its rank among the distinct ones and then its place: they are all different.
    numbers = np.zeros(len(keys), np.int64)
    np.cumsum(ascending[1:] != ascending[:-1], out=numbers[1:])
    numbers <<= PLACE_BITS
    numbers |= order
    numbers.sort()
    numbers &= (1 << PLACE_BITS) - 1
    return numbers


def first_places(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the first place of each distinct key, by ascending key, and the number of every key among those."""
    order = stable_order(keys)
    ascending = keys[order]
    is_first = np.ones(len(keys), bool)
    is_first[1:] = ascending[1:] != ascending[:-1]
    numbers = np.empty(len(keys), np.int64)
    numbers[order] = np.cumsum(is_first) - 1
    return order[is_first], numbers


class AscendingKeys:
    """Sorted integers: found by bisection at first, by a hash index after more lookups than there are integers."""

    def __init__(self, keys: np.ndarray) -> None:
        self.keys, self.asked = keys, 0
        self.index: KeyIndex | None = None

    def find(self, keys: np.ndarray) -> np.ndarray:
        """Return the index of each key, -1 for absent keys."""
        self.asked += len(keys)
        if self.index is None and self.asked < len(self.keys):  # an index would cost more than it saves
            return find_keys(self.keys, keys)
        self.index = self.index or KeyIndex(self.keys)
        return self.index.find(keys)


class KeyedValues:
    """Sparse vector of `cells` numbers: `values` under ascending `keys`, 0 elsewhere.

    Without a dense table, the lowest bits of a key name a slot, which says whether there is any key with these bits.
    Only keys with such a slot are searched for.
    """

    def __init__(self, keys: np.ndarray, values: np.ndarray, cells: int) -> None:
        self.keys, self.values = keys, values
        self.table: np.ndarray | None = None
        if cells <= MAX_DENSE_CELLS:
            self.table = np.zeros(cells)
            self.table[keys] = values
        else:
            self.mask = (1 << (SLOTS_PER_KEY * len(keys)).bit_length()) - 1
            self.slots = np.zeros(self.mask + 1, bool)
            self.slots[keys & self.mask] = True
            self.index = KeyIndex(keys)

    def __call__(self, keys: np.ndarray) -> np.ndarray:
        """Return the value of each key."""
        if self.table is not None:
            return self.table[keys]
        out = np.zeros(len(keys))
        likely = np.flatnonzero(self.slots[keys & self.mask])
        place = self.index.find(keys[likely])
        present = np.flatnonzero(place >= 0)
        out[likely[present]] = self.values[place[present]]
        return out
