"""`tagger eval`."""

from __future__ import annotations

import json

import click

from tagger.cli.options import (
    PATH,
    check_output,
    encoding_option,
    examples,
    input_format_option,
    map_option,
    model_option,
    output_option,
    quiet_option,
    read_tagged,
    say_unmapped,
    tag_map_of,
    write_text,
)
from tagger.corpus.conllu import COLUMNS
from tagger.metrics import evaluate
from tagger.report import as_json, as_table
from tagger.store import load_model


@click.command(
    "eval",
    epilog=examples(
        "tagger eval gold.txt",
        "tagger eval gold.txt -m english.npz --json",
        "tagger eval gold-upos.txt -m penn.npz --map penn-upos.tsv",
    ),
)
@click.argument("gold", type=PATH)
@model_option
@input_format_option
@encoding_option
@click.option("--column", type=click.Choice(list(COLUMNS)), help="Of CoNLL-U.  [default: the model's]")
@map_option
@click.option("--json", "as_program", is_flag=True, help="For programs: rates are fractions, undefined is null.")
@output_option
@quiet_option
def command(
    gold: str,
    model_path: str,
    input_format: str | None,
    encoding: str,
    column: str | None,
    map_path: str | None,
    as_program: bool,
    output: str,
    quiet: bool,
) -> None:
    """Judge a model by a corpus with the right tags.

    GOLD may be - for standard input. --map renames tags on both sides, the model's and those of GOLD, before they are
    compared; so a map from Penn to universal tags serves for GOLD with either.
    """
    check_output(output, gold, model_path, map_path)
    tag_map = tag_map_of(map_path)
    model = load_model(model_path)
    sentences = read_tagged(gold, input_format, encoding, column or model.column_)
    guesses = model.predict(sentences)
    if tag_map:
        sentences, guesses = [tag_map.sentence(s) for s in sentences], [tag_map.tags(tags) for tags in guesses]
        say_unmapped(tag_map, quiet)
    found = evaluate(sentences, guesses, model.lexicon_)
    text = json.dumps(as_json(found), ensure_ascii=False, indent=2) + "\n" if as_program else as_table(found)
    write_text(output, text)
