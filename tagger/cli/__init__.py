"""The command line: one file per command, each of which parses, calls and prints.

A command's file is imported when the command is used, so that `tagger tag` never loads what only training needs. This
is also the one door where errors become messages and exit codes: 1 for an error of the user's data, 2 for wrong
usage, 130, 143 and 129 after Ctrl-C, SIGTERM and SIGHUP, 0 when the reader of our output has gone away.
"""

from __future__ import annotations

import codecs
import io
import os
import signal
import sys
from contextlib import suppress
from importlib import import_module
from typing import Any, NoReturn

import click

from tagger.errors import MissingModelError, TaggerError
from tagger.escaping import visible
from tagger.files import resources
from tagger.files.signals import active_signals
from tagger.version import __version__

COMMANDS = {
    "train-hmm": "train_hmm",
    "train-crf": "train_crf",
    "train-bilstm": "train_bilstm",
    "learn-classes": "learn_classes",
    "tag": "tag",
    "eval": "evaluate",
    "explain": "explain",
    "check": "check",
    "crossval": "crossval",
    "learning-curve": "learning_curve",
    "features": "features",
    "inspect": "inspect",
    "convert": "convert",
    "split": "split",
    "completion": "completion",
}

ASCII = {"…": "...", "–": "-", "‖": "||", "·": "*", "²": "^2", "₁": "1", "‘": "'", "’": "'", "“": '"', "”": '"'}
TRAIN_FIRST = "train one with `tagger train-crf CORPUS` or `tagger train-hmm CORPUS`"


class Commands(click.Group):
    """Finds commands by name and imports only the one asked for."""

    completion_variable = "_TAGGER_COMPLETE"  # in the environment when a shell asks for candidates

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command: click.Command = import_module(f"tagger.cli.commands.{COMMANDS[name]}").command
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """As click does, but what nobody knows is answered with the names that come near, if any do."""
        near = [] if args[0] in COMMANDS else near_names(args[0])
        if near:
            ctx.fail(f"No such command {args[0]!r}. Did you mean {' or '.join(near)}?")
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[Any]:
        """Names only: their help would import every command, while somebody waits for the tab key."""
        from click.shell_completion import CompletionItem

        names = [CompletionItem(name) for name in COMMANDS if name.startswith(incomplete)]
        return names + click.Command.shell_complete(self, ctx, incomplete)


def near_names(name: str) -> list[str]:
    """Commands that begin so, or are spelled much like it."""
    from difflib import get_close_matches

    name = name.lower().replace("_", "-")
    begin_so = [known for known in COMMANDS if name and known.startswith(name)]
    return begin_so or get_close_matches(name, COMMANDS)


EXAMPLES = """\b
Examples:
  tagger train-crf corpus.txt      learn, write model.npz
  tagger tag < sentences.txt       tag with model.npz
  tagger eval gold.txt             judge model.npz
"""


@click.group(
    cls=Commands, epilog=EXAMPLES, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(__version__, prog_name="tagger")
def group() -> None:
    """Learn part-of-speech taggers from word/TAG corpora, tag text, evaluate."""


class Terminated(BaseException):
    """A signal has come that ends the program: unwind, so that nothing half-written stays behind."""


def terminate(signum: int, frame: Any) -> NoReturn:
    raise Terminated(signum)


def transliterated(error: UnicodeError) -> tuple[str, int]:
    """Replace characters that an encoding lacks by ASCII, or by a question mark (a handler for `codecs`)."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(ASCII.get(letter, "?") for letter in error.object[error.start : error.end]), error.end


def accept_any_text(stream: Any) -> None:
    """Let a text stream write every character, whatever its encoding. Data goes past it: bytes in UTF-8."""
    codecs.register_error("tagger.transliterated", transliterated)
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="tagger.transliterated")


def main(args: list[str] | None = None) -> NoReturn:
    """Run a command and leave with its exit code."""
    accept_any_text(sys.stdout)
    for number in active_signals():
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else terminate)
    sys.exit(settle(run(args)))


def run(args: list[str] | None) -> int:
    """The exit code of a command. click's own `main` would end a closed pipe with 1, so it is not used."""
    try:
        if asked := os.environ.get(Commands.completion_variable):
            from click.shell_completion import shell_complete

            return shell_complete(group, {}, "tagger", Commands.completion_variable, asked)
        with group.make_context("tagger", list(sys.argv[1:] if args is None else args)) as context:
            group.invoke(context)
        return 0
    except MissingModelError as error:
        return complain(f"{error}: {TRAIN_FIRST}, or name another file with -m", 1)
    except TaggerError as error:
        return complain(str(error), 1)
    except click.ClickException as error:
        text = io.StringIO()
        error.show(text)
        return complain(text.getvalue(), error.exit_code, "", "\n\t")
    except click.exceptions.Exit as error:
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        return complain("interrupted", 130)
    except Terminated as error:
        return complain("terminated", 128 + int(error.args[0]))
    except BrokenPipeError:
        return 0
    except OSError as error:
        return complain(error.strerror or str(error), 1)
    except MemoryError:
        return complain(f"out of memory: it may have {resources.gigabytes(resources.allowed() or 0)}", 1)


def settle(status: int) -> int:
    """Bring out what is still on its way to standard output."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
        return status
    except OSError as error:
        # Nobody can read it any more; without this the interpreter would try once again at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        gone = isinstance(error, BrokenPipeError) or status
        return status if gone else complain(f"cannot write stdout: {error.strerror}", 1)


def complain(message: str, status: int, before: str = "tagger: ", keep: str = "") -> int:
    """One line, whatever is in a file's name, if there is anybody to read it."""
    with suppress(OSError):
        click.echo(before + visible(message, keep).rstrip("\n"), err=True)
    return status
