"""`tagger crossval`."""

from __future__ import annotations

import json
import statistics

import click

from tagger.cli.console import write_text
from tagger.cli.forwarding import CONTEXT, kind_option, make_of, passed_on
from tagger.cli.options import corpus_options, examples, jobs_option, output_option, quiet_option
from tagger.cli.paths import INPUT, FileCommand
from tagger.cli.progress import open_bar, show_bar
from tagger.cli.training import read_to_learn
from tagger.experiments.crossval import cross_validate
from tagger.files.resources import available_cores


@click.command(
    "crossval",
    cls=FileCommand,
    short_help="Train on parts of a corpus and judge by the rest.",
    context_settings=CONTEXT,
    epilog=examples(
        "tagger crossval corpus.txt",
        "tagger crossval corpus.txt --kind hmm --folds 5",
        "tagger crossval corpus.txt --l2 0.5 --features my-template.txt",
    ),
)
@click.argument("corpus", type=INPUT)
@kind_option
@click.option("--folds", type=click.IntRange(2), default=10, show_default=True, help="Parts of the corpus.")
@click.option("--seed", type=int, default=0, show_default=True, help="Another seed, other folds.")
@jobs_option
@corpus_options
@click.option("--json", "as_program", is_flag=True, help="For programs: rates are fractions.")
@output_option
@quiet_option
@passed_on
def command(
    corpus: str,
    kind: str,
    folds: int,
    seed: int,
    jobs: int,
    input_format: str | None,
    encoding: str,
    column: str,
    as_program: bool,
    output: str,
    quiet: bool,
    options: tuple[str, ...],
) -> None:
    """Train on all folds of a corpus but one and judge by that one, for each in turn.

    Options of the training command that set the model (--l2, --features, --order, …) are passed on to it. Sentences
    with the same words are never on both sides.
    """
    make = make_of(kind, options)
    sentences = read_to_learn(corpus, input_format, encoding, column, quiet, make.settings.get("partial"))
    rows = []
    with open_bar("crossval", "fold", folds, show_bar(quiet)) as bar:
        for fold in cross_validate(make, sentences, folds, seed, jobs or available_cores()):
            rows.append({"tokens": sum(map(len, fold.tags)), "accuracy": fold.accuracy})
            bar.update()
    found = [row["accuracy"] for row in rows]
    mean, deviation = statistics.mean(found), statistics.stdev(found)
    if as_program:
        text = json.dumps({"folds": rows, "mean": mean, "deviation": deviation}, indent=2) + "\n"
    else:
        lines = [f"{i:>4} {row['tokens']:>9,} {100 * row['accuracy']:>8.2f} %" for i, row in enumerate(rows, 1)]
        text = "\n".join(
            ["fold    tokens  accuracy", *lines, f"mean {100 * mean:.2f} %, deviation {100 * deviation:.2f}", ""]
        )
    write_text(output, text)
