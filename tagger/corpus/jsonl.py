"""The format `jsonl`: one JSON object per line, `{"words": [...], "tags": [...]}`. It can express any word and tag.

Other keys of the object are kept and written back with the sentence. In untagged input a blank line is an empty
sentence. Words cut from raw text have offsets: `"offsets": [[0, 5], ...]`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from tagger.corpus.checks import check_cells
from tagger.errors import CorpusError
from tagger.escaping import quote
from tagger.files.reading import Lines
from tagger.sentence import NO_TAG, Sentence

LONE_SURROGATE = re.compile("[\ud800-\udfff]")
TOO_DEEP = "expected a JSON object that is nested less deeply"


def read(lines: Lines, tagged: bool | None, column: str) -> Iterator[Sentence]:
    """Yield the sentences."""
    for line in lines:
        if not line.strip(" \t"):
            if not tagged:
                yield Sentence([], layout=("jsonl", ""))
            continue
        record = parse_object(line, lines)
        words, tags = strings(record.get("words")), strings(record.get("tags")) if tagged else None
        if tagged is None:
            tags = optional_strings(record.get("tags"), len(words or ()))
        if words is None or (tagged is not False and (tags is None or len(tags) != len(words))):
            expected = 'a list "words"' if tagged is False else 'lists "words" and "tags" of one length'
            raise lines.error(f"expected {expected} of non-empty strings, got {quote(line)}")
        if words or not tagged:
            yield Sentence(words, tags, ("jsonl", line), line=lines.number)


def parse_object(line: str, lines: Lines) -> dict[str, Any]:
    """Parse the JSON object of a line."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        record = None
    if not isinstance(record, dict):
        raise lines.error(f"expected a JSON object on the line, got {quote(line)}")
    return record


def optional_strings(tags: object, count: int) -> Sequence[str] | None:
    """Return a list of tags with NO_TAG for null, or `count` times if there is no list; None if it is invalid."""
    items = [None] * count if tags is None else tags
    if not isinstance(items, list) or strings([tag for tag in items if tag is not None]) is None:
        return None
    return [NO_TAG if tag is None else tag for tag in items]


def strings(value: object) -> Sequence[str] | None:
    """Return a list of non-empty strings without lone surrogates; None for any other value."""
    if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
        return None
    return None if any(LONE_SURROGATE.search(item) for item in value if not item.isascii()) else value


def significant(probability: float) -> float:
    """Round to four significant digits, because the best tagging of a long sentence has a small probability."""
    return float(f"{probability:.4g}")


def write(sentence: Sentence, column: str) -> str:
    """Return the line of a sentence, with the other keys of the object it was read from."""
    lines = sentence.lines_of("jsonl") or ("{}",)
    if not lines[0]:
        return "\n"
    try:
        return json.dumps(new_object(sentence, lines[0]), ensure_ascii=False, allow_nan=False) + "\n"
    except ValueError:
        raise CorpusError("expected finite numbers, got NaN or infinity, which JSON cannot express") from None
    except RecursionError:
        raise CorpusError(TOO_DEEP) from None


def new_object(sentence: Sentence, line: str) -> dict[str, Any]:
    """Make the object of a sentence from the line it was read from: words, tags and the like are replaced."""
    record: dict[str, Any] = json.loads(line)
    record["words"] = list(check_cells(sentence.words, ""))
    if sentence.tags is not None:
        record["tags"] = list(check_cells(sentence.tags, ""))
    for key in ("probabilities", "nbest") if sentence.retagged else ():
        if getattr(sentence, key) is None:
            record.pop(key, None)  # of older tags
    if sentence.probabilities is not None:
        record["probabilities"] = [round(probability, 4) for probability in sentence.probabilities]
    if sentence.nbest is not None:
        record["nbest"] = [{"probability": significant(p), "tags": list(tags)} for p, tags in sentence.nbest]
    if sentence.offsets is not None:
        record["offsets"] = sentence.offsets
    return record
