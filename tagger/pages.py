"""What all pages made with Jinja2 share: the library itself, of the extra `report`, and how text gets into a page.

Words and tags come from anywhere. The templates escape all of them (Jinja2's autoescape), they never get into a script,
and a content security policy forbids the page any request. `templates/base.html` has the frame and the style sheet.
"""

from __future__ import annotations

import re
from typing import Any

from tagger.errors import TaggerError
from tagger.metrics import Rate

LONG = 40  # characters of a word, a tag or a reason
# What would move the text around it or break the line: controls, lone surrogates, the bidirectional overrides.
UNRULY = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def page_template(name: str) -> Any:
    """Before any work is done: whether there is what draws the page."""
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError:
        hint = "expected the library Jinja2: pip install 'hmm-crf-tagger[report]'"
        raise TaggerError(f"cannot make a report: {hint}") from None
    rooms = Environment(
        loader=PackageLoader("tagger"), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    rooms.filters.update(percent=percent, short=short, tame=tame)
    return rooms.get_template(name)


def tame(text: str) -> str:
    """Text that stays in its place."""
    return UNRULY.sub("\N{REPLACEMENT CHARACTER}", text)


def short(text: str) -> str:
    """A word, a tag or a reason as it is shown."""
    whole = tame(text)
    return whole if len(whole) <= LONG else whole[: LONG - 1] + "…"


def percent(rate: Rate, digits: int = 1) -> str:
    return "–" if rate is None else f"{100 * rate:.{digits}f} %"
