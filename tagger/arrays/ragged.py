"""Sparse rows: for each of many things (a word, a feature, an ending) the few tags it was seen with.

One layout for all of them: row i owns the entries `bounds[i] : bounds[i + 1]`, by rising tag. Values (counts,
probabilities, weights) live in arrays beside, one for each entry.
"""

from __future__ import annotations

import numpy as np

from tagger.arrays.npz import Archive, Arrays, narrow


class RaggedRows:
    def __init__(self, widths: np.ndarray, tags: np.ndarray) -> None:
        self.bounds = np.zeros(len(widths) + 1, np.int64)
        np.cumsum(widths, out=self.bounds[1:])
        self.tags = tags  # (entries,)

    @classmethod
    def of(cls, cells: np.ndarray, count: int, K: int) -> RaggedRows:
        """Of ascending cells, row · K + tag."""
        return cls(np.bincount(cells // K, minlength=count), (cells % K).astype(np.int32))

    def __len__(self) -> int:
        return len(self.bounds) - 1

    @property
    def widths(self) -> np.ndarray:
        """The number of entries of each row."""
        return np.diff(self.bounds)

    @property
    def owners(self) -> np.ndarray:
        """The row of each entry."""
        return np.repeat(np.arange(len(self)), self.widths)

    def entries(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """All entries of these rows, one row after the other, and how many each row has."""
        widths = self.bounds[rows + 1] - self.bounds[rows]
        return consecutive(self.bounds[rows], widths), widths

    def found(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The same where a row may be -1, which has none; and for each entry which of these rows it belongs to."""
        there = np.flatnonzero(rows >= 0)
        entries, widths = self.entries(rows[there])
        return entries, np.repeat(there, widths)

    def arrays(self, name: str) -> Arrays:
        return {f"{name}.widths": narrow(self.widths), f"{name}.tags": narrow(self.tags)}

    @classmethod
    def restore(cls, archive: Archive, name: str, count: int, K: int) -> RaggedRows:
        widths = archive.take(f"{name}.widths", "u", count)
        tags = archive.take(f"{name}.tags", "u", None)
        fits = sums_to(widths, len(tags)) and int(tags.max(initial=0)) < K
        archive.check(fits, f"the rows {name!r} do not fit their entries or the tag set")
        rows = cls(widths, tags.astype(np.int32))
        rising = bool((np.diff(rows.owners * K + rows.tags) > 0).all())
        archive.check(rising, f"the tags of the rows {name!r} do not rise")
        return rows


def sums_to(lengths: np.ndarray, total: int) -> bool:
    """Whether the lengths sum up to the total, however large the numbers a stranger wrote."""
    return int(lengths.max(initial=0)) <= total and int(lengths.sum(dtype=np.uint64)) == total


def consecutive(starts: np.ndarray | int, lengths: np.ndarray) -> np.ndarray:
    """start, start + 1, … as many as each length says, one stretch after the other."""
    places = np.repeat(starts - (np.cumsum(lengths) - lengths), lengths)
    places += np.arange(len(places))
    return places


def ranges(lengths: np.ndarray) -> np.ndarray:
    """0 … n-1 for each n, one after the other."""
    return consecutive(0, lengths)
