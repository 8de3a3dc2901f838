"""Figures for papers and notebooks: SVG files of their own, with their colours inside."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tagger.evaluation.breakdown import confusion_grid
from tagger.evaluation.metrics import Evaluation
from tagger.experiments.crossval import CurvePoint
from tagger.reports.curve_page import learning_curve
from tagger.reports.html import short
from tagger.reports.svg import WIDTH, compact, picture, text

CELL = 21  # width and height of a cell of the confusion matrix
MARGIN = 50  # for the names of tags
SHADES = 6
OTHERS = "other"
NAME = "tagger-figure"  # class of the figure, to which its style is limited
STYLE = {  # text and lines take the colour of the page around them: black, or light on a dark page
    "text": "font: 11px system-ui, sans-serif; fill: currentColor; text-anchor: middle",
    ".left": "text-anchor: end",
    ".mark, .count": "fill-opacity: .75",
    ".grid, .cell": "stroke: currentColor; stroke-opacity: .25; fill: none",
    ".whisker": "stroke: currentColor; stroke-opacity: .55",
    ".curve": "fill: none; stroke: #3f84bd; stroke-width: 2",
    ".point": "fill: #3f84bd",
    ".small": "font-size: 8px",
    ".s1": "fill: #fdf0e0",
    ".s2": "fill: #f9d9b3",
    ".s3": "fill: #f2b978",
    ".s4": "fill: #de9340",
    ".s5": "fill: #a85f0c",
    ".s6": "fill: #6f3b00",
    ".light": "fill: #fff",
    ".dark": "fill: #1b1f24",
}


def curve_figure(points: Sequence[CurvePoint], metric: str = "accuracy") -> str:
    """Draw a learning curve as an SVG file."""
    return standalone(learning_curve("curve", points, metric))


def confusion_figure(evaluation: Evaluation) -> str:
    """Draw the confusions of the tags with most errors as an SVG file: gold tags in rows, predicted ones in columns."""
    grid = confusion_grid(evaluation)
    names = [*grid.tags, *([OTHERS] if grid.others else [])]
    size = CELL * len(names)
    right = {(i, i) for i in range(len(grid.tags))}  # where the last row and column cross there are only errors
    most = max((n for i, row in enumerate(grid.counts) for j, n in enumerate(row) if (i, j) not in right), default=0)
    parts = [text(MARGIN + size / 2, 12, "predicted tag"), rotated(10, MARGIN + size / 2, "gold tag")]
    for i, name in enumerate(names):
        middle = MARGIN + CELL * (i + 0.5)
        parts += [
            text(MARGIN - 4, middle + 4, short(name), "left"),
            rotated(middle + 4, MARGIN - 4, short(name), "start"),
        ]
        parts += [cell(i, j, grid.counts[i][j], 0 if (i, j) in right else most) for j in range(len(names))]
    worst = "; ".join(f"{c.gold} as {c.guess}: {c.count}" for c in evaluation.confusions[:5])
    drawn = picture("confusions", "Confusions", f"Most frequent: {worst}.", parts, MARGIN + size + 6)
    return standalone(drawn.replace(f"0 0 {WIDTH} ", f"0 0 {max(WIDTH, MARGIN + size + 6)} ", 1))


def cell(i: int, j: int, count: int, most: int) -> str:
    """Draw a cell of the matrix: darker for more errors, at most `most`; without colour if these are no errors."""
    x, y = MARGIN + CELL * j, MARGIN + CELL * i
    shade = 0 if not (most and count) else 1 + round((SHADES - 1) * math.log(count) / (math.log(most) or 1))
    style = f"s{shade}" if shade else "cell"
    number = "mark small" if not shade else "small light" if shade > 4 else "small dark"
    box = f'<rect class="{style}" x="{x}" y="{y}" width="{CELL}" height="{CELL}"/>'
    return box + (text(x + CELL / 2, y + CELL / 2 + 3, compact(count), number) if count else "")


def rotated(x: float, y: float, content: str, anchor: str = "middle") -> str:
    """Write text upwards."""
    turned = text(0, 0, content).replace('class="mark"', f'class="mark" style="text-anchor: {anchor}"')
    return f'<g transform="translate({x:.1f} {y:.1f}) rotate(-90)">{turned}</g>'


def standalone(drawing: str) -> str:
    """Give an inline SVG its name space and its colours, which apply to nothing else on a page."""
    begin, inside = drawing.split(">", 1)
    rules = "".join(
        f"{', '.join(f'.{NAME} {part}' for part in selector.split(', '))} {{ {style} }}\n"
        for selector, style in STYLE.items()
    )
    return f'{begin} class="{NAME}" xmlns="http://www.w3.org/2000/svg"><style>\n{rules}</style>{inside}'
