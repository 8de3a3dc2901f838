"""doccano: an object per line, `{"text": "...", "label": [[0, 3, "PER"], ...]}`.

Newer versions write `entities`, objects with `start_offset`, `end_offset` and `label`; both are read, and lists are
written, which every version imports.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tagger.corpus.annotation.labeled_text import Label, LabeledText
from tagger.corpus.annotation.records import (
    checked_label,
    json_line,
    json_records,
    keys_of,
    list_of,
    other_keys,
    text_of,
)
from tagger.files.writing import open_output

KEYS = ("label", "labels", "entities")  # that labels may be under


def read(path: str, encoding: str) -> list[LabeledText]:
    """Read the texts of a file; records with the same id are those of several annotators."""
    texts = []
    for place, record in json_records(path, encoding):
        text = text_of(record, "text", place)
        found = list_of(record, next((key for key in KEYS if record.get(key)), KEYS[0]), place)
        labels = tuple(read_label(item, text, place) for item in found)
        key = f"id {record['id']}" if "id" in record else ""
        texts.append(LabeledText(text, labels, other_keys(record, "text", *KEYS), key=key))
    return texts


def read_label(item: Any, text: str, place: str) -> Label:
    """Read a label, a list or an object."""
    if isinstance(item, dict):
        item = [item.get("start_offset"), item.get("end_offset"), item.get("label")]
    begin, end, name = item if isinstance(item, list) and len(item) == 3 else (None, None, None)
    return checked_label(begin, end, name, text, place)


def write(path: str, texts: Sequence[LabeledText], suggested: bool) -> None:
    """Write a line per text; a suggestion is a label like any other."""
    with open_output(path) as stream:
        for text in texts:
            labels = [list(label) for label in text.labels]
            stream.write(json_line({**keys_of(text), "text": text.text, "label": labels}))
