"""What all pages made with Jinja2 share: the library itself, of the extra `report`, and how text gets into a page.

Words and tags come from anywhere. The templates escape all of them (Jinja2's autoescape), they never get into a script,
and a content security policy forbids the page any request. `templates/base.html` has the frame and the style sheet.
"""

from __future__ import annotations

from typing import Any

from tagger.errors import TaggerError
from tagger.escaping import shortened, visible
from tagger.evaluation.metrics import Rate

LONG = 40  # characters of a word, a tag or a reason


def page_template(name: str) -> Any:
    """Before any work is done: whether there is what draws the page."""
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError:
        hint = "expected the library Jinja2: pip install 'hmm-crf-tagger[report]'"
        raise TaggerError(f"cannot make a report: {hint}") from None
    rooms = Environment(
        loader=PackageLoader("tagger.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    rooms.filters.update(percent=percent, short=short, visible=visible)
    return rooms.get_template(name)


def short(text: str) -> str:
    """Make a word, a tag or a reason visible in at most LONG of its characters."""
    return visible(text) if len(text) <= LONG else shortened(text, LONG - 1)


def percent(rate: Rate, digits: int = 1) -> str:
    return "–" if rate is None else f"{100 * rate:.{digits}f} %"
