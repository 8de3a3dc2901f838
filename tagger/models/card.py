"""Model cards: what a model was trained on, how accurate it is and where its limits are, in the words of its author.

A card is text in the description of a model file (Mitchell et al. 2019, *Model cards for model reporting*). It begins
with lines `key: value`, up to a blank line; `tagger models` shows `language`, `tags` and `accuracy`. What follows is
free text. A model file may come from a stranger: the length of a card is limited, and who prints it escapes it.
"""

from __future__ import annotations

from tagger.arrays.npz import Archive
from tagger.errors import ModelError

MAX_CARD_LENGTH = 20_000  # characters


def card_fields(card: str | None) -> dict[str, str]:
    """Return the lines `key: value` at the beginning of a card, by key; the first line of another form ends them."""
    fields: dict[str, str] = {}
    for line in (card or "").split("\n"):
        key, colon, value = line.partition(":")
        if not colon:
            break
        fields[key.strip()] = value.strip()
    return fields


def check_card(card: str | None, name: str) -> None:
    """Refuse a card that no program would read back; `name` is that of the file to write."""
    if card is not None and len(card) > MAX_CARD_LENGTH:
        raise ModelError(f"{name}: expected a card of at most {MAX_CARD_LENGTH:,} characters, got {len(card):,}")


def restore_card(archive: Archive) -> str | None:
    """Return the card in the description of an archive; None if there is none."""
    card = archive.meta.get("card")
    valid = card is None or (isinstance(card, str) and len(card) <= MAX_CARD_LENGTH)
    archive.check(valid, f"expected a card of at most {MAX_CARD_LENGTH:,} characters")
    return card
