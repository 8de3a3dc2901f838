"""`slash`: a sentence per line, `word/TAG` tokens between spaces or tabs. The last slash splits.

So `1/2/CD` is the word `1/2` and `//SYM` the word `/`. Only ASCII spaces and tabs separate: U+00A0 and U+3000
belong to words. An untagged sentence is the same line without the tags, and keeps its place when it is blank.
"""

from __future__ import annotations

from collections.abc import Iterator

from tagger.errors import CorpusError, quote
from tagger.files import Lines
from tagger.sentence import Sentence


def tokens(line: str) -> list[str]:
    return [token for token in line.replace("\t", " ").split(" ") if token]


def split_token(token: str, lines: Lines) -> tuple[str, str]:
    word, slash, tag = token.rpartition("/")
    if word and tag:
        return word, tag
    fault = "no slash in" if not slash else "an empty word in" if not word else "an empty tag in"
    raise lines.error(f"expected word/TAG, got {fault} {quote(token)}")


def join_token(word: str, tag: str) -> str:
    if not tag or "/" in tag or set(word) & set(" \t\n") or set(tag) & set(" \t\n") or not word:
        raise CorpusError(
            f"the word {quote(word)} with the tag {quote(tag)} cannot be written as word/TAG; use --output-format jsonl"
        )
    return f"{word}/{tag}"


def read(lines: Lines, tagged: bool, column: str) -> Iterator[Sentence]:
    for line in lines:
        found = tokens(line)
        if not tagged:
            yield Sentence(found)
        elif found:
            words, tags = zip(*(split_token(token, lines) for token in found), strict=True)
            yield Sentence(words, tags)


def write(sentence: Sentence, column: str) -> str:
    if sentence.tags is None:
        return " ".join(sentence.words) + "\n"
    return " ".join(map(join_token, sentence.words, sentence.tags)) + "\n"
