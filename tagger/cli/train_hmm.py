"""`tagger train-hmm`."""

from __future__ import annotations

import time

import click

from tagger.cli.options import PATH, corpus_options, examples, quiet_option, read_tagged, say
from tagger.cli.training import check_model_output, closing_line, doubts, output_model_option
from tagger.hmm import HMMTagger
from tagger.store import save_model


@click.command(
    "train-hmm",
    epilog=examples(
        "tagger train-hmm corpus.txt",
        "tagger train-hmm people-daily.txt --encoding gbk -o chinese.npz",
        "tagger train-hmm en_ewt-ud-train.conllu --column xpos",
    ),
)
@click.argument("corpus", type=PATH)
@output_model_option
@corpus_options
@click.option(
    "--rare-count",
    type=click.IntRange(1),
    default=10,
    show_default=True,
    help="Words seen at most so often teach how unknown words behave.",
)
@click.option(
    "--suffix-length",
    type=click.IntRange(0, 20),
    default=6,
    show_default=True,
    help="Letters at a word's end that are looked at.",
)
@quiet_option
def command(
    corpus: str,
    output: str,
    input_format: str | None,
    encoding: str,
    column: str,
    rare_count: int,
    suffix_length: int,
    quiet: bool,
) -> None:
    """Learn a hidden Markov model from a tagged corpus.

    CORPUS may be - for standard input. The closing line names the model and the command to try next.
    """
    begin = time.perf_counter()
    check_model_output(output, corpus)
    sentences = read_tagged(corpus, input_format, encoding, column)
    model = HMMTagger(rare_count=rare_count, suffix_length=suffix_length).fit(sentences)
    model.column_ = column
    save_model(model, output)
    for doubt in doubts(model):
        say(doubt, quiet)
    say(closing_line(model, output, time.perf_counter() - begin), quiet)
