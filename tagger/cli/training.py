"""What the training commands share: where the model goes, progress as it comes, the closing line."""

from __future__ import annotations

import json
import os
import shlex
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

import click

from tagger.cli.bars import open_bar, show_bar
from tagger.cli.options import MODEL, Decorated, check_output
from tagger.errors import FileError
from tagger.files import reason
from tagger.model import Tagger
from tagger.sentence import Sentence
from tagger.signals import heeded
from tagger.trainer import Progress, Watch

LONG = 5000  # tokens of a sentence that is hardly one


def output_model_option(command: Decorated) -> Decorated:
    return click.option(
        "-o",
        "--output",
        metavar="FILE",
        default=MODEL,
        show_default=True,
        help="Where to write the model.",
    )(command)


class Log:
    """A line of JSON for each iteration. The file is begun with the first, so that a false start spoils no old log, and
    anew, so that two trainings do not write into one."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.stream: IO[str] | None = None

    def __enter__(self) -> Log:
        return self

    def write(self, progress: Progress) -> None:
        try:
            self.stream = self.stream or self.begin()
            print(json.dumps(vars(progress)), file=self.stream)
        except OSError as error:
            raise FileError(f"cannot write {self.path}: {reason(error)}") from error

    def begin(self) -> IO[str]:
        path = Path(os.path.realpath(self.path))
        if path.is_file():
            path.unlink()
        return path.open("w", encoding="utf-8", buffering=1)

    def __exit__(self, *error: object) -> None:
        if self.stream:
            self.stream.close()


class Stop:
    """The first Ctrl-C, SIGTERM or SIGHUP asks training to end with what it has; a second one ends it at once, as does
    one that comes before anything was learned."""

    def __enter__(self) -> Stop:
        self.caught: int | None = None
        self.begun = False
        self.old = {number: signal.signal(number, self.catch) for number in heeded()}
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self.old.items():
            signal.signal(number, handler)

    def catch(self, number: int, frame: Any) -> None:
        self.caught = number
        signal.signal(number, self.old[signal.Signals(number)])
        if not self.begun:
            signal.raise_signal(number)

    def leave(self) -> None:
        """With the exit code of the signal, if there was one."""
        if self.caught is not None:
            raise click.exceptions.Exit(128 + self.caught)


@contextmanager
def watching(max_iterations: int, log: str | None, quiet: bool, stop: Stop) -> Iterator[Watch]:
    """What to do with every iteration: a line in the log, a step of the bar, an end if somebody asked for it."""
    watchers: list[Callable[[Progress], None]] = []
    with ExitStack() as stack:
        if log:
            watchers.append(stack.enter_context(Log(log)).write)
        if show_bar(quiet):
            bar = stack.enter_context(open_bar("train", "it", max_iterations))
            watchers.append(lambda progress: advance(bar, progress))

        def watch(progress: Progress) -> str | None:
            stop.begun = True
            for watcher in watchers:
                watcher(progress)
            return None if stop.caught is None else "it was interrupted"

        yield watch


def advance(bar: Any, progress: Progress) -> None:
    shown = {"loss": "warming up" if progress.loss is None else f"{progress.loss:,.0f}"}
    if progress.dev_accuracy is not None:
        bar.dev = f"{100 * progress.dev_accuracy:.2f} %"
    if hasattr(bar, "dev"):
        shown["dev"] = bar.dev
    bar.set_postfix(shown, refresh=False)
    bar.update()


def course(summary: dict[str, Any]) -> str:
    """How a training went, in a line."""
    best = f", best on the dev set in iteration {summary['best_iteration']}" if "best_iteration" in summary else ""
    loss = max(0.0, summary["loss"])  # of what is learned by heart, rounding may leave less than nothing
    return f"{summary['iterations']} iterations{best}, loss {loss:,.1f}; stopped because {summary['stopped']}"


def doubts(model: Tagger, sentences: Sequence[Sentence]) -> list[str]:
    """What a user should know of a corpus that teaches little."""
    found = []
    longest = max(map(len, sentences))
    if longest > LONG:
        found.append(f"a sentence of the corpus has {longest:,} tokens: expected a sentence per line")
    if len(model.classes_) == 1:
        found.append(f"the corpus has one tag only: every word will be tagged {model.classes_[0]}")
    if model.get_params().get("l2") == model.get_params().get("l1") == 0 and model.summary_["loss"] < 1:
        found.append("the corpus is learned by heart, and with --l2 0 nothing holds the weights back; try --l2 0.25")
    if model.summary_["sentences"] == 1:
        found.append("the corpus has one sentence only: expected a sentence per line")
    return [f"warning: {doubt}" for doubt in found]


def check_model_output(output: str, *inputs: str | None) -> None:
    if output == "-":
        raise click.BadParameter("a model cannot be written to standard output", param_hint="--output")
    check_output(output, *inputs)


def closing_line(model: Tagger, path: str, seconds: float, dev_accuracy: float | None = None) -> str:
    """The last word of a training: what was written, how good it is, how long it took, what to try next."""
    accuracy = "" if dev_accuracy is None else f", dev accuracy {100 * dev_accuracy:.2f} %"
    size = Path(path).stat().st_size
    shown = f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{size / 1e3:.0f} kB"
    option = "" if path == os.environ.get("TAGGER_MODEL", MODEL) else f" -m {shlex.quote(path)}"
    learned = f"{model.summary_['tokens']:,} tokens, {len(model.classes_)} tags"
    return f"wrote {path}: {shown}, {learned}{accuracy}, {seconds:.1f} s. Try: tagger tag{option} < sentences.txt"
