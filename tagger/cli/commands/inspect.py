"""`tagger inspect`: a summary of a model."""

from __future__ import annotations

import click

from tagger.cli.console import display_name, load_page_template, write_json, write_text
from tagger.cli.options import DEFAULT_MODEL, file_command, output_option, report_option
from tagger.cli.paths import INPUT
from tagger.escaping import visible
from tagger.models.store import load_model
from tagger.models.summary import Section
from tagger.reports.model import model_page
from tagger.reports.text import padded, width


@file_command(
    "inspect",
    "tagger inspect",
    "tagger inspect english.npz | less",
    "tagger inspect --report model.html",
    short_help="Show what a model has learned.",
)
@click.argument("model", type=INPUT, metavar="[MODEL]", envvar="TAGGER_MODEL", default=DEFAULT_MODEL)
@click.option("--json", "as_program", is_flag=True, help="Write JSON: the same tables, with numbers.")
@report_option
@output_option
def command(model: str, as_program: bool, report: str | None, output: str, quiet: bool) -> None:
    """Show what a model has learned: settings, sizes, tags, strongest features and transitions.

    MODEL defaults to $TAGGER_MODEL, else model.npz. The page of --report also has a heat map of the transitions.
    """
    template = load_page_template(report, "model.html")
    loaded = load_model(model)
    if report:
        write_text(report, model_page(template, display_name(model), loaded))
    sections = loaded.summarize()
    if as_program:
        tables = {section.title: {"head": section.head, "rows": section.rows} for section in sections}
        write_json(output, tables)
    else:
        write_text(output, "\n".join(map(section_text, sections)))


def section_text(section: Section) -> str:
    """Format a section as text, in columns."""
    rows = [list(map(visible, row)) for row in [*([section.head] if section.head else []), *section.texts]]
    widths = [max(map(width, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(padded(cell, columns) for cell, columns in zip(row, widths, strict=True)) for row in rows]
    return "\n".join([f"# {section.title}", *(line.rstrip() for line in lines), ""])
