"""`tagger learning-curve`: accuracy against the size of the training corpus."""

from __future__ import annotations

import click

from tagger.cli.console import display_name, load_page_template, write_json, write_text
from tagger.cli.corpus_input import CorpusOptions, read_tagged, read_training_corpus
from tagger.cli.forwarding import experiment_command, experiment_options
from tagger.cli.options import figure_option, report_option, value_option
from tagger.cli.paths import INPUT
from tagger.cli.progress import with_bar
from tagger.cli.spans import check_experiment, metric_option
from tagger.experiments.crossval import CurvePoint, TaggerFactory, learning_curve
from tagger.reports.curve_page import curve_page, last_gain
from tagger.reports.figures import curve_figure
from tagger.tagging.workers import Executor

BAR_WIDTH = 40  # columns of the longest bar


@experiment_command(
    "learning-curve",
    "tagger learning-curve train.txt --dev dev.txt",
    "tagger learning-curve train.txt --dev dev.txt --kind hmm --json",
    "tagger learning-curve train.txt --dev dev.txt --report curve.html",
    short_help="Show how accuracy grows with more training data.",
)
@click.option("--dev", metavar="FILE", type=INPUT, required=True, help="Tagged corpus to evaluate on, e.g. dev.txt.")
@value_option("--points", click.IntRange(2, 20), 6, "Number of points; each uses half the data of the next.")
@click.option("--contiguous", is_flag=True, help="Take the beginning of CORPUS, not a sample of its sentences.")
@metric_option
@report_option
@figure_option
@experiment_options
def command(
    corpus: str,
    dev: str,
    factory: TaggerFactory,
    points: int,
    contiguous: bool,
    metric: str,
    run: Executor,
    corpus_options: CorpusOptions,
    as_program: bool,
    report: str | None,
    figure: str | None,
    output: str,
    quiet: bool,
) -> None:
    """Show how accuracy grows with the size of the training corpus: would more data help?

    Trains on all of CORPUS and on a half, a quarter, … of its sentences: a sample or, with --contiguous, the first
    ones, as if documents were added. Settings of the model are passed on to the training command (--l2, --features,
    --order, …).
    """
    template = load_page_template(report, "curve.html")
    sentences = read_training_corpus(corpus, corpus_options, quiet, factory.settings.get("partial"))
    dev_sentences = read_tagged(dev, corpus_options)
    check_experiment(metric, factory, sentences, corpus, quiet)
    done = learning_curve(factory, sentences, dev_sentences, points, run, contiguous, metric)
    rows = list(with_bar(done, "train", "model", points, quiet))
    if report:
        title = f"Learning curve of {display_name(corpus)} ({factory.kind.kind})"
        write_text(report, curve_page(template, title, rows, metric))
    if figure:
        write_text(figure, curve_figure(rows, metric))
    if as_program:
        name = metric.replace("-", "_")
        write_json(output, [{"tokens": row.tokens, name: row.score, "interval": row.interval} for row in rows])
    else:
        write_text(output, draw_curve(rows, metric))


def draw_curve(rows: list[CurvePoint], metric: str) -> str:
    """Draw a bar for each corpus size, scaled from the lowest score to the highest; then the gain of the last."""
    low, high = min(row.score for row in rows), max(row.score for row in rows)
    lines = [f"   tokens {metric:>9}"]
    for row in rows:
        length = 1 + round((BAR_WIDTH - 1) * (row.score - low) / (high - low or 1))
        lines.append(f"{row.tokens:>9,} {100 * row.score:>7.2f} %  {'█' * length}")
    gain = last_gain(rows)
    return "\n".join([*lines, *([gain] if gain else [])]) + "\n"
