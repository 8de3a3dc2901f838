"""Read and write corpora: lines of text to `Sentence` objects and back.

Read in this order:

- `slash`, `lines`, `columns`, `tsv`, `conllu`, `pku`, `jsonl`: one module per format, all with `read` and `write`;
- `column_names`: which column has the words, which the tags, and which are read beside them;
- `checks`: refuse words and tags that a format cannot express;
- `labels`: tagged sentences from any containers, and their tags as integers;
- `partial`: tokens with several allowed tags;
- `schemes`: spans marked by tags such as `B-PER`, and which tag may follow which;
- `final_marks`, `split`, `tag_map`: transformations of a corpus;
- `tokenizers`: raw text to words and sentences;
- `annotation`: files of annotation tools (doccano, Prodigy, Label Studio, brat).

The two functions of a format:

- `read(lines, tagged, columns)` yields sentences as the lines arrive. With `tagged=True` a missing tag is an error,
  with False only words are read, with None missing tags are NO_TAG.
- `write(sentence, columns)` returns the text of one sentence, line ends included.

`columns` are the `ColumnNames`, for formats that have columns. To add a format, write a module with these two functions
and add one line to `FORMATS`. If it has one sentence per line, or one word per line, add it to `SENTENCE_PER_LINE` or
`WORD_PER_LINE`. To have it recognized by content, add a test to `recognize_format`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from itertools import groupby
from pathlib import Path
from types import ModuleType
from typing import Any

from tagger.corpus import columns as column_files
from tagger.corpus import conllu, jsonl, lines, pku, slash, tsv
from tagger.corpus.column_names import DEFAULT_NAMES, ColumnNames
from tagger.errors import CorpusError
from tagger.escaping import quote
from tagger.files.reading import COMPRESSED, LOOK_AHEAD, Lines, Skipped
from tagger.files.writing import open_output
from tagger.sentence import Sentence, contents, plain_sentence

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


def read_corpus(
    path: str | os.PathLike[str],
    format: str | None = None,
    encoding: str = "utf-8",
    column: str = "upos",
    skipped: Skipped | None = None,
    columns: str | Sequence[str] = (),
    word_column: str | None = None,
    tag_column: str | None = None,
) -> list[Sentence]:
    """Read the tagged sentences of a file.

    Parameters
    ----------
    path : str or path
        File name; `-` is standard input. Files that end in `.gz`, `.bz2` or `.xz` are decompressed.
    format : str, optional
        One of `slash`, `lines`, `tsv`, `columns`, `conllu`, `pku`, `jsonl`. By default recognized from the
        first 1,000 lines.
    encoding : str, default "utf-8"
        Encoding of the text.
    column : str, default "upos"
        Column of CoNLL-U that has the tags: `upos` or `xpos`.
    skipped : Skipped, optional
        Record of faulty lines. If given, sentences with a fault are left out and counted there.
    columns : str or sequence of str, optional
        Names of the columns of a `tsv` or `columns` file in order, `-` for one to skip: ``"word,pos,tag"``. Of CoNLL-U,
        the columns to read beside words and tags (`lemma`, `feats`, `feats.Case`, `misc.KEY`).
    word_column, tag_column : str, optional
        Names of the columns with the words and the tags, if they are not `word` and `tag` (in jsonl `words`, `tags`).

    Returns
    -------
    list of Sentence
        The sentences, in order.

    Raises
    ------
    FileError
        If the file cannot be read, or is not text in this encoding.
    CorpusError
        If a line does not follow the format; the message has its line number.

    Examples
    --------
    >>> from tagger import read_corpus
    >>> sentences = read_corpus("corpus.txt")
    """
    named = ColumnNames.parsed(columns) if isinstance(columns, str) else tuple(columns)
    names = ColumnNames(column, named, word_column, tag_column)
    return list(read_sentences(Lines(path, encoding, skipped), format, tagged=True, columns=names))


def read_sentences(
    source: Lines, format: str | None, tagged: bool | None = True, columns: ColumnNames = DEFAULT_NAMES
) -> Iterator[Sentence]:
    """Yield sentences as their lines arrive; close the input at its end or after an error."""
    with closing(source):
        name = format or recognize_format(source.head(LOOK_AHEAD), columns)
        module = format_module(name, columns)
        if name in COLUMN_FILES:
            columns = column_files.resolve(source, columns, tagged, COLUMN_FILES[name], plain=name == "tsv")
        elif name in WITHOUT_COLUMNS:
            columns.check_wanted((), source.name, "Set format to one that has columns: columns, tsv, conllu or jsonl")
        by_line, blank = name in SENTENCE_PER_LINE, None if tagged else Sentence([], layout=BLANK_LAYOUTS.get(name))
        yield from skip_faulty(source, lambda: module.read(source, tagged, columns), by_line, blank)


def skip_faulty(
    source: Lines, read: Callable[[], Iterator[Sentence]], by_line: bool, blank: Sentence | None
) -> Iterator[Sentence]:
    """Yield the sentences of `read`; with `source.skipped`, record an error there and go on after the faulty sentence.

    `by_line` says that a sentence is one line. Such a line is replaced by `blank`, if given.
    """
    while True:
        last_line = source.number  # of the sentence before
        try:
            for sentence in read():
                last_line = source.number
                yield sentence
            return
        except CorpusError as error:
            if source.skipped is None:
                raise
            if not by_line:
                skip_sentence(source)
            source.skipped.add(error, 1 if by_line else source.number - last_line)
        if by_line and blank is not None:
            yield blank


def skip_sentence(source: Lines) -> None:
    """Read up to the blank line that ends a sentence."""
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
    """Write sentences to a file, atomically.

    Parameters
    ----------
    path : str or path
        File name; `-` is standard output. Files that end in `.gz`, `.bz2` or `.xz` are compressed.
    sentences : iterable of Sentence or of lists of str
        The sentences. Lists of words are written without tags.
    format : str, default "slash"
        One of `slash`, `lines`, `tsv`, `columns`, `conllu`, `pku`, `jsonl`.
    column : str, default "upos"
        Column of CoNLL-U that gets the tags: `upos` or `xpos`.

    Raises
    ------
    FileError
        If the file cannot be written.
    CorpusError
        If the format cannot express a word or tag.

    Examples
    --------
    >>> from tagger import Sentence, write_corpus
    >>> write_corpus("corpus.txt", [Sentence(["Dogs", "bark"], ["NNS", "VBP"])])
    """
    columns = ColumnNames(column)
    with open_output(os.fspath(path)) as stream:
        for i, item in enumerate(contents(sentences, "sentences", "a list of sentences")):
            sentence = plain_sentence(item, f"sentences[{i}]")
            sentence = sentence if isinstance(sentence, Sentence) else Sentence(sentence)
            text = render(sentence, format, columns)
            stream.write(text if i else header([sentence], format) + text)


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
