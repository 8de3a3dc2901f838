"""What `tag` reads: the sentences of its files, or lines that hold one, in blocks, looked at as they pass."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tagger.cli.console import say
from tagger.cli.hints import InputHint
from tagger.corpus import format_of, read_sentences, skip_faulty
from tagger.corpus.slash import line_stretches, tokens
from tagger.errors import CorpusError, FileError
from tagger.files.reading import Lines, exists
from tagger.sentence import Sentence
from tagger.tagging.chunks import NamedBlock, blocks, weight
from tagger.tagging.constraints import Constraints

LONGEST = 1 << 20  # tokens of a sentence: more would eat the memory
STRETCH = 1 << 15  # characters of a line tagged together: a sentence of more than 5,000 words is none

Source = tuple[Iterator[Any], Any]  # sentences or lines, and what has `waiting`


def check_inputs(files: tuple[str, ...], encoding: str, tokenize: str | None, quiet: bool) -> None:
    """Refuse, before anything is written, files that are not there or are no text."""
    for path in files:
        if path != "-" and not exists(path):
            raise FileError(f"cannot read {path}: {os.strerror(errno.ENOENT)}")
        if Path(path).is_file():  # a pipe can be read once only
            Lines(path, encoding).check()
    if "-" in files and sys.stdin is not None and sys.stdin.isatty():
        how = "Type text" if tokenize else "Type a sentence per line, words and marks between spaces"
        say(f"{how}; Ctrl-D ends.", quiet)


class PlainLines:
    """Lines as they are: they are taken apart where they are tagged, maybe in another process. A line of more than
    STRETCH characters comes in stretches, each tagged like a sentence, so that a text on one line needs no more memory
    than the line itself."""

    def read(self, lines: Lines) -> Source:
        return sound_lines(lines), lines

    def weigh(self, line: str) -> int:
        return weight(line.count(" ") + line.count("\t"), len(line))

    def words(self, line: str) -> Sequence[str]:
        return tokens(line)


@dataclass(frozen=True)
class Sentences:
    """The sentences of any format, or of a text without one."""

    tokenize: str | None
    format: str | None
    column: str
    constraints: Constraints | None
    text_column: str | None = None  # of jsonl, where a text is to be tokenized

    def read(self, lines: Lines) -> Source:
        """The sentences of one input, and who knows whether the next one has to be waited for."""
        format = self.format or format_of(lines.path)
        if self.tokenize and format != "slash":
            return possible(texts_of(lines, format, self.tokenize, self.text_column), lines, self.constraints), lines
        if self.tokenize:
            from tagger.corpus.tokenizers.segmenter import RawText

            typed = lines.path == "-" and sys.stdin is not None and sys.stdin.isatty()
            text = RawText(lines, self.tokenize, by_line=typed)
            return possible(text, lines, self.constraints), text
        tagged = None if self.constraints and self.constraints.keep_tags else False
        sentences = read_sentences(lines, format, tagged, self.column)
        return possible(sentences, lines, self.constraints), lines

    def weigh(self, sentence: Sentence) -> int:
        return weight(len(sentence), sum(map(len, sentence.words)) + sum(map(len, sentence.layout or ())))

    def words(self, sentence: Sentence) -> Sequence[str]:
        return sentence.words


def named_blocks(lines: Lines, reader: PlainLines | Sentences, hint: InputHint) -> Iterator[tuple[NamedBlock, bool]]:
    items, source = reader.read(hint.opening(lines))
    before = 0
    for block, urgent in blocks(hint(items, reader.words), reader.weigh, lambda: source.waiting):
        yield (lines.name, before, block), urgent
        before += len(block)


def texts_of(lines: Lines, format: str, language: str, text_column: str | None) -> Iterator[Sentence]:
    """The sentences of the texts in records; a faulty record, if it may be skipped, is left out."""
    from tagger.corpus.tokenizers.records import TEXT_COLUMN, ConlluTexts, JsonTexts

    reader = JsonTexts(language, text_column or TEXT_COLUMN) if format == "jsonl" else ConlluTexts(language)
    with closing(lines):
        yield from skip_faulty(lines, lambda: reader.read(lines), by_line=True, blank=None)


def sound_lines(lines: Lines) -> Iterator[str]:
    """The lines, long ones in stretches; in the place of a faulty one, if it may be skipped, a blank one."""
    while True:
        try:
            for line in lines:
                if len(line) > STRETCH:
                    yield from line_stretches(line, STRETCH)
                else:
                    yield line
            return
        except CorpusError as error:
            if lines.skipped is None:
                raise
            lines.skipped.add(error)
            yield ""


def too_long(length: int) -> str | None:
    return f"expected at most {LONGEST:,} tokens in a sentence, got {length:,}" if length > LONGEST else None


def possible(sentences: Iterable[Sentence], lines: Lines, constraints: Constraints | None) -> Iterator[Sentence]:
    """The sentences, if some tagging of each can be right."""
    for sentence in sentences:
        fault = too_long(len(sentence)) or (constraints and constraints.fault(sentence))
        if fault and lines.skipped is None:
            raise lines.error(fault)
        if fault and lines.skipped is not None:
            lines.skipped.add(lines.error(fault))
        yield Sentence([]) if fault else sentence
