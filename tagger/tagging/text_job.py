"""Tag text files: reader, annotator and renderer of a run as one object, which can be pickled.

The command `tag` and engines that run on other machines share it: a job knows how a text becomes a tagged text, but not
where its inputs and outputs are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import IO, Any

from tagger.errors import CorpusError
from tagger.files.reading import Lines, Skipped, raise_or_skip
from tagger.files.writing import open_output
from tagger.tagging.inputs import Inspector, PlainLines, Sentences, named_blocks
from tagger.tagging.render import LineRenderer, RenderedBlock, SentenceRenderer
from tagger.tagging.workers import in_order


@dataclass(frozen=True)
class TextJob:
    """How texts are read, tagged and written."""

    reader: PlainLines | Sentences
    renderer: LineRenderer | SentenceRenderer
    encoding: str = "utf-8"

    def answers(
        self, paths: Iterable[str], jobs: int, skipped: Skipped | None = None, inspect: Inspector | None = None
    ) -> Iterator[RenderedBlock]:
        """Yield the tagged blocks of files as bytes, in order, made by `jobs` processes."""
        lines = (Lines(path, self.encoding, skipped) for path in paths)
        blocks = enumerate(chain.from_iterable(named_blocks(each, self.reader, inspect) for each in lines))
        marked = ((block._replace(begins_output=number == 0), urgent) for number, (block, urgent) in blocks)
        return in_order(self.renderer, marked, jobs)

    def tag_file(
        self,
        source: str,
        target: str,
        jobs: int = 1,
        advance: Callable[[int], Any] = lambda tokens: None,
        skipped: Skipped | None = None,
    ) -> int:
        """Tag one file, atomically; return its number of tokens."""
        with open_output(target) as stream:
            return write_answers(self.answers([source], jobs, skipped), stream, advance, skipped)


def write_answers(
    answers: Iterable[RenderedBlock], stream: IO[bytes], advance: Callable[[int], Any], skipped: Skipped | None = None
) -> int:
    """Write the answers as they come; return the number of tokens."""
    written = 0
    for text, tokens, faults in answers:
        stream.write(text)
        stream.flush()
        for fault in faults:
            raise_or_skip(CorpusError(fault), skipped)
        advance(tokens)
        written += tokens
    return written
