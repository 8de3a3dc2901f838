"""The command line. This module finds the command, runs it, and turns errors into messages and exit codes.

Exit codes: 1 for an error in the user's data or files, 2 for wrong usage, 130, 143 and 129 after Ctrl-C, SIGTERM and
SIGHUP, 0 when the reader of our output has closed the pipe.

Read on in `commands` (one file per command, imported only when it runs), then `options` and `paths` (shared options;
no output overwrites an input), `corpus_input`, `raw_text` and `hints` (reading, with advice), `tagging` (folders,
tables and annotation tools), `evaluation` and `spans` (figures), `training`, `interrupt`, `tuning` and `forwarding`
(the training commands, and those that pass options on to them), `scheduler` and `sharded_training` (clusters),
`command` (the base class of commands), `console` and `progress` (messages and bars on standard error).
"""

from __future__ import annotations

import codecs
import gc
import io
import os
import sys
from contextlib import suppress
from importlib import import_module
from typing import Any, NoReturn

import click

from tagger.cli.console import name_options
from tagger.cli.interrupt import Terminated, install_handlers
from tagger.errors import MissingModelError, TaggerError
from tagger.escaping import visible
from tagger.files import resources
from tagger.pretrained import shipped_models
from tagger.version import __version__

COMMANDS = {
    "train": "train_pooled",
    "train-hmm": "train_hmm",
    "train-crf": "train_crf",
    "train-bilstm": "train_bilstm",
    "learn-classes": "learn_classes",
    "tag": "tag",
    "eval": "evaluate",
    "explain": "explain",
    "trellis": "trellis",
    "check": "check",
    "crossval": "crossval",
    "learning-curve": "learning_curve",
    "features": "features",
    "inspect": "inspect",
    "models": "models",
    "convert": "convert",
    "split": "split",
    "completion": "completion",
}
WITHOUT_NUMPY = ("convert", "split", "completion")  # start without it

ASCII = {"…": "...", "–": "-", "‖": "||", "·": "*", "²": "^2", "₁": "1", "‘": "'", "’": "'", "“": '"', "”": '"'}


class Commands(click.Group):
    """The group of all commands; imports only the one that runs."""

    completion_variable = "_TAGGER_COMPLETE"  # set by a shell that asks for completions

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        if name not in WITHOUT_NUMPY:
            # Here, not at the end of a chain of imports: where CPython's stack needs a new chunk of memory, every call
            # of a function allocates one, and importing NumPy takes 16 ms longer.
            import numpy  # noqa: F401
        command: click.Command = import_module(f"tagger.cli.commands.{COMMANDS[name]}").command
        if not gc.isenabled():  # `__main__` switched it off; what was imported stays, so it need not be visited again
            gc.freeze()
            gc.enable()
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Find a command as click does; suggest similar names for an unknown one."""
        similar = [] if args[0] in COMMANDS else similar_commands(args[0])
        if similar:
            ctx.fail(f"No such command {args[0]!r}. Did you mean {' or '.join(similar)}?")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; an error of a lower layer that names parameters gets the names of its options."""
        try:
            return super().invoke(ctx)
        except TaggerError as error:
            command = self.get_command(ctx, ctx.invoked_subcommand or "")
            error.args = (name_options(str(error), command or self),)
            raise

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[Any]:
        """Complete names without their help, which would import every command and be slow."""
        from click.shell_completion import CompletionItem

        names = [CompletionItem(name) for name in COMMANDS if name.startswith(incomplete)]
        return names + click.Command.shell_complete(self, ctx, incomplete)


def model_advice() -> str:
    """Return advice for a missing model."""
    shipped = "".join(f", use -m {name}, which comes with tagger" for name in shipped_models())
    return f"Train one with `tagger train CORPUS`{shipped}, or choose a file with -m."


def similar_commands(name: str) -> list[str]:
    """List the commands that begin with this name, else those with a similar spelling."""
    from difflib import get_close_matches

    name = name.lower().replace("_", "-")
    completions = [command for command in COMMANDS if name and command.startswith(name)]
    return completions or get_close_matches(name, COMMANDS)


EXAMPLES = """\b
Examples:
  tagger train corpus.txt          train a model, write model.npz
  tagger tag sentences.txt         tag sentences with model.npz
  tagger eval gold.txt             evaluate model.npz
"""


@click.group(
    cls=Commands, epilog=EXAMPLES, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(__version__, prog_name="tagger")
def group() -> None:
    """Train part-of-speech taggers on word/TAG corpora, tag text, evaluate."""


def transliterate(error: UnicodeError) -> tuple[str, int]:
    """Replace characters that an encoding lacks by ASCII, or by a question mark (a handler for `codecs`)."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(ASCII.get(letter, "?") for letter in error.object[error.start : error.end]), error.end


def accept_any_text(stream: Any) -> None:
    """Let a text stream write every character, whatever its encoding. Data is written as UTF-8 bytes instead."""
    codecs.register_error("tagger.transliterate", transliterate)
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="tagger.transliterate")


def main(args: list[str] | None = None) -> NoReturn:
    """Run a command and exit with its code."""
    accept_any_text(sys.stdout)
    install_handlers()
    sys.exit(flush_stdout(run(args)))


def expand_wildcards(args: list[str]) -> list[str]:
    """Replace patterns such as texts/*.txt by the files they match: the shells of Windows leave that to programs."""
    if sys.platform != "win32":
        return list(args)
    from glob import glob

    return [path for arg in args for path in (sorted(glob(arg)) if set("*?") & set(arg) else []) or [arg]]  # noqa: PTH207


def run(args: list[str] | None) -> int:
    """Run a command and return its exit code. click's own `main` is not used: a closed pipe would give 1."""
    try:
        if instruction := os.environ.get(Commands.completion_variable):
            from click.shell_completion import shell_complete

            return shell_complete(group, {}, "tagger", Commands.completion_variable, instruction)
        with group.make_context("tagger", expand_wildcards(sys.argv[1:] if args is None else args)) as context:
            group.invoke(context)
        return 0
    except MissingModelError as error:
        return print_error(f"{error}. {model_advice()}", 1)
    except TaggerError as error:
        return print_error(str(error), 1)
    except click.ClickException as error:
        text = io.StringIO()
        error.show(text)
        return print_error(text.getvalue(), error.exit_code, "", "\n\t")
    except click.exceptions.Exit as error:
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        return print_error("interrupted", 130)
    except Terminated as error:
        return print_error("terminated", 128 + int(error.args[0]))
    except BrokenPipeError:
        return 0
    except OSError as error:
        return print_error(error.strerror or str(error), 1)
    except MemoryError:
        return print_error(f"out of memory: the limit is {resources.gigabytes(resources.allowed() or 0)}", 1)


def flush_stdout(status: int) -> int:
    """Flush standard output; return the exit code, or 1 if the flush fails for another reason than a closed pipe."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
        return status
    except OSError as error:
        # Discard the rest: else the interpreter flushes once more at exit, and fails.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        closed = isinstance(error, BrokenPipeError)
        return status if closed or status else print_error(f"cannot write stdout: {error.strerror}", 1)


def print_error(message: str, status: int, prefix: str = "tagger: ", keep: str = "") -> int:
    """Print an error on standard error, control characters escaped except those in `keep`; return the exit code."""
    with suppress(OSError):
        click.echo(prefix + visible(message, keep).rstrip("\n"), err=True)
    return status
