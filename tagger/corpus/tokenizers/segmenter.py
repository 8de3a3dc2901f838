"""Split plain text into sentences of words with offsets, as the text arrives and in constant memory.

A blank line ends a paragraph and so a sentence. A line end is white space, because texts are often wrapped, with one
exception: a sentence that may end there does end there, whatever the next line is. So a program that sends a sentence
and a line end gets an answer at once, and the result does not depend on when a block of text arrives. At a terminal
(`by_line`) every line end ends a sentence.

A language (`english`, `chinese`) defines pieces, how a piece is split into words, and whether a sentence ends between
two pieces. Offsets count characters of the input from 0, line ends included (`\\r\\n` is two), a byte order mark
excluded. A sentence of MAX_SENTENCE_LENGTH words is ended there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from importlib import import_module
from itertools import chain
from types import ModuleType

from tagger.corpus.tokenizers import TOKENIZERS
from tagger.files.reading import Lines
from tagger.sentence import Sentence

LANGUAGES: dict[str, ModuleType] = {name: import_module(f"tagger.corpus.tokenizers.{name}") for name in TOKENIZERS}
MAX_SENTENCE_LENGTH = 10_000  # words


class RawText:
    """Iterator over the sentences of a text; with `by_line`, every line end ends a sentence."""

    def __init__(self, source: Lines, language: str, by_line: bool = False) -> None:
        self.language = LANGUAGES[language]
        self.by_line = by_line
        self.source = source
        self._last = False  # all sentences of the text that has arrived are yielded

    @property
    def waiting(self) -> bool:
        """Return whether the next sentence may not have arrived yet: the moment to flush all output."""
        return self._last and self.source.silent

    def __iter__(self) -> Iterator[Sentence]:
        # A sentence is held back until it is known whether another one follows in the text that has arrived.
        held: Sentence | None = None
        for sentence in cut_sentences(self.source.texts(), self.language, self.by_line):
            if held:
                self._last = sentence is None
                yield held
            held = sentence


def cut_sentences(texts: Iterable[str], language: ModuleType, by_line: bool = False) -> Iterator[Sentence | None]:
    """Yield the sentences of a text that arrives in blocks, and None whenever more text is needed."""
    ends, split = language.ends, language.words
    words: list[str] = []
    offsets: list[tuple[int, int]] = []
    for line_ends, piece, start in pieces(texts, language.PIECE):
        if words and (
            (line_ends and (line_ends > 1 or by_line or ends(words, None)))
            or (piece and not words[-1].isalpha() and ends(words, piece))
            or len(words) >= MAX_SENTENCE_LENGTH
        ):
            yield Sentence(words, offsets=offsets)
            words, offsets = [], []
        if not piece:
            yield None
        for word in split(piece):
            end = start + len(word)
            words.append(word)
            offsets.append((start, end))
            start = end
    if words:
        yield Sentence(words, offsets=offsets)
    yield None


def pieces(texts: Iterable[str], piece: re.Pattern[str]) -> Iterator[tuple[int, str, int]]:
    """Yield for each piece the number of line ends before it (at most 2), the piece, and its offset.

    At the end of a block the piece is empty, so that a sentence that ends there is yielded at once. A piece that
    reaches the end of a block is kept for the next block, because it may continue there.
    """
    token = re.compile(rf"(\s*)({piece.pattern}|\Z)")
    rest, begin, line_ends = "", 0, 0
    for text in chain(texts, [None]):
        block = rest if text is None else rest + text
        rest = ""
        for match in token.finditer(block):
            gap, current = match[1], match[2]
            if gap != " " and gap:
                line_ends = min(2, line_ends + gap.count("\n"))
            if current and match.end() == len(block) and text is not None:
                rest = current
                current = ""
            yield line_ends, current, begin + match.start(2)
            if current:
                line_ends = 0
        begin += len(block) - len(rest)
