"""Numbers to pictures: small SVGs that stand inside a page and take its colours.

Two kinds are needed, curves and bars, so they are drawn here, in a few lines and without a plotting library. The text
stays text (it can be read aloud, searched and enlarged), and colours are classes that the page's style sheet defines,
so that dark mode needs no second picture. A picture is as wide as a telephone's screen. Lengths are in its own units,
x to the right and y downwards.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from tagger.evaluation.breakdown import ConfidenceGroup, Group
from tagger.evaluation.significance import Interval
from tagger.experiments.crossval import CurvePoint

WIDTH, HEIGHT = 360, 280
LEFT, RIGHT, TOP, BOTTOM = 46, 350, 18, 208  # of the plane within the axes
MOST_LABELS = 8  # side by side


@dataclass(frozen=True)
class Scale:
    """Shares on the way up: those of the lines across the plane, the lowest at the bottom, the highest at the top."""

    marks: Sequence[float]

    @classmethod
    def around(cls, low: float, high: float) -> Scale:
        """Whole percents that enclose both, six of them or fewer."""
        step = next(step for step in (1, 2, 5, 10, 20) if 100 * (high - low) <= 4 * step or step == 20)
        first = math.floor(100 * low / step)
        last = min(max(math.ceil(100 * high / step), first + 1), 100 // step)
        return cls([step * i / 100 for i in range(min(first, last - 1), last + 1)])

    def up(self, share: float) -> float:
        low, high = self.marks[0], self.marks[-1]
        return BOTTOM - (BOTTOM - TOP) * (share - low) / (high - low)


WHOLE = Scale([0, 0.2, 0.4, 0.6, 0.8, 1])


def learning_curve(name: str, points: Sequence[CurvePoint]) -> str:
    """Accuracy over the size of the training corpus, which doubles from point to point."""
    bounds = [bound for point in points for bound in (point.accuracy, *(point.interval or ()))]
    scale = Scale.around(min(bounds), max(bounds))
    sizes = [math.log2(max(1, point.tokens)) for point in points]
    xs = [LEFT + 20 + (RIGHT - LEFT - 40) * (size - sizes[0]) / (sizes[-1] - sizes[0] or 1) for size in sizes]
    parts = [
        share_axis("accuracy", scale),
        *curve([(x, scale.up(p.accuracy)) for x, p in zip(xs, points, strict=True)]),
    ]
    for i, (x, point) in enumerate(zip(xs, points, strict=True), 1):
        interval = point.interval or (point.accuracy, point.accuracy)
        above = min(scale.up(point.accuracy) - 9, scale.up(interval[1]) - 4)
        parts += [whisker(x, interval, scale)]
        if (len(points) - i) % math.ceil(len(points) / MOST_LABELS) == 0:
            parts += [
                text(x, above, f"{100 * point.accuracy:.1f}", "value"),
                text(x, BOTTOM + 16, compact(point.tokens)),
            ]
    parts += [text((LEFT + RIGHT) / 2, BOTTOM + 32, "tokens of the training corpus")]
    told = "; ".join(f"{point.tokens:,} tokens: {per_cent(point.accuracy)}" for point in points)
    return picture(name, "Learning curve", f"{told}.", parts, BOTTOM + 42)


def calibration_curve(name: str, bins: Sequence[ConfidenceGroup]) -> str:
    """How often the model is right, over how sure it is; perfection is the diagonal."""
    points = [(across(row.confidence), WHOLE.up(row.accuracy or 0.0), row) for row in bins if row.tokens]
    step = (RIGHT - LEFT) / len(bins)
    parts = [
        share_axis("share that is right", WHOLE),
        line(LEFT, BOTTOM, RIGHT, TOP, "ideal"),
        *(text(across(share), BOTTOM + 16, f"{100 * share:.0f}") for share in WHOLE.marks),
        text((LEFT + RIGHT) / 2, BOTTOM + 32, "how sure the model is, %"),
        *(whisker(x, row.interval, WHOLE) for x, _, row in points),
        *curve([(x, y) for x, y, _ in points]),
        *(text(LEFT + step * (i + 0.5), BOTTOM + 50, compact(row.tokens), "count") for i, row in enumerate(bins)),
        text((LEFT + RIGHT) / 2, BOTTOM + 66, "tokens in each tenth", "count"),
    ]
    told = "; ".join(f"{row.label} sure: right {per_cent(row.accuracy)}" for row in bins if row.tokens)
    return picture(name, "Calibration", f"{told}. The dashed diagonal would be perfect.", parts)


def accuracy_bars(name: str, title: str, axis: str, groups: Sequence[Group]) -> str:
    """The accuracy of each group, and its size below."""
    step = (RIGHT - LEFT) / len(groups)
    parts = [share_axis("accuracy", WHOLE)]
    for i, row in enumerate(groups):
        x = LEFT + step * (i + 0.5)
        parts += [text(x, BOTTOM + 16, row.label), text(x, BOTTOM + 50, compact(row.tokens), "count")]
        if row.accuracy is not None:
            top, wide = WHOLE.up(row.accuracy), 0.68 * step
            size = f'x="{x - wide / 2:.1f}" y="{top:.1f}" width="{wide:.1f}" height="{BOTTOM - top:.1f}"'
            above = min(top, WHOLE.up(row.interval[1])) - 4
            parts += [f'<rect class="bar" {size}/>', whisker(x, row.interval, WHOLE)]
            parts += [text(x, above, f"{100 * row.accuracy:.1f}", "value")]
    parts += [text((LEFT + RIGHT) / 2, BOTTOM + 32, axis)]
    parts += [text((LEFT + RIGHT) / 2, BOTTOM + 66, "tokens in each group", "count")]
    told = "; ".join(f"{row.label}: {per_cent(row.accuracy)}" for row in groups if row.tokens)
    return picture(name, title, f"{axis}: {told}.", parts)


def picture(name: str, title: str, description: str, parts: Sequence[str], height: float = HEIGHT) -> str:
    """`name` is unique on the page."""
    return (
        f'<svg role="img" viewBox="0 0 {WIDTH} {height}" aria-labelledby="{name}-title {name}-desc">'
        f'<title id="{name}-title">{escape(title)}</title><desc id="{name}-desc">{escape(description)}</desc>'
        f"{''.join(parts)}</svg>"
    )


def share_axis(label: str, scale: Scale) -> str:
    """Percents, upwards, with lines across the plane."""
    marks = []
    for share in scale.marks:
        y = scale.up(share)
        marks += [line(LEFT, y, RIGHT, y, "grid"), text(LEFT - 6, y + 4, f"{100 * share:.0f}", "left")]
    middle = (TOP + BOTTOM) / 2
    turned = f'<text transform="translate(12 {middle}) rotate(-90)">{escape(label)}, %</text>'
    return "".join(marks) + turned


def curve(points: Sequence[tuple[float, float]]) -> list[str]:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dots = [f'<circle class="point" cx="{x:.1f}" cy="{y:.1f}" r="4"/>' for x, y in points]
    return [f'<polyline class="curve" points="{path}"/>', *dots]


def whisker(x: float, interval: Interval, scale: Scale) -> str:
    low, high = interval
    return line(x, scale.up(low), x, scale.up(high), "whisker")


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def text(x: float, y: float, content: str, kind: str = "mark") -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}">{escape(content)}</text>'


def across(share: float) -> float:
    return LEFT + (RIGHT - LEFT) * share


def per_cent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f} %"


def compact(count: int) -> str:
    """1234 is 1.2k: four letters at most, for the labels of narrow bars."""
    for unit, size in (("M", 10**6), ("k", 10**3)):
        if count >= size:
            value = count / size
            return f"{value:.0f}{unit}" if value >= 9.95 else f"{value:.1f}{unit}"
    return str(count)
