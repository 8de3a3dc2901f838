"""Prodigy: an object per line with `text`, `tokens` and `spans`; `answer` says whether the annotator accepted it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

from tagger.corpus.annotation.labeled_text import LabeledText
from tagger.corpus.annotation.records import (
    checked_label,
    json_line,
    json_records,
    keys_of,
    objects_of,
    other_keys,
    text_of,
)
from tagger.errors import CorpusError
from tagger.files.writing import open_output

ACCEPTED = (None, "accept")


def read(path: str, encoding: str) -> list[LabeledText]:
    """Read the texts that were not rejected or ignored; those with one `_input_hash` are of several annotators."""
    texts = []
    for place, record in json_records(path, encoding):
        if record.get("answer") not in ACCEPTED:
            continue
        text = text_of(record, "text", place)
        spans = objects_of(record, "spans", place)
        labels = tuple(checked_label(s.get("start"), s.get("end"), s.get("label"), text, place) for s in spans)
        key = f"hash {record['_input_hash']}" if "_input_hash" in record else ""
        words = word_bounds(record, text, place)
        texts.append(LabeledText(text, labels, other_keys(record, "text", "tokens", "spans", "answer"), words, key))
    return texts


def word_bounds(record: dict[str, Any], text: str, place: str) -> tuple[tuple[int, int], ...] | None:
    """Return begin and end of the stored words; None if there are none."""
    tokens = record.get("tokens")
    if not isinstance(tokens, list):
        return None
    try:
        bounds = [(token["start"], token["end"]) for token in tokens]
        borders = [0, *chain.from_iterable(bounds), len(text)]
        if all(type(border) is int for border in borders) and borders == sorted(borders):
            return tuple((begin, end) for begin, end in bounds if text[begin:end].strip())
    except (KeyError, TypeError):
        pass
    raise CorpusError(f"{place}: expected tokens with start and end, in order and within the text, got others.")


def write(path: str, texts: Sequence[LabeledText], suggested: bool) -> None:
    """Write a line per text; suggestions have no answer yet."""
    with open_output(path) as stream:
        for text in texts:
            record = {**keys_of(text), "text": text.text, **tokens_and_spans(text)}
            stream.write(json_line(record if suggested else {**record, "answer": "accept"}))


def tokens_and_spans(text: LabeledText) -> dict[str, Any]:
    """Return the words and labels of a text as Prodigy has them."""
    bounds = list(text.words or ())
    tokens = [
        {"text": text.text[begin:end], "start": begin, "end": end, "id": i, "ws": text.text[end : end + 1] == " "}
        for i, (begin, end) in enumerate(bounds)
    ]
    spans = []
    for begin, end, name in text.labels:
        inside = [i for i, (first, last) in enumerate(bounds) if first < end and last > begin]
        spans.append({"start": begin, "end": end, "token_start": inside[0], "token_end": inside[-1], "label": name})
    return {"tokens": tokens, "spans": spans}
