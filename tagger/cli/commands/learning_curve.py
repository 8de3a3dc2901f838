"""`tagger learning-curve`."""

from __future__ import annotations

import json
from dataclasses import asdict

import click

from tagger.cli.console import name_of, page_for, read_tagged, write_text
from tagger.cli.forwarding import CONTEXT, kind_option, make_of, passed_on
from tagger.cli.options import corpus_options, examples, jobs_option, output_option, quiet_option, report_option
from tagger.cli.paths import INPUT, FileCommand
from tagger.cli.progress import open_bar, show_bar
from tagger.cli.training import read_to_learn
from tagger.experiments.crossval import CurvePoint, learning_curve
from tagger.files.resources import available_cores
from tagger.reports.curve import curve_page, last_gain

WIDTH = 40  # columns of the longest bar


@click.command(
    "learning-curve",
    cls=FileCommand,
    short_help="Show whether more data would help.",
    context_settings=CONTEXT,
    epilog=examples(
        "tagger learning-curve train.txt --dev dev.txt",
        "tagger learning-curve train.txt --dev dev.txt --kind hmm --json",
        "tagger learning-curve train.txt --dev dev.txt --report curve.html",
    ),
)
@click.argument("corpus", type=INPUT)
@click.option("--dev", metavar="FILE", type=INPUT, required=True, help="A tagged corpus to judge by.")
@kind_option
@click.option("--points", type=click.IntRange(2, 20), default=6, show_default=True, help="Each has half of the next.")
@jobs_option
@corpus_options
@click.option("--json", "as_program", is_flag=True, help="For programs: rates are fractions.")
@report_option
@output_option
@quiet_option
@passed_on
def command(
    corpus: str,
    dev: str,
    kind: str,
    points: int,
    jobs: int,
    input_format: str | None,
    encoding: str,
    column: str,
    as_program: bool,
    report: str | None,
    output: str,
    quiet: bool,
    options: tuple[str, ...],
) -> None:
    """Show how accuracy grows with the size of the training corpus: would more data help?

    Trains on all of CORPUS and on a half, a quarter, … of its sentences. Options of the training command that set the
    model are passed on to it.
    """
    template = page_for(report, "curve.html")
    make = make_of(kind, options)
    sentences = read_to_learn(corpus, input_format, encoding, column, quiet, make.settings.get("partial"))
    judges = read_tagged(dev, input_format, encoding, column)
    rows = []
    with open_bar("train", "model", points, show_bar(quiet)) as bar:
        for row in learning_curve(make, sentences, judges, points, jobs or available_cores()):
            rows.append(row)
            bar.update()
    if report:
        write_text(report, curve_page(template, f"Learning curve of {name_of(corpus)} ({kind})", rows))
    write_text(output, json.dumps([asdict(row) for row in rows], indent=2) + "\n" if as_program else drawn(rows))


def drawn(rows: list[CurvePoint]) -> str:
    """A line for each size, with a bar from the least accuracy to the best, and what the last doubling brought."""
    low, high = min(row.accuracy for row in rows), max(row.accuracy for row in rows)
    lines = ["   tokens  accuracy"]
    for row in rows:
        length = 1 + round((WIDTH - 1) * (row.accuracy - low) / (high - low or 1))
        lines.append(f"{row.tokens:>9,} {100 * row.accuracy:>7.2f} %  {'█' * length}")
    gain = last_gain(rows)
    return "\n".join([*lines, *([gain] if gain else [])]) + "\n"
