"""`jsonl`: an object per line, `{"words": [...], "tags": [...]}`. Any word and any tag can be written.

Other keys of the object are kept and written back with the sentence; a blank line without tags keeps its place. Words
that were cut from a text have their places written beside them: `"offsets": [[0, 5], ...]`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, cast

from tagger.corpus.checks import checked
from tagger.errors import CorpusError
from tagger.escaping import quote
from tagger.files.reading import Lines
from tagger.sentence import NO_TAG, Sentence

HALF = re.compile("[\ud800-\udfff]")  # of a character outside the basic plane, alone


def read(lines: Lines, tagged: bool | None, column: str) -> Iterator[Sentence]:
    for line in lines:
        if not line.strip(" \t"):
            if not tagged:
                yield Sentence([], layout=("jsonl", ""))
            continue
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            raise lines.error(f"expected a JSON object on the line, got {quote(line)}") from None
        found = found if isinstance(found, dict) else {}
        words, tags = strings(found.get("words")), strings(found.get("tags")) if tagged else None
        if tagged is None:
            tags = some_strings(found.get("tags"), len(words or ()))
        if words is None or (tagged is not False and (tags is None or len(tags) != len(words))):
            expected = 'a list "words"' if tagged is False else 'lists "words" and "tags" of one length'
            raise lines.error(f"expected {expected} of non-empty strings, got {quote(line)}")
        if words or not tagged:
            yield Sentence(words, tags, ("jsonl", line), line=lines.number)


def some_strings(tags: object, count: int) -> Sequence[str] | None:
    """Tags with NO_TAG where there are none: null, or no list at all."""
    items = [None] * count if tags is None else tags
    if not isinstance(items, list) or strings([tag for tag in items if tag is not None]) is None:
        return None
    return [NO_TAG if tag is None else tag for tag in items]


def strings(value: object) -> Sequence[str] | None:
    """A list of strings that are not empty and hold no half characters, else None."""
    if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
        return None
    return None if any(HALF.search(item) for item in value if not item.isascii()) else value


def significant(probability: float) -> float:
    """Four digits that matter: of very long sentences even the best tagging is improbable."""
    return float(f"{probability:.4g}")


def loaded(line: str) -> dict[str, Any]:
    """An object that was read before, where there was more room on the stack."""
    try:
        return cast(dict[str, Any], json.loads(line))
    except RecursionError:
        raise CorpusError("what is nested so deeply cannot be written as JSON") from None


def write(sentence: Sentence, column: str) -> str:
    lines = sentence.lines_of("jsonl") or ("{}",)
    if not lines[0]:
        return "\n"
    found = loaded(lines[0])
    found["words"] = [checked(word, "") for word in sentence.words]
    if sentence.tags is not None:
        found["tags"] = [checked(tag, "") for tag in sentence.tags]
    for key in ("probabilities", "nbest") if sentence.retagged else ():
        if getattr(sentence, key) is None:
            found.pop(key, None)  # of older tags
    if sentence.probabilities is not None:
        found["probabilities"] = [round(probability, 4) for probability in sentence.probabilities]
    if sentence.nbest is not None:
        found["nbest"] = [{"probability": significant(p), "tags": list(tags)} for p, tags in sentence.nbest]
    if sentence.offsets is not None:
        found["offsets"] = sentence.offsets
    try:
        return json.dumps(found, ensure_ascii=False, allow_nan=False) + "\n"
    except ValueError:
        raise CorpusError("a number that is not finite cannot be written as JSON") from None
    except RecursionError:
        raise CorpusError("what is nested so deeply cannot be written as JSON") from None
