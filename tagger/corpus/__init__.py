"""Lines ↔ Sentences. Every format is a module with `read` and `write`, registered here by name.

`read(lines, tagged, column)` yields sentences as the lines arrive; with `tagged=False` it wants words only, with `None`
it takes the tags that are there, and NO_TAG for the others.
`write(sentence, column)` returns the text of one sentence, line ends included. Only CoNLL-U cares about `column`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path
from types import ModuleType
from typing import Any

from tagger.corpus import conllu, jsonl, lines, pku, slash, tsv
from tagger.errors import CorpusError
from tagger.escaping import quote
from tagger.files.reading import COMPRESSED, LOOK_AHEAD, Lines, Skipped
from tagger.files.writing import open_output
from tagger.sentence import Sentence, contents, plain_sentence

FORMATS: dict[str, ModuleType] = {
    "slash": slash,
    "lines": lines,
    "tsv": tsv,
    "conllu": conllu,
    "pku": pku,
    "jsonl": jsonl,
}
BY_LINE = (slash, pku, jsonl)  # a sentence per line; in the others a blank line ends one
BLANKS = {"jsonl": ("jsonl", "")}  # layouts of lines that keep their place
BY_WORD = ("lines", "tsv", "conllu")  # a word per line
SUFFIXES = {".conllu": "conllu", ".jsonl": "jsonl", ".tsv": "tsv"}  # formats that a file's name gives away
JSON = re.compile(r"[ \t]*\{[ \t]*[\"}]")


def read_corpus(
    path: str | os.PathLike[str],
    format: str | None = None,
    encoding: str = "utf-8",
    column: str = "upos",
    skipped: Skipped | None = None,
) -> list[Sentence]:
    """All tagged sentences of a file; `-` is standard input. The format is recognised unless it is given.

    A faulty line is an error; with `skipped`, its sentence is left out and the fault noted there.
    """
    return list(read_sentences(Lines(path, encoding, skipped), format, tagged=True, column=column))


def read_sentences(
    source: Lines, format: str | None, tagged: bool | None = True, column: str = "upos"
) -> Iterator[Sentence]:
    """Sentences as their lines arrive. The input is closed at its end, and where an error ends the reading."""
    with closing(source):
        name = format or recognise(source.head(LOOK_AHEAD))
        module = named(name, column)
        by_line, blank = module in BY_LINE, None if tagged else Sentence([], layout=BLANKS.get(name))
        yield from sound(source, lambda: module.read(source, tagged, column), by_line, blank)


def sound(
    source: Lines, read: Callable[[], Iterator[Sentence]], by_line: bool, blank: Sentence | None
) -> Iterator[Sentence]:
    """The sentences that `read` finds. If faults may be skipped, those that have one are left out, and `blank` takes
    the place of a faulty line."""
    while True:
        done = source.number
        try:
            for sentence in read():
                done = source.number
                yield sentence
            return
        except CorpusError as error:
            if source.skipped is None:
                raise
            if not by_line:
                seek_blank(source)
            source.skipped.add(error, 1 if by_line else source.number - done)
        if by_line and blank is not None:
            yield blank


def seek_blank(source: Lines) -> None:
    """Go on to the end of the sentence."""
    while True:
        try:
            for line in source:
                if not line.strip(" \t"):
                    return
            return
        except CorpusError:
            continue


def write_corpus(
    path: str | os.PathLike[str], sentences: Iterable[Any], format: str = "slash", column: str = "upos"
) -> None:
    """Write sentences to a file, atomically; `-` is standard output. Lists of words are written without tags."""
    with open_output(os.fspath(path)) as stream:
        for i, item in enumerate(contents(sentences, "sentences", "a list of sentences")):
            found = plain_sentence(item, f"sentences[{i}]")
            sentence = found if isinstance(found, Sentence) else Sentence(found)
            stream.write(render(sentence, format, column))


def render(sentence: Sentence, format: str, column: str) -> bytes:
    """A sentence as it stands in a file."""
    try:
        return named(format, column).write(sentence, column).encode()
    except UnicodeEncodeError as error:
        half = quote(error.object[error.start : error.end])
        raise CorpusError(f"half a character ({half}) cannot be written as UTF-8") from None


def named(format: str, column: str) -> Any:
    """The module of a format."""
    if format not in FORMATS or column not in conllu.COLUMNS:
        wrong, known = (format, FORMATS) if format not in FORMATS else (column, conllu.COLUMNS)
        raise CorpusError(f"unknown format or column {wrong!r}; expected one of {', '.join(known)}")
    return FORMATS[format]


def recognise(head: list[str]) -> str:
    """The format that the first lines of a tagged corpus are written in."""
    filled = [line for line in head if line.strip(" \t")]
    if not filled:
        return "slash"
    rows = [line.split("\t") for line in filled if not line.startswith("#")] or [[]]
    if JSON.match(filled[0]):
        return "jsonl"
    if len(rows[0]) == 10 and rows[0][0][:1].isdigit():
        return "conllu"
    if len(rows[0]) > 1 and rows[0][0] and not all("/" in cell for cell in rows[0] if cell):
        return "tsv"
    found = [slash.tokens(line) for line in filled]
    if pku.ID.fullmatch(found[0][0]) or any(pku.GROUP.search(line) for line in filled):
        return "pku"
    # One token on every line: words of sentences, if something ends those, else sentences of one word.
    return "lines" if all(len(line) == 1 for line in found) and lines.shows_ends(head) else "slash"


def line_of(sentence: Sentence, token: int) -> int | None:
    """The line of the file on which a word stands; None for a sentence that comes from no file."""
    format, *own = sentence.layout or ("slash",)
    if sentence.line is None or format not in BY_WORD:
        return sentence.line
    rows = [i for i, line in enumerate(own) if conllu.row(line) is not None] if format == "conllu" else None
    return sentence.line + (rows[token] if rows else token)


def format_of(path: str, otherwise: str = "slash") -> str:
    """The format that the file's name gives away, or another: untagged text is plain lines."""
    return SUFFIXES.get(plain_name(path).suffix, otherwise)


def plain_name(path: str | Path) -> Path:
    """The name that a file has, or would have, when it is not compressed."""
    name = Path(path)
    return name.with_suffix("") if name.suffix in COMPRESSED else name
