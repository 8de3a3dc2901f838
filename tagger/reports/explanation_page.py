"""Explanations as an HTML page: each token with its tag, its runner-up and the terms of the score difference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tagger.models.explain import Explanation
from tagger.reports.html import PageTemplate

BAR_WIDTH = 4.0  # em, of a token's strongest reason


@dataclass(frozen=True)
class ReasonBar:
    """A reason with the bar that shows its sign and size."""

    name: str
    value: float
    side: str  # a class of the style sheet: "for" the tag, or "against" it
    width: float  # em


def explanation_page(render: PageTemplate, explained: Sequence[Sequence[Explanation]]) -> str:
    """Render the page of explained sentences; the reasons of a token unfold."""
    sentences = [[(token, reason_bars(token)) for token in tokens] for tokens in explained]
    return render(title="Explanation of tags", sentences=sentences)


def reason_bars(token: Explanation) -> list[ReasonBar]:
    """Scale the bars of a token's reasons to the strongest one."""
    widest = max((abs(reason.value) for reason in token.reasons), default=1.0) or 1.0
    return [
        ReasonBar(
            reason.name, reason.value, "against" if reason.value < 0 else "for", BAR_WIDTH * abs(reason.value) / widest
        )
        for reason in token.reasons
    ]
