"""The format `jsonl`: one JSON object per line, `{"words": [...], "tags": [...]}`. It can express any word and tag.

Other keys of the object are kept and written back with the sentence. In untagged input a blank line is an empty
sentence. Words cut from raw text have offsets: `"offsets": [[0, 5], ...]`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from tagger.corpus.column_names import ColumnNames
from tagger.corpus.formats.checks import check_cells
from tagger.errors import CorpusError
from tagger.escaping import quote
from tagger.files.reading import Lines
from tagger.sentence import NO_TAG, Sentence

OWN_KEYS = ("probabilities", "nbest", "offsets")
LONE_SURROGATE = re.compile("[\ud800-\udfff]")
TOO_DEEP = "expected a JSON object that is nested less deeply"


def read(lines: Lines, tagged: bool | None, columns: ColumnNames) -> Iterator[Sentence]:
    """Yield the sentences; every other list with a string or number for each word is a column."""
    word_key, tag_key = keys_of(columns)
    known = {word_key, tag_key, *OWN_KEYS}
    for line in lines:
        if not line.strip(" \t"):
            if not tagged:
                yield Sentence([], layout=("jsonl", ""))
            continue
        record = parse_object(line, lines)
        words, tags = strings(record.get(word_key)), strings(record.get(tag_key)) if tagged else None
        if tagged is None:
            tags = optional_strings(record.get(tag_key), len(words or ()))
        if words is None or (tagged is not False and (tags is None or len(tags) != len(words))):
            expected = (
                f'a list "{word_key}"' if tagged is False else f'lists "{word_key}" and "{tag_key}" of one length'
            )
            raise lines.error(f"expected {expected} of non-empty strings, got {quote(line)}")
        others = read_columns(record, len(words), known) if record.keys() - known else {}
        if columns.wanted:
            check_lists(record, others, len(words), columns, lines)
        if words or not tagged:
            yield Sentence(words, tags, ("jsonl", line), line=lines.number, columns=others or None)


def keys_of(columns: ColumnNames) -> tuple[str, str]:
    """Return the keys of words and tags."""
    word, tag = columns.elsewhere
    return word or "words", tag or "tags"


def read_columns(record: dict[str, Any], count: int, keys: set[str]) -> dict[str, list[str]]:
    """Return the lists of `count` strings and numbers in an object, but those of the given keys, as strings."""
    lists = {key: value for key, value in record.items() if key not in keys and isinstance(value, list)}
    whole = {key: items for key, items in lists.items() if len(items) == count and all(map(is_cell, items))}
    return {key: list(map(cell_text, items)) for key, items in whole.items()}


def check_lists(
    record: dict[str, Any], others: dict[str, list[str]], count: int, columns: ColumnNames, lines: Lines
) -> None:
    """Refuse an object without a wanted column, or with one that does not fit the words."""
    for name in columns.wanted:
        if name in record and name not in others:
            expected = f"expected a list {quote(name)} of {count:,} strings or numbers, one for each word"
            raise lines.error(f"{expected}, got {quote(json.dumps(record[name], ensure_ascii=False))}")
    columns.check_wanted(others, f"{lines.name}:{lines.number}", "Add it to the object")


def cell_text(item: object) -> str:
    """Return an item of a list as text."""
    return item if isinstance(item, str) else json.dumps(item)


def is_cell(item: object) -> bool:
    """Return whether an item of a list is a string, a number, true, false or null."""
    return item is None or isinstance(item, str | int | float)


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


def write(sentence: Sentence, columns: ColumnNames) -> str:
    """Return the line of a sentence, with the other keys of the object it was read from."""
    lines = sentence.lines_of("jsonl") or ("{}",)
    if not lines[0]:
        return "\n"
    try:
        return json.dumps(new_object(sentence, lines[0], columns), ensure_ascii=False, allow_nan=False) + "\n"
    except ValueError:
        raise CorpusError("expected finite numbers, got NaN or infinity, which JSON cannot express") from None
    except RecursionError:
        raise CorpusError(TOO_DEEP) from None


def new_object(sentence: Sentence, line: str, columns: ColumnNames) -> dict[str, Any]:
    """Make the object of a sentence from the line it was read from: words, tags and the like are replaced."""
    record: dict[str, Any] = json.loads(line)
    word_key, tag_key = keys_of(columns)
    record[word_key] = list(check_cells(sentence.words, ""))
    if sentence.tags is not None:
        record[tag_key] = list(check_cells(sentence.tags, ""))
    for name, values in (sentence.columns or {}).items():
        record.setdefault(name, list(values))
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
