"""`tagger crossval`: k-fold cross-validation."""

from __future__ import annotations

import statistics

import click

from tagger.cli.console import write_json, write_text
from tagger.cli.corpus_input import CorpusOptions, read_training_corpus
from tagger.cli.forwarding import experiment_command, experiment_options
from tagger.cli.options import is_given, value_option
from tagger.cli.progress import with_bar
from tagger.evaluation.metrics import by_sentence
from tagger.evaluation.significance import interval
from tagger.experiments.crossval import TaggerFactory, cross_validate
from tagger.reports.text import between, percent


@experiment_command(
    "crossval",
    "tagger crossval corpus.txt",
    "tagger crossval corpus.txt --kind hmm --folds 5",
    "tagger crossval corpus.txt --contiguous",
    "tagger crossval corpus.txt --l2 0.5 --features my-template.txt",
    short_help="Estimate accuracy by k-fold cross-validation.",
)
@value_option("--folds", click.IntRange(2), 10, "Number of folds.")
@value_option("--seed", click.INT, 0, "Seed of the division into folds.")
@click.option("--contiguous", is_flag=True, help="Take stretches of CORPUS as folds, so that documents stay together.")
@experiment_options
def command(
    corpus: str,
    factory: TaggerFactory,
    folds: int,
    seed: int,
    contiguous: bool,
    jobs: int,
    corpus_options: CorpusOptions,
    as_program: bool,
    output: str,
    quiet: bool,
) -> None:
    """Estimate accuracy by k-fold cross-validation: train on all folds but one, evaluate on that one, for each fold.

    Settings of the model are passed on to the training command (--l2, --features, --order, …). Sentences with the same
    words stay in one fold, except with --contiguous, which estimates the accuracy on new documents. The interval is
    that of the accuracy over all tokens.
    """
    if contiguous and is_given("seed"):
        raise click.UsageError("--seed: expected no --contiguous, whose folds follow the order of CORPUS.")
    sentences = read_training_corpus(corpus, corpus_options, quiet, factory.settings.get("partial"))
    results = cross_validate(factory, sentences, folds, seed, jobs, contiguous)
    done = list(with_bar(results, "crossval", "fold", folds, quiet))
    rows = [{"tokens": sum(map(len, fold.tags)), "accuracy": fold.accuracy} for fold in done]
    accuracies = [row["accuracy"] for row in rows]
    mean, deviation = statistics.mean(accuracies), statistics.stdev(accuracies)
    gold = [sentences[i] for fold in done for i in fold.members]
    right, lengths = by_sentence(gold, [tags for fold in done for tags in fold.tags])
    accuracy, bounds = float(right.sum() / lengths.sum()), interval(right, lengths)
    if as_program:
        overall = {"accuracy": accuracy, "accuracy_interval": bounds}
        write_json(output, {"folds": rows, "mean": mean, "deviation": deviation, **overall})
        return
    lines = [f"{i:>4} {row['tokens']:>9,} {100 * row['accuracy']:>8.2f} %" for i, row in enumerate(rows, 1)]
    lines += [f" all {lengths.sum():>9,} {percent(accuracy):>10}{between(bounds)}"]
    summary = f"mean {100 * mean:.2f} %, standard deviation {100 * deviation:.2f}"
    write_text(output, "\n".join(["fold    tokens  accuracy", *lines, summary, ""]))
