"""Rows of different lengths in one flat array: for each word, feature or suffix the few tags seen with it.

The layout is that of compressed sparse rows: row i owns the entries `bounds[i] : bounds[i + 1]`, by ascending tag.
Values (counts, probabilities, weights) are in separate arrays, one value per entry.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate

import numpy as np

from tagger.arrays.npz import Archive, Arrays, narrow


class RaggedRows:
    """Rows of ascending tags, with `widths` (rows,) entries each."""

    def __init__(self, widths: np.ndarray, tags: np.ndarray) -> None:
        self.bounds = np.zeros(len(widths) + 1, np.int64)
        np.cumsum(widths, out=self.bounds[1:])
        self.tags = tags  # (entries,)

    @classmethod
    def of(cls, cells: np.ndarray, count: int, K: int) -> RaggedRows:
        """Build `count` rows from ascending cells, row · K + tag."""
        return cls(np.bincount(cells // K, minlength=count), (cells % K).astype(np.int32))

    def __len__(self) -> int:
        return len(self.bounds) - 1

    @property
    def widths(self) -> np.ndarray:
        """Number of entries of each row (rows,)."""
        return np.diff(self.bounds)

    @property
    def owners(self) -> np.ndarray:
        """Row of each entry (entries,)."""
        return np.repeat(np.arange(len(self), dtype=np.int64), self.widths)

    def entries(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """List the entries of the given rows, row after row, and the width of each."""
        widths = self.bounds[rows + 1] - self.bounds[rows]
        return consecutive(self.bounds[rows], widths), widths

    def known_entries(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """List the entries of the given rows, where -1 is a row without entries; and for each its index in `rows`."""
        present = np.flatnonzero(rows >= 0)
        entries, widths = self.entries(rows[present])
        return entries, np.repeat(present, widths)

    def arrays(self, name: str) -> Arrays:
        """Return the arrays to store under names that begin with `name`."""
        return {f"{name}.widths": narrow(self.widths), f"{name}.tags": narrow(self.tags)}

    @classmethod
    def restore(cls, archive: Archive, name: str, count: int, K: int) -> RaggedRows:
        """Read `count` rows over K tags from a model file."""
        widths = archive.take(f"{name}.widths", "u", count)
        tags = archive.take(f"{name}.tags", "u", None)
        fits = sums_to(widths, len(tags)) and int(tags.max(initial=0)) < K
        archive.check(fits, f"the rows {name!r} do not fit their entries or the tag set")
        rows = cls(widths, tags.astype(np.int32))
        ascending = bool((np.diff(rows.owners * K + rows.tags) > 0).all())
        archive.check(ascending, f"the tags of the rows {name!r} are not ascending")
        return rows


def sums_to(lengths: np.ndarray, total: int) -> bool:
    """Return whether lengths sum to the total; the first comparison excludes an overflow of the sum."""
    return int(lengths.max(initial=0)) <= total and int(lengths.sum(dtype=np.uint64)) == total


def consecutive(starts: np.ndarray | int, lengths: np.ndarray) -> np.ndarray:
    """Concatenate the ranges start, start + 1, …, start + length - 1."""
    # Range i begins at output position o_i = Σ_{j<i} length_j, so an entry at position p is start_i - o_i + p.
    values = np.repeat(starts - (np.cumsum(lengths) - lengths), lengths)
    values += np.arange(len(values))
    return values


def ranges(lengths: np.ndarray) -> np.ndarray:
    """Concatenate 0, …, n - 1 for each length n."""
    return consecutive(0, lengths)


def slices(lengths: Iterable[int]) -> list[slice]:
    """List the slices of an array that has parts of these lengths, one after the other."""
    ends = list(accumulate(lengths, initial=0))
    return list(map(slice, ends[:-1], ends[1:]))
