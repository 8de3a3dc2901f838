"""Tables that tell of a model: text for a person, numbers for a program.

A cell is a text, a number, or some names with a number each. Where a number is made it is said how to show it:
`Shown(0.5, ".2f")` is 0.50 to a person and 0.5 to a program.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

STEPS = 15  # transitions at either end

Cell: TypeAlias = Any  # str, int, float, bool, None, or a list of pairs (name, number)


class FormattedNumber(float):
    """A number that knows how a person wants to see it."""

    form: str

    def __new__(cls, value: float, form: str) -> FormattedNumber:
        shown = super().__new__(cls, value)
        shown.form = form
        return shown

    def __str__(self) -> str:
        return format(float(self), self.form).replace("%", " %")


@dataclass(frozen=True)
class Section:
    """A table with a title."""

    title: str
    rows: list[list[Cell]]
    head: list[str] | None = None

    @property
    def texts(self) -> list[list[str]]:
        """The rows for a person."""
        return [[text(cell) for cell in row] for row in self.rows]


def text(cell: Cell) -> str:
    if isinstance(cell, list):
        return "   ".join(f"{name} {text(number)}" for name, number in cell)
    if isinstance(cell, bool | FormattedNumber | str) or cell is None:
        return str(cell)
    return f"{cell:,}" if isinstance(cell, int) else f"{cell:,.6g}"


def steps(title: str, classes: list[str], transitions: np.ndarray, start: np.ndarray, best: bool) -> Section:
    """The transitions, and the starts of sentences, with the highest or lowest weights; those never seen have none."""
    whole = np.vstack([transitions, start])  # (K + 1, K)
    cells = np.flatnonzero(whole)
    order = np.argsort(-whole.ravel()[cells] if best else whole.ravel()[cells], kind="stable")[:STEPS]
    names = [*classes, "start of sentence"]
    rows = []
    for cell in cells[order].tolist():
        before, after = divmod(cell, len(classes))
        rows.append([names[before], classes[after], FormattedNumber(whole[before, after], "+.2f")])
    return Section(title, rows, ["previous", "next", "weight"])
