"""`tagger train-crf`: a conditional random field."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import click

from tagger.cli.console import print_message
from tagger.cli.corpus_input import CorpusOptions, read_tagged, read_training_corpus, remember_columns, wanted_columns
from tagger.cli.interrupt import GracefulStop
from tagger.cli.options import (
    FREE_MEMORY,
    MAX_WORKERS,
    Count,
    Finite,
    combine,
    features_option,
    is_given,
    max_memory_option,
    partial_option,
)
from tagger.cli.paths import InputFile
from tagger.cli.raw_text import check_class_sources, class_options, load_word_classes
from tagger.cli.scheduler import open_executor, scheduler_option
from tagger.cli.sharded_training import train_on_shards
from tagger.cli.spans import settle_scheme
from tagger.cli.training import (
    check_monitoring,
    monitor_options,
    progress_reporter,
    save_and_report,
    setting_option,
    training_command,
)
from tagger.cli.tuning import Tuning
from tagger.crf.settings import MAX_THRESHOLD, check_chain
from tagger.crf.tagger import CRFTagger
from tagger.errors import TrainingError
from tagger.models.checkpoint import Checkpoint
from tagger.models.store import load_model
from tagger.sentence import Sentence


class CandidatesType(click.ParamType):
    """`auto`, `all` or the lowest probability of a candidate."""

    name = "auto|all|P"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            check_chain(1, value)
        except TrainingError:
            self.fail(f"expected auto, all or a number below {MAX_THRESHOLD}, e.g. 0.001, got {value!r}.", param, ctx)
        return str(value)


crf_options = combine(
    monitor_options(every=10, unit="iteration"),
    click.option(
        "--tune", is_flag=True, help="Search --l2, --l1 and --min-count, by --dev or cross-validation, before training."
    ),
    setting_option("--order", click.IntRange(0, 2), "Number of previous tags that a tag depends on; 0: no chain."),
    setting_option(
        "--candidates",
        CandidatesType(),
        "Tags considered for a token: all, or those that an HMM, trained along, finds more probable than P, e.g. "
        "0.001. auto: 0.001 in `tagger train`, with --order 2 or more than 128 tags, else all.",
    ),
    features_option,
    class_options,
    setting_option("--l2", Finite(0), "Penalty l2·‖w‖² on the weights."),
    setting_option("--l1", Finite(0), "Penalty l1·‖w‖₁; makes many weights zero."),
    setting_option("--min-count", Count(1), "Ignore features that occur fewer than N times."),
    setting_option("--min-pair-count", Count(1), "Ignore features of several words that occur fewer than N times."),
    setting_option("--max-iterations", Count(1), "Stop after N iterations."),
    setting_option("--tolerance", Finite(0), "Stop when 10 iterations reduce the loss by less than this fraction."),
    click.option(
        "--init",
        metavar="MODEL",
        type=InputFile(replaceable=True),
        help="Model to adapt to this corpus, e.g. english.npz.",
    ),
    partial_option,
    click.option(
        "--threads", type=Count(0, MAX_WORKERS), metavar="N", default=0, help="Threads, e.g. 4.  [default: all cores]"
    ),
    max_memory_option(FREE_MEMORY),
    scheduler_option("Train"),
)


@training_command(
    CRFTagger,
    "tagger train-crf corpus.txt",
    "tagger train-crf train.txt --dev dev.txt --log train.jsonl -o english.npz",
    "tagger train-crf train.txt --features my-template.txt --l2 0.5",
    "tagger train-crf train.txt --order 2",
    "tagger train-crf train.txt --unlabeled raw.txt.gz",
    "tagger train-crf train.txt --tune --dev dev.txt",
    "tagger train-crf train.txt --resume",
    "tagger train-crf medical.txt --init english.npz -o medical.npz",
    "tagger train-crf train.txt --features chunking --columns word,pos,tag -o chunks.npz",
    "tagger train-crf shards/ --scheduler local:2 --max-memory 2G",
)
@crf_options
def command(quiet: bool, **options: Any) -> None:
    """Train a conditional random field on a tagged corpus.

    CORPUS may be - for standard input. The closing line names the model and the command to try next. Ctrl-C saves the
    best model so far. --tune starts its search from the given settings. If it is interrupted, it saves the best model
    tried on --dev; cross-validation has no model to save and only prints the best settings.

    With --scheduler, CORPUS is a file or a folder of files. Workers read it in shards, so that no process has all of
    it; with --max-memory, shards are kept on disk. --tune and --scheduler run the trials on the cluster.
    """
    train(CRFTagger, quiet, **options)


def train(
    kind: type[CRFTagger],
    quiet: bool,
    *,
    corpus: str,
    output: str,
    corpus_options: CorpusOptions,
    tokenizer: str | None,
    dev: str | None,
    tune: bool,
    log: str | None,
    checkpoint: str,
    checkpoint_every: int,
    resume: bool,
    init: str | None,
    unlabeled: tuple[str, ...],
    classes: str | None,
    scheduler: str | None = None,
    members: Mapping[str, Any] | None = None,
    **settings: Any,
) -> None:
    """Train a CRF, or a model that is made of CRFs, as the options of a command say; `members` are passed to `fit`."""
    begin = time.perf_counter()
    check_options(kind, dev, tune, resume, settings)
    check_class_sources({"--init": init, "--unlabeled": unlabeled, "--classes": classes})
    check_monitoring(dev, checkpoint, quiet)
    saved = Checkpoint(checkpoint, checkpoint_every, resume, keep=True)
    if scheduler and not tune:
        described: dict[str, Any] = {"tokenizer": tokenizer, "dev": dev, "log": log, "classes": classes}
        described |= {"checkpoint": saved, "unlabeled": unlabeled, **(members or {"add": ()})}
        train_on_shards(kind(**settings), scheduler, corpus, output, corpus_options, quiet, **described)
        return
    initial = load_initial(init) if init else None
    wanted = initial.wanted_columns_ if initial else wanted_columns(settings["features"], corpus_options.columns, quiet)
    corpus_options = corpus_options.with_wanted(wanted)
    sentences = read_training_corpus(corpus, corpus_options, quiet, settings["partial"])
    check_tags(initial, init, sentences, quiet)
    dev_sentences = read_tagged(dev, corpus_options) if dev else None
    if not initial:  # which brings its own
        settings["scheme"] = settle_scheme(settings["scheme"], sentences, corpus, settings["partial"], quiet)
    table = load_word_classes(classes, unlabeled, corpus_options.encoding, quiet, sentences, kind.uses_vectors)
    model = kind(**settings | ({"order": initial.order} if initial else {}))
    remember_columns(model, corpus_options, sentences)
    model.tokenizer_ = tokenizer
    with GracefulStop() as stop:
        run = open_executor(scheduler) if scheduler else None
        tuning = Tuning(model, sentences, dev_sentences, initial, table, quiet, stop, run) if tune else None
        if tuning is None or tuning.run():
            with progress_reporter(model.max_iterations, log, quiet, stop) as watch:
                model.fit(
                    sentences,
                    X_dev=dev_sentences,
                    watch=watch,
                    checkpoint=saved,
                    init=initial,
                    classes=table,
                    **(members or {}),
                )
        if tuning:
            model = tuning.best_model(model)
    save_and_report(model, output, begin, quiet, stop, saved, "iteration")


def check_options(kind: type[CRFTagger], dev: str | None, tune: bool, resume: bool, settings: dict[str, Any]) -> None:
    """Refuse options that contradict each other."""
    if tune and resume:
        raise click.UsageError("--resume continues one training: replace --tune by the settings that it found.")
    if tune and settings["partial"] and not dev:
        raise click.UsageError("--tune with --partial: expected --dev; a partly tagged corpus cannot be evaluated on.")
    if settings["order"] == 2 and settings["candidates"] == "all":
        raise click.UsageError("--order 2: expected --candidates auto or a number, got all. Use --order 1.")
    if settings["order"] == 0 and kind is not CRFTagger:
        raise click.UsageError("--order: expected 1 or 2, got 0. Use `tagger train-crf --order 0`.")
    if settings["order"] == 0 and settings["candidates"] not in ("auto", "all"):
        raise click.UsageError(f"--order 0: expected --candidates auto or all, got {settings['candidates']}.")


def load_initial(path: str) -> CRFTagger:
    """Load the CRF to adapt, which brings its own template."""
    brought = [f"--{name}" for name in ("features", "order", "candidates", "scheme") if is_given(name)]
    if brought:
        raise click.UsageError(f"--init brings what its model was trained with: leave out {' and '.join(brought)}.")
    model = load_model(path)
    if not isinstance(model, CRFTagger):
        raise TrainingError(f"--init {path}: expected a CRF, got a model of kind {model.kind!r}")
    return model


def check_tags(initial: CRFTagger | None, path: str | None, sentences: list[Sentence], quiet: bool) -> None:
    """Warn if the CRF to adapt shares no tag with the corpus."""
    if initial and not any(tag in initial.classes_ for sentence in sentences for tag in sentence.tags or ()):
        warning = f"warning: the corpus and {path} have no tag in common; `tagger convert --map FILE` renames tags"
        print_message(warning, quiet)
