"""The formats of corpora: one module per format, all with the functions `read` and `write`.

Read in this order:

- `slash`: `word/TAG`, one sentence per line;
- `lines`: one `word/TAG` per line;
- `columns`, `tsv`: columns between spaces or tabs;
- `conllu`: CoNLL-U as in Universal Dependencies;
- `pku`: People's Daily;
- `jsonl`: a JSON object per line;
- `checks`: refuse words and tags that a format cannot express.

The two functions of a format:

- `read(lines, tagged, columns)` yields sentences as the lines arrive. With `tagged=True` a missing tag is an error,
  with False only words are read, with None missing tags are NO_TAG.
- `write(sentence, columns)` returns the text of one sentence, line ends included.

`columns` are the `ColumnNames`, for formats that have columns. To add a format, write a module with these two functions
and add one line to `FORMATS`. If it has one sentence per line, or one word per line, add it to `SENTENCE_PER_LINE` or
`WORD_PER_LINE`. To have it recognized by content, add a test to `recognize_format`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path
from types import ModuleType
from typing import Any

from tagger.corpus.column_names import DEFAULT_NAMES, ColumnNames
from tagger.corpus.formats import columns as column_files
from tagger.corpus.formats import conllu, jsonl, lines, pku, slash, tsv
from tagger.errors import CorpusError
from tagger.escaping import quote
from tagger.files.reading import COMPRESSED
from tagger.sentence import Sentence

FORMATS: dict[str, ModuleType] = {
    "slash": slash,
    "lines": lines,
    "tsv": tsv,
    "columns": column_files,
    "conllu": conllu,
    "pku": pku,
    "jsonl": jsonl,
}
SENTENCE_PER_LINE = ("slash", "pku", "jsonl")  # in the others a blank line ends a sentence
WORD_PER_LINE = ("lines", "tsv", "columns", "conllu")
COLUMN_FILES = {"tsv": column_files.split_tabs, "columns": column_files.split_spaces}  # whose columns need names
WITHOUT_COLUMNS = ("slash", "lines", "pku")
BLANK_LAYOUTS = {"jsonl": ("jsonl", "")}  # of an empty sentence that is written as a blank line
SUFFIXES = {
    ".conllu": "conllu",
    ".jsonl": "jsonl",
    ".tsv": "tsv",
    ".iob2": "tsv",
}  # formats with a file suffix of their own
JSON_OBJECT = re.compile(r"[ \t]*\{[ \t]*[\"}]")


def header(sentences: Iterable[Sentence], format: str) -> bytes:
    """Return the header line of the file that sentences were read from as UTF-8 text; empty without one."""
    lines = (column_files.header_line(sentence, format) for sentence in sentences if format in COLUMN_FILES)
    return next(filter(None, lines), "").encode()


def render(sentence: Sentence, format: str, columns: ColumnNames = DEFAULT_NAMES) -> bytes:
    """Return a sentence as UTF-8 text of a format."""
    try:
        return format_module(format, columns).write(sentence, columns).encode()
    except UnicodeEncodeError as error:
        surrogate = quote(error.object[error.start : error.end])
        raise CorpusError(f"expected text, got the lone surrogate {surrogate}, which UTF-8 cannot hold") from None


def format_module(format: str, columns: ColumnNames) -> Any:
    """Return the module of a format; check that the column exists, too."""
    for parameter, value, allowed in ("format", format, FORMATS), ("column", columns.column, conllu.COLUMNS):
        if value not in allowed:
            raise CorpusError(f"{parameter}: expected one of {', '.join(allowed)}, got {value!r}")
    return FORMATS[format]


def recognize_format(head: list[str], columns: ColumnNames = DEFAULT_NAMES) -> str:
    """Return the format of a tagged corpus, by its first lines; one whose columns are named has columns."""
    filled = [line for line in head if line.strip(" \t")]
    if not filled:
        return "slash"
    rows = [line.split("\t") for line in filled if not line.startswith("#")] or [[]]
    if JSON_OBJECT.match(filled[0]):
        return "jsonl"
    if len(rows[0]) == 10 and rows[0][0][:1].isdigit():
        return "conllu"
    if len(rows[0]) > 1 and rows[0][0] and not all("/" in cell for cell in rows[0] if cell):
        return "tsv"
    tokens = [slash.tokens(line) for line in filled]
    if pku.ID.fullmatch(tokens[0][0]) or any(pku.GROUP.search(line) for line in filled):
        return "pku"
    if (columns.names and not columns.optional) or is_column_file(head, tokens):
        return "columns"
    # One token per line: words of sentences if blank lines or final marks end them, else sentences of one word
    return "lines" if all(len(line) == 1 for line in tokens) and lines.shows_ends(head) else "slash"


def is_column_file(head: list[str], rows: list[list[str]]) -> bool:
    """Return whether the rows have one number of columns, the last no word/TAG, and a blank line ends several rows."""
    rows = [row for row in rows if column_files.is_row(row[0])]
    blocks = [list(block) for filled, block in groupby(head, lambda line: bool(line.strip(" \t"))) if filled]
    several = any(sum(map(column_files.is_row, block)) > 1 for block in blocks)
    same = len({len(row) for row in rows}) == 1 and len(rows[0]) > 1 and not any("/" in row[-1][1:] for row in rows)
    return same and several and any(not line.strip(" \t") for line in head)


def line_of(sentence: Sentence, token: int) -> int | None:
    """Return the line of the file that has a token; None for a sentence that was not read from a file."""
    format, *lines = sentence.layout or ("slash",)
    if sentence.line is None or format not in WORD_PER_LINE:
        return sentence.line
    if format == "conllu":
        return sentence.line + [i for i, line in enumerate(lines) if conllu.token_cells(line) is not None][token]
    return sentence.line + (column_files.token_lines(lines, COLUMN_FILES[format])[token] if lines else token)


def format_of(path: str, otherwise: str = "slash") -> str:
    """Return the format of a file by its suffix, else `otherwise`."""
    return SUFFIXES.get(plain_name(path).suffix, otherwise)


def plain_name(path: str | Path) -> Path:
    """Return the path without the suffix of a compression."""
    name = Path(path)
    return name.with_suffix("") if name.suffix in COMPRESSED else name
