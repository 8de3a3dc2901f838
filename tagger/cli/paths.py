"""Types of the files that commands read and write, and the check that no output overwrites an input.

An argument or option that names a file has the type `InputFile` or `OutputFile`. Before a command runs, `FileCommand`
compares all its files by identity (device and inode), not by name: links and redirected standard streams count. An
output that is also an input or another output is refused, as is one that cannot be written: before hours of work.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

import click

from tagger.cli.command import Command
from tagger.errors import FileError
from tagger.escaping import quote
from tagger.files.remote import has_scheme, local_path
from tagger.files.writing import STDOUT, check_writable, real_path


class InputFile(click.Path):
    """A file to read, or `-` for standard input.

    A `replaceable` input is read completely before anything is written, so that a model may replace it: a model by the
    one that was adapted from it.
    """

    def __init__(self, replaceable: bool = False) -> None:
        super().__init__(allow_dash=True, readable=False)
        self.replaceable = replaceable

    def is_file(self, value: str) -> bool:
        return True


class TextFile(InputFile):
    """A text to read; a model, or words, in its place are refused with advice."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if str(value).endswith(".npz"):
            self.fail(f"expected a text, got the model {value}. Use -m {value}.", param, ctx)
        reads_stdin = param is not None and not param.required
        if reads_stdin and ctx and " " in str(value) and not os.path.exists(value):  # noqa: PTH110 (str or bytes)
            hint = f'If these are words: echo "{value}" | {ctx.command_path}'
            self.fail(f"expected a file, got {quote(value)}, which is none. {hint}", param, ctx)
        return super().convert(value, param, ctx)


class TemplateFile(InputFile):
    """A feature template: the name of a shipped one, or a file."""

    def is_file(self, value: str) -> bool:
        from tagger.features.template import SHIPPED

        return value not in SHIPPED


class OutputFile(click.Path):
    """A file to write. With `stdout`, `-` is standard output."""

    replaces_inputs = False  # True if it may replace an input that is `replaceable`

    def __init__(self, stdout: bool = False) -> None:
        super().__init__(allow_dash=stdout, readable=False)
        self.stdout = stdout

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "-" and not self.stdout:
            self.fail("expected the name of a file, got '-'.", param, ctx)
        return super().convert(value, param, ctx)

    def check(self, path: str) -> None:
        """Refuse a path that cannot be written, before any work is done."""
        if path not in STDOUT:
            check_writable(path)


class LocalFile(OutputFile):
    """A file that is written bit by bit, which no store can do."""

    def check(self, path: str) -> None:
        if has_scheme(path):
            raise FileError(f"{path}: expected a local file, got an address. It is written while the command runs.")
        super().check(path)


INPUT, TEXT, OUTPUT = InputFile(), TextFile(), OutputFile()


class File(NamedTuple):
    """A file of a command, with the argument or option that names it."""

    option: str
    path: str
    type: InputFile | OutputFile

    @property
    def is_option(self) -> bool:
        return self.option.startswith("-")

    @property
    def identity(self) -> object:
        """Return a value that is equal for two names of one file; None for devices and pipes, which may be shared."""
        standard = sys.stdin if isinstance(self.type, InputFile) else sys.stdout
        path = local_path(self.path) or self.path
        try:
            status = os.stat(standard.fileno() if self.path == "-" else path)  # noqa: PTH116 (a number, too)
        except (OSError, ValueError, AttributeError):  # no such file yet, or a stream that is none or closed
            with suppress(FileError):  # a working folder that is gone is no fault of an input that may be none
                return None if self.path == "-" else real_path(path)
            return path
        return (status.st_dev, status.st_ino) if stat.S_ISREG(status.st_mode) else None

    def __str__(self) -> str:
        if self.path != "-":
            return f"{self.option} {self.path}"
        return "standard input" if isinstance(self.type, InputFile) else "standard output"


class FileCommand(Command):
    """A command whose files are checked before it runs."""

    def invoke(self, ctx: click.Context) -> Any:
        check_files(declared_files(ctx))
        return super().invoke(ctx)


def declared_files(ctx: click.Context) -> Iterator[File]:
    """List the files that the arguments and options of a command name."""
    for param in ctx.command.params:
        if not isinstance(param.type, InputFile | OutputFile):
            continue
        value = ctx.params.get(param.name or "")
        option = param.opts[-1] if isinstance(param, click.Option) else param.human_readable_name
        for path in value if isinstance(value, tuple) else () if value is None else (value,):
            if isinstance(param.type, OutputFile) or param.type.is_file(path):
                yield File(option, path, param.type)


def check_files(files: Iterable[File]) -> None:
    """Refuse two readers of standard input, and an output that is an input, another output, or not writable."""
    files = list(files)
    inputs = [file for file in files if isinstance(file.type, InputFile)]
    outputs = [file for file in files if isinstance(file.type, OutputFile)]
    readers = list(dict.fromkeys(file.option for file in inputs if file.path == "-"))
    if len(readers) > 1:
        raise click.UsageError(f"{' and '.join(readers)} cannot both be standard input: use a file for one of them.")
    for number, output in enumerate(outputs):
        for other in [*inputs, *outputs[:number]]:
            if output.identity is not None and output.identity == other.identity and not may_replace(output, other):
                kind = "an input" if isinstance(other.type, InputFile) else "another output"
                written = "standard output" if output.path == "-" else output.path
                raise FileError(f"cannot write {written}: it is {kind} of this command ({other}); choose another file")
    for output in outputs:
        assert isinstance(output.type, OutputFile)
        output.type.check(output.path)


def may_replace(output: File, other: File) -> bool:
    """Return True for a model that may replace the model it was adapted from."""
    replaces = isinstance(output.type, OutputFile) and output.type.replaces_inputs
    return replaces and getattr(other.type, "replaceable", False)
