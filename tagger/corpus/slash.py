"""`slash`: a sentence per line, `word/TAG` tokens between spaces or tabs. The last slash splits.

So `1/2/CD` is the word `1/2` and `//SYM` the word `/`. Only ASCII spaces and tabs separate: U+00A0 and U+3000
belong to words. An untagged sentence is the same line without the tags, and keeps its place when it is blank.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tagger.corpus.checks import all_checked, ending
from tagger.escaping import quote
from tagger.files.reading import Lines
from tagger.sentence import NO_TAG, Sentence

SEPARATORS = " \t\n"
SEPARATOR = re.compile("[ \t]")
TAG_SEPARATORS = SEPARATORS + "\r/"
OTHERWISE = "; is it tagged, maybe in another way? --input-format knows tsv (word TAB tag), conllu, pku, jsonl, lines"
REMEMBERED = 1 << 16  # distinct tokens, so that a text of any length needs no more memory


class Split(dict[str, tuple[str, str]]):
    """The words and tags of tokens met before: a token that comes back costs one look, and no memory."""

    def __init__(self, lines: Lines) -> None:
        self.lines = lines

    def __missing__(self, token: str) -> tuple[str, str]:
        if len(self) == REMEMBERED:
            self.clear()
        self[token] = pair = split_token(token, self.lines)
        return pair


def tokens(line: str) -> list[str]:
    found = line.replace("\t", " ").split(" ")
    return [token for token in found if token] if "" in found else found


class Unfinished(str):
    """A stretch of a line that goes on in the next one."""

    __slots__ = ()


def line_stretches(line: str, most: int) -> Iterator[str]:
    """A line cut where tokens end, into stretches of about `most` characters; all but the last are `Unfinished`."""
    line = line.rstrip(" \t")
    begin = 0
    while end := SEPARATOR.search(line, begin + most):
        yield Unfinished(line[begin : end.start()])
        begin = end.end()
    yield line[begin:]


def split_token(token: str, lines: Lines) -> tuple[str, str]:
    word, slash, tag = token.rpartition("/")
    if word and tag:
        return word, tag
    fault = "no slash in" if not slash else "an empty word in" if not word else "an empty tag in"
    advice = OTHERWISE if not slash and lines.number == 1 else ""
    raise lines.error(f"expected word/TAG, got {fault} {quote(token)}{advice}")


def split_if_tagged(token: str) -> tuple[str, str]:
    """The word and its tag; what cannot be word/TAG is a word without one."""
    word, _, tag = token.rpartition("/")
    return (word, tag) if word and tag else (token, NO_TAG)


def written_tokens(sentence: Sentence) -> Sequence[str]:
    """Each token as text that reads back as it is."""
    words = all_checked(sentence.words, SEPARATORS)
    if sentence.tags is None:
        return [*words[:-1], *(ending(word, SEPARATORS) for word in words[-1:])]
    return list(map("/".join, zip(words, all_checked(sentence.tags, TAG_SEPARATORS), strict=True)))


def read(lines: Lines, tagged: bool | None, column: str) -> Iterator[Sentence]:
    split = Split(lines)
    for line in lines:
        found = tokens(line)
        if tagged is None and found:
            words, tags = zip(*map(split_if_tagged, found), strict=True)
            yield Sentence(words, tags, line=lines.number)
        elif not tagged:
            yield Sentence(found, line=lines.number)
        elif found:
            words, tags = zip(*map(split.__getitem__, found), strict=True)
            yield Sentence(words, tags, line=lines.number)


def write(sentence: Sentence, column: str) -> str:
    if not sentence.nbest:
        return " ".join(written_tokens(sentence)) + "\n"
    several = [(p, " ".join(written_tokens(sentence.with_tags(tags)))) for p, tags in sentence.nbest]
    return "".join(f"{rank}\t{p:.4g}\t{text}\n" for rank, (p, text) in enumerate(several, 1)) + "\n"
