"""Text that is safe to show: the one definition of what a terminal or a page could obey.

Words, tags and file names come from anywhere. Controls can clear a screen or end a line, and the bidirectional
overrides and isolates can turn the direction of the text around them. Those characters are written out as Python
writes them (`\\x1b`, `\\u202e`). All others stay, for words consist of them: the joiners of Persian and Hindi
(U+200C, U+200D), spaces inside words (U+00A0, U+3000), letters that are newer than this Python.

Data in files (corpora, JSON, TSV) is not escaped here: a format has its own rules. `writing.Screen` escapes it when it
goes to a terminal.
"""

from __future__ import annotations

import re

# C0, DEL and C1, line and paragraph separator, bidirectional embeddings, overrides and isolates, lone surrogates
UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(text: str, keep: str = "") -> str:
    """Write out every unsafe character, except those in `keep`."""
    return UNSAFE.sub(lambda found: found[0] if found[0] in keep else repr(found[0])[1:-1], text)


def shortened(text: str, limit: int = 40) -> str:
    """Make text visible, and cut it to its first `limit` characters."""
    return visible(text[:limit]) + "…" * (len(text) > limit)


def quote(text: str, limit: int = 40) -> str:
    """Make text visible between quotes, as `repr` does; cut it to its first `limit` characters."""
    begin = text[:limit]
    mark = '"' if "'" in begin and '"' not in begin else "'"
    inside = begin.replace("\\", "\\\\").replace(mark, f"\\{mark}")
    return mark + visible(inside) + mark + "…" * (len(text) > limit)


def encoded(text: str) -> bytes:
    """Encode a message, table or page as UTF-8; half a character, which UTF-8 cannot hold, is written out."""
    return text.encode("utf-8", "backslashreplace")
