"""Options that several commands share: each a decorator, and the types of their values."""

from __future__ import annotations

import math
import os
import re
import sys
from collections.abc import Callable, Iterable
from functools import wraps
from itertools import pairwise
from typing import Any, ClassVar, TypeVar

import click

from tagger.cli.console import SKIPPED_KEY, report_skipped
from tagger.cli.corpus_input import CorpusOptions
from tagger.cli.paths import INPUT, OUTPUT, FileCommand, OutputFile, TemplateFile
from tagger.corpus.column_names import ColumnNames
from tagger.corpus.formats import FORMATS
from tagger.corpus.formats.conllu import COLUMNS
from tagger.corpus.tokenizers import TOKENIZERS
from tagger.files import resources
from tagger.files.reading import Skipped, exists

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

DEFAULT_MODEL = "model.npz"
FREE_MEMORY, NO_LIMIT = "free memory", "no limit"
MAX_WORKERS = 1024  # processes or threads
MODEL_TOKENIZER = "model"  # value of --tokenize: the tokenizer of the model


class Finite(click.FloatRange):
    """A number in a range, but neither nan nor infinity."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"expected a finite number, got {value!r}.", param, ctx)
        return number


class Count(click.IntRange):
    """An integer of 32 bits: model files hold no larger ones."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if number >= 1 << 31:
            self.fail(f"expected a number below {1 << 31:,}, got {str(value)[:40]}.", param, ctx)
        return number


def examples(*lines: str) -> str:
    """Format the examples at the end of a command's help."""
    return "\n".join(["\b", "Examples:", *(f"  {line}" for line in lines)])


def file_command(
    name: str, *lines: str, cls: type[FileCommand] = FileCommand, **settings: Any
) -> Callable[[Callable[..., Any]], FileCommand]:
    """Make a command that checks its files, with examples at the end of its help and `--quiet` as its last option."""

    def decorate(function: Callable[..., Any]) -> FileCommand:
        return quiet_option(click.command(name, cls=cls, epilog=examples(*lines), **settings)(function))

    return decorate


def combine(*options: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Make one decorator of several options, in the order of the help."""

    def decorate(command: Any) -> Any:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def value_option(
    name: str, type: click.ParamType, default: Any, help: str, **more: Any
) -> Callable[[Decorated], Decorated]:
    """Make an option whose default is shown unless it is None; `--size sizes` gives the parameter another name."""
    if type is click.INT or isinstance(type, click.IntRange):
        more.setdefault("metavar", "N")
    return click.option(*name.split(), type=type, default=default, show_default=True, help=help, **more)


def file_option(name: str, type: click.Path, help: str, **more: Any) -> Callable[[Decorated], Decorated]:
    """Make an option that names a file."""
    return value_option(name, type, None, help, **{"metavar": "FILE"} | more)


def choice_option(name: str, choices: Iterable[str], help: str) -> Callable[[Decorated], Decorated]:
    return click.option(name, type=click.Choice(list(choices)), help=help)


def models_option(
    command: Decorated, help: str = "Model file or shipped model. Repeat -m to average several."
) -> Decorated:
    """Add `-m`: one model, or several whose probabilities are averaged."""

    def default(ctx: click.Context, param: click.Parameter, paths: tuple[str, ...]) -> tuple[str, ...]:
        return paths or (os.environ.get("TAGGER_MODEL") or DEFAULT_MODEL,)

    shown = f"{help}  [env var: TAGGER_MODEL; default: {DEFAULT_MODEL}]"
    return file_option("-m --model model_paths", INPUT, shown, multiple=True, callback=default)(command)


def model_option(command: Decorated) -> Decorated:
    """Add `-m` to a command that takes one model; several are parsed, so that it can refuse them with advice."""
    return models_option(command, "Model file, or shipped model, e.g. english.")


def on_error_option(command: Decorated) -> Decorated:
    """Add `--on-error`; the record of skipped lines is kept in the click context, where `skipped_lines` finds it."""

    def choose(context: click.Context, param: click.Parameter, value: str) -> None:
        if value == "skip":
            context.meta[SKIPPED_KEY] = skipped = Skipped()
            context.call_on_close(lambda: report_skipped(skipped))

    choices, help = ["stop", "skip"], "Stop at the first faulty line, or skip faulty lines and report them."
    return value_option("--on-error", click.Choice(choices), "stop", help, expose_value=False, callback=choose)(command)


class Size(click.ParamType):
    """A number of bytes such as 500M or 2.5G."""

    name = "size"
    minimum = 300 * 10**6
    units: ClassVar[dict[str, int]] = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        match = re.fullmatch(r"(\d{1,15}(?:\.\d{1,9})?)([KMGT]?)B?", str(value).upper())
        if not match or float(match[1]) == 0:
            self.fail(f"expected a size such as 500M or 2.5G, got {value!r}.", param, ctx)
        size = int(float(match[1]) * self.units[match[2]])
        if size < self.minimum:
            self.fail(
                f"expected at least {self.minimum // 10**6}M, which the libraries need, got {value!r}.", param, ctx
            )
        return min(size, sys.maxsize)


def max_memory_option(default: str) -> Callable[[Decorated], Decorated]:
    """Add a memory limit for the process. Without the option it is the free memory for training, else none."""

    def set_limit(context: click.Context, param: click.Parameter, value: int | None) -> None:
        if value or default == FREE_MEMORY:
            resources.limit(value)

    help = f"Memory limit, e.g. 4G.  [default: {default}]"
    return value_option("--max-memory", Size(), None, help, metavar="SIZE", expose_value=False, callback=set_limit)


class TokenizingCommand(FileCommand):
    """A command with `--tokenize`, whose value is optional: only one of its values after it is taken as such."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        completed = []
        for arg, following in pairwise([*args, ""]):
            alone = arg == "--tokenize" and following not in (*TOKENIZERS, MODEL_TOKENIZER)
            if alone and following.isalpha() and not exists(following) and not ctx.resilient_parsing:
                ctx.fail(f"--tokenize: expected {' or '.join(TOKENIZERS)}, or an existing file, got {following!r}.")
            completed.append(f"{arg}={MODEL_TOKENIZER}" if alone else arg)
        return super().parse_args(ctx, completed)


def is_given(option: str) -> bool:
    """Return True if the option is on the command line."""
    source = click.get_current_context().get_parameter_source(option)
    return source is click.core.ParameterSource.COMMANDLINE


report_option = file_option("--report", OUTPUT, "HTML page to write in addition, e.g. report.html.")
figure_option = file_option("--figure", OUTPUT, "SVG file to write in addition, for a paper, e.g. figure.svg.")
quiet_option = click.option("-q", "--quiet", is_flag=True, help="Print errors only.")
output_option = click.option(
    "-o",
    "--output",
    type=OutputFile(stdout=True),
    metavar="FILE",
    default="-",
    help="Output file.  [default: standard output]",
)
jobs_option = value_option(
    "--jobs",
    click.IntRange(0, MAX_WORKERS),
    None,
    "Number of processes, e.g. 4.  [default: all cores]",
    callback=lambda context, param, count: count or resources.available_cores(),
)
features_option = value_option(
    "--features",
    TemplateFile(),
    "default",
    "Feature template: default, comparison, chunking, names, or a file, e.g. my-template.txt.",
    metavar="NAME|FILE",
)
input_format_option = choice_option(
    "--input-format", FORMATS, "Format of the input.  [default: recognised for corpora, plain lines for text]"
)
encoding_option = value_option("--encoding", click.STRING, "utf-8", "Encoding of the input, e.g. gbk.")
column_option = value_option("--column", click.Choice(list(COLUMNS)), "upos", "CoNLL-U column with the tags.")
name_options = combine(
    click.option(
        "--columns",
        metavar="NAMES",
        default="",
        help="Names of the columns of tsv and columns files in order, - for one to skip, e.g. word,pos,tag.",
    ),
    click.option("--word-column", metavar="NAME", help="Column with the words, e.g. form.  [default: word]"),
    click.option("--tag-column", metavar="NAME", help="Column with the tags, e.g. chunk.  [default: tag]"),
)
tokenize_option = choice_option(
    "--tokenize",
    (*TOKENIZERS, MODEL_TOKENIZER),
    "Split raw text into sentences and words.  [without a value: model, the model's tokenizer, or english]",
)
map_option = file_option(
    "--map map_path", INPUT, "Tag map with lines OLD TAB NEW, e.g. penn-upos.tsv; other tags stay."
)
partial_option = click.option(
    "--partial",
    is_flag=True,
    help="Read word/? and words without a tag (_ in CoNLL-U) as untagged, word/NN|VB as one of two tags.",
)
input_options = combine(input_format_option, encoding_option, on_error_option)


def column_options(command: Decorated) -> Decorated:
    """Add the options that name columns; the command gets them, and its `--column`, as one argument, `columns`."""

    @wraps(command)
    def collect(
        *args: Any,
        columns: str,
        word_column: str | None,
        tag_column: str | None,
        column: str | None = None,
        **others: Any,
    ) -> Any:
        conllu_column = tag_column if tag_column in COLUMNS else column or "upos"
        names = ColumnNames(conllu_column, ColumnNames.parsed(columns), word_column, tag_column)
        return command(*args, columns=names, **others)

    return name_options(collect)


def corpus_options(command: Decorated) -> Decorated:
    """Add the options for reading a tagged corpus; the command gets them as one argument, `corpus_options`."""

    @column_options
    @wraps(command)
    def collect(input_format: str | None, encoding: str, columns: ColumnNames, **others: Any) -> Any:
        return command(corpus_options=CorpusOptions(input_format, encoding, columns), **others)

    return combine(input_format_option, encoding_option, column_option, on_error_option)(collect)
