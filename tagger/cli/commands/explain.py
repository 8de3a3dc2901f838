"""`tagger explain`: the terms of the score that decide for a tag."""

from __future__ import annotations

import json
from dataclasses import asdict

import click

from tagger.cli.console import print_message
from tagger.cli.hints import InputHint, tag_check
from tagger.cli.options import (
    column_options,
    encoding_option,
    file_command,
    input_format_option,
    model_option,
    output_option,
    value_option,
)
from tagger.cli.paths import TEXT
from tagger.corpus.column_names import ColumnNames
from tagger.escaping import encoded, visible
from tagger.files.reading import Lines
from tagger.files.writing import open_output
from tagger.models.explain import Explanation, explain
from tagger.models.store import load_model
from tagger.reports.explanation_page import explanation_page
from tagger.reports.html import page_template


@file_command(
    "explain",
    'echo "They can fish ." | tagger explain',
    "tagger explain doubtful.txt --html > why.html",
    "tagger explain sentences.txt --json | jq .",
    "tagger explain words.tsv -m chunks.npz --columns word,pos",
    short_help="Explain why each word gets its tag.",
)
@click.argument("file", type=TEXT, default="-")
@model_option
@value_option("--reasons", click.IntRange(1), 5, "Reasons shown per token.")
@click.option("--json", "as_program", is_flag=True, help="Write JSON: one line per sentence, with all reasons.")
@click.option("--html", "as_page", is_flag=True, help="Write an HTML page with all reasons.")
@input_format_option
@encoding_option
@column_options
@output_option
def command(
    file: str,
    model_paths: tuple[str, ...],
    reasons: int,
    as_program: bool,
    as_page: bool,
    input_format: str | None,
    encoding: str,
    columns: ColumnNames,
    output: str,
    quiet: bool,
) -> None:
    """Explain why each token of FILE (default: standard input) gets its tag.

    For each token: the tag and its probability, the second most probable tag, and the terms of the score that decide
    between them. The terms add up to the score of the best path minus that of the same path with this one tag
    replaced; if a span scheme forbids that path, other tags change too, and are named. Where all other tags have
    probability 0, the one with the highest score in this path is the second. The score of a neural network has no such
    terms: there each word is hidden in turn, and the change is its term.
    """
    if as_program and as_page:
        raise click.UsageError("--json and --html exclude each other: choose one.")
    if len(model_paths) > 1:
        raise click.UsageError("-m: expected one model, got several, whose mean has no terms. Explain one at a time.")
    template = page_template("explanation.html") if as_page else None
    model = load_model(model_paths[0])
    if model.explanation_note:
        print_message(model.explanation_note, quiet)
    hint = InputHint(tag_check(model.classes_), quiet=quiet)
    sentences = hint.read_untagged(Lines(file, encoding), input_format, columns=model.corpus_columns(columns))
    with open_output(output) as stream:
        if template:
            explanations = explain(model, [sentence for sentence in sentences if len(sentence)])
            stream.write(encoded(explanation_page(template, explanations)))
            return
        for sentence in sentences:
            (tokens,) = explain(model, [sentence])
            stream.write(encoded(as_json(tokens) if as_program else as_table(tokens, reasons)))
            stream.flush()


def as_json(tokens: list[Explanation]) -> str:
    return json.dumps([asdict(token) for token in tokens], ensure_ascii=False) + "\n"


def as_table(tokens: list[Explanation], count: int) -> str:
    """Format a sentence: a line for each token, and under it its `count` strongest reasons."""
    return "".join(token_rows(token, count) for token in tokens) + "\n"


def token_rows(token: Explanation, count: int) -> str:
    head = f"{visible(token.word)}/{visible(token.tag)}  {token.probability:.3f}"
    if token.runner_up is None:
        return f"{head}, no other tag is possible\n"
    place = f"{token.runner_up_probability:.3f}" if token.is_candidate else "(not among the candidates)"
    changes = "".join(f", {visible(word)}/{visible(tag)}" for word, tag in token.changes)
    lines = [f"{head}, not {visible(token.runner_up)} {place}{changes}: {token.difference:+.2f}"]
    lines += [f"    {reason.value:+8.3f}  {visible(reason.name)}" for reason in token.reasons[:count]]
    rest = token.reasons[count:]
    if rest:
        total = sum(reason.value for reason in rest)
        lines.append(f"    {total:+8.3f}  {len(rest)} other reason{'s' * (len(rest) > 1)}")
    return "\n".join(lines) + "\n"
