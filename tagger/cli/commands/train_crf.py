"""`tagger train-crf`."""

from __future__ import annotations

import time
from typing import Any

import click

from tagger.cli.console import read_tagged, say
from tagger.cli.options import (
    FREE,
    MOST_AT_ONCE,
    Count,
    Finite,
    corpus_options,
    examples,
    features_option,
    given,
    max_memory_option,
    quiet_option,
)
from tagger.cli.paths import INPUT, FileCommand, InputFile
from tagger.cli.training import (
    Stop,
    check_course,
    conclude,
    course_options,
    output_model_option,
    read_to_learn,
    watching,
)
from tagger.cli.tuning import Tuning
from tagger.crf.tagger import CRFTagger
from tagger.errors import TrainingError
from tagger.features.word_classes import WordClasses
from tagger.models.checkpoint import Checkpoint
from tagger.models.store import load_classes, load_model
from tagger.sentence import Sentence


@click.command(
    "train-crf",
    cls=FileCommand,
    epilog=examples(
        "tagger train-crf corpus.txt",
        "tagger train-crf train.txt --dev dev.txt --log train.jsonl -o english.npz",
        "tagger train-crf train.txt --features my-template.txt --l2 0.5",
        "tagger train-crf train.txt --unlabeled raw.txt.gz",
        "tagger train-crf train.txt --tune --dev dev.txt",
        "tagger train-crf train.txt --resume",
        "tagger train-crf medical.txt --init english.npz -o medical.npz",
    ),
)
@click.argument("corpus", type=INPUT)
@output_model_option
@corpus_options
@course_options(patience=10, every=10, unit="iteration")
@click.option(
    "--tune", is_flag=True, help="Search --l2, --l1 and --min-count: by --dev, or by cross-validation; then train."
)
@features_option
@click.option(
    "--unlabeled",
    metavar="FILE",
    type=INPUT,
    multiple=True,
    help="Raw text, a sentence per line: its words get classes, which become features. Repeatable.",
)
@click.option(
    "--classes", metavar="FILE", type=INPUT, help="Word classes made before, or path TAB word TAB count as text."
)
@click.option("--l2", type=Finite(0), default=0.25, show_default=True, help="Penalty l2·‖w‖² on the weights.")
@click.option("--l1", type=Finite(0), default=0.0, show_default=True, help="Penalty l1·‖w‖₁: many weights become zero.")
@click.option("--min-count", type=Count(1), default=1, show_default=True, help="Leave out rarer features.")
@click.option(
    "--min-pair-count",
    type=Count(1),
    default=2,
    show_default=True,
    help="Leave out features of several words that are rarer.",
)
@click.option("--max-iterations", type=Count(1), default=200, show_default=True, help="Stop after so many.")
@click.option(
    "--tolerance",
    type=Finite(0),
    default=1e-3,
    show_default=True,
    help="Stop when the loss falls by less than this share of itself in 10 iterations.",
)
@click.option(
    "--init", metavar="MODEL", type=InputFile(replaceable=True), help="Go on from a CRF: adapt it to this corpus."
)
@click.option(
    "--partial",
    is_flag=True,
    help="word/? and words without a tag (_ in CoNLL-U) may have any tag, word/NN|VB one of two.",
)
@click.option("--threads", type=Count(0, MOST_AT_ONCE), default=0, help="Threads to use.  [default: all cores]")
@max_memory_option(FREE)
@quiet_option
def command(
    corpus: str,
    output: str,
    input_format: str | None,
    encoding: str,
    column: str,
    dev: str | None,
    tune: bool,
    log: str | None,
    checkpoint: str,
    checkpoint_every: int,
    resume: bool,
    init: str | None,
    unlabeled: tuple[str, ...],
    classes: str | None,
    quiet: bool,
    **settings: Any,
) -> None:
    """Learn a conditional random field from a tagged corpus.

    CORPUS may be - for standard input. The closing line names the model and the command to try next. Ctrl-C saves the
    best model so far. --tune begins its search with the settings given; interrupted, it saves the best that was tried
    on --dev, while cross-validation has no model to save and only tells the best settings.
    """
    begin = time.perf_counter()
    check_combination(dev, tune, resume, settings["partial"])
    check_sources(init, unlabeled, classes)
    check_course(dev, checkpoint, quiet)
    sentences = read_to_learn(corpus, input_format, encoding, column, quiet, settings["partial"])
    dev_sentences = read_tagged(dev, input_format, encoding, column) if dev else None
    old = load_initial(init, sentences, quiet) if init else None
    table = load_classes(classes) if classes else learned(unlabeled, encoding, quiet, sentences) if unlabeled else None
    model = CRFTagger(**settings)
    model.column_ = column
    saved = Checkpoint(checkpoint, checkpoint_every, resume, keep=True)
    with Stop() as stop:
        tuning = Tuning(model, sentences, dev_sentences, old, table, quiet, stop) if tune else None
        if tuning is None or tuning.finds():
            with watching(model.max_iterations, log, quiet, stop) as watch:
                model.fit(sentences, X_dev=dev_sentences, watch=watch, checkpoint=saved, init=old, classes=table)
        if tuning:
            model = tuning.concluded(model)
    conclude(model, output, begin, quiet, stop, saved, "iteration")


def check_combination(dev: str | None, tune: bool, resume: bool, partial: bool) -> None:
    """Options that make no sense together."""
    if tune and resume:
        raise click.UsageError("--resume goes on with one training: give the settings that --tune found, without it.")
    if tune and partial and not dev:
        raise click.UsageError("--tune with --partial needs --dev: a partly tagged corpus cannot judge itself.")


def check_sources(init: str | None, unlabeled: tuple[str, ...], classes: str | None) -> None:
    """Word classes come from one place."""
    given_by = [name for name, found in (("--init", init), ("--unlabeled", unlabeled), ("--classes", classes)) if found]
    if len(given_by) > 1:
        raise click.UsageError(f"{' and '.join(given_by)} each bring word classes, or none: name one of them.")


def learned(files: tuple[str, ...], encoding: str, quiet: bool, sentences: list[Sentence]) -> WordClasses:
    """Word classes of raw text and the corpus."""
    from tagger.cli.raw_text import learn_from

    return learn_from(files, encoding, quiet, [sentence.words for sentence in sentences])


def load_initial(path: str, sentences: list[Sentence], quiet: bool) -> CRFTagger:
    """The CRF to go on from, which brings its own template, and should know some tag of the corpus."""
    if given("features"):
        raise click.UsageError("--init brings the template of its model: leave out --features.")
    model = load_model(path)
    if not isinstance(model, CRFTagger):
        raise TrainingError(f"cannot go on from {path}: it is a model of kind {model.kind!r}, not a CRF")
    if not any(tag in model.classes_ for sentence in sentences for tag in sentence.tags or ()):
        say(f"warning: the corpus and {path} have no tag in common; `tagger convert --map FILE` renames tags", quiet)
    return model
