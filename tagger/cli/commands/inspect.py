"""`tagger inspect`: a summary of a model."""

from __future__ import annotations

import click

from tagger.cli.console import display_name, load_page_template, write_json, write_text
from tagger.cli.options import file_command, is_given, model_option, output_option, report_option
from tagger.cli.paths import INPUT
from tagger.errors import ModelError
from tagger.escaping import visible
from tagger.models.store import load_card, load_model
from tagger.reports.model import model_page
from tagger.reports.text import section_text


@file_command(
    "inspect",
    "tagger inspect",
    "tagger inspect english.npz | less",
    "tagger inspect --report model.html",
    "tagger inspect -m english --card",
    short_help="Show what a model has learned.",
)
@click.argument("model", type=INPUT, metavar="[MODEL]", required=False)
@model_option
@click.option("--card", is_flag=True, help="Show the model card instead: corpus, licence, figures, limits.")
@click.option("--json", "as_program", is_flag=True, help="Write JSON: the same tables, with numbers.")
@report_option
@output_option
def command(
    model: str | None,
    model_paths: tuple[str, ...],
    card: bool,
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
    if card and (report or as_program):
        raise click.UsageError("--card: expected no --json and no --report: a card is text.")
    name = paths[0]
    if card:
        write_text(output, card_text(name))
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
