"""JSON records of annotation tools: reading lines of JSON, and taking numbers and texts out of them safely."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from typing import Any

from tagger.corpus.annotation.labeled_text import Label, LabeledText
from tagger.corpus.formats.jsonl import parse_object
from tagger.errors import CorpusError
from tagger.escaping import quote
from tagger.files.reading import Lines

PROJECT = "tagger:label-studio"  # the key of a project's names in `LabeledText.source`; never written


def json_records(path: str, encoding: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the objects of a file with one per line, each with its place for messages."""
    with closing(Lines(path, encoding)) as lines:
        for line in lines:
            if line.strip():
                yield f"{lines.name}:{lines.number}", parse_object(line, lines)


def text_of(record: dict[str, Any], key: str, place: str) -> str:
    """Return the text under a key."""
    text = record.get(key)
    if not isinstance(text, str):
        raise CorpusError(f"{place}: expected a text under the key {quote(key)}, got {quote(json.dumps(text))}.")
    return text


def list_of(record: dict[str, Any], key: str, place: str) -> list[Any]:
    """Return the list under a key; an empty one if there is none."""
    found = record.get(key) or []
    if not isinstance(found, list):
        raise CorpusError(f"{place}: expected a list under the key {quote(key)}, got {quote(json.dumps(found))}.")
    return found


def objects_of(record: dict[str, Any], key: str, place: str) -> list[dict[str, Any]]:
    """Return the list of objects under a key."""
    found = list_of(record, key, place)
    if other := [item for item in found if not isinstance(item, dict)]:
        got = quote(json.dumps(other[0]))
        raise CorpusError(f"{place}: expected objects in the list under the key {quote(key)}, got {got}.")
    return found


def checked_label(begin: Any, end: Any, name: Any, text: str, place: str) -> Label:
    """Return a label whose numbers lie in the text, without white space at its ends."""
    whole = type(begin) is int and type(end) is int and isinstance(name, str) and name != ""
    if not whole or not 0 <= begin < end <= len(text):
        got = quote(json.dumps([begin, end, name], ensure_ascii=False))
        raise CorpusError(f"{place}: expected a label as begin, end and name within the text, got {got}.")
    inside = text[begin:end]
    return Label(begin + len(inside) - len(inside.lstrip()), begin + len(inside.rstrip()), name)


def other_keys(record: dict[str, Any], *own: str) -> str:
    """Return the JSON of a record without some of its keys."""
    return json.dumps({key: value for key, value in record.items() if key not in own}, ensure_ascii=False)


def keys_of(text: LabeledText) -> dict[str, Any]:
    """Return the other keys of a text's record, without what is kept for Label Studio only."""
    return {key: value for key, value in json.loads(text.source).items() if key != PROJECT}


def json_line(record: dict[str, Any]) -> bytes:
    """Return an object as a line of JSON."""
    return json.dumps(record, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"
