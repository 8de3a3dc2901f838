"""`tagger eval`: accuracy of a model, or of predictions from a file, on a gold corpus."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import click

from tagger.cli.console import display_name, load_page_template, print_message, write_json, write_text
from tagger.cli.corpus_input import CorpusOptions, load_tag_map, read_tagged
from tagger.cli.evaluation.systems import (
    evaluated_columns,
    predict,
    read_system,
    rename_tags,
    system_calibration,
    system_confidences,
    system_spans,
)
from tagger.cli.evaluation.warnings import gold_warnings, tag_set, tag_set_warnings, training_overlaps
from tagger.cli.options import (
    choice_option,
    column_options,
    figure_option,
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
from tagger.cli.spans import SpanResults, scheme_option
from tagger.corpus.column_names import ColumnNames
from tagger.corpus.formats.conllu import COLUMNS
from tagger.evaluation.calibration import ConfidenceGroup
from tagger.evaluation.metrics import Comparison, Evaluation, compare, evaluate
from tagger.models.store import load_model
from tagger.reports.evaluation_page import EvaluationRun, evaluation_page
from tagger.reports.figures import confusion_figure
from tagger.reports.text import as_json, as_table, calibration_json, in_words


@file_command(
    "eval",
    "tagger eval gold.txt",
    "tagger eval gold.txt -m english.npz --json",
    "tagger eval gold.txt -m crf.npz --compare hmm.npz",
    "tagger eval gold.txt --report report.html",
    "tagger eval gold.txt --figure confusions.svg",
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
@figure_option
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
    figure: str | None,
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
    name = " and ".join(model_paths)
    options = CorpusOptions(input_format, encoding, evaluated_columns(columns, [model, *rival_models.values()]))
    sentences = read_tagged(gold, options)
    system = read_system(predictions, options, sentences, gold) if predictions else predict(name, model, sentences)
    rivals = [predict(path, rival, sentences) for path, rival in rival_models.items()]
    overlaps = training_overlaps(sentences, {name: model} | rival_models)
    messages = gold_warnings(gold, sentences, overlaps)
    if tag_map:
        sentences, system, *rivals = rename_tags(tag_map, sentences, [system, *rivals], quiet)
    messages += tag_set_warnings(gold, sentences, [system, *rivals], tag_map)
    print_message("\n".join(messages), quiet or not messages)
    lexicon, tags = (model.lexicon_, tag_set(model, tag_map)) if model else (None, None)
    result = replace(evaluate(sentences, system.guesses, lexicon, tags), not_considered=system.not_considered)
    comparisons = {rival.name: compare(sentences, system.guesses, rival.guesses) for rival in rivals}
    spans = system_spans(scheme, None if tag_map else model, sentences, [system, *rivals])
    verdicts, span_scores = in_sentences(system.name, comparisons, spans), spans.scores if spans else None
    confidence = system_confidences(system, sentences, tags or []) if report or calibration else None
    bins = system_calibration(system, sentences, confidence if calibration else None)
    run = (sentences, system.guesses, result, system.model, lexicon, confidence, system.speed, messages + verdicts)
    write_pictures(
        report, template, EvaluationRun(page_title(predictions, model_paths, gold), *run, span_scores), figure
    )
    if as_program:
        write_json(output, figures(result, overlaps.get(name), system.speed, comparisons, bins, spans))
    else:
        write_text(output, as_table(result, sentences, system.speed, bins, verdicts, span_scores))


def check_calibration(calibration: bool, predictions: str | None) -> None:
    """Refuse `--calibration` for predictions from a file."""
    if calibration and predictions:
        raise click.UsageError("--calibration: expected a model, got --predictions, which have no probabilities.")


def write_pictures(report: str | None, template: Any, run: EvaluationRun, figure: str | None) -> None:
    """Write the page of `--report` and the SVG of `--figure`, if they are asked for."""
    if report:
        write_text(report, evaluation_page(template, run))
    if figure:
        write_text(figure, confusion_figure(run.scores))


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
