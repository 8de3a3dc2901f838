"""Options, progress and closing messages that the training commands share.

A training reports every iteration to `ProgressReporter`: a line of the log, a step of the bar, and the answer whether
to stop. `save_and_report` ends it: the model is written before its checkpoint is removed, so that at any moment one of
the two exists.
"""

from __future__ import annotations

import inspect
import json
import math
import os
import shlex
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path, PurePath
from typing import IO, Any
from zipfile import BadZipFile, ZipFile

import click

from tagger.cli.console import name_options, print_message
from tagger.cli.interrupt import GracefulStop
from tagger.cli.options import (
    DEFAULT_MODEL,
    Count,
    Decorated,
    combine,
    corpus_options,
    file_command,
    file_option,
    is_given,
    value_option,
)
from tagger.cli.paths import INPUT, LocalFile, OutputFile
from tagger.cli.progress import open_bar, show_bar
from tagger.cli.spans import metric_option, scheme_option
from tagger.corpus.tokenizers import TOKENIZERS
from tagger.errors import FileError, several
from tagger.files.reading import exists, reason
from tagger.files.remote import has_scheme
from tagger.files.writing import file_size
from tagger.models.base import Tagger
from tagger.models.checkpoint import Checkpoint
from tagger.models.monitor import DEV_SCORES, INTERRUPTED, Progress
from tagger.models.store import save_model

REFRESH_SECONDS = 0.2  # between two updates of the bar within an iteration
NO_TOKENIZER = "none"  # value of --tokenize
UNLEARNED_SHARE = 0.95  # of the loss of zero weights: a model above it has learned next to nothing


class ModelFile(OutputFile):
    """A model to write. It may replace a model or an empty file, nothing else."""

    replaces_inputs = True

    def check(self, path: str) -> None:
        super().check(path)
        old = Path(path)
        if old.is_file() and old.stat().st_size and not is_model_archive(old):
            raise FileError(
                f"{path}: expected a model to replace, got another file. Move it away, or choose another -o."
            )


def is_model_archive(path: Path) -> bool:
    """Return True for the archive of a model, word classes or a checkpoint, by its list of members."""
    with suppress(OSError, BadZipFile), ZipFile(path) as archive:
        return "meta.npy" in archive.namelist()
    return False


class CheckpointFile(LocalFile):
    """A checkpoint to write. It may replace a checkpoint, nothing else."""

    def check(self, path: str) -> None:
        super().check(path)
        Checkpoint(path).check_place()


def default_checkpoint(output: str) -> str:
    """Return the name of the checkpoint of a model: beside it, or in this folder if the model has an address."""
    return f"{PurePath(output).name if has_scheme(output) else output}.checkpoint"


def output_archive_option(default: str, help: str) -> Callable[[Decorated], Decorated]:
    return click.option(
        "-o", "--output", type=ModelFile(), metavar="FILE", default=default, show_default=True, help=help
    )


output_model_option = output_archive_option(DEFAULT_MODEL, "Model file to write, e.g. english.npz.")
tokenizer_option = value_option(
    "--tokenize tokenizer",
    click.Choice([*TOKENIZERS, NO_TOKENIZER]),
    NO_TOKENIZER,
    "Tokenizer that makes words like those of CORPUS; `tag --tokenize` uses it with this model.",
    callback=lambda context, param, name: None if name == NO_TOKENIZER else name,
)


def training_command(model: type[Tagger], *lines: str) -> Callable[[Callable[..., Any]], click.Command]:
    """Make the command that trains a model: CORPUS, -o and the options of a corpus come before its own.

    An option that is a setting of the model has the model's default.
    """
    settings = inspect.signature(model).parameters
    options = combine(corpus_options, scheme_option, tokenizer_option)
    shared = combine(click.argument("corpus", type=INPUT), output_model_option, options)

    def decorate(function: Callable[..., Any]) -> click.Command:
        command = file_command(command_name(model.kind), *lines)(shared(function))
        for option in command.params:
            if option.name in settings:
                option.default = settings[option.name].default
        return command

    return decorate


def command_name(kind: str) -> str:
    """Return the name of the command that trains a kind of model."""
    return "train" if kind == "pooled" else f"train-{kind}"


def setting_option(name: str, type: click.ParamType, help: str) -> Callable[[Decorated], Decorated]:
    """Make an option for a setting of the model; `training_command` gives it its default."""
    return value_option(name, type, None, help)


def monitor_options(every: int, unit: str, patience: int | None = None) -> Callable[[Decorated], Decorated]:
    """Add the options for dev set, log and checkpoint of an iterative training."""
    return combine(
        file_option("--dev", INPUT, "Tagged dev corpus, e.g. dev.txt; the model that is best on it is kept."),
        value_option("--patience", Count(1), patience, "Stop after N evaluations on --dev without improvement."),
        metric_option,
        file_option("--log", LocalFile(), f"Log file with one line of JSON per {unit}, e.g. train.jsonl."),
        file_option(
            "--checkpoint",
            CheckpointFile(),
            "Checkpoint file.  [default: OUTPUT.checkpoint]",
            callback=lambda context, param, path: path or default_checkpoint(context.params["output"]),
        ),
        value_option("--checkpoint-every", Count(1), every, f"Save the checkpoint every N {unit}s."),
        click.option("--resume", is_flag=True, help="Continue an interrupted training from its checkpoint."),
    )


def check_monitoring(dev: str | None, checkpoint: str, quiet: bool) -> None:
    """Refuse `--patience` without a dev set, and warn of a checkpoint that will be replaced."""
    if is_given("patience") and not dev:
        raise click.UsageError("--patience counts evaluations on a dev set: expected --dev FILE as well.")
    if exists(checkpoint) and not is_given("resume"):
        print_message(f"hint: {checkpoint} of an unfinished training is replaced; --resume would continue it", quiet)


class TrainingLog:
    """A file with one line of JSON per iteration.

    It is created with the first line, so that a false start destroys no old log, and as a new file, so that two
    trainings never write into one.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.stream: IO[str] | None = None

    def write(self, progress: Progress) -> None:
        try:
            self.stream = self.stream or self.create()
            values = {name: value for name, value in vars(progress).items() if (name, value) != ("dev_span_f1", None)}
            print(json.dumps(values), file=self.stream)
        except OSError as error:
            raise FileError(f"cannot write {self.path}: {reason(error)}") from error

    def create(self) -> IO[str]:
        path = Path(os.path.realpath(self.path))
        if path.is_file():
            path.unlink()
        return path.open("w", encoding="utf-8", buffering=1)

    def close(self) -> None:
        with suppress(OSError):  # a failed write has raised before
            if self.stream:
                self.stream.close()


class ProgressReporter:
    """The callback of a training: writes the log, moves the bar, and returns a reason to stop after a signal."""

    def __init__(self, stop: GracefulStop, log: TrainingLog | None, bar: Any) -> None:
        self.stop, self.log, self.bar = stop, log, bar
        self.figures: dict[str, str] = {}  # beside the bar
        self.next_refresh = 0.0

    def __call__(self, progress: Progress) -> str | None:
        self.stop.can_save = True
        if self.log:
            self.log.write(progress)
        if self.bar is not None:
            self.figures["loss"] = "warming up" if progress.loss is None else f"{progress.loss:,.0f}"
            if (score := progress.dev_span_f1 or progress.dev_accuracy) is not None:
                self.figures["dev"] = f"{100 * score:.2f} %"
            self.bar.set_postfix(self.figures, refresh=False)
            self.bar.update()
        return INTERRUPTED if self.stop.requested else None

    def pulse(self, fraction: float) -> bool:
        """Show the fraction of the iteration that is done; return True if it should stop here."""
        if self.bar is not None and time.perf_counter() > self.next_refresh:
            self.bar.set_postfix({"at": f"{fraction:4.0%}"} | self.figures)
            self.next_refresh = time.perf_counter() + REFRESH_SECONDS
        return self.stop.requested


@contextmanager
def progress_reporter(
    iterations: int, log: str | None, quiet: bool, stop: GracefulStop, unit: str = "it"
) -> Iterator[ProgressReporter]:
    """Open the log and the bar of a training."""
    with ExitStack() as stack:
        lines = stack.enter_context(closing(TrainingLog(log))) if log else None
        bar = stack.enter_context(open_bar("train", unit, iterations)) if show_bar(quiet) else None
        yield ProgressReporter(stop, lines, bar)


def save_and_report(
    model: Tagger, output: str, begin: float, quiet: bool, stop: GracefulStop, checkpoint: Checkpoint, unit: str
) -> None:
    """Write the model, remove the checkpoint unless the training can be continued, and print how the training went."""
    save_model(model, output)
    stopped = model.summary_["stopped"]
    if not stopped.startswith(INTERRUPTED):
        checkpoint.remove()
    messages = [*model_warnings(model), training_summary(model.summary_, unit)]
    if stopped == INTERRUPTED:
        path = os.fspath(checkpoint.path)
        option = "" if path == default_checkpoint(output) else f"--checkpoint {shlex.quote(path)} "
        messages.append(f"kept {path}: continue with the same settings and {option}--resume")
    for message in [*messages, closing_line(model, output, time.perf_counter() - begin)]:
        print_message(message, quiet)
    stop.exit_if_requested()


def model_warnings(model: Tagger) -> list[str]:
    """Warn of a model that has learned little, or its corpus by heart."""
    warnings = []
    if len(model.classes_) == 1:
        warnings.append(f"the corpus has one tag only: every word will be tagged {model.classes_[0]}")
    if model.get_params().get("l2") == model.get_params().get("l1") == 0 and model.summary_["loss"] < 1:
        warnings.append("the model fits the corpus perfectly, and --l2 0 does not limit the weights; try --l2 0.25")
    if penalty := excessive_penalty(model):
        warnings.append(
            f"{penalty} keeps nearly all weights at zero: the model has learned next to nothing; try a smaller one"
        )
    return [f"warning: {warning}" for warning in warnings]


def excessive_penalty(model: Tagger) -> str | None:
    """Return the penalty of a CRF whose loss is near that of zero weights, where all tags are equally likely.

    loss = N · log K
    """
    settings, summary = model.get_params(), model.summary_
    name = max("l1", "l2", key=lambda name: settings.get(name, 0))
    if settings.get(name, 0) <= 1 or summary["stopped"].startswith(INTERRUPTED):
        return None
    limit = UNLEARNED_SHARE * summary["tokens"] * math.log(len(model.classes_))
    return f"--{name} {settings[name]:g}" if limit and summary["loss"] > limit else None


def training_summary(summary: dict[str, Any], unit: str) -> str:
    """Return one line: iterations, loss, and why the training stopped."""
    best = f", best on the dev set in {unit} {summary['best_iteration']}" if "best_iteration" in summary else ""
    # rounding may leave a perfect fit a loss below zero
    loss = "" if summary["loss"] is None else f", loss {max(0.0, summary['loss']):,.1f}"
    stopped = name_options(summary["stopped"], click.get_current_context().command)
    return f"{several(summary['iterations'], unit)}{best}{loss}; stopped: {stopped}{missed_candidates(summary)}"


def missed_candidates(summary: dict[str, Any]) -> str:
    """Say for how many tokens the right tag was no candidate, of a CRF with candidates."""
    missed, tokens = summary.get("right tag no candidate"), summary["tokens"]
    return "" if missed is None else f"\nthe right tag was no candidate for {missed:,} of {tokens:,} tokens"


def closing_line(model: Tagger, path: str, seconds: float) -> str:
    """Return the last line of a training: the file, its size, the accuracy, the time, and a command to try next."""
    score = model.summary_.get(DEV_SCORES[model.metric])
    accuracy = "" if score is None else f", dev {model.metric} {100 * score:.2f} %"
    size = file_size(path)
    shown = f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{size / 1e3:.0f} kB"
    option = "" if path == os.environ.get("TAGGER_MODEL", DEFAULT_MODEL) else f" -m {shlex.quote(path)}"
    corpus = f"{several(model.summary_['tokens'], 'token')}, {several(len(model.classes_), 'tag')}"
    return f"wrote {path}: {shown}, {corpus}{accuracy}, {seconds:.1f} s. Try: tagger tag{option} sentences.txt"
