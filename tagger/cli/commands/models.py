"""`tagger models`: the models that come with this package and with others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tagger.cli.console import write_json, write_text
from tagger.cli.options import file_command, output_option
from tagger.models.card import card_fields
from tagger.models.store import load_card
from tagger.models.summary import FormattedNumber, Section
from tagger.pretrained import installed_models, shipped_models
from tagger.reports.text import section_text

FIELDS = ("language", "tags", "accuracy")  # of the card


@file_command(
    "models",
    "tagger models",
    "tagger models --json",
    'echo "Time flies like an arrow." | tagger tag -m english --tokenize',
    "tagger inspect -m english --card",
    short_help="List the models that are installed.",
)
@click.option("--json", "as_program", is_flag=True, help="Write JSON: a list, one object per model.")
@output_option
def command(as_program: bool, output: str, quiet: bool) -> None:
    """List the models that come with tagger and with other installed packages.

    Of each the list has name, language, tags, accuracy and size. The name stands for the file wherever a model is
    expected: -m NAME. `tagger inspect -m NAME --card` shows more.
    """
    rows = [describe(name, path) for name, path in (shipped_models() | installed_models()).items()]
    if as_program:
        write_json(output, rows)
        return
    cells = [
        [*(row[key] or "" for key in ("name", *FIELDS)), FormattedNumber(row["bytes"] / 1e6, ".1f")] for row in rows
    ]
    write_text(output, section_text(Section("models", cells, ["name", *FIELDS, "MB"])))


def describe(name: str, path: Path) -> dict[str, Any]:
    """Return what the list shows of a model; fields that its card lacks are None."""
    fields = card_fields(load_card(path))
    return {"name": name, **{key: fields.get(key) for key in FIELDS}, "bytes": path.stat().st_size}
