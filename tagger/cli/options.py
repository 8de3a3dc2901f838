"""What several commands share: options, each a decorator; reading, writing and speaking in one manner."""

from __future__ import annotations

import math
import os
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import click

from tagger import memory
from tagger.corpus import FORMATS, LOOK_AHEAD, read_sentences, recognise
from tagger.corpus.conllu import COLUMNS
from tagger.corpus.tsv import columns
from tagger.errors import CorpusError, FileError, harmless
from tagger.files import Lines, Skipped, exists
from tagger.sentence import Sentence
from tagger.writing import STDOUT, check_writable, open_output

if TYPE_CHECKING:
    from tagger.tagmap import TagMap

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

PATH = click.Path(allow_dash=True, readable=False)
MODEL = "model.npz"
SKIPPED = "tagger.skipped"
LANGUAGES = ("english", "chinese")


class Text(click.Path):
    """A file to read, where a model is easily named instead."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if str(value).endswith(".npz"):
            self.fail(f"{value} is a model: name it with -m {value}", param, ctx)
        return super().convert(value, param, ctx)


TEXT = Text(allow_dash=True, readable=False)


class Finite(click.FloatRange):
    """A number in a range, but neither nan nor infinity."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number.", param, ctx)
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
        type=PATH,
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
    return click.option("-o", "--output", type=PATH, metavar="FILE", default="-", help=help)(command)


def features_option(command: Decorated) -> Decorated:
    return click.option(
        "--features",
        default="default",
        show_default=True,
        metavar="NAME|FILE",
        help="The template: default, comparison, or a file of yours.",
    )(command)


def jobs_option(command: Decorated) -> Decorated:
    help = "Processes to use.  [default: all cores]"
    return click.option("--jobs", type=click.IntRange(0), default=0, help=help)(command)


def report_option(command: Decorated) -> Decorated:
    help = "Also write a page for a browser."
    return click.option("--report", metavar="FILE", type=PATH, help=help)(command)


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


def skipped() -> Skipped | None:
    """Where to note what is left out of the input; None if nothing may be."""
    found: Skipped | None = context.meta.get(SKIPPED) if (context := click.get_current_context(silent=True)) else None
    return found


def tell_skipped(found: Skipped) -> None:
    """Even to those who want to hear nothing else."""
    if found.lines:
        more = [f"  {fault}" for fault in found.faults] + ["  …"] * (found.count > len(found.faults))
        say("\n".join([f"skipped {found.lines:,} line{'s' * (found.lines > 1)}:", *more]), quiet=False)


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


def max_memory_option(command: Decorated) -> Decorated:
    def hold(context: click.Context, param: click.Parameter, value: int | None) -> None:
        if value:
            memory.limit(value)

    return click.option(
        "--max-memory",
        type=Size(),
        metavar="SIZE",
        expose_value=False,
        callback=hold,
        help="Use no more, e.g. 4G.  [default: what is free]",
    )(command)


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


class TokenizingCommand(click.Command):
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
    return click.option("--map", "map_path", type=PATH, metavar="FILE", help=help)(command)


def given(option: str) -> bool:
    """Whether the user named the option."""
    source = click.get_current_context().get_parameter_source(option)
    return source is click.core.ParameterSource.COMMANDLINE


def say(message: str, quiet: bool) -> None:
    """To a person, if there is one: whatever is in the message, a terminal shows it and does not obey."""
    if not quiet:
        with suppress(OSError):
            click.echo(harmless(message, "\n"), err=True)


def say_written(path: str, what: str, quiet: bool) -> None:
    """That a file is there; who reads standard output sees for himself."""
    if path not in STDOUT:
        say(f"wrote {path}: {what}", quiet)


def tag_map_of(path: str | None) -> TagMap | None:
    """The map that `--map` names, if it names one."""
    if path is None:
        return None
    from tagger.tagmap import read_map

    return read_map(path)


def say_unmapped(tag_map: TagMap | None, quiet: bool) -> None:
    """Once: what the map of the user does not know."""
    if tag_map and tag_map.unmapped:
        found = sorted(tag_map.unmapped)
        several = f"{len(found)} tags are not in it and stay" if len(found) > 1 else "1 tag is not in it and stays"
        shown = " ".join(found[:10]) + (" …" if len(found) > 10 else "")
        say(f"--map: {several}: {shown}", quiet)


def recognised(lines: Lines, input_format: str | None, quiet: bool) -> str:
    """The format of a tagged corpus, named or not, after a word on columns that nobody will read."""
    head = lines.head(LOOK_AHEAD)
    format = input_format or recognise(head)
    if format == "tsv" and (count := columns(head)) > 2:
        taken = "the 1st is taken for the word, the 2nd for the tag, the others are left out"
        say(f"hint: the lines have {count} columns; {taken}; `cut -f 1,3`, say, chooses others", quiet)
    return format


def read_tagged(path: str, input_format: str | None, encoding: str, column: str, quiet: bool = True) -> list[Sentence]:
    """A corpus with at least one sentence; if not `quiet`, with a word on how it was read."""
    lines = Lines(path, encoding, skipped())
    sentences = list(read_sentences(lines, recognised(lines, input_format, quiet), column=column))
    if not sentences:
        raise no_sentence(lines.name)
    return sentences


def no_sentence(name: str, expected: str = "tagged sentences") -> CorpusError:
    return CorpusError(f"{name}: no sentence in it; expected {expected}")


def check_output(output: str, *inputs: str | None) -> None:
    """Refuse, before any work is done, what would fail or do harm at its end."""
    if output == "-":
        return
    check_writable(output)
    if any(path and path != "-" and os.path.realpath(path) == os.path.realpath(output) for path in inputs):
        raise FileError(f"cannot write {output}: it is an input or another output of the same command")


def page_for(report: str | None, name: str, *others: str | None) -> Any:
    """The template of the page that `--report` asks for, after a look at whether the page can be made and written;
    `others` are all other files of the command."""
    if report is None:
        return None
    from tagger.pages import page_template

    if report == "-":
        raise click.UsageError("--report: expected the name of a file, got '-'.")
    check_output(report, *others)
    return page_template(name)


def name_of(path: str) -> str:
    """What a page calls a file."""
    return "standard input" if path == "-" else PurePath(path).name


def write_text(path: str, text: str) -> None:
    """In UTF-8 whatever the locale."""
    with open_output(path) as stream:
        stream.write(text.encode("utf-8", "backslashreplace"))
