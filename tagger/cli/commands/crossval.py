"""`tagger crossval`: k-fold cross-validation."""

from __future__ import annotations

import statistics

import click

from tagger.cli.console import write_json, write_text
from tagger.cli.corpus_input import CorpusOptions, read_training_corpus
from tagger.cli.forwarding import experiment_command, experiment_options
from tagger.cli.options import value_option
from tagger.cli.progress import with_bar
from tagger.experiments.crossval import TaggerFactory, cross_validate


@experiment_command(
    "crossval",
    "tagger crossval corpus.txt",
    "tagger crossval corpus.txt --kind hmm --folds 5",
    "tagger crossval corpus.txt --l2 0.5 --features my-template.txt",
    short_help="Estimate accuracy by k-fold cross-validation.",
)
@value_option("--folds", click.IntRange(2), 10, "Number of folds.")
@value_option("--seed", click.INT, 0, "Seed of the division into folds.")
@experiment_options
def command(
    corpus: str,
    factory: TaggerFactory,
    folds: int,
    seed: int,
    jobs: int,
    corpus_options: CorpusOptions,
    as_program: bool,
    output: str,
    quiet: bool,
) -> None:
    """Estimate accuracy by k-fold cross-validation: train on all folds but one, evaluate on that one, for each fold.

    Settings of the model are passed on to the training command (--l2, --features, --order, …). Sentences with the same
    words stay in one fold.
    """
    sentences = read_training_corpus(corpus, corpus_options, quiet, factory.settings.get("partial"))
    done = with_bar(cross_validate(factory, sentences, folds, seed, jobs), "crossval", "fold", folds, quiet)
    rows = [{"tokens": sum(map(len, fold.tags)), "accuracy": fold.accuracy} for fold in done]
    accuracies = [row["accuracy"] for row in rows]
    mean, deviation = statistics.mean(accuracies), statistics.stdev(accuracies)
    if as_program:
        write_json(output, {"folds": rows, "mean": mean, "deviation": deviation})
        return
    lines = [f"{i:>4} {row['tokens']:>9,} {100 * row['accuracy']:>8.2f} %" for i, row in enumerate(rows, 1)]
    summary = f"mean {100 * mean:.2f} %, standard deviation {100 * deviation:.2f}"
    write_text(output, "\n".join(["fold    tokens  accuracy", *lines, summary, ""]))
