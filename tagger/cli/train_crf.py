"""`tagger train-crf`."""

from __future__ import annotations

import time
from typing import Any

import click

from tagger.cli.options import (
    PATH,
    check_output,
    corpus_options,
    examples,
    features_option,
    quiet_option,
    read_tagged,
    say,
)
from tagger.cli.training import Finite, check_model_output, closing_line, output_model_option, watching
from tagger.crf import CRFTagger
from tagger.store import save_model


@click.command(
    "train-crf",
    epilog=examples(
        "tagger train-crf corpus.txt",
        "tagger train-crf train.txt --dev dev.txt --log train.jsonl -o english.npz",
        "tagger train-crf train.txt --features my-template.txt --l2 0.5",
    ),
)
@click.argument("corpus", type=PATH)
@output_model_option
@corpus_options
@click.option("--dev", metavar="FILE", type=PATH, help="A tagged corpus to watch the accuracy on.")
@features_option
@click.option("--l2", type=Finite(0), default=0.25, show_default=True, help="Penalty l2·‖w‖² on the weights.")
@click.option("--min-count", type=click.IntRange(1), default=1, show_default=True, help="Leave out rarer features.")
@click.option("--max-iterations", type=click.IntRange(1), default=200, show_default=True, help="Stop after so many.")
@click.option(
    "--tolerance",
    type=Finite(0),
    default=1e-3,
    show_default=True,
    help="Stop when the loss falls by less than this share of itself in 10 iterations.",
)
@click.option("--threads", type=click.IntRange(0), default=0, help="Threads to use.  [default: all cores]")
@click.option("--log", metavar="FILE", help="Write a line of JSON for each iteration.")
@quiet_option
def command(
    corpus: str,
    output: str,
    input_format: str | None,
    encoding: str,
    column: str,
    dev: str | None,
    log: str | None,
    quiet: bool,
    **settings: Any,
) -> None:
    """Learn a conditional random field from a tagged corpus.

    CORPUS may be - for standard input. The closing line names the model and the command to try next.
    """
    begin = time.perf_counter()
    check_model_output(output, corpus, dev)
    if log:
        check_output(log, corpus, dev, output)
    sentences = read_tagged(corpus, input_format, encoding, column)
    dev_sentences = read_tagged(dev, input_format, encoding, column) if dev else None
    model = CRFTagger(**settings)
    model.column_ = column
    with watching(model.max_iterations, log, quiet) as watch:
        model.fit(sentences, X_dev=dev_sentences, watch=watch)
    save_model(model, output)
    accuracy = model.score(dev_sentences) if dev_sentences else None
    say("{iterations} iterations, loss {loss:,.1f}; stopped because {stopped}".format(**model.summary_), quiet)
    say(closing_line(model, output, time.perf_counter() - begin, accuracy), quiet)
