"""A learning curve as an HTML page: accuracy over the size of the training corpus."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tagger.experiments.crossval import CurvePoint
from tagger.reports.html import PageTemplate
from tagger.reports.svg import BOTTOM, LEFT, RIGHT, Scale, compact, curve, picture, share_axis, text, whisker
from tagger.reports.text import percent

MAX_LABELS = 8  # side by side


def curve_page(render: PageTemplate, title: str, points: Sequence[CurvePoint], metric: str = "accuracy") -> str:
    """Render the page of a learning curve with its chart and table."""
    chart = learning_curve("curve", points, metric)
    return render(title=title, points=points, picture=chart, gain=last_gain(points), metric=metric)


def last_gain(points: Sequence[CurvePoint]) -> str | None:
    """Describe the gain of the last doubling in a sentence; None for a single point."""
    if len(points) < 2:
        return None
    gain = 100 * (points[-1].score - points[-2].score)
    return f"The last doubling of the corpus brought {gain:+.2f} points."


def learning_curve(name: str, points: Sequence[CurvePoint], metric: str = "accuracy") -> str:
    """Draw the metric over the size of the training corpus, on a logarithmic axis."""
    bounds = [bound for point in points for bound in (point.score, *(point.interval or ()))]
    scale = Scale.around(min(bounds), max(bounds))
    sizes = [math.log2(max(1, point.tokens)) for point in points]
    xs = [LEFT + 20 + (RIGHT - LEFT - 40) * (size - sizes[0]) / (sizes[-1] - sizes[0] or 1) for size in sizes]
    ys = [scale.up(point.score) for point in points]
    parts = [share_axis(metric, scale), *curve(list(zip(xs, ys, strict=True)))]
    for i, (x, y, point) in enumerate(zip(xs, ys, points, strict=True), 1):
        interval = point.interval or (point.score, point.score)
        above = min(y - 9, scale.up(interval[1]) - 4)
        parts += [whisker(x, interval, scale)]
        if (len(points) - i) % math.ceil(len(points) / MAX_LABELS) == 0:  # the last point always has a label
            parts += [text(x, above, f"{100 * point.score:.1f}", "value")]
            parts += [text(x, BOTTOM + 16, compact(point.tokens))]
    parts += [text((LEFT + RIGHT) / 2, BOTTOM + 32, "tokens of the training corpus")]
    numbers = "; ".join(f"{point.tokens:,} tokens: {percent(point.score, 1)}" for point in points)
    return picture(name, "Learning curve", f"{numbers}.", parts, BOTTOM + 42)
