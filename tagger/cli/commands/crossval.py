"""`tagger crossval`: k-fold cross-validation."""

from __future__ import annotations

import statistics
from itertools import chain

import click

from tagger.cli.console import write_json, write_text
from tagger.cli.corpus_input import CorpusOptions, read_training_corpus
from tagger.cli.forwarding import experiment_command, experiment_options
from tagger.cli.options import is_given, value_option
from tagger.cli.progress import with_bar
from tagger.cli.spans import check_experiment, metric_option
from tagger.evaluation.metrics import rate
from tagger.evaluation.significance import interval
from tagger.evaluation.spans import METRICS, score_by
from tagger.experiments.crossval import TaggerFactory, cross_validate
from tagger.reports.text import between, percent
from tagger.tagging.workers import Executor


@experiment_command(
    "crossval",
    "tagger crossval corpus.txt",
    "tagger crossval corpus.txt --kind hmm --folds 5",
    "tagger crossval corpus.txt --contiguous",
    "tagger crossval corpus.txt --l2 0.5 --features my-template.txt",
    "tagger crossval names.tsv --metric span-f1",
    short_help="Estimate accuracy by k-fold cross-validation.",
)
@value_option("--folds", click.IntRange(2), 10, "Number of folds.")
@value_option("--seed", click.INT, 0, "Seed of the division into folds.")
@click.option("--contiguous", is_flag=True, help="Take stretches of CORPUS as folds, so that documents stay together.")
@metric_option
@experiment_options
def command(
    corpus: str,
    factory: TaggerFactory,
    folds: int,
    seed: int,
    contiguous: bool,
    metric: str,
    run: Executor,
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
    check_experiment(metric, factory, sentences, corpus, quiet)
    results = cross_validate(factory, sentences, folds, seed, run, contiguous)
    done = list(with_bar(results, "crossval", "fold", folds, quiet))
    golds, name = [[sentences[i] for i in fold.members] for fold in done], metric.replace("-", "_")
    scores = [score_by(metric, gold, fold.tags) or 0.0 for gold, fold in zip(golds, done, strict=True)]
    rows = [{"tokens": sum(map(len, fold.tags)), name: score} for fold, score in zip(done, scores, strict=True)]
    mean, deviation = statistics.mean(scores), statistics.stdev(scores)
    values, totals = METRICS[metric](list(chain.from_iterable(golds)), [tags for fold in done for tags in fold.tags])
    overall, bounds = rate(int(values.sum()), int(totals.sum())), interval(values, totals)
    if as_program:
        together = {name: overall, f"{name}_interval": bounds}
        write_json(output, {"folds": rows, "mean": mean, "deviation": deviation, **together})
        return
    lines = [f"{i:>4} {row['tokens']:>9,} {100 * row[name]:>8.2f} %" for i, row in enumerate(rows, 1)]
    lines += [f" all {sum(row['tokens'] for row in rows):>9,} {percent(overall):>10}{between(bounds)}"]
    summary = f"mean {100 * mean:.2f} %, standard deviation {100 * deviation:.2f}"
    write_text(output, "\n".join([f"fold    tokens {metric:>9}", *lines, summary, ""]))
