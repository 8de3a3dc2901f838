"""The format `pku` of the People's Daily corpus of Peking University: a sentence per line, `word/TAG` tokens.

A line may begin with an id (`19980101-01-001-001/m`), and brackets group tokens to a name: `[中央/n 电台/n]nt`. The id
and the brackets are dropped; the tokens inside keep their own tags.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tagger.corpus.column_names import ColumnNames
from tagger.corpus.formats import slash
from tagger.errors import CorpusError
from tagger.escaping import quote
from tagger.files.reading import Lines
from tagger.sentence import Sentence

ID = re.compile(r"\d{8}-\d{2}-\d{3}-\d{3}(/m)?")
LETTERS = re.compile("[A-Za-z]+")
GROUP = re.compile(r"(^|[ \t])\[[^ \t/]+/[^\[\]]*/[A-Za-z]+\][A-Za-z]+")  # [中央/n 电台/n]nt


def without_brackets(token: str) -> str:
    """Remove the brackets around groups from a token; `[/w` and `]/w` are tokens themselves."""
    inside = token.lstrip("[")
    if not inside or (inside.startswith("/") and inside != token):
        inside = token[len(token) - len(inside) - 1 :]  # the word is a bracket
    end = len(inside)
    while (bracket := inside.rfind("]", 0, end)) >= 0:  # 电台/n]nt, in some editions 电台/n]/nt
        name, slash = inside[bracket + 1 : end].removeprefix("/"), inside.rfind("/", 0, bracket)
        tag = inside[slash + 1 : bracket]
        if slash < 1 or not LETTERS.fullmatch(name) or (tag and not LETTERS.fullmatch(tag)):
            break
        end = bracket
    return inside[:end]


def read(lines: Lines, tagged: bool | None, columns: ColumnNames) -> Iterator[Sentence]:
    """Yield the sentences."""
    if tagged is False:
        yield from slash.read(lines, tagged, columns)
        return
    for line in lines:
        tokens = slash.tokens(line)
        if tokens and ID.fullmatch(tokens[0]):
            del tokens[0]
        if tokens:
            bare = map(without_brackets, tokens)
            pairs = [slash.split_token(token, lines) if tagged else slash.split_if_tagged(token) for token in bare]
            words, tags = zip(*pairs, strict=True)
            yield Sentence(words, tags, line=lines.number)
        elif not tagged:
            yield Sentence([])


def write(sentence: Sentence, columns: ColumnNames) -> str:
    """Return the line of a sentence; refuse a token that would be read as an id or the bracket of a group."""
    for i, token in enumerate(slash.written_tokens(sentence)):
        if sentence.tags is not None and (without_brackets(token) != token or (i == 0 and ID.fullmatch(token))):
            advice = "it looks like an id or a bracket. Set format to jsonl"
            raise CorpusError(f"{quote(token)} cannot be written in pku: {advice}")
    return slash.write(sentence, columns)
