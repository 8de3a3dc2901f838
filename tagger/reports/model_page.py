"""A model as an HTML page: the tables of `tagger inspect`, and a heat map of its transitions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tagger.models.base import Tagger
from tagger.models.summary import TransitionTable
from tagger.reports.html import PageTemplate

TAGS_SHOWN = 30  # in the heat map
SHADES = 6  # of the heat map


@dataclass(frozen=True)
class Cell:
    """A cell of the heat map."""

    text: str
    shade: str  # a class of the style sheet: s1 to s6 for positive, n1 to n6 for negative numbers


@dataclass(frozen=True)
class Heat:
    """A heat map of transitions: rows are previous tags and the start, columns next tags and the end."""

    unit: str
    tags: list[str]
    left_out: int  # rarer tags
    rows: list[list[Cell]]


def model_page(render: PageTemplate, title: str, model: Tagger) -> str:
    """Render the page of a model."""
    return render(title=title, sections=model.summarize(), heat=heat_map(model))


def heat_map(model: Tagger) -> Heat | None:
    """Make the heat map of the most frequent tags; None for a model without transitions."""
    steps = model.transition_table()
    if steps is None:
        return None
    K = len(model.classes_)
    chosen = np.argsort(-model.tag_counts(), kind="stable")[:TAGS_SHOWN]
    inside = np.append(chosen, K)  # K: start and end
    tags = [model.classes_[k] for k in chosen.tolist()]
    return Heat(
        steps.unit, tags, K - len(tags), cells(TransitionTable(steps.unit, steps.values[np.ix_(inside, inside)]))
    )


def cells(steps: TransitionTable) -> list[list[Cell]]:
    """Format the numbers: the farther from zero, the darker; a number that rounds to zero is left out."""
    most = float(np.abs(steps.values).max(initial=0.0)) or 1.0
    form = "{:+.1f}" if steps.unit == "weight" else "{:.2f}"

    def cell(value: float) -> Cell:
        shade = round(SHADES * abs(value) / most)
        shown = form.format(value)
        text = "" if not float(shown) else shown.removeprefix("0" if steps.unit == "probability" else "")
        return Cell(text, f"{'n' if value < 0 else 's'}{shade}" if shade else "")

    return [[cell(value) for value in row] for row in steps.values.tolist()]
