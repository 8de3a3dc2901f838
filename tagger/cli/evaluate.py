"""`tagger eval`."""

from __future__ import annotations

import json

import click

from tagger.cli.options import PATH, corpus_options, model_option, quiet_option, write_out
from tagger.corpus import read_corpus
from tagger.errors import CorpusError
from tagger.metrics import evaluate
from tagger.report import as_json, as_table
from tagger.store import load_model


@click.command("eval")
@click.argument("gold", type=PATH)
@model_option
@corpus_options
@click.option("--json", "as_program", is_flag=True, help="For programs: rates are fractions, undefined is null.")
@quiet_option
def command(
    gold: str,
    model_path: str,
    input_format: str | None,
    encoding: str,
    column: str,
    as_program: bool,
    quiet: bool,
) -> None:
    """Compare a model's tags with those of a GOLD corpus (- for standard input).

    \b
    Examples:
      tagger eval gold.txt
      tagger eval gold.txt -m english.npz --json
    """
    model = load_model(model_path)
    sentences = read_corpus(gold, input_format, encoding, column)
    if not sentences:
        raise CorpusError(f"{gold}: no sentence in it; expected tagged sentences")
    found = evaluate(sentences, model.predict(sentences), model.lexicon_)
    text = json.dumps(as_json(found), ensure_ascii=False, indent=2) + "\n" if as_program else as_table(found)
    write_out(text)
