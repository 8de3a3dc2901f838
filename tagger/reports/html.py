"""The Jinja2 environment of all pages, and the filters that prepare text and numbers for them.

Words and tags come from anywhere. The templates escape them (Jinja2's autoescape), they never get into a script, and a
content security policy forbids the page any request. `templates/base.html` has the frame and the style sheet. Jinja2
belongs to the extra `report` and is imported only here.
"""

from __future__ import annotations

from collections.abc import Callable

from tagger.errors import TaggerError
from tagger.escaping import shortened, visible
from tagger.reports.text import percent

PageTemplate = Callable[..., str]  # from the values of a page to its text

MAX_LENGTH = 40  # characters shown of a word, a tag or a reason


def page_template(name: str) -> PageTemplate:
    """Load the function that renders a page; raise a `TaggerError` without Jinja2: callers load it before any work."""
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError:
        hint = "expected the library Jinja2: pip install 'hmm-crf-tagger[report]'"
        raise TaggerError(f"cannot make a report: {hint}") from None
    environment = Environment(
        loader=PackageLoader("tagger.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(percent=percent, short=short, visible=visible)
    return environment.get_template(name).render


def short(text: str) -> str:
    """Make a word, a tag or a reason visible in at most MAX_LENGTH of its characters."""
    return visible(text) if len(text) <= MAX_LENGTH else shortened(text, MAX_LENGTH - 1)
