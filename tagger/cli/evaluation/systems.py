"""The systems of an evaluation: the model, or file of predictions, that is evaluated, and its rivals."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tagger.cli.corpus_input import CorpusOptions, read_tagged, report_unmapped
from tagger.cli.spans import SpanResults, span_results
from tagger.corpus.column_names import ColumnNames
from tagger.corpus.tag_map import TagMap
from tagger.errors import CorpusError, several
from tagger.escaping import quote
from tagger.evaluation.breakdown import correct_tokens
from tagger.evaluation.calibration import ConfidenceGroup, reliability
from tagger.models.predictor import Predictor
from tagger.reports.evaluation_page import confidences
from tagger.sentence import Sentence

Tags = list[list[str]]


@dataclass(frozen=True)
class System:
    """The predicted tags of a model, or from a file, to compare with the gold corpus."""

    name: str
    guesses: Tags
    model: Predictor | None = None  # None for predictions from a file
    speed: float | None = None  # tokens per second
    not_considered: int | None = None  # tokens whose gold tag was no candidate

    def renamed(self, tag_map: TagMap) -> System:
        return replace(self, guesses=[tag_map.tags(tags) for tags in self.guesses], not_considered=None)


def rename_tags(tag_map: TagMap, sentences: list[Sentence], systems: list[System], quiet: bool) -> list[Any]:
    """Rename the tags of the gold sentences and of all systems; return the sentences and each system."""
    renamed = [[tag_map.sentence(sentence) for sentence in sentences], *(system.renamed(tag_map) for system in systems)]
    report_unmapped(tag_map, quiet)
    return renamed


def system_confidences(system: System, sentences: list[Sentence], names: Sequence[str]) -> np.ndarray | None:
    """Return the probability (N,) of each predicted tag, or None without a model; `names` are those of its tags."""
    return None if system.model is None else confidences(system.model, sentences, system.guesses, names)


def system_calibration(system: System, gold: list[Sentence], P: np.ndarray | None) -> list[ConfidenceGroup] | None:
    """Compute the reliability table from the probability (N,) of each predicted tag, if it is given."""
    return None if P is None else reliability(P, correct_tokens(gold, system.guesses))


def evaluated_columns(given: ColumnNames, models: Sequence[Predictor | None]) -> ColumnNames:
    """Return the names for reading the gold corpus: those given, else the first model's, and what all models want."""
    first = next((model for model in models if model), None)
    wanted = dict.fromkeys(name for model in models if model for name in model.file_columns())
    return replace(first.corpus_columns(given) if first else given, wanted=tuple(wanted))


def predict(name: str, model: Predictor | None, sentences: list[Sentence]) -> System:
    """Tag the sentences with a model, and measure its speed."""
    assert model is not None  # only predictions from a file do without
    begin = time.perf_counter()
    guesses = model.predict(sentences)
    speed = sum(map(len, sentences)) / (time.perf_counter() - begin)
    return System(name, guesses, model, speed, model.count_not_considered(sentences))


def read_system(path: str, options: CorpusOptions, sentences: list[Sentence], gold: str) -> System:
    """Read predictions from a file whose words must be those of the gold corpus; its format is recognised."""
    predicted = read_tagged(path, replace(options, input_format=None).with_wanted(()))
    for number, (right, other) in enumerate(zip(sentences, predicted, strict=False), 1):
        place = f"{path}: sentence {number}"
        for i, (expected, word) in enumerate(zip(right.words, other.words, strict=False), 1):
            if word != expected:
                raise mismatch(f"{place}, token {i}", quote(expected), quote(word), gold)
        if len(right) != len(other):
            raise mismatch(place, several(len(right), "token"), f"{len(other):,}", gold)
    if len(sentences) != len(predicted):
        raise mismatch(f"{path}: the end", several(len(sentences), "sentence"), f"{len(predicted):,}", gold)
    return System(path, [list(sentence.tags or ()) for sentence in predicted])


def mismatch(place: str, expected: str, got: str, gold: str) -> CorpusError:
    return CorpusError(f"{place}: expected {expected} as in {gold}, got {got}")


def system_spans(
    scheme: str, model: Predictor | None, gold: list[Sentence], systems: list[System]
) -> SpanResults | None:
    """Evaluate the spans of the first system; None for tags that mark no spans."""
    known = model.scheme_ if model else None
    return span_results(scheme, known, gold, systems[0].name, {system.name: system.guesses for system in systems[::-1]})
