"""Escape text for terminals, messages and pages, and show objects in notebooks.

Words, tags and file names come from untrusted files. Control characters can clear a screen or end a line, and
bidirectional overrides and isolates reverse the text around them. These characters are written as Python escapes
(`\\x1b`, `\\u202e`). All others are kept, because words contain them: the joiners of Persian and Hindi (U+200C,
U+200D), spaces inside words (U+00A0, U+3000), letters newer than this Python.

Data in files (corpora, JSON, TSV) is not escaped here: each format has its own rules. `files.writing.TerminalWriter`
escapes data that is written to a terminal.
"""

from __future__ import annotations

import re

# C0, DEL and C1, line and paragraph separator, bidirectional embeddings, overrides and isolates, lone surrogates
UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(text: str, keep: str = "") -> str:
    """Escape every unsafe character, except those in `keep`."""
    return UNSAFE.sub(lambda match: match[0] if match[0] in keep else repr(match[0])[1:-1], text)


def shortened(text: str, limit: int = 40) -> str:
    """Escape text and cut it to its first `limit` characters."""
    return visible(text[:limit]) + "…" * (len(text) > limit)


def quote(text: str, limit: int = 40) -> str:
    """Escape text between quotes, as `repr` does, and cut it to its first `limit` characters."""
    begin = text[:limit]
    mark = '"' if "'" in begin and '"' not in begin else "'"
    inside = begin.replace("\\", "\\\\").replace(mark, f"\\{mark}")
    return mark + visible(inside) + mark + "…" * (len(text) > limit)


def encoded(text: str) -> bytes:
    """Encode a message, table or page as UTF-8; lone surrogates, which UTF-8 cannot hold, are escaped."""
    return text.encode("utf-8", "backslashreplace")


class Displayable:
    """A base of objects that notebooks show as HTML; `reports.notebook` has the HTML of each type."""

    __slots__ = ()

    def _repr_html_(self) -> str | None:
        from tagger.reports.notebook import html_of

        return html_of(self)
