"""Trellises as an HTML page: the lattice as SVG, and the recursions step by step.

The picture is laid out here and drawn by the template: a column for each token, a node for each state, and a line for
each step, as thick as it is probable. A script in the template steps through the recursions. It gets the numbers of
`trellis.as_json` from an attribute of the section, as text that is escaped like any other.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby
from typing import Any

from tagger.errors import TaggerError
from tagger.escaping import visible
from tagger.models.trellis import TAGS_SHOWN, SentenceTrellis
from tagger.models.trellis_view import TrellisView
from tagger.reports.html import PageTemplate, page_template, short
from tagger.reports.text import width
from tagger.reports.trellis import as_json, cut, label, mapped

LETTER, MARGIN = 7.4, 10.0  # width of a letter, and of the space beside a label
MIN_NODE, NODE_HEIGHT = 58.0, 38.0
MAX_LETTERS = 24  # of a label
GAP, ROW, TOP = 58.0, 52.0, 34.0  # between columns, from row to row, above the first row
MAX_EDGES = 5000  # from here on, only probable steps are drawn
MIN_PROBABILITY = 0.001  # of these

FRAME = '<iframe title="Trellis" srcdoc="{}" style="width:100%;height:{:.0f}px;border:0"></iframe>'
FRAME_REST = 560.0  # height of a frame beyond that of the lattice


@dataclass(frozen=True)
class Node:
    """A state in the picture, at its centre."""

    x: float
    y: float
    label: str
    probability: float
    is_best: bool


@dataclass(frozen=True)
class Edge:
    """A step in the picture; `number` is its place in the list of steps."""

    number: int
    x1: float
    y1: float
    x2: float
    y2: float
    probability: float
    is_best: bool


@dataclass(frozen=True)
class Picture:
    """The lattice, in SVG units."""

    width: float
    height: float
    node_width: float
    node_height: float
    columns: list[tuple[float, str]]  # place and word
    nodes: list[Node]
    edges: list[Edge]


def trellis_page(render: PageTemplate, trellises: Sequence[SentenceTrellis], tags: int = TAGS_SHOWN) -> str:
    """Render the page of some sentences."""
    sections = []
    for trellis in trellises:
        view = trellis.view(tags)
        sections.append(
            {"trellis": trellis, "view": view, "picture": picture(trellis, view), "data": numbers(trellis, tags)}
        )
    return render(title="Trellis", sections=sections)


def numbers(trellis: SentenceTrellis, tags: int) -> str:
    """Return the numbers of a trellis for the script, with words and tags made visible."""

    def shown(value: Any) -> Any:
        return short(value) if isinstance(value, str) else value

    return json.dumps(mapped(as_json(trellis, tags), shown))


def picture(trellis: SentenceTrellis, view: TrellisView) -> Picture | None:
    """Lay out the lattice; None for a model without a chain."""
    if not view.states:
        return None
    labels = [fitting(label(state)) for state in view.states]
    widest = max(width(text) for text in [*labels, *map(fitting, trellis.words)])
    node_width = max(MIN_NODE, LETTER * widest + 2 * MARGIN)
    columns = [list(states) for _, states in groupby(view.states, key=lambda state: state.token)]
    rows = max(map(len, columns))
    xs = [node_width / 2 + 2 + t * (node_width + GAP) for t in range(len(columns))]
    # The nodes of a column are in the middle of the picture's height.
    ys = [TOP + ROW * (i + (rows - len(states) + 1) / 2) for states in columns for i in range(len(states))]
    nodes = [
        Node(xs[state.token], y, text, state.probability, state.is_best)
        for state, y, text in zip(view.states, ys, labels, strict=True)
    ]
    heads = [(x, fitting(states[0].word or states[0].tag)) for x, states in zip(xs, columns, strict=True)]
    size = (xs[-1] + node_width / 2 + 2, TOP + ROW * rows)
    return Picture(*size, node_width, NODE_HEIGHT, heads, nodes, edges(view, nodes, node_width))


def fitting(text: str) -> str:
    """Make text visible, and cut it to fit a node."""
    return cut(visible(text), MAX_LETTERS)


def edges(view: TrellisView, nodes: Sequence[Node], node_width: float) -> list[Edge]:
    """Lay out the steps, from the right side of a node to the left side of the next."""
    few = len(view.steps) <= MAX_EDGES
    out = []
    for number, step in enumerate(view.steps):
        before, after = nodes[step.before], nodes[step.after]
        if few or step.is_best or step.probability >= MIN_PROBABILITY:
            ends = (before.x + node_width / 2, before.y, after.x - node_width / 2, after.y)
            out.append(Edge(number, *ends, step.probability, step.is_best))
    return out


def notebook_frame(trellis: SentenceTrellis) -> str | None:
    """Return the page of one sentence in a frame of a notebook; None without Jinja2, so that text is shown instead."""
    try:
        render = page_template("trellis.html")
    except TaggerError:
        return None
    lattice = picture(trellis, trellis.view())
    return FRAME.format(escape(trellis_page(render, [trellis])), FRAME_REST + (lattice.height if lattice else 0.0))
