"""`tagger trellis`: the numbers of Viterbi and forward–backward for a sentence."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import click

from tagger.cli.console import load_page_template, write_text
from tagger.cli.hints import InputHint, tag_check
from tagger.cli.options import (
    column_options,
    encoding_option,
    file_command,
    input_format_option,
    models_option,
    output_option,
    report_option,
    value_option,
)
from tagger.corpus.column_names import ColumnNames
from tagger.corpus.formats.slash import tokens
from tagger.escaping import encoded, quote
from tagger.files.reading import Lines, exists
from tagger.files.writing import open_output
from tagger.models.store import load_model
from tagger.models.trellis import TAGS_SHOWN, SentenceTrellis
from tagger.reports.trellis import as_json, as_text, as_tsv
from tagger.reports.trellis_page import trellis_page

FORMATS: dict[str, Callable[[SentenceTrellis, int], str]] = {
    "text": lambda trellis, tags: as_text(trellis, tags) + "\n",
    "tsv": lambda trellis, tags: as_tsv(trellis, tags) + "\n",
    "json": lambda trellis, tags: json.dumps(as_json(trellis, tags), ensure_ascii=False) + "\n",
}


@file_command(
    "trellis",
    'tagger trellis "They can fish ."',
    'tagger trellis "They can fish ." --report trellis.html',
    "tagger trellis --json < sentences.txt | jq .log_z",
    short_help="Show how Viterbi and forward–backward compute the tags.",
)
@click.argument("words", nargs=-1, metavar="[SENTENCE]")
@models_option
@value_option("--tags", click.IntRange(0), TAGS_SHOWN, "Tags per token, the most probable ones; 0 for all.")
@value_option("--nbest", click.IntRange(1), 5, "Number of best taggings.")
@click.option("--tsv", "format", flag_value="tsv", help="Write tables with tabs between cells.")
@click.option("--json", "format", flag_value="json", help="Write JSON: one line per sentence.")
@report_option
@input_format_option
@encoding_option
@column_options
@output_option
def command(
    words: tuple[str, ...],
    model_paths: tuple[str, ...],
    tags: int,
    nbest: int,
    format: str | None,
    report: str | None,
    input_format: str | None,
    encoding: str,
    columns: ColumnNames,
    output: str,
    quiet: bool,
) -> None:
    """Show how the tags of SENTENCE (default: the sentences of standard input) are computed.

    For each token and tag: the emission, delta (the best path up to there) with the tag it comes from, alpha and beta
    (the sums over all paths up to there, and from there on) and the probability; for each step its score and
    probability; log Z, the best path and the n best. Scores are logarithms, nothing is rescaled. The page of --report
    draws the trellis and goes through the recursions step by step.
    """
    template = load_page_template(report, "trellis.html")
    model = load_model(*model_paths)
    hint = InputHint(tag_check(model.classes_), quiet=quiet)
    if words:
        sentences = given_words(" ".join(words), hint)
    else:
        reader = hint.read_untagged(Lines("-", encoding), input_format, columns=model.corpus_columns(columns))
        sentences = [sentence for sentence in reader if len(sentence)]
    trellises = [model.trellis(sentence, nbest) for sentence in sentences]
    with open_output(output) as stream:
        stream.write(encoded("".join(FORMATS[format or "text"](trellis, tags) for trellis in trellises)))
    if report:
        write_text(report, trellis_page(template, trellises, tags))


def given_words(sentence: str, hint: InputHint) -> list[Any]:
    """Return the words of the sentence given as arguments; of a blank one nothing."""
    if exists(sentence):
        advice = f"-m {sentence}" if sentence.endswith(".npz") else f"< {sentence}"
        raise click.UsageError(f"SENTENCE: expected words, got the file {quote(sentence)}. Use {advice}.")
    return [list(words) for words in hint([tokens(sentence)], lambda words: words) if words]
