"""Check that a format can express words and tags, before they are written.

Without these checks, a word with a space in it would be read back from `slash` as two words. Only `jsonl` can express
every word and tag.
"""

from __future__ import annotations

from collections.abc import Sequence

from tagger.errors import CorpusError
from tagger.escaping import quote


def check_cell(text: str, forbidden: str) -> str:
    """Return a word or tag; raise an error if it is empty or has a forbidden character."""
    if not text or not set(forbidden).isdisjoint(text):
        fault = "an empty word or tag" if not text else quote(text)
        raise CorpusError(f"{fault} cannot be written in this format. Set format to jsonl")
    return text


def check_cells(texts: Sequence[str], forbidden: str) -> Sequence[str]:
    """Check many words or tags as `check_cell` does, in one pass over their joined text unless there is a fault."""
    if "" in texts or not set(forbidden).isdisjoint("".join(texts)):
        for text in texts:
            check_cell(text, forbidden)
    return texts


def check_last(text: str, forbidden: str) -> str:
    """Check the last word or tag of a line: a final carriage return would be read as part of the line end."""
    return check_cell(text, forbidden + "\r" if text.endswith("\r") else forbidden)
