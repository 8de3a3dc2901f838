"""Options that several commands share, each a decorator, and the voice in which commands speak of their progress."""

from __future__ import annotations

import math
import os
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from tagger.corpus import FORMATS, read_corpus
from tagger.corpus.conllu import COLUMNS
from tagger.errors import FileError, TrainingError
from tagger.files import check_writable, exists, open_output
from tagger.model import Tagger
from tagger.sentence import Sentence

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

PATH = click.Path(allow_dash=True)
MODEL = "model.npz"


def examples(*lines: str) -> str:
    """The last words of a command's help."""
    return "\n".join(["\b", "Examples:", *(f"  {line}" for line in lines)])


def model_option(command: Decorated) -> Decorated:
    return click.option(
        "-m",
        "--model",
        "model_path",
        metavar="FILE",
        envvar="TAGGER_MODEL",
        default=MODEL,
        show_default=True,
        show_envvar=True,
        help="The model to use.",
    )(command)


def output_model_option(command: Decorated) -> Decorated:
    return click.option(
        "-o",
        "--output",
        metavar="FILE",
        default=MODEL,
        show_default=True,
        help="Where to write the model.",
    )(command)


def quiet_option(command: Decorated) -> Decorated:
    return click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors.")(command)


def corpus_options(command: Decorated) -> Decorated:
    """How to read a tagged corpus."""
    for option in (column_option, encoding_option, input_format_option):
        command = option(command)
    return command


def input_format_option(command: Decorated) -> Decorated:
    return click.option(
        "--input-format",
        type=click.Choice(list(FORMATS)),
        help="How the input is written; corpora are recognised.",
    )(command)


def encoding_option(command: Decorated) -> Decorated:
    return click.option("--encoding", default="utf-8", show_default=True, help="Of the input, e.g. gbk.")(command)


def column_option(command: Decorated) -> Decorated:
    columns = click.Choice(list(COLUMNS))
    return click.option("--column", type=columns, default="upos", show_default=True, help="Of CoNLL-U.")(command)


class Finite(click.FloatRange):
    """A number from 0 up, but neither nan nor infinity."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number.", param, ctx)
        return number


def read_training_corpus(path: str, input_format: str | None, encoding: str, column: str) -> list[Sentence]:
    sentences = read_corpus(path, input_format, encoding, column)
    if not sentences:
        raise TrainingError(f"{path}: no sentence in it; expected tagged sentences")
    return sentences


def check_output(output: str, *inputs: str | None) -> None:
    """Refuse, before any work is done, what would fail or do harm at its end."""
    if output == "-":
        raise click.BadParameter("a model cannot be written to standard output", param_hint="--output")
    check_writable(output)
    for path in inputs:
        if path and path != "-" and exists(path) and exists(output) and os.path.samefile(path, output):  # noqa: PTH121
            raise FileError(f"cannot write {output}: it is the input")


def show_bar(quiet: bool) -> bool:
    return not quiet and sys.stderr is not None and sys.stderr.isatty()


def say(message: str, quiet: bool) -> None:
    if not quiet:
        click.echo(message, err=True)


def write_out(text: str) -> None:
    """To standard output, in UTF-8 whatever the locale."""
    with open_output("-") as stream:
        stream.write(text.encode("utf-8", "backslashreplace"))


def closing_line(model: Tagger, path: str, seconds: float, dev_accuracy: float | None = None) -> str:
    """The last word of a training: what was written, how good it is, how long it took, what to try next."""
    accuracy = "" if dev_accuracy is None else f", dev accuracy {100 * dev_accuracy:.2f} %"
    size = Path(path).stat().st_size
    shown = f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{size / 1e3:.0f} kB"
    option = "" if path == os.environ.get("TAGGER_MODEL", MODEL) else f" -m {shlex.quote(path)}"
    learned = f"{model.summary_['tokens']:,} tokens, {len(model.classes_)} tags"
    return f"wrote {path}: {shown}, {learned}{accuracy}, {seconds:.1f} s. Try: tagger tag{option} < sentences.txt"
