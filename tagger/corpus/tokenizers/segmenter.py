"""Plain text to sentences of words that know their places, as the text arrives and in constant memory.

White space ends a piece of text, a blank line a paragraph and so a sentence. The end of a line is like any space, as
texts are often wrapped, but for this: a sentence that could end there does end there, without a look at the next line.
So a program that sends a sentence and a line end is answered at once, and what comes out never depends on when a piece
came in. To somebody at a terminal every line is a whole.

What a piece is, how it is cut into words, and whether a sentence ends between two pieces, a language says (`english`,
`chinese`). Offsets count characters from the beginning of the input, from 0, line ends as they stand there (`\\r\\n` is
two); a byte order mark is not counted. A sentence has at most LONGEST words; then the next one begins.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain
from types import ModuleType

from tagger.corpus.tokenizers import chinese, english
from tagger.files.reading import Lines
from tagger.sentence import Sentence

LANGUAGES: dict[str, ModuleType] = {"english": english, "chinese": chinese}
LONGEST = 10_000


class RawText:
    """The sentences of a text. `by_line`: the end of a line ends a sentence always."""

    def __init__(self, source: Lines, language: str, by_line: bool = False) -> None:
        self.language = LANGUAGES[language]
        self.by_line = by_line
        self.source = source
        self._last = False  # no other sentence can be made of what has arrived

    @property
    def waiting(self) -> bool:
        """Whether the next sentence may have to be waited for."""
        return self._last and self.source.silent

    def __iter__(self) -> Iterator[Sentence]:
        held: Sentence | None = None
        for sentence in cut_sentences(self.source.texts(), self.language, self.by_line):
            if held:
                self._last = sentence is None
                yield held
            held = sentence


def cut_sentences(texts: Iterable[str], language: ModuleType, by_line: bool = False) -> Iterator[Sentence | None]:
    """The sentences of a text that arrives in parts, and None whenever more text is needed."""
    ends, cut = language.ends, language.words
    words: list[str] = []
    places: list[tuple[int, int]] = []
    for line_ends, piece, at in pieces(texts, language.PIECE):
        if words and (
            (line_ends and (line_ends > 1 or by_line or ends(words, None)))
            or (piece and not words[-1].isalpha() and ends(words, piece))
            or len(words) >= LONGEST
        ):
            yield Sentence(words, offsets=places)
            words, places = [], []
        if not piece:
            yield None
        for word in cut(piece):
            end = at + len(word)
            words.append(word)
            places.append((at, end))
            at = end
    if words:
        yield Sentence(words, offsets=places)
    yield None


def pieces(texts: Iterable[str], piece: re.Pattern[str]) -> Iterator[tuple[int, str, int]]:
    """How many lines have ended (2: or more) before a piece, the piece, its offset.

    The piece is empty where a text ends, for what is known there should be known at once. It may end inside a piece,
    which then waits for the next text.
    """
    token = re.compile(rf"(\s*)({piece.pattern}|\Z)")
    rest, begin, line_ends = "", 0, 0
    for text in chain(texts, [None]):
        block = rest if text is None else rest + text
        rest = ""
        for match in token.finditer(block):
            gap, found = match[1], match[2]
            if gap != " " and gap:
                line_ends = min(2, line_ends + gap.count("\n"))
            if found and match.end() == len(block) and text is not None:
                rest = found
                found = ""
            yield line_ends, found, begin + match.start(2)
            if found:
                line_ends = 0
        begin += len(block) - len(rest)
