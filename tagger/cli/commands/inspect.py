"""`tagger inspect`: a summary of a model."""

from __future__ import annotations

import click

from tagger.cli.console import display_name, load_page_template, write_json, write_text
from tagger.cli.options import file_command, is_given, model_option, output_option, report_option
from tagger.cli.paths import INPUT
from tagger.errors import ModelError
from tagger.escaping import visible
from tagger.models.store import load_card, load_model
from tagger.reports.model_page import model_page
from tagger.reports.text import section_text


@file_command(
    "inspect",
    "tagger inspect",
    "tagger inspect english.npz | less",
    "tagger inspect --report model.html",
    "tagger inspect -m english --card",
    "tagger inspect hmm.npz --table A > A.tsv",
    short_help="Show what a model has learned.",
)
@click.argument("model", type=INPUT, metavar="[MODEL]", required=False)
@model_option
@click.option("--card", is_flag=True, help="Show the model card instead: corpus, licence, figures, limits.")
@click.option(
    "--table",
    type=click.Choice(["pi", "A", "B", "weights"]),
    help="Write one table as TSV instead: pi, A (transitions) or B (emissions) of an HMM, or the weights of a CRF.",
)
@click.option("--json", "as_program", is_flag=True, help="Write JSON: the same tables, with numbers.")
@report_option
@output_option
def command(
    model: str | None,
    model_paths: tuple[str, ...],
    card: bool,
    table: str | None,
    as_program: bool,
    report: str | None,
    output: str,
    quiet: bool,
) -> None:
    """Show what a model has learned: settings, sizes, tags, strongest features and transitions.

    MODEL is the same as -m MODEL. The page of --report also has a heat map of the transitions. --card shows what the
    author of the model wrote about it, if anything.
    """
    paths = (*([model] if model else []), *(model_paths if is_given("model_paths") or not model else ()))
    if len(paths) > 1:
        raise click.UsageError("-m: expected one model, got several. Inspect one at a time.")
    if (card or table) and (report or as_program or (card and table)):
        option, other, kind = ("--card", "--table", "text") if card else ("--table", "--card", "TSV")
        raise click.UsageError(f"{option}: expected no --json, --report or {other}: it writes {kind}.")
    name = paths[0]
    if card or table:
        write_text(output, card_text(name) if card else table_text(name, table or ""))
        return
    template = load_page_template(report, "model.html")
    loaded = load_model(name)
    if report:
        write_text(report, model_page(template, display_name(name), loaded))
    sections = loaded.summarize()
    if as_program:
        tables = {section.title: {"head": section.head, "rows": section.rows} for section in sections}
        write_json(output, tables)
    else:
        write_text(output, "\n".join(map(section_text, sections)))


def card_text(path: str) -> str:
    """Return the card of a model, control characters escaped."""
    card = load_card(path)
    if card is None:
        raise ModelError(f"{path}: expected a model with a card, got one without")
    return visible(card, "\n").rstrip("\n") + "\n"


def table_text(path: str, name: str) -> str:
    """Return a table of a model as TSV, control characters escaped."""
    model = load_model(path)
    tables = model.tables()
    if name not in tables:
        has = f"which has the tables {', '.join(tables)}" if tables else "which has none"
        raise ModelError(f"{path}: expected a model with the table {name}, got one of kind {model.kind}, {has}")
    table = tables[name]()
    return "".join("\t".join(visible(str(cell)) for cell in row) + "\n" for row in [table.head, *table.rows])
