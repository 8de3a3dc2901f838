"""Word classes for training commands: their options, and classes from raw text, each file read twice with a bar."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from tagger.cli.console import skipped_lines
from tagger.cli.hints import InputHint, tag_check
from tagger.cli.options import combine, file_option
from tagger.cli.paths import INPUT
from tagger.cli.progress import StepBars
from tagger.features.word_classes import WordClasses
from tagger.files.reading import Lines, Skipped, pipe_identity
from tagger.models.store import load_classes
from tagger.sentence import Sentence

if TYPE_CHECKING:
    from distributed import Client

class_options = combine(
    file_option(
        "--unlabeled", INPUT, "Raw text to learn word classes from, e.g. raw.txt.gz. Repeatable.", multiple=True
    ),
    file_option("--classes", INPUT, "Word classes: classes.npz of learn-classes, or lines path TAB word TAB count."),
)


def check_class_sources(sources: dict[str, Any]) -> None:
    """Refuse more than one option that brings word classes."""
    given = [name for name, value in sources.items() if value]
    if len(given) > 1:
        raise click.UsageError(f"{' and '.join(given)} each bring word classes, or none: use one of them.")


def load_word_classes(
    path: str | None,
    unlabeled: tuple[str, ...],
    encoding: str,
    quiet: bool,
    sentences: list[Sentence],
    vectors: bool = False,
) -> WordClasses | None:
    """Load word classes, or learn them from raw text and the corpus, with vectors if asked; None without options."""
    if path:
        return load_classes(path)
    words = [sentence.words for sentence in sentences]
    return learn_from(unlabeled, encoding, quiet, words, "--unlabeled", vectors=vectors) if unlabeled else None


def learn_from(
    files: Sequence[str],
    encoding: str,
    quiet: bool,
    extra_sentences: Iterable[Sequence[str]] = (),
    source: str = "FILES",
    **settings: Any,
) -> WordClasses:
    """Learn the classes of the words in raw text files, named by `source`, and in extra sentences.

    `settings` are those of `learn_classes`.
    """
    from tagger.features.clustering import learn_classes

    check_readable_twice(files, source)
    records = [skipped_lines()]  # faulty lines are recorded in the first pass only
    hint = InputHint(tag_check(), quiet=quiet)

    def text() -> Iterator[Sequence[str]]:
        skipped = records.pop() if records else skipped_lines() and Skipped()
        yield from extra_sentences
        for path in files:
            for sentence in hint.read_untagged(Lines(path, encoding, skipped), by_name=True):
                yield sentence.words

    with StepBars(quiet) as bars:
        return learn_classes(text, watch=lambda step: bars.show(*step), **settings)


def check_readable_twice(files: Sequence[str], source: str) -> None:
    """Refuse standard input and pipes."""
    if any(map(pipe_identity, files)):
        raise click.UsageError(f"{source}: expected files, since raw text is read twice; got standard input or a pipe.")


def learn_on_cluster(
    client: Client, files: Sequence[str], encoding: str, quiet: bool, source: str = "FILES", **settings: Any
) -> WordClasses:
    """Learn the classes of the words in raw text files that workers read; `settings` are those of `learn_classes`."""
    from tagger.integrations.distributed.classes import learn_classes

    check_readable_twice(files, source)
    with StepBars(quiet) as bars:
        return learn_classes(client, files, encoding=encoding, watch=lambda step: bars.show(*step), **settings)
