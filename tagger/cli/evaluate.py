"""`tagger eval`."""

from __future__ import annotations

import json

import click

from tagger.cli.options import (
    PATH,
    encoding_option,
    examples,
    input_format_option,
    model_option,
    quiet_option,
    write_out,
)
from tagger.corpus import read_corpus
from tagger.corpus.conllu import COLUMNS
from tagger.errors import CorpusError
from tagger.metrics import evaluate
from tagger.report import as_json, as_table
from tagger.store import load_model


@click.command(
    "eval",
    epilog=examples(
        "tagger eval gold.txt",
        "tagger eval gold.txt -m english.npz --json",
    ),
)
@click.argument("gold", type=PATH)
@model_option
@input_format_option
@encoding_option
@click.option("--column", type=click.Choice(list(COLUMNS)), help="Of CoNLL-U.  [default: the model's]")
@click.option("--json", "as_program", is_flag=True, help="For programs: rates are fractions, undefined is null.")
@quiet_option
def command(
    gold: str,
    model_path: str,
    input_format: str | None,
    encoding: str,
    column: str | None,
    as_program: bool,
    quiet: bool,
) -> None:
    """Judge a model by a corpus with the right tags.

    GOLD may be - for standard input.
    """
    model = load_model(model_path)
    sentences = read_corpus(gold, input_format, encoding, column or model.column_)
    if not sentences:
        raise CorpusError(f"{gold}: no sentence in it; expected tagged sentences")
    found = evaluate(sentences, model.predict(sentences), model.lexicon_)
    text = json.dumps(as_json(found), ensure_ascii=False, indent=2) + "\n" if as_program else as_table(found)
    write_out(text)
