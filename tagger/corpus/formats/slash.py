"""The format `slash`: a sentence per line, `word/TAG` tokens separated by spaces or tabs.

The last slash splits: `1/2/CD` is the word `1/2`, `//SYM` the word `/`. Only ASCII spaces and tabs separate tokens;
U+00A0 and U+3000 belong to words. An untagged sentence is a line of words, and a blank line an empty sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tagger.corpus.column_names import ColumnNames
from tagger.corpus.formats.checks import check_cells, check_last
from tagger.escaping import quote
from tagger.files.reading import Lines
from tagger.sentence import NO_TAG, Sentence

SEPARATORS = " \t\n"
SEPARATOR = re.compile("[ \t]")
TAG_SEPARATORS = SEPARATORS + "\r/"
OTHER_FORMATS = ". For another format set format to tsv (word TAB tag), conllu, pku, jsonl or lines"
MAX_CACHED_TOKENS = 1 << 16  # bounds the memory for texts of any length


class TokenCache(dict[str, tuple[str, str]]):
    """Cache of split tokens: equal tokens are split once and share their strings."""

    def __init__(self, lines: Lines) -> None:
        self.lines = lines

    def __missing__(self, token: str) -> tuple[str, str]:
        if len(self) == MAX_CACHED_TOKENS:
            self.clear()
        self[token] = pair = split_token(token, self.lines)
        return pair


def tokens(line: str) -> list[str]:
    """Split a line at spaces and tabs."""
    parts = line.replace("\t", " ").split(" ")
    return [part for part in parts if part] if "" in parts else parts


class Unfinished(str):
    """A stretch of a long line that is continued by the next one."""

    __slots__ = ()


def line_stretches(line: str, size: int) -> Iterator[str]:
    """Cut a line between tokens into stretches of about `size` characters; all but the last are `Unfinished`."""
    line = line.rstrip(" \t")
    begin = 0
    while end := SEPARATOR.search(line, begin + size):
        yield Unfinished(line[begin : end.start()])
        begin = end.end()
    yield line[begin:]


def split_token(token: str, lines: Lines) -> tuple[str, str]:
    """Split a token into word and tag; `lines` has the place for the error message."""
    word, slash, tag = token.rpartition("/")
    if word and tag:
        return word, tag
    fault = "no slash in" if not slash else "an empty word in" if not word else "an empty tag in"
    advice = OTHER_FORMATS if not slash and lines.number == 1 else ""
    raise lines.error(f"expected word/TAG, got {fault} {quote(token)}{advice}")


def split_if_tagged(token: str) -> tuple[str, str]:
    """Split a token into word and tag; a token that is not word/TAG is a word with NO_TAG."""
    word, _, tag = token.rpartition("/")
    return (word, tag) if word and tag else (token, NO_TAG)


def written_tokens(sentence: Sentence) -> Sequence[str]:
    """Return the tokens as text, checked to be readable again."""
    words = check_cells(sentence.words, SEPARATORS)
    if sentence.tags is None:
        return [*words[:-1], *(check_last(word, SEPARATORS) for word in words[-1:])]
    return list(map("/".join, zip(words, check_cells(sentence.tags, TAG_SEPARATORS), strict=True)))


def read(lines: Lines, tagged: bool | None, columns: ColumnNames) -> Iterator[Sentence]:
    """Yield the sentences."""
    split = TokenCache(lines).__getitem__ if tagged else split_if_tagged
    for line in lines:
        line_tokens = tokens(line)
        if tagged is False or not (tagged or line_tokens):
            yield Sentence(line_tokens, line=lines.number)
        elif line_tokens:
            words, tags = zip(*map(split, line_tokens), strict=True)
            yield Sentence(words, tags, line=lines.number)


def write(sentence: Sentence, columns: ColumnNames) -> str:
    """Return the line of a sentence; with n-best taggings, a line for each: rank, probability, tokens."""
    if not sentence.nbest:
        return " ".join(written_tokens(sentence)) + "\n"
    taggings = [(p, " ".join(written_tokens(sentence.with_tags(tags)))) for p, tags in sentence.nbest]
    return "".join(f"{rank}\t{p:.4g}\t{text}\n" for rank, (p, text) in enumerate(taggings, 1)) + "\n"
