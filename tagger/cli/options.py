"""Options that several commands share, each a decorator."""

from __future__ import annotations

import math
import os
import re
import sys
from collections.abc import Callable
from itertools import pairwise
from typing import Any, ClassVar, TypeVar

import click

from tagger.cli.console import SKIPPED, tell_skipped
from tagger.cli.paths import INPUT, OUTPUT, FileCommand, OutputFile, TemplateFile
from tagger.corpus import FORMATS
from tagger.corpus.conllu import COLUMNS
from tagger.files import resources
from tagger.files.reading import Skipped, exists

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

MODEL = "model.npz"
FREE, NO_LIMIT = "what is free", "no limit"  # of memory
MOST_AT_ONCE = 1024  # processes or threads
LANGUAGES = ("english", "chinese")


class Finite(click.FloatRange):
    """A number in a range, but neither nan nor infinity."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number.", param, ctx)
        return number


class Count(click.IntRange):
    """A whole number of 32 bits: larger ones fit into no array, and no model file."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if number >= 1 << 31:
            self.fail(f"expected a number below {1 << 31:,}, got {str(value)[:40]}.", param, ctx)
        return number


def examples(*lines: str) -> str:
    """The last words of a command's help."""
    return "\n".join(["\b", "Examples:", *(f"  {line}" for line in lines)])


def models_option(command: Decorated, which: str = "The model to use; of several, the mean.") -> Decorated:
    """One model, or several that work together."""

    def default(ctx: click.Context, param: click.Parameter, paths: tuple[str, ...]) -> tuple[str, ...]:
        return paths or (os.environ.get("TAGGER_MODEL") or MODEL,)

    return click.option(
        "-m",
        "--model",
        "model_paths",
        type=INPUT,
        metavar="FILE",
        multiple=True,
        callback=default,
        help=f"{which}  [env var: TAGGER_MODEL; default: {MODEL}]",
    )(command)


def model_option(command: Decorated) -> Decorated:
    """The same where several have no common answer: they are read, to be refused with a word."""
    return models_option(command, "The model to use.")


def output_option(command: Decorated) -> Decorated:
    help = "Where to write.  [default: standard output]"
    return click.option("-o", "--output", type=OutputFile(stdout=True), metavar="FILE", default="-", help=help)(command)


def features_option(command: Decorated) -> Decorated:
    return click.option(
        "--features",
        type=TemplateFile(),
        default="default",
        show_default=True,
        metavar="NAME|FILE",
        help="The template: default, comparison, or a file of yours.",
    )(command)


def jobs_option(command: Decorated) -> Decorated:
    help = "Processes to use.  [default: all cores]"
    return click.option("--jobs", type=click.IntRange(0, MOST_AT_ONCE), default=0, help=help)(command)


def report_option(command: Decorated) -> Decorated:
    help = "Also write a page for a browser."
    return click.option("--report", metavar="FILE", type=OUTPUT, help=help)(command)


def quiet_option(command: Decorated) -> Decorated:
    return click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors.")(command)


def corpus_options(command: Decorated) -> Decorated:
    """How to read a tagged corpus."""
    for option in (on_error_option, column_option, encoding_option, input_format_option):
        command = option(command)
    return command


def input_format_option(command: Decorated) -> Decorated:
    return click.option(
        "--input-format",
        type=click.Choice(list(FORMATS)),
        help="How the input is written.  [default: corpora are recognised, text is plain lines]",
    )(command)


def encoding_option(command: Decorated) -> Decorated:
    return click.option("--encoding", default="utf-8", show_default=True, help="That of the input, e.g. gbk.")(command)


def on_error_option(command: Decorated) -> Decorated:
    """What readers do with faults is kept in the context of the command, where `skipped` finds it."""

    def choose(context: click.Context, param: click.Parameter, value: str) -> None:
        if value == "skip":
            context.meta[SKIPPED] = found = Skipped()
            context.call_on_close(lambda: tell_skipped(found))

    return click.option(
        "--on-error",
        type=click.Choice(["stop", "skip"]),
        default="stop",
        show_default=True,
        expose_value=False,
        callback=choose,
        help="Faulty lines: stop at the first, or leave them out and say how many.",
    )(command)


class Size(click.ParamType):
    """Bytes, as in 500M or 2.5G."""

    name = "size"
    least = 300 * 10**6
    units: ClassVar[dict[str, int]] = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        match = re.fullmatch(r"(\d{1,15}(?:\.\d{1,9})?)([KMGT]?)B?", str(value).upper())
        if not match or float(match[1]) == 0:
            self.fail(f"expected a size such as 500M or 2.5G, got {value!r}.", param, ctx)
        size = int(float(match[1]) * self.units[match[2]])
        if size < self.least:
            self.fail(f"the libraries alone need {self.least // 10**6}M, got {value!r}.", param, ctx)
        return min(size, sys.maxsize)


def max_memory_option(default: str) -> Callable[[Decorated], Decorated]:
    """A limit for the process. Without the option, that is what is free when training, and none else."""

    def hold(context: click.Context, param: click.Parameter, value: int | None) -> None:
        if value or default == FREE:
            resources.limit(value)

    return click.option(
        "--max-memory",
        type=Size(),
        metavar="SIZE",
        expose_value=False,
        callback=hold,
        help=f"Use no more, e.g. 4G.  [default: {default}]",
    )


def column_option(command: Decorated) -> Decorated:
    columns = click.Choice(list(COLUMNS))
    return click.option(
        "--column", type=columns, default="upos", show_default=True, help="The tags to read from CoNLL-U."
    )(command)


def tokenize_option(command: Decorated) -> Decorated:
    return click.option(
        "--tokenize",
        type=click.Choice(list(LANGUAGES)),
        help="Split plain text into sentences and words; alone it means English.",
    )(command)


class TokenizingCommand(FileCommand):
    """One where `--tokenize` may stand alone, also before a file: only a language that follows is its value."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        named = []
        for arg, following in pairwise([*args, ""]):
            alone = arg == "--tokenize" and following not in LANGUAGES
            if alone and following.isalpha() and not exists(following) and not ctx.resilient_parsing:
                ctx.fail(f"--tokenize knows {' and '.join(LANGUAGES)}, and {following!r} is no file either.")
            named.append(f"{arg}={LANGUAGES[0]}" if alone else arg)
        return super().parse_args(ctx, named)


def map_option(command: Decorated) -> Decorated:
    help = "Rename tags: lines TAG TAB TAG. Tags that it does not mention stay."
    return click.option("--map", "map_path", type=INPUT, metavar="FILE", help=help)(command)


def given(option: str) -> bool:
    """Whether the user named the option."""
    source = click.get_current_context().get_parameter_source(option)
    return source is click.core.ParameterSource.COMMANDLINE
