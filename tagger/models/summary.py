"""Tables about a model: text for a person, numbers for a program.

A cell is a text, a number, or a list of pairs (name, number). A number carries its format from where it is computed:
`FormattedNumber(0.5, ".2f")` is printed as 0.50 and written to JSON as 0.5.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from tagger.arrays.npz import Arrays
from tagger.words.lexicon import Lexicon

TRANSITIONS_SHOWN = 15

Cell: TypeAlias = Any  # str, int, float, bool, None, or a list of pairs (name, number)


class FormattedNumber(float):
    """A float with the format in which to print it."""

    form: str

    def __new__(cls, value: float, form: str) -> FormattedNumber:
        number = super().__new__(cls, value)
        number.form = form
        return number

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
        """The rows as text."""
        return [[text(cell) for cell in row] for row in self.rows]


@dataclass(frozen=True)
class TransitionTable:
    """The weight or probability of each step from tag to tag."""

    unit: str  # of the numbers: weight or probability
    values: np.ndarray  # (K + 1, K + 1) [previous, next]; the last row is the start, the last column the end

    @classmethod
    def of(cls, unit: str, transitions: np.ndarray, start: np.ndarray, end: np.ndarray) -> TransitionTable:
        """Build the table of a first-order chain."""
        K = len(start)
        values = np.zeros((K + 1, K + 1))
        values[:K, :K], values[K, :K], values[:K, K] = transitions, start, end
        return cls(unit, values)


def text(cell: Cell) -> str:
    """Format a cell."""
    if isinstance(cell, list):
        return "   ".join(f"{name} {text(number)}" for name, number in cell)
    if isinstance(cell, bool | FormattedNumber | str) or cell is None:
        return str(cell)
    return f"{cell:,}" if isinstance(cell, int) else f"{cell:,.6g}"


def extreme_steps(classes: list[str], transitions: np.ndarray, start: np.ndarray) -> list[Section]:
    """List the transitions and starts of highest weight, then of lowest; a weight of 0 was never seen in training."""
    weights = np.vstack([transitions, start])  # (K + 1, K)
    cells, names = np.flatnonzero(weights), [*classes, "start of sentence"]
    sections = []
    for title, sign in (("strongest transitions", -1), ("weakest transitions", 1)):
        order = np.argsort(sign * weights.ravel()[cells], kind="stable")[:TRANSITIONS_SHOWN]
        steps = (divmod(cell, len(classes)) for cell in cells[order].tolist())
        rows = [[names[u], classes[v], FormattedNumber(weights[u, v], "+.2f")] for u, v in steps]
        sections.append(Section(title, rows, ["previous", "next", "weight"]))
    return sections


def tag_frequencies(classes: list[str], lexicon: Lexicon) -> Section:
    """List the tags by their training tokens, with the number of distinct words."""
    K = len(classes)
    tokens, words = lexicon.tag_counts(K), np.bincount(lexicon.rows.tags, minlength=K)
    rows = [[classes[k], int(tokens[k]), int(words[k])] for k in np.argsort(-tokens, kind="stable").tolist()]
    return Section("tags", rows, ["tag", "tokens", "words"])


def parameter_sizes(arrays: Arrays) -> Section:
    """List the size of each group of arrays, by the first part of their names."""
    numbers: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    for name, array in arrays.items():
        group = name.split(".")[0]
        numbers[group] += array.size
        sizes[group] += array.nbytes
    rows = [[group, numbers[group], FormattedNumber(size / 1e3, ",.1f")] for group, size in sizes.most_common()]
    return Section("parts of the file", rows, ["part", "numbers", "kB unpacked"])
