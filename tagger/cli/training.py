"""What the training commands share: where the model goes, progress as it comes, the closing line."""

from __future__ import annotations

import json
import math
import os
import shlex
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, Any
from zipfile import BadZipFile, ZipFile

import click

from tagger.cli.console import A_SENTENCE, length_warnings, read_tagged, say
from tagger.cli.options import MODEL, Count, Decorated, given
from tagger.cli.paths import INPUT, OUTPUT, OutputFile
from tagger.cli.progress import open_bar, show_bar
from tagger.corpus.tsv import find_header
from tagger.errors import CorpusError, FileError, MissingTagError, several
from tagger.files.reading import exists, reason
from tagger.files.signals import active_signals
from tagger.models.base import Tagger
from tagger.models.checkpoint import Checkpoint
from tagger.models.monitor import INTERRUPTED, Progress
from tagger.models.store import save_model
from tagger.sentence import ANY, Sentence, open_tokens

PULSE = 0.2  # seconds between two looks of the bar at an iteration

LONG = 5000  # tokens of a sentence that is hardly one
MANY = 20  # tags, if most of them occur once
LITTLE_LEARNED = 0.95  # of the loss without any weight is left


class ModelFile(OutputFile):
    """A model to write. It may take the place of a model, or of nothing."""

    succeeds = True

    def check(self, path: str) -> None:
        super().check(path)
        old = Path(path)
        if old.is_file() and old.stat().st_size and not holds_a_model(old):
            raise FileError(f"{path} is no model: move it away, or name another -o")


class CheckpointFile(OutputFile):
    """A checkpoint to write. It may take the place of a checkpoint, or of nothing."""

    def default_path(self, params: dict[str, Any]) -> str:
        return f"{params['output']}.checkpoint"

    def check(self, path: str) -> None:
        super().check(path)
        Checkpoint(path).check_place()


def output_model_option(command: Decorated) -> Decorated:
    return click.option(
        "-o",
        "--output",
        type=ModelFile(),
        metavar="FILE",
        default=MODEL,
        show_default=True,
        help="Where to write the model.",
    )(command)


def course_options(patience: int, every: int, unit: str) -> Callable[[Decorated], Decorated]:
    """How a training that takes its time is watched, judged, saved and gone on with."""
    options = (
        click.option("--dev", metavar="FILE", type=INPUT, help="A tagged corpus: its best model is kept."),
        click.option(
            "--patience",
            type=Count(1),
            default=patience,
            show_default=True,
            help="Stop after so many scorings of --dev without a gain.",
        ),
        click.option("--log", metavar="FILE", type=OUTPUT, help=f"Write a line of JSON for each {unit}."),
        click.option(
            "--checkpoint",
            metavar="FILE",
            type=CheckpointFile(),
            help="Save what was reached here.  [default: OUTPUT.checkpoint]",
        ),
        click.option(
            "--checkpoint-every",
            type=Count(1),
            default=every,
            show_default=True,
            help=f"So many {unit}s apart.",
        ),
        click.option("--resume", is_flag=True, help="Go on from the checkpoint of an interrupted training."),
    )

    def decorate(command: Decorated) -> Decorated:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


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
        with suppress(OSError):  # what could not be written was an error before
            if self.stream:
                self.stream.close()


class Stop:
    """The first Ctrl-C, SIGTERM or SIGHUP asks training to end with what it has; a second one ends it at once, as does
    one that comes before anything was learned."""

    def __enter__(self) -> Stop:
        self.caught: int | None = None
        self.begun = False
        self.old = {number: signal.signal(number, self.catch) for number in active_signals()}
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


class Watcher:
    """What to do with every iteration: a line in the log, a step of the bar, an end if somebody asked for it."""

    def __init__(self, stop: Stop, log: Log | None, bar: Any) -> None:
        self.stop, self.log, self.bar = stop, log, bar
        self.shown: dict[str, str] = {}
        self.next = 0.0  # when the bar may move again within an iteration

    def __call__(self, progress: Progress) -> str | None:
        self.stop.begun = True
        if self.log:
            self.log.write(progress)
        if self.bar is not None:
            self.shown["loss"] = "warming up" if progress.loss is None else f"{progress.loss:,.0f}"
            if progress.dev_accuracy is not None:
                self.shown["dev"] = f"{100 * progress.dev_accuracy:.2f} %"
            self.bar.set_postfix(self.shown, refresh=False)
            self.bar.update()
        return None if self.stop.caught is None else INTERRUPTED

    def pulse(self, part: float) -> bool:
        """So much of an iteration is done; whether it shall end here."""
        if self.bar is not None and time.perf_counter() > self.next:
            self.bar.set_postfix({"at": f"{part:4.0%}"} | self.shown)
            self.next = time.perf_counter() + PULSE
        return self.stop.caught is not None


@contextmanager
def watching(iterations: int, log: str | None, quiet: bool, stop: Stop, unit: str = "it") -> Iterator[Watcher]:
    with ExitStack() as stack:
        lines = stack.enter_context(Log(log)) if log else None
        bar = stack.enter_context(open_bar("train", unit, iterations)) if show_bar(quiet) else None
        yield Watcher(stop, lines, bar)


def course(summary: dict[str, Any], unit: str) -> str:
    """How a training went, in a line."""
    best = f", best on the dev set in {unit} {summary['best_iteration']}" if "best_iteration" in summary else ""
    # of what is learned by heart, rounding may leave less than nothing
    loss = "" if summary["loss"] is None else f", loss {max(0.0, summary['loss']):,.1f}"
    return f"{several(summary['iterations'], unit)}{best}{loss}; stopped because {summary['stopped']}"


def read_to_learn(
    path: str, input_format: str | None, encoding: str, column: str, quiet: bool, partial: bool | None = None
) -> list[Sentence]:
    """The corpus to learn from. What a user should know of it is said before. With `partial`, words may lack their
    tags; None means that there is no such training."""
    try:
        sentences = read_tagged(path, input_format, encoding, column, quiet, tagged=None if partial else True)
    except MissingTagError as error:
        if partial is None:
            raise
        raise CorpusError(f"{error}, or --partial, which leaves such words open") from None
    say_doubts(sentences, quiet, partial)
    return sentences


def say_doubts(sentences: Sequence[Sentence], quiet: bool, partial: bool | None) -> None:
    longest = max(map(len, sentences))
    for warning in length_warnings(sentences, "the corpus"):
        say(warning, quiet)
    if longest > LONG:
        say(f"warning: a sentence of the corpus has {longest:,} tokens: {A_SENTENCE}", quiet)
    if len(sentences) == 1:
        say(f"warning: the corpus has one sentence only: {A_SENTENCE}", quiet)
    tags = {tag for sentence in sentences for tag in sentence.tags or ()}
    if len(tags) >= MANY and (tokens := sum(map(len, sentences))) < 2 * len(tags):
        say(f"warning: the corpus has {len(tags):,} tags for {tokens:,} tokens: are they tags?", quiet)
    if names := find_header(sentences):
        say(f"hint: {names} on the first line looks like the names of columns; it is learned as a word", quiet)
    if not partial and (count := open_tokens(sentences)):
        how = "train-hmm and train-crf have --partial, which" if partial is None else "--partial"
        so = f"the tag {ANY!r} of {several(count, 'word')} is learned like any other tag"
        say(f"hint: {so}; {how} leaves such words open", quiet)


def doubts(model: Tagger) -> list[str]:
    """What a user should know of a model that has learned little."""
    found = []
    if len(model.classes_) == 1:
        found.append(f"the corpus has one tag only: every word will be tagged {model.classes_[0]}")
    if model.get_params().get("l2") == model.get_params().get("l1") == 0 and model.summary_["loss"] < 1:
        found.append("the corpus is learned by heart, and with --l2 0 nothing holds the weights back; try --l2 0.25")
    if penalty := crushing_penalty(model):
        found.append(
            f"{penalty} holds nearly all weights at zero: the model has learned next to nothing; try a smaller one"
        )
    return [f"warning: {doubt}" for doubt in found]


def crushing_penalty(model: Tagger) -> str | None:
    """The penalty of a CRF that is little better than one whose weights are all zero, where every tag of a token is as
    likely as any other:  loss = N · log K"""
    settings, summary = model.get_params(), model.summary_
    name = max("l1", "l2", key=lambda name: settings.get(name, 0))
    if settings.get(name, 0) <= 1 or summary["stopped"].startswith(INTERRUPTED):
        return None
    least = LITTLE_LEARNED * summary["tokens"] * math.log(len(model.classes_))
    return f"--{name} {settings[name]:g}" if least and summary["loss"] > least else None


def holds_a_model(path: Path) -> bool:
    """Or word classes, or a checkpoint; as far as a quick look can tell."""
    with suppress(OSError, BadZipFile), ZipFile(path) as archive:
        return "meta.npy" in archive.namelist()
    return False


def check_course(dev: str | None, checkpoint: str, quiet: bool) -> None:
    """Refuse a patience with nothing to wait for, and say which checkpoint is lost."""
    if given("patience") and not dev:
        raise click.UsageError("--patience counts scorings of --dev: name a dev set.")
    if exists(checkpoint) and not given("resume"):
        say(f"hint: {checkpoint} of a training that did not end is replaced; with --resume it would go on", quiet)


def conclude(
    model: Tagger,
    output: str,
    begin: float,
    quiet: bool,
    stop: Stop,
    saved: Checkpoint,
    unit: str,
) -> None:
    """Write the model, say how it went, and leave as a signal asked for, if one came. The checkpoint has done its duty,
    unless there is something to go on with."""
    save_model(model, output)
    stopped = model.summary_["stopped"]
    if not stopped.startswith(INTERRUPTED):
        saved.remove()
    for doubt in doubts(model):
        say(doubt, quiet)
    say(course(model.summary_, unit), quiet)
    if stopped == INTERRUPTED:
        place = "" if saved.path == f"{output}.checkpoint" else f"--checkpoint {shlex.quote(os.fspath(saved.path))} "
        say(f"kept {os.fspath(saved.path)}: the same settings with {place}--resume go on from there", quiet)
    say(closing_line(model, output, time.perf_counter() - begin), quiet)
    stop.leave()


def closing_line(model: Tagger, path: str, seconds: float) -> str:
    """The last word of a training: what was written, how good it is, how long it took, what to try next."""
    dev_accuracy = model.summary_.get("dev_accuracy")
    accuracy = "" if dev_accuracy is None else f", dev accuracy {100 * dev_accuracy:.2f} %"
    size = Path(path).stat().st_size
    shown = f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{size / 1e3:.0f} kB"
    option = "" if path == os.environ.get("TAGGER_MODEL", MODEL) else f" -m {shlex.quote(path)}"
    learned = f"{several(model.summary_['tokens'], 'token')}, {several(len(model.classes_), 'tag')}"
    return f"wrote {path}: {shown}, {learned}{accuracy}, {seconds:.1f} s. Try: tagger tag{option} < sentences.txt"
