"""Raw text on its way to word classes: read file after file, as often as needed, with a bar for those who wait."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from typing import Any

import click

from tagger.cli.console import skipped
from tagger.cli.hints import InputHint, untagged
from tagger.cli.progress import open_bar, show_bar
from tagger.corpus import format_of, read_sentences
from tagger.features.clustering import MIN_COUNT, ClusteringProgress, learn_classes
from tagger.features.word_classes import SIZES, WordClasses
from tagger.files.reading import Lines, Skipped, pipe_identity


def learn_from(
    files: Sequence[str],
    encoding: str,
    quiet: bool,
    more: Iterable[Sequence[str]] = (),
    sizes: Sequence[int] = SIZES,
    min_count: int = MIN_COUNT,
) -> WordClasses:
    """The classes of the words of these files, and of `more` sentences."""
    if any(map(pipe_identity, files)):
        raise click.UsageError("Raw text is read twice: it cannot come from standard input or a pipe; name a file.")

    noted = [skipped()]  # what is left out is noted the first time

    hint = InputHint(untagged(), quiet=quiet)

    def text() -> Iterator[Sequence[str]]:
        left_out = noted.pop() if noted else skipped() and Skipped()
        yield from more
        for path in files:
            format = format_of(path)
            lines = hint.opening(Lines(path, encoding, left_out), format, by_name=True)
            for sentence in hint.sentences(read_sentences(lines, format, tagged=False)):
                yield sentence.words

    with Bars(quiet) as bars:
        return learn_classes(text, sizes, min_count, bars.show)


class Bars:
    """One bar after the other, one for each step of the learning."""

    def __init__(self, quiet: bool) -> None:
        self.shown = show_bar(quiet)
        self.stack = ExitStack()
        self.bar: Any = None

    def __enter__(self) -> Bars:
        return self

    def __exit__(self, *error: object) -> None:
        self.stack.close()

    def show(self, learning: ClusteringProgress) -> None:
        if not self.shown:
            return
        if self.bar is None or self.bar.desc != learning.step:
            self.stack.close()
            self.bar = self.stack.enter_context(open_bar(learning.step, learning.unit, learning.total))
        self.bar.update(learning.done - self.bar.n)
