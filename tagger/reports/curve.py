"""A learning curve as one HTML page: would more data help?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tagger.experiments.crossval import CurvePoint
from tagger.reports import svg


def curve_page(template: Any, title: str, points: Sequence[CurvePoint]) -> str:
    page: str = template.render(
        title=title, points=points, picture=svg.learning_curve("curve", points), gain=last_gain(points)
    )
    return page


def last_gain(points: Sequence[CurvePoint]) -> str | None:
    """What the last doubling has brought, as a sentence."""
    if len(points) < 2:
        return None
    gain = 100 * (points[-1].accuracy - points[-2].accuracy)
    return f"The last doubling of the corpus brought {gain:+.2f} points."
