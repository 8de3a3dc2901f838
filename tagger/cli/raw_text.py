"""Word classes from raw text files: each file is read twice, with a progress bar."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import click

from tagger.cli.console import skipped_lines
from tagger.cli.hints import InputHint, tag_check
from tagger.cli.progress import StepBars
from tagger.features.clustering import MIN_COUNT, learn_classes
from tagger.features.word_classes import SIZES, WordClasses
from tagger.files.reading import Lines, Skipped, pipe_identity


def learn_from(
    files: Sequence[str],
    encoding: str,
    quiet: bool,
    extra_sentences: Iterable[Sequence[str]] = (),
    sizes: Sequence[int] = SIZES,
    min_count: int = MIN_COUNT,
    source: str = "FILES",
) -> WordClasses:
    """Learn the classes of the words in raw text files, named by `source`, and in extra sentences."""
    if any(map(pipe_identity, files)):
        raise click.UsageError(f"{source}: expected files, since raw text is read twice; got standard input or a pipe.")
    records = [skipped_lines()]  # faulty lines are recorded in the first pass only
    hint = InputHint(tag_check(), quiet=quiet)

    def text() -> Iterator[Sequence[str]]:
        skipped = records.pop() if records else skipped_lines() and Skipped()
        yield from extra_sentences
        for path in files:
            for sentence in hint.read_untagged(Lines(path, encoding, skipped), by_name=True):
                yield sentence.words

    with StepBars(quiet) as bars:
        return learn_classes(text, sizes, min_count, lambda step: bars.show(*step))
