"""Tables of a model with names instead of numbers: for people, spreadsheets and `tagger inspect --table`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class LabeledRows:
    """A table of rows: names first, one number last."""

    head: tuple[str, ...]
    rows: Iterable[tuple[Any, ...]]


LabeledTables = dict[str, Callable[[], LabeledRows]]  # by name, made when needed


@dataclass(frozen=True)
class SparseTable:
    """A table (rows, columns) with names, most of whose numbers are not stored.

    Attributes
    ----------
    row_names, column_names : list of str
        The names, for example the tags and the words.
    rows, columns : ndarray of int
        The place of each stored number.
    values : ndarray of float
        The stored numbers.
    missing : ndarray of float
        For each row, the number at all places that are not stored; nan if they have no number in common.

    Examples
    --------
    >>> from tagger import HMMTagger
    >>> settings = {"order": 1, "smoothing": "none", "unknown": "floor"}
    >>> B = HMMTagger(**settings).fit([["the", "dog"]], [["D", "N"]]).B_
    >>> B.shape, B["N", "dog"], B["D", "dog"]
    ((2, 2), 1.0, 0.0)
    """

    row_names: Sequence[str]
    column_names: Sequence[str]
    rows: np.ndarray
    columns: np.ndarray
    values: np.ndarray
    missing: np.ndarray

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        return len(self.row_names), len(self.column_names)

    def __getitem__(self, names: tuple[str, str]) -> float:
        """Return the number in the row and the column of these names."""
        row, column = list(self.row_names).index(names[0]), list(self.column_names).index(names[1])
        stored = np.flatnonzero((self.rows == row) & (self.columns == column))
        return float(self.values[stored[0]] if len(stored) else self.missing[row])

    def toarray(self) -> np.ndarray:
        """Make the whole array, (rows, columns)."""
        out = np.tile(self.missing[:, None], (1, len(self.column_names)))
        out[self.rows, self.columns] = self.values
        return out

    def labeled(self, *head: str) -> LabeledRows:
        """List the stored numbers with their names, row after row."""
        order = np.lexsort((self.columns, self.rows)).tolist()
        cells = zip(self.rows.tolist(), self.columns.tolist(), self.values.tolist(), strict=True)
        listed = list(cells)
        rows = ((self.row_names[listed[i][0]], self.column_names[listed[i][1]], listed[i][2]) for i in order)
        return LabeledRows(head, rows)

    def __repr__(self) -> str:
        rows, columns = self.shape
        return f"SparseTable({rows:,} × {columns:,}, {len(self.values):,} numbers stored)"
