"""What the training commands share: where the model goes, progress as it comes, the closing line."""

from __future__ import annotations

import json
import math
import os
import shlex
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

import click

from tagger.cli.options import MODEL, Decorated, check_output, show_bar
from tagger.crf import Progress
from tagger.errors import FileError
from tagger.files import reason
from tagger.model import Tagger


def output_model_option(command: Decorated) -> Decorated:
    return click.option(
        "-o",
        "--output",
        metavar="FILE",
        default=MODEL,
        show_default=True,
        help="Where to write the model.",
    )(command)


class Finite(click.FloatRange):
    """A number from 0 up, but neither nan nor infinity."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number.", param, ctx)
        return number


class Log:
    """A line of JSON for each iteration. The file is begun with the first, so that a false start spoils no old log."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.stream: IO[str] | None = None

    def __enter__(self) -> Log:
        return self

    def write(self, progress: Progress) -> None:
        try:
            self.stream = self.stream or Path(self.path).open("w", encoding="utf-8", buffering=1)  # noqa: SIM115
            print(json.dumps(vars(progress)), file=self.stream)
        except OSError as error:
            raise FileError(f"cannot write {self.path}: {reason(error)}") from error

    def __exit__(self, *error: object) -> None:
        if self.stream:
            self.stream.close()


@contextmanager
def watching(max_iterations: int, log: str | None, quiet: bool) -> Iterator[Callable[[Progress], None]]:
    """What to do with every iteration: a line in the log, a step of the bar."""
    watchers: list[Callable[[Progress], None]] = []
    with ExitStack() as stack:
        if log:
            records = stack.enter_context(Log(log))
            watchers.append(records.write)
        if show_bar(quiet):
            from tqdm import tqdm

            bar = stack.enter_context(tqdm(total=max_iterations, desc="train", unit="it", leave=False, ncols=90))
            watchers.append(lambda progress: advance(bar, progress))

        def watch(progress: Progress) -> None:
            for watcher in watchers:
                watcher(progress)

        yield watch


def advance(bar: Any, progress: Progress) -> None:
    shown = {"loss": "warming up" if progress.loss is None else f"{progress.loss:,.0f}"}
    if progress.dev_accuracy is not None:
        bar.dev = f"{100 * progress.dev_accuracy:.2f} %"
    if hasattr(bar, "dev"):
        shown["dev"] = bar.dev
    bar.set_postfix(shown, refresh=False)
    bar.update()


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
