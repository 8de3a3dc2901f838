"""`jsonl`: an object per line, `{"words": [...], "tags": [...]}`. Any word and any tag can be written."""

from __future__ import annotations

import json
from collections.abc import Iterator

from tagger.errors import quote
from tagger.files import Lines
from tagger.sentence import Sentence


def read(lines: Lines, tagged: bool, column: str) -> Iterator[Sentence]:
    for line in lines:
        if not line.strip(" \t"):
            continue
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            raise lines.error(f"expected a JSON object on the line, got {quote(line)}") from None
        found = found if isinstance(found, dict) else {}
        words, tags = strings(found.get("words")), strings(found.get("tags"))
        if words is None or (tagged and (tags is None or len(tags) != len(words))):
            expected = 'lists "words" and "tags" of one length' if tagged else 'a list "words"'
            raise lines.error(f"expected {expected} of non-empty strings, got {quote(line)}")
        if words or not tagged:
            yield Sentence(words, tags if tagged else None)


def strings(value: object) -> list[str] | None:
    good = isinstance(value, list) and all(isinstance(item, str) and item for item in value)
    return value if good else None  # type: ignore[return-value]


def write(sentence: Sentence, column: str) -> str:
    found = {"words": sentence.words} | ({} if sentence.tags is None else {"tags": sentence.tags})
    return json.dumps(found, ensure_ascii=False) + "\n"
