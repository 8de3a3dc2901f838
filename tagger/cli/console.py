"""Messages on standard error, and text files, as all commands write them.

Messages are for people: escaped for a terminal, silent with `--quiet`, and never a reason to fail. Data goes to files
or standard output, in UTF-8 whatever the locale.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from pathlib import PurePath
from typing import Any

import click

from tagger.escaping import encoded, visible
from tagger.files.reading import Skipped
from tagger.files.writing import STDOUT, open_output

SKIPPED_KEY = "tagger.skipped"  # of the context's `meta`
PARAMETER = re.compile(
    r"""'[^']*' | "[^"]*"  # quoted text, which is a user's and stays
    | \b(set[ ] | use[ ] | (?:another|smaller)[ ](?!format))(\w+)\b(?!=)
    | (?<!\S)(\w+)=['"]?([\w.+-]*\w)['"]?(?=[.,;]?(?:\s|$))  # parameter=value, but not a part of a file name""",
    re.IGNORECASE | re.VERBOSE,
)


def print_message(message: str, quiet: bool) -> None:
    """Print a message on standard error unless `quiet`; control characters in it are escaped."""
    if not quiet:
        with suppress(OSError):
            click.echo(visible(message, "\n"), err=True)


def name_options(message: str, command: click.Command) -> str:
    """Replace parameters that a message of a lower layer advises by the options of a command.

    `Set encoding to gbk` becomes `Set --encoding to gbk`, `l2=0.5` becomes `--l2 0.5`, and `encoding: expected …`
    becomes `--encoding: expected …`. The `format` of a reader is --input-format, that of a writer --output-format.
    """
    options = {param.name: param.opts[-1] for param in command.params if isinstance(param, click.Option)}
    options["format"] = options.get("output_format" if "written" in message else "input_format", "format")

    def replace(match: re.Match[str]) -> str:
        advice, advised, parameter, value = match.groups()
        if parameter in options:
            return f"{options[parameter]} {value}"
        return advice + options[advised] if advised in options else match[0]

    place, _, fault = message.partition(": ")
    if place in options and fault.startswith("expected"):
        message = f"{options[place]}: {fault}"
    return PARAMETER.sub(replace, message)


def report_written(path: str, content: str, quiet: bool) -> None:
    """Print that a file is written; nothing for standard output, where the reader sees it."""
    if path not in STDOUT:
        print_message(f"wrote {path}: {content}", quiet)


def skipped_lines() -> Skipped | None:
    """Return the record of lines that `--on-error skip` leaves out; None if a fault stops the command."""
    context = click.get_current_context(silent=True)
    return context.meta.get(SKIPPED_KEY) if context else None


def report_skipped(skipped: Skipped) -> None:
    """Print how many lines were left out, and the first faults: with `--quiet`, too, since data is missing."""
    if skipped.lines:
        command = click.get_current_context().command
        faults = [f"  {name_options(fault, command)}" for fault in skipped.faults]
        more = ["  …"] * (skipped.count > len(skipped.faults))
        head = f"skipped {skipped.lines:,} line{'s' * (skipped.lines > 1)}:"
        print_message("\n".join([head, *faults, *more]), quiet=False)


def write_text(path: str, text: str) -> None:
    """Write text to a file or standard output, in UTF-8."""
    with open_output(path) as stream:
        stream.write(encoded(text))


def write_json(path: str, value: Any) -> None:
    """Write a value as JSON, indented, to a file or standard output."""
    write_text(path, json.dumps(value, ensure_ascii=False, indent=2) + "\n")


def display_name(path: str) -> str:
    """Return the name of a file as a page shows it: without its folder."""
    return "standard input" if path == "-" else PurePath(path).name


def load_page_template(report: str | None, name: str) -> Any:
    """Load the template of the page that `--report` asks for: before any work, since Jinja2 may be missing."""
    if report is None:
        return None
    from tagger.reports.html import page_template

    return page_template(name)
