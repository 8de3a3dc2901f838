"""`tagger eval`: accuracy of a model, or of predictions from a file, on a gold corpus."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain
from typing import Any

import click
import numpy as np

from tagger.cli.console import display_name, load_page_template, print_message, write_json, write_text
from tagger.cli.corpus_input import CorpusOptions, length_warnings, load_tag_map, read_tagged, report_unmapped
from tagger.cli.options import (
    choice_option,
    column_options,
    file_command,
    file_option,
    input_options,
    is_given,
    map_option,
    models_option,
    output_option,
    report_option,
)
from tagger.cli.paths import INPUT, TEXT
from tagger.cli.spans import SpanResults, scheme_option, span_results
from tagger.corpus.column_names import ColumnNames
from tagger.corpus.conllu import COLUMNS
from tagger.corpus.tag_map import TagMap
from tagger.errors import CorpusError, several
from tagger.escaping import quote
from tagger.evaluation.breakdown import correct_tokens
from tagger.evaluation.calibration import ConfidenceGroup, reliability
from tagger.evaluation.metrics import Comparison, Evaluation, compare, evaluate
from tagger.models.predictor import Predictor
from tagger.models.store import load_model
from tagger.reports.evaluation import EvaluationRun, confidences, evaluation_page
from tagger.reports.text import as_json, as_table, calibration_json, in_words
from tagger.sentence import ANY, Sentence, open_tokens
from tagger.words.overlap import MIN_WORDS, overlap

Tags = list[list[str]]

EXAMPLE_TAGS = 3  # named in a warning
TAG_SET_ADVICE = (
    "Is one side UPOS, the other XPOS? --column reads the other column of CoNLL-U, --map FILE renames tags."
)


@dataclass(frozen=True)
class Side:
    """One side of the comparison with the gold corpus: a model, or predictions from a file."""

    name: str
    guesses: Tags
    model: Predictor | None = None  # None for predictions from a file
    speed: float | None = None  # tokens per second
    not_considered: int | None = None  # tokens whose gold tag was no candidate

    def renamed(self, tag_map: TagMap) -> Side:
        return replace(self, guesses=[tag_map.tags(tags) for tags in self.guesses], not_considered=None)


@file_command(
    "eval",
    "tagger eval gold.txt",
    "tagger eval gold.txt -m english.npz --json",
    "tagger eval gold.txt -m crf.npz --compare hmm.npz",
    "tagger eval gold.txt --report report.html",
    "tagger eval gold.txt --calibration",
    "tagger eval gold.txt --predictions other-tagger.txt",
    "tagger eval gold-upos.txt -m penn.npz --map penn-upos.tsv",
    "tagger eval gold.txt -m crf.npz -m bilstm.npz",
    "tagger eval dev.txt -m chunks.npz --columns word,pos,tag",
    short_help="Evaluate a model, or predictions from a file, on a gold corpus.",
)
@click.argument("gold", type=TEXT)
@models_option
@file_option("--predictions", INPUT, "Tagged file to evaluate instead of a model, e.g. other-tagger.txt.")
@file_option(
    "--compare rival_paths",
    INPUT,
    "Model to compare with, e.g. hmm.npz; tests for significance. Repeatable.",
    metavar="MODEL",
    multiple=True,
)
@report_option
@input_options
@choice_option("--column", COLUMNS, "CoNLL-U column with the tags.  [default: the model's, else upos]")
@column_options
@map_option
@scheme_option
@click.option(
    "--calibration",
    is_flag=True,
    help="Add the reliability table: accuracy in ten bins by the probability of the tag, and the calibration error.",
)
@click.option("--json", "as_program", is_flag=True, help="Write JSON: rates as fractions, undefined as null.")
@output_option
def command(
    gold: str,
    model_paths: tuple[str, ...],
    predictions: str | None,
    rival_paths: tuple[str, ...],
    report: str | None,
    input_format: str | None,
    encoding: str,
    columns: ColumnNames,
    map_path: str | None,
    scheme: str,
    calibration: bool,
    as_program: bool,
    output: str,
    quiet: bool,
) -> None:
    """Evaluate a model, or predictions from a file, on a corpus with gold tags.

    GOLD may be - for standard input. With --predictions no model is needed; -m then only says which words are known.
    --map renames the tags of all sides before they are compared: a map from Penn to universal tags works for a GOLD
    corpus with either. If the tags mark spans (--scheme), precision, recall and F1 of these follow, as conlleval counts
    them.
    """
    check_calibration(calibration, predictions)
    template, tag_map = load_page_template(report, "evaluation.html"), load_tag_map(map_path)
    model = load_model(*model_paths) if not predictions or is_given("model_paths") else None
    rival_models = {path: load_model(path) for path in rival_paths}
    model_name = " and ".join(model_paths)
    options = CorpusOptions(input_format, encoding, evaluated_columns(columns, [model, *rival_models.values()]))
    sentences = read_tagged(gold, options)
    judged = read_side(predictions, options, sentences, gold) if predictions else predict(model_name, model, sentences)
    rivals = [predict(path, rival, sentences) for path, rival in rival_models.items()]
    overlaps = training_overlaps(sentences, {model_name: model} | rival_models)
    messages = gold_warnings(gold, sentences, overlaps)
    if tag_map:
        sentences, judged, *rivals = rename_tags(tag_map, sentences, [judged, *rivals], quiet)
    messages += tag_set_warnings(gold, sentences, [judged, *rivals], tag_map)
    print_message("\n".join(messages), quiet or not messages)
    lexicon, tags = (model.lexicon_, tag_set(model, tag_map)) if model else (None, None)
    result = replace(evaluate(sentences, judged.guesses, lexicon, tags), not_considered=judged.not_considered)
    comparisons = {rival.name: compare(sentences, judged.guesses, rival.guesses) for rival in rivals}
    spans = side_spans(scheme, None if tag_map else model, sentences, [judged, *rivals])
    verdicts, span_scores = in_sentences(judged.name, comparisons, spans), spans.scores if spans else None
    confidence = side_confidences(judged, sentences, tags or []) if report or calibration else None
    bins = side_calibration(judged, sentences, confidence if calibration else None)
    if report:
        run = (sentences, judged.guesses, result, judged.model, lexicon, confidence, judged.speed, messages + verdicts)
        page = EvaluationRun(page_title(predictions, model_paths, gold), *run, span_scores)
        write_text(report, evaluation_page(template, page))
    if as_program:
        write_json(output, figures(result, overlaps.get(model_name), judged.speed, comparisons, bins, spans))
    else:
        write_text(output, as_table(result, sentences, judged.speed, bins, verdicts, span_scores))


def rename_tags(tag_map: TagMap, sentences: list[Sentence], sides: list[Side], quiet: bool) -> list[Any]:
    """Rename the tags of the gold sentences and of all sides; return the sentences and each side."""
    renamed = [[tag_map.sentence(sentence) for sentence in sentences], *(side.renamed(tag_map) for side in sides)]
    report_unmapped(tag_map, quiet)
    return renamed


def check_calibration(calibration: bool, predictions: str | None) -> None:
    """Refuse `--calibration` for predictions from a file."""
    if calibration and predictions:
        raise click.UsageError("--calibration: expected a model, got --predictions, which have no probabilities.")


def side_confidences(side: Side, sentences: list[Sentence], names: Sequence[str]) -> np.ndarray | None:
    """Return the probability (N,) of each predicted tag, or None without a model; `names` are those of its tags."""
    return None if side.model is None else confidences(side.model, sentences, side.guesses, names)


def side_calibration(side: Side, gold: list[Sentence], P: np.ndarray | None) -> list[ConfidenceGroup] | None:
    """Compute the reliability table from the probability (N,) of each predicted tag, if it is given."""
    return None if P is None else reliability(P, correct_tokens(gold, side.guesses))


def evaluated_columns(given: ColumnNames, models: Sequence[Predictor | None]) -> ColumnNames:
    """Return the names for reading the gold corpus: those given, else the first model's, and what all models want."""
    first = next((model for model in models if model), None)
    wanted = dict.fromkeys(name for model in models if model for name in model.file_columns())
    return replace(first.corpus_columns(given) if first else given, wanted=tuple(wanted))


def predict(name: str, model: Predictor | None, sentences: list[Sentence]) -> Side:
    """Tag the sentences with a model, and measure its speed."""
    assert model is not None  # only predictions from a file do without
    begin = time.perf_counter()
    guesses = model.predict(sentences)
    speed = sum(map(len, sentences)) / (time.perf_counter() - begin)
    return Side(name, guesses, model, speed, model.count_not_considered(sentences))


def read_side(path: str, options: CorpusOptions, sentences: list[Sentence], gold: str) -> Side:
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
    return Side(path, [list(sentence.tags or ()) for sentence in predicted])


def mismatch(place: str, expected: str, got: str, gold: str) -> CorpusError:
    return CorpusError(f"{place}: expected {expected} as in {gold}, got {got}")


def training_overlaps(sentences: list[Sentence], models: dict[str, Predictor | None]) -> dict[str, int | None]:
    """Count, for each model, the gold sentences that were in its training corpus; None if it stores none of them."""
    words = [sentence.words for sentence in sentences]
    return {
        name: overlap(words, model.seen_, model.lexicon_.form) if model.seen_.size else None
        for name, model in models.items()
        if model
    }


def gold_warnings(gold: str, sentences: list[Sentence], overlaps: dict[str, int | None]) -> list[str]:
    """Warn of models trained on gold sentences, of missing gold tags, and of sentences that are too long."""
    long = sum(len(sentence) >= MIN_WORDS for sentence in sentences)
    shared = f"of the {long:,} sentences of {gold} with at least {MIN_WORDS} words were in the training corpus of"
    warnings = [f"{count:,} {shared} {name}" for name, count in overlaps.items() if count]
    if missing := open_tokens(sentences):
        warnings.append(
            f"the tag {ANY!r} of {several(missing, 'word')} in {gold}: no other tag counts as correct there"
        )
    return [*(f"warning: {warning}" for warning in warnings), *length_warnings(sentences, gold)]


def tag_set_warnings(gold: str, sentences: list[Sentence], sides: list[Side], tag_map: TagMap | None) -> list[str]:
    """Warn of each side whose tag set seems to be another than that of the gold corpus.

    That is so if most tokens of one have tags that the other lacks. The tag set of predictions is unknown: a tag that
    they never have proves nothing.
    """
    gold_tags = Counter(chain.from_iterable(sentence.tags or () for sentence in sentences))
    warnings = []
    for side in {side.name: side for side in sides}.values():
        guessed = Counter(chain.from_iterable(side.guesses))
        faults = [] if side.model is None else lacking(gold_tags, gold, tag_set(side.model, tag_map), side.name)
        faults += lacking(guessed, side.name, gold_tags, gold)
        if faults:
            warnings.append(f"warning: the scores mean little: {' and '.join(faults)}. {TAG_SET_ADVICE}")
    return warnings


def lacking(tags: Counter[str], name: str, other_tags: Iterable[str], other_name: str) -> list[str]:
    """Describe the tags of one side that the other lacks, if most tokens have such a tag."""
    known = set(other_tags)
    missing = Counter({tag: count for tag, count in tags.items() if tag not in known})
    if 2 * missing.total() <= tags.total():
        return []
    shown = ", ".join(tag for tag, _ in missing.most_common(EXAMPLE_TAGS))
    return [f"{missing.total():,} of {tags.total():,} tokens have tags in {name} that {other_name} lacks ({shown})"]


def tag_set(model: Predictor, tag_map: TagMap | None) -> Sequence[str]:
    """Return the tags that a model can predict, under the names of the map."""
    return tag_map.tags(model.classes_) if tag_map else model.classes_


def side_spans(scheme: str, model: Predictor | None, gold: list[Sentence], sides: list[Side]) -> SpanResults | None:
    """Evaluate the spans of the first side; None for tags that mark no spans."""
    known = model.scheme_ if model else None
    return span_results(scheme, known, gold, sides[0].name, {side.name: side.guesses for side in sides[::-1]})


def in_sentences(name: str, comparisons: dict[str, Comparison], spans: SpanResults | None) -> list[str]:
    """Describe the comparisons with the rivals, by accuracy and by spans."""
    by_accuracy = [in_words(comparison, name, rival) for rival, comparison in comparisons.items()]
    return by_accuracy + (spans.verdicts if spans else [])


def page_title(predictions: str | None, model_paths: Sequence[str], gold: str) -> str:
    paths = [predictions] if predictions else model_paths
    return f"{' and '.join(map(display_name, paths))} evaluated on {display_name(gold)}"


def figures(
    result: Evaluation,
    overlap: int | None,
    speed: float | None,
    comparisons: dict[str, Comparison],
    bins: Sequence[ConfidenceGroup] | None,
    spans: SpanResults | None = None,
) -> dict[str, Any]:
    """Return the figures for programs; `bins` are those of the reliability table, None without it."""
    calibrated = {} if bins is None else {"calibration": calibration_json(bins)}
    rows = [{"model": name, **asdict(comparison)} for name, comparison in comparisons.items()]
    values = as_json(result) | {"training_overlap": overlap, "tokens_per_second": speed, "compare": rows} | calibrated
    return values | (spans.json if spans else {})
