"""Charts as small inline SVGs: calibration plot, bar chart, and the shapes that charts are made of.

Two kinds of chart need no plotting library. Text stays text, so that it can be read aloud, searched and enlarged.
Colours are classes of the page's style sheet, which makes dark mode possible without a second chart. A chart is as wide
as the screen of a telephone. Lengths are in SVG units, x to the right and y downwards.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from tagger.evaluation.breakdown import Group
from tagger.evaluation.calibration import ConfidenceGroup
from tagger.evaluation.significance import Interval
from tagger.reports.text import percent

WIDTH, HEIGHT = 360, 280
LEFT, RIGHT, TOP, BOTTOM = 46, 350, 18, 208  # the area within the axes


@dataclass(frozen=True)
class Scale:
    """The vertical axis of shares from 0 to 1: a grid line at each mark, the lowest at the bottom."""

    marks: Sequence[float]

    @classmethod
    def around(cls, low: float, high: float) -> Scale:
        """Choose up to six marks at whole percents that enclose both bounds."""
        step = next(step for step in (1, 2, 5, 10, 20) if 100 * (high - low) <= 4 * step or step == 20)
        first = math.floor(100 * low / step)
        last = min(max(math.ceil(100 * high / step), first + 1), 100 // step)
        return cls([step * i / 100 for i in range(min(first, last - 1), last + 1)])

    def up(self, share: float) -> float:
        """Return the y coordinate of a share."""
        low, high = self.marks[0], self.marks[-1]
        return BOTTOM - (BOTTOM - TOP) * (share - low) / (high - low)


WHOLE = Scale([0, 0.2, 0.4, 0.6, 0.8, 1])


def calibration_curve(name: str, bins: Sequence[ConfidenceGroup]) -> str:
    """Draw accuracy over confidence, a reliability diagram; perfect calibration is the diagonal."""
    points = [(across(row.confidence), WHOLE.up(row.accuracy or 0.0), row) for row in bins if row.tokens]
    step = (RIGHT - LEFT) / len(bins)
    parts = [
        share_axis("accuracy", WHOLE),
        line(LEFT, BOTTOM, RIGHT, TOP, "ideal"),
        *(text(across(share), BOTTOM + 16, f"{100 * share:.0f}") for share in WHOLE.marks),
        text((LEFT + RIGHT) / 2, BOTTOM + 32, "confidence of the model, %"),
        *(whisker(x, row.interval, WHOLE) for x, _, row in points),
        *curve([(x, y) for x, y, _ in points]),
        *(text(LEFT + step * (i + 0.5), BOTTOM + 50, compact(row.tokens), "count") for i, row in enumerate(bins)),
        text((LEFT + RIGHT) / 2, BOTTOM + 66, "tokens in each tenth", "count"),
    ]
    numbers = "; ".join(f"confidence {row.label}: accuracy {percent(row.accuracy, 1)}" for row in bins if row.tokens)
    return picture(name, "Calibration", f"{numbers}. The dashed diagonal is perfect calibration.", parts)


def accuracy_bars(name: str, title: str, axis: str, groups: Sequence[Group]) -> str:
    """Draw the accuracy of each group as a bar, and its size below."""
    step = (RIGHT - LEFT) / len(groups)
    parts = [share_axis("accuracy", WHOLE)]
    for i, row in enumerate(groups):
        x = LEFT + step * (i + 0.5)
        parts += [text(x, BOTTOM + 16, row.label), text(x, BOTTOM + 50, compact(row.tokens), "count")]
        if row.accuracy is not None:
            top, width = WHOLE.up(row.accuracy), 0.68 * step
            size = f'x="{x - width / 2:.1f}" y="{top:.1f}" width="{width:.1f}" height="{BOTTOM - top:.1f}"'
            above = min(top, WHOLE.up(row.interval[1])) - 4
            parts += [f'<rect class="bar" {size}/>', whisker(x, row.interval, WHOLE)]
            parts += [text(x, above, f"{100 * row.accuracy:.1f}", "value")]
    parts += [text((LEFT + RIGHT) / 2, BOTTOM + 32, axis)]
    parts += [text((LEFT + RIGHT) / 2, BOTTOM + 66, "tokens in each group", "count")]
    numbers = "; ".join(f"{row.label}: {percent(row.accuracy, 1)}" for row in groups if row.tokens)
    return picture(name, title, f"{axis}: {numbers}.", parts)


def picture(name: str, title: str, description: str, parts: Sequence[str], height: float = HEIGHT) -> str:
    """Join parts to an SVG with a title and a description for screen readers; `name` is unique on the page."""
    return (
        f'<svg role="img" viewBox="0 0 {WIDTH} {height}" aria-labelledby="{name}-title {name}-desc">'
        f'<title id="{name}-title">{escape(title)}</title><desc id="{name}-desc">{escape(description)}</desc>'
        f"{''.join(parts)}</svg>"
    )


def share_axis(label: str, scale: Scale) -> str:
    """Draw the vertical axis in percent, with a grid line at each mark."""
    parts = []
    for share in scale.marks:
        y = scale.up(share)
        parts += [line(LEFT, y, RIGHT, y, "grid"), text(LEFT - 6, y + 4, f"{100 * share:.0f}", "left")]
    middle = (TOP + BOTTOM) / 2
    turned = f'<text transform="translate(12 {middle}) rotate(-90)">{escape(label)}, %</text>'
    return "".join(parts) + turned


def curve(points: Sequence[tuple[float, float]]) -> list[str]:
    """Draw a line through points, and the points."""
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dots = [f'<circle class="point" cx="{x:.1f}" cy="{y:.1f}" r="4"/>' for x, y in points]
    return [f'<polyline class="curve" points="{path}"/>', *dots]


def whisker(x: float, interval: Interval, scale: Scale) -> str:
    """Draw an interval as a vertical stroke."""
    low, high = interval
    return line(x, scale.up(low), x, scale.up(high), "whisker")


def line(x1: float, y1: float, x2: float, y2: float, style: str) -> str:
    """Draw a line in a class of the style sheet."""
    return f'<line class="{style}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def text(x: float, y: float, content: str, style: str = "mark") -> str:
    """Write text in a class of the style sheet."""
    return f'<text class="{style}" x="{x:.1f}" y="{y:.1f}">{escape(content)}</text>'


def across(share: float) -> float:
    """Return the x coordinate of a share."""
    return LEFT + (RIGHT - LEFT) * share


def compact(count: int) -> str:
    """Write a count in at most four characters for the labels of narrow bars: 1234 is 1.2k."""
    for unit, size in (("M", 10**6), ("k", 10**3)):
        if count >= size:
            value = count / size
            return f"{value:.0f}{unit}" if value >= 9.95 else f"{value:.1f}{unit}"
    return str(count)
