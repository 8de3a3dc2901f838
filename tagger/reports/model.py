"""A model as one HTML page: what `tagger inspect` tells, and a heat map of which tag likes to follow which."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tagger.models.base import Tagger, TransitionTable

SHOWN = 30  # tags in the heat map
SHADES = 6


@dataclass(frozen=True)
class Cell:
    text: str
    shade: str  # a class of the style sheet: s1 to s6 for liked, n1 to n6 for disliked steps


@dataclass(frozen=True)
class Heat:
    """A row for each tag and one for the beginning of sentences, a column for each tag and one for their end."""

    unit: str
    tags: list[str]
    left_out: int  # rarer tags
    rows: list[list[Cell]]


def model_page(template: Any, title: str, model: Tagger) -> str:
    page: str = template.render(title=title, sections=model.summarize(), heat=heat_map(model))
    return page


def heat_map(model: Tagger) -> Heat | None:
    """Of the most frequent tags."""
    steps = model.transition_table()
    if steps is None:
        return None
    K = len(model.classes_)
    chosen = np.argsort(-model.tag_counts(), kind="stable")[:SHOWN]
    inside = np.append(chosen, K)
    tags = [model.classes_[k] for k in chosen.tolist()]
    return Heat(
        steps.unit, tags, K - len(tags), cells(TransitionTable(steps.unit, steps.values[np.ix_(inside, inside)]))
    )


def cells(steps: TransitionTable) -> list[list[Cell]]:
    """The farther from zero, the darker; what was never seen, or hardly ever, is left empty."""
    most = float(np.abs(steps.values).max(initial=0.0)) or 1.0
    form = "{:+.1f}" if steps.unit == "weight" else "{:.2f}"

    def cell(value: float) -> Cell:
        shade = round(SHADES * abs(value) / most)
        shown = form.format(value)
        text = "" if not float(shown) else shown.removeprefix("0" if steps.unit == "probability" else "")
        return Cell(text, f"{'n' if value < 0 else 's'}{shade}" if shade else "")

    return [[cell(value) for value in row] for row in steps.values.tolist()]
