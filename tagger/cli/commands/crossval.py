"""`tagger crossval`: k-fold cross-validation."""

from __future__ import annotations

import statistics

import click

from tagger.cli.console import write_json, write_text
from tagger.cli.corpus_input import CorpusOptions, read_training_corpus
from tagger.cli.forwarding import experiment_command, experiment_options
from tagger.cli.options import value_option
from tagger.cli.progress import with_bar
from tagger.cli.spans import check_experiment, metric_option
from tagger.evaluation.spans import score_by
from tagger.experiments.crossval import TaggerFactory, cross_validate


@experiment_command(
    "crossval",
    "tagger crossval corpus.txt",
    "tagger crossval corpus.txt --kind hmm --folds 5",
    "tagger crossval corpus.txt --l2 0.5 --features my-template.txt",
    "tagger crossval names.tsv --metric span-f1",
    short_help="Estimate accuracy by k-fold cross-validation.",
)
@value_option("--folds", click.IntRange(2), 10, "Number of folds.")
@value_option("--seed", click.INT, 0, "Seed of the division into folds.")
@metric_option
@experiment_options
def command(
    corpus: str,
    factory: TaggerFactory,
    folds: int,
    seed: int,
    metric: str,
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
    check_experiment(metric, factory, sentences, corpus, quiet)
    done = with_bar(cross_validate(factory, sentences, folds, seed, jobs), "crossval", "fold", folds, quiet)
    name, rows = metric.replace("-", "_"), []
    for fold in done:
        score = score_by(metric, [sentences[i] for i in fold.members], fold.tags) or 0.0
        rows.append({"tokens": sum(map(len, fold.tags)), name: score})
    scores = [row[name] for row in rows]
    mean, deviation = statistics.mean(scores), statistics.stdev(scores)
    if as_program:
        write_json(output, {"folds": rows, "mean": mean, "deviation": deviation})
        return
    lines = [f"{i:>4} {row['tokens']:>9,} {100 * row[name]:>8.2f} %" for i, row in enumerate(rows, 1)]
    summary = f"mean {100 * mean:.2f} %, standard deviation {100 * deviation:.2f}"
    write_text(output, "\n".join([f"fold    tokens {metric:>9}", *lines, summary, ""]))
