"""`slash`: a sentence per line, `word/TAG` tokens between spaces or tabs. The last slash splits.

So `1/2/CD` is the word `1/2` and `//SYM` the word `/`. Only ASCII spaces and tabs separate: U+00A0 and U+3000
belong to words. An untagged sentence is the same line without the tags, and keeps its place when it is blank.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tagger.corpus.cells import all_checked
from tagger.errors import quote
from tagger.files import Lines
from tagger.sentence import Sentence

SEPARATORS = " \t\n\r"


def tokens(line: str) -> list[str]:
    found = line.replace("\t", " ").split(" ")
    return [token for token in found if token] if "" in found else found


def split_token(token: str, lines: Lines) -> tuple[str, str]:
    word, slash, tag = token.rpartition("/")
    if word and tag:
        return word, tag
    fault = "no slash in" if not slash else "an empty word in" if not word else "an empty tag in"
    raise lines.error(f"expected word/TAG, got {fault} {quote(token)}")


def written_tokens(sentence: Sentence) -> Sequence[str]:
    """Each token as text that reads back as it is."""
    words = all_checked(sentence.words, SEPARATORS)
    if sentence.tags is None:
        return words
    return list(map("/".join, zip(words, all_checked(sentence.tags, SEPARATORS + "/"), strict=True)))


def read(lines: Lines, tagged: bool, column: str) -> Iterator[Sentence]:
    for line in lines:
        found = tokens(line)
        if not tagged:
            yield Sentence(found)
        elif found:
            words, tags = zip(*(split_token(token, lines) for token in found), strict=True)
            yield Sentence(words, tags)


def write(sentence: Sentence, column: str) -> str:
    return " ".join(written_tokens(sentence)) + "\n"
