"""Sums, counts and values kept under sorted whole-number keys."""

from __future__ import annotations

import numpy as np

DENSE = 1 << 22  # as many cells may be laid out in full; more are sorted and searched for
SMALL, FILLED = 1 << 16, 32  # so many cells are always laid out; others if one in so many is filled


def find_keys(own: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """(keys,) the place of each key among the ascending numbers `own`, -1 where it is not there."""
    if not len(own):
        return np.full(len(keys), -1)
    place = np.minimum(np.searchsorted(own, keys), len(own) - 1)
    return np.where(own[place] == keys, place, -1)


def sparse(keys: np.ndarray, cells: int) -> bool:
    """Whether it is faster to sort these keys than to lay out all cells."""
    return cells > min(DENSE, max(SMALL, FILLED * len(keys)))


def count_keys(keys: np.ndarray, cells: int) -> tuple[np.ndarray, np.ndarray]:
    """The distinct keys, ascending, and how often each occurs."""
    if sparse(keys, cells):
        return np.unique(keys, return_counts=True)
    counts = np.bincount(keys, minlength=cells)
    found = np.flatnonzero(counts > 0)
    return found, counts[found]


def sum_by_key(keys: np.ndarray, weights: np.ndarray, cells: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The distinct keys, ascending, the sum of the positive weights of each, and the same sum for every key given."""
    if sparse(keys, cells):
        found, place = np.unique(keys, return_inverse=True)
        sums = np.bincount(place, weights=weights, minlength=len(found))
        return found, sums, sums[place]
    sums = np.bincount(keys, weights=weights, minlength=cells)
    found = np.flatnonzero(sums > 0)
    return found, sums[found], sums[keys]


class KeyedValues:
    """Numbers kept under whole numbers (row · width + column); what is not there is 0."""

    def __init__(self, keys: np.ndarray, values: np.ndarray, cells: int) -> None:
        self.keys, self.values = keys, np.append(values, 0.0)
        self.table: np.ndarray | None = None
        if cells <= DENSE:
            self.table = np.zeros(cells)
            self.table[keys] = values

    def __call__(self, keys: np.ndarray) -> np.ndarray:
        if self.table is not None:
            return self.table[keys]
        return np.asarray(self.values[find_keys(self.keys, keys)])  # of -1 the last
