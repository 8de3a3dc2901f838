"""What a format cannot express is refused when it is written, so that nothing comes back as something else."""

from __future__ import annotations

from collections.abc import Sequence

from tagger.errors import CorpusError
from tagger.escaping import quote


def checked(text: str, forbidden: str) -> str:
    """The word or tag itself, if it is not empty and has none of the forbidden characters."""
    if not text or not set(forbidden).isdisjoint(text):
        found = "an empty word or tag" if not text else quote(text)
        raise CorpusError(f"{found} cannot be written in this format; try --output-format jsonl")
    return text


def all_checked(texts: Sequence[str], forbidden: str) -> Sequence[str]:
    """The same for many: one look at all of them together, and a closer one only where something is wrong."""
    if "" in texts or not set(forbidden).isdisjoint("".join(texts)):
        for text in texts:
            checked(text, forbidden)
    return texts


def ending(text: str, forbidden: str) -> str:
    """The same for what ends a line, which must not look like a part of the line's end."""
    return checked(text, forbidden + "\r" if text.endswith("\r") else forbidden)
