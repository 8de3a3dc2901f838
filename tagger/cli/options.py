"""Options that several commands share, each a decorator, and the voice in which commands speak of their progress."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from tagger.corpus import FORMATS, read_corpus
from tagger.corpus.conllu import COLUMNS
from tagger.errors import TrainingError
from tagger.files import open_output
from tagger.model import Tagger
from tagger.sentence import Sentence

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

PATH = click.Path(allow_dash=True)


def model_option(command: Decorated) -> Decorated:
    return click.option(
        "-m",
        "--model",
        "model_path",
        metavar="FILE",
        envvar="TAGGER_MODEL",
        default="model.npz",
        show_default=True,
        show_envvar=True,
        help="The model to use.",
    )(command)


def output_model_option(command: Decorated) -> Decorated:
    return click.option(
        "-o",
        "--output",
        metavar="FILE",
        default="model.npz",
        show_default=True,
        help="Where to write the model.",
    )(command)


def quiet_option(command: Decorated) -> Decorated:
    return click.option("-q", "--quiet", is_flag=True, help="No progress bar, no summary.")(command)


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
    return click.option(
        "--column",
        type=click.Choice(list(COLUMNS)),
        default="upos",
        show_default=True,
        help="The tags of CoNLL-U.",
    )(command)


def read_training_corpus(path: str, input_format: str | None, encoding: str, column: str) -> list[Sentence]:
    sentences = read_corpus(path, input_format, encoding, column)
    if not sentences:
        raise TrainingError(f"{path}: no sentence in it; expected tagged sentences")
    return sentences


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
    option = "" if path == "model.npz" else f" -m {path}"
    tokens, tags = model.summary_["tokens"], len(model.classes_)
    learned = f"{tokens:,} tokens, {tags} tags"
    return f"wrote {path}: {shown}, {learned}{accuracy}, {seconds:.1f} s. Try: tagger tag{option} < sentences.txt"
