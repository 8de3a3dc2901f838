"""What must hold for any model file, corpus or template whatever: a clean refusal, or a result that makes sense.

A judge answers `REFUSED` or `CORRECT`; everything else, an exception of another family, a warning, a message that is
not one line or names no place, a result that is not what it says, is an `AssertionError` or the exception itself.
"""

from __future__ import annotations

import json
import time
import warnings
from pathlib import Path

import numpy as np

from tagger import load_model
from tagger.corpus import read_sentences
from tagger.corpus.formats import FORMATS, render
from tagger.errors import CorpusError, FileError, ModelError, TemplateError
from tagger.escaping import visible
from tagger.features.template import describe, parse_templates
from tagger.files.reading import Lines
from tagger.files.sniffing import content_mismatch
from tagger.sentence import Sentence

REFUSED, CORRECT = "refused", "correct"
PATIENCE = 1.0  # seconds that a refusal may take
TEXT = [["the", "dog", "barks", "."], ["Zyzzyva"], [], ["\ufeff", "<before>", "x" * 500, "1/2"]]


def judge_model(path: Path) -> str:
    """A model file is refused by a `ModelError` that names it, or all that can be asked of a model has an answer."""
    begin = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            model = load_model(path)
        except ModelError as error:
            check_message(str(error), str(path))
            taken = time.process_time() - begin
            assert taken < PATIENCE, f"refused after {taken:.1f} s"
            return REFUSED
        for words, tags in zip(TEXT, model.predict(TEXT), strict=True):
            assert len(words) == len(tags) and set(tags) <= set(model.classes_)
        for words, probabilities in zip(TEXT, model.predict_marginals(TEXT), strict=True):
            assert probabilities.shape == (len(words), len(model.classes_))
            assert np.isfinite(probabilities).all()
            np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, atol=1e-3)
        for paths in model.predict_nbest(TEXT, 2):
            assert all(0 <= p <= 1.001 for p, _ in paths)
        for section in model.summarize():
            assert all(isinstance(cell, str) for row in section.texts for cell in row)
        json.dumps([section.rows for section in model.summarize()])
    return CORRECT


def judge_corpus(path: Path, format: str | None, tagged: bool | None, encoding: str = "utf-8") -> str:
    """A corpus is refused by an error with file and line, or its sentences come back from every format they fit in."""
    lines = Lines(path, encoding)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            sentences = list(read_sentences(lines, format, tagged))
        except (CorpusError, FileError) as error:
            check_message(str(error), str(path))
            return REFUSED
        for sentence in sentences:
            assert all(sentence.words) and (not tagged or all(sentence.tags or [not sentence.words]))
        for name in FORMATS:
            check_round_trip(path.with_suffix(".again"), sentences, name, tagged)
    return CORRECT


def check_round_trip(path: Path, sentences: list[Sentence], format: str, tagged: bool | None) -> None:
    """What is written reads back as it was; what cannot be written is refused."""
    try:
        written = [render(sentence, format) for sentence in sentences]
    except CorpusError as error:
        check_message(str(error))
        return
    if format == "lines" and len(sentences) == 1:
        return  # without a blank line between sentences, marks end them
    text = b"".join(written)
    path.write_bytes(b"\n" * text.startswith(b"\xef\xbb\xbf") + text)  # a mark that begins a file is no part of it
    if content_mismatch(
        path.read_bytes(), "utf-8"
    ):  # words of letters and NULs in turn: it is right to take them for UTF-16
        return
    again = list(read_sentences(Lines(path), format, None if tagged is None else tagged))
    filled = [sentence for sentence in sentences if len(sentence)]
    assert [sentence for sentence in again if len(sentence)] == filled, f"{format} came back as something else"


def judge_template(text: str) -> str:
    """A template is refused by an error with its line, or can be filled in."""
    try:
        templates = parse_templates(text, "template.txt")
    except TemplateError as error:
        check_message(str(error), "template.txt")
        return REFUSED
    if not any(part.name == "class" for template in templates for part in template.conjuncts):
        describe(TEXT[0], templates[:50])
    return CORRECT


def check_message(message: str, place: str = "") -> None:
    assert place in message, f"no place in {message!r}"
    assert message and visible(message) == message, f"a terminal could obey {message!r}"
    assert len(message) < 2000 + len(place), f"{len(message)} characters in {message[:100]!r}…"
