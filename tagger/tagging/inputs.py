"""Read text to tag: sentences of any format, or plain lines for the fast path, in blocks for the workers."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from tagger.corpus import read_sentences, skip_faulty
from tagger.corpus.column_names import ColumnNames
from tagger.corpus.formats import format_of
from tagger.corpus.formats.slash import line_stretches, tokens
from tagger.errors import CorpusError
from tagger.files.reading import Lines, raise_or_skip
from tagger.sentence import Sentence
from tagger.tagging.blocks import NamedBlock, blocks, weight
from tagger.tagging.constraints import Constraints

MAX_SENTENCE_LENGTH = 1 << 20  # tokens: the lattice of a longer sentence would exhaust the memory
MAX_STRETCH = 1 << 15  # characters of a line tagged together, about 5,000 words

Source = tuple[Iterator[Any], Any]  # sentences or lines, and the object whose `waiting` says that no more are ready
Item = TypeVar("Item")


class Inspector(Protocol):
    """Looks at the input on its way, to print hints about it."""

    def check_first_line(self, lines: Lines) -> Lines: ...

    def __call__(self, items: Iterable[Item], words: Callable[[Item], Sequence[str]]) -> Iterator[Item]: ...


class PlainLines:
    """Reader of plain lines for the fast path: a worker splits them into words.

    A line of more than MAX_STRETCH characters comes in stretches, each tagged like a sentence, so that a text on one
    line needs no more memory than the line itself.
    """

    def read(self, lines: Lines) -> Source:
        return sound_lines(lines), lines

    def weigh(self, line: str) -> int:
        return weight(line.count(" ") + line.count("\t"), len(line))

    def words(self, line: str) -> Sequence[str]:
        return tokens(line)


@dataclass(frozen=True)
class Sentences:
    """Reader of sentences in any format, or of raw text to tokenize."""

    tokenize: str | None
    format: str | None
    columns: ColumnNames
    constraints: Constraints | None
    text_column: str | None = None  # of jsonl, where a text is to be tokenized

    def read(self, lines: Lines) -> Source:
        """Return the sentences of one input, and the object that says whether the next one is ready."""
        format = self.format or format_of(lines.path)
        source: Any = lines
        sentences: Iterable[Sentence]
        if self.tokenize and format != "slash":
            sentences = texts_of(lines, format, self.tokenize, self.text_column)
        elif self.tokenize:
            from tagger.corpus.tokenizers.segmenter import RawText

            typed = lines.path == "-" and sys.stdin is not None and sys.stdin.isatty()
            source = sentences = RawText(lines, self.tokenize, by_line=typed)
        else:
            tagged = None if self.constraints and self.constraints.keep_tags else False
            sentences = read_sentences(lines, format, tagged, self.columns)
        return checked_sentences(sentences, lines, self.constraints), source

    def weigh(self, sentence: Sentence) -> int:
        return weight(len(sentence), sum(map(len, sentence.words)) + sum(map(len, sentence.layout or ())))

    def words(self, sentence: Sentence) -> Sequence[str]:
        return sentence.words


def named_blocks(
    lines: Lines, reader: PlainLines | Sentences, inspect: Inspector | None = None
) -> Iterator[tuple[NamedBlock, bool]]:
    """Yield blocks of sentences or lines, each with its file and position, and whether its answer is urgent."""
    items, source = reader.read(inspect.check_first_line(lines) if inspect else lines)
    items = inspect(items, reader.words) if inspect else items
    before = 0
    for block, urgent in blocks(items, reader.weigh, lambda: source.waiting):
        yield NamedBlock(lines.name, before, block), urgent
        before += len(block)


def texts_of(lines: Lines, format: str, language: str, text_column: str | None) -> Iterator[Sentence]:
    """Tokenize the texts in records (jsonl, conllu); with `--on-error skip`, faulty records are left out."""
    from tagger.corpus.tokenizers.records import conllu_texts, json_texts

    def read() -> Iterator[Sentence]:
        return json_texts(lines, language, text_column) if format == "jsonl" else conllu_texts(lines, language)

    with closing(lines):
        yield from skip_faulty(lines, read, by_line=True, blank=None)


def sound_lines(lines: Lines) -> Iterator[str]:
    """Yield the lines, long ones in stretches; with `--on-error skip`, a blank line for each faulty one."""
    while True:
        try:
            for line in lines:
                if len(line) > MAX_STRETCH:
                    yield from line_stretches(line, MAX_STRETCH)
                else:
                    yield line
            return
        except CorpusError as error:
            raise_or_skip(error, lines.skipped)
            yield ""


def checked_sentences(
    sentences: Iterable[Sentence], lines: Lines, constraints: Constraints | None
) -> Iterator[Sentence]:
    """Yield the sentences; one that is too long or contradicts its constraints is an error, or skipped as empty."""
    for sentence in sentences:
        fault = constraints.fault(sentence) if constraints else None
        if len(sentence) > MAX_SENTENCE_LENGTH:
            fault = f"expected at most {MAX_SENTENCE_LENGTH:,} tokens in a sentence, got {len(sentence):,}"
        if fault:
            raise_or_skip(lines.error(fault), lines.skipped)
        yield Sentence([]) if fault else sentence
