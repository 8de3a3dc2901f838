"""`lines`: one `word/TAG` per line, a blank line after each sentence.

Some corpora of this kind have no blank lines at all; there a token that is a sentence-final mark ends the sentence.
"""

from __future__ import annotations

from collections.abc import Iterator

from tagger.corpus.cells import ending
from tagger.corpus.slash import SEPARATORS, split_if_tagged, split_token, tokens, written_tokens
from tagger.errors import quote
from tagger.files import Lines
from tagger.sentence import Sentence

LAYOUT = ("lines",)
FINAL_MARKS = frozenset(".!?。！？")


def read(lines: Lines, tagged: bool | None, column: str) -> Iterator[Sentence]:
    words: list[str] = []
    tags: list[str] = []

    def sentence(begin: int, end: int, first: int) -> Sentence:
        return Sentence(words[begin:end], None if tagged is False else tags[begin:end], LAYOUT, line=first + begin)

    any_blank = False
    for line in lines:
        found = tokens(line)
        if len(found) > 1:
            expected = "word/TAG" if tagged else "word"
            raise lines.error(f"expected one {expected} on the line, got {len(found)}: {quote(line)}")
        if found:
            word, tag = split_token(found[0], lines) if tagged else split_if_tagged(found[0])
            word = found[0] if tagged is False else word
            words.append(word)
            tags.append(tag)
        elif words:
            any_blank = True
            yield sentence(0, len(words), lines.number - len(words))
            words, tags = [], []
    begin, first = 0, lines.number - len(words) + 1
    if not any_blank:
        for end, word in enumerate(words, 1):
            if word in FINAL_MARKS:
                yield sentence(begin, end, first)
                begin = end
    if begin < len(words):
        yield sentence(begin, len(words), first)


def write(sentence: Sentence, column: str) -> str:
    return "".join(f"{ending(token, SEPARATORS)}\n" for token in written_tokens(sentence)) + "\n"
