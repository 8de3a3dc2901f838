"""The format `columns`: a word per line, its columns between spaces or tabs, a blank line after each sentence.

CoNLL-2000 (word, part of speech, chunk) and CoNLL-2003 look like this; `tsv` files with named columns are read here
too, split at tabs only. Columns are named by the caller, by a header line, or by default: the first is the word, the
last the tag, and the others are called by their number (`2`, `3`, …). Of a file whose first column counts the tokens,
as in `.iob2`, the second is the word and the third the tag.

A line that begins with `#` is a comment, if it reads `# key = value` or has another number of columns than the first
row: `#` is a word, too. `-DOCSTART-` rows are no sentences. A sentence keeps its lines as `layout`, behind the names of
the columns, so that writing it back changes the tags and nothing else. The header line is kept with these names.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from tagger.corpus.column_names import SKIPPED, TAG, WORD, ColumnNames
from tagger.corpus.formats.checks import check_cells, check_last
from tagger.errors import CorpusError, MissingTagError
from tagger.escaping import quote
from tagger.files.reading import LOOK_AHEAD, Lines
from tagger.sentence import NO_TAG, Sentence

WORD_NAMES = frozenset(["word", "words", "form", "forms", "token", "tokens", "text"])
TAG_NAMES = frozenset(["tag", "tags", "pos", "upos", "xpos", "postag", "pos_tag", "label", "chunk", "ner", "ner_tag"])
COMMENT = re.compile(r"#[ \t]+[\w.:-]+[ \t]*=")
DOCUMENT = "-DOCSTART-"
PROBABILITY = "probability"  # the name of the column of probabilities
SPACES = re.compile(r"[ \t]+")

Split = Callable[[str], list[str]]


def split_spaces(line: str) -> list[str]:
    """Split a line at runs of spaces and tabs."""
    return SPACES.split(line.strip(" \t"))


def split_tabs(line: str) -> list[str]:
    """Split a line at each tab."""
    return line.split("\t")


def is_no_token(line: str, cells: Sequence[str], width: int) -> bool:
    """Return whether a line is a comment or the start of a document, in a file with this number of columns."""
    if line.startswith("#"):
        return len(cells) != width or COMMENT.match(line) is not None
    return cells[0] == DOCUMENT


def is_row(line: str) -> bool:
    """Return whether a line is neither blank, nor a comment at first sight, nor the start of a document."""
    return bool(line.strip(" \t")) and not line.startswith(("#", DOCUMENT))


def first_rows(lines: Lines, count: int, split: Split) -> list[list[str]]:
    """Split the first `count` lines, or more if these are all blank, comments or the start of a document."""
    while True:
        head = lines.head(count)
        rows = [split(line) for line in head if is_row(line)]
        if rows or len(head) < count:
            return rows
        count += 1


def resolve(lines: Lines, columns: ColumnNames, tagged: bool | None, split: Split, plain: bool) -> ColumnNames:
    """Name the columns of a file by its header line, which is consumed, else as given, else by default.

    `plain` says that a file without names has a word and a tag on each line, and needs no names.
    """
    head = first_rows(lines, LOOK_AHEAD if tagged else 1, split)
    first = head[0] if head else []
    if columns.optional and not columns.fit(first, tagged):
        columns = columns.without_remembered()
    if header := header_names(head, columns):
        head_lines: list[str] = []
        for line in lines:
            head_lines.append(line)
            if split(line) == first:
                break
        columns = replace(columns, **header, header="\n".join(head_lines))
    elif not columns.names and numbered(head):
        columns = replace(columns, names=(SKIPPED, WORD, columns.tag or TAG))
    elif not columns.names and not plain:
        last = [] if tagged is False else [columns.tag or TAG]
        between = map(str, range(2, 1 + len(first) - len(last)))
        columns = replace(columns, names=(columns.word or WORD, *between, *last))
    if not columns.names:
        columns.check_wanted((), lines.name)
        return columns
    columns = replace(columns, names=(*columns.names, *[SKIPPED] * (len(first) - len(columns.names))))
    columns.check_wanted(columns.others(), lines.name)
    if tagged and columns.tag_place is None:
        got = f"got {', '.join(columns.names)}. Name the columns in order, and set tag_column"
        raise CorpusError(f"{lines.name}: expected {quote(columns.tag or TAG)} among the columns, {got}")
    return columns


def header_names(head: Sequence[Sequence[str]], columns: ColumnNames) -> dict[str, Any] | None:
    """Return the settings of `ColumnNames` in a header line; None if the first row is no header.

    A header has the names that are expected, or that of a word column and, not as a tag of other rows, of a tag column.
    Where columns are named already, the header decides on their order if it has all of their names.
    """
    first = list(head[0]) if head else []
    lower = [cell.lower() for cell in first]
    if len(first) < 2 or len(set(first)) < len(first):
        return None
    if columns.names and set(first) <= set(columns.names):
        return {"names": tuple(first)}
    tags = [i for i, name in enumerate(lower) if name in TAG_NAMES]
    words = [i for i, name in enumerate(lower) if name in WORD_NAMES]
    if not words or not tags:
        return None
    cells = Counter(row[tags[-1]] for row in head if len(row) > tags[-1])
    if cells[first[tags[-1]]] > 1:
        return None
    try:
        ColumnNames(names=tuple(first))
    except CorpusError:
        return None
    named = columns.others() if columns.names else {}
    if not set(named) <= set(first):
        return {"names": columns.names}
    word = columns.word or first[words[0]]
    tag = columns.tag or next((first[i] for i in reversed(tags) if first[i] not in named), None)
    names = [name if name in (word, tag, *named) or not columns.names else SKIPPED for name in first]
    return {"names": tuple(names), "word": word, "tag": tag}


def numbered(head: Sequence[Sequence[str]]) -> bool:
    """Return whether the first of at least three columns counts the tokens."""
    return bool(head) and all(len(row) > 2 for row in head) and [row[0] for row in head[:2]] in (["1", "2"], ["1", "1"])


def read(lines: Lines, tagged: bool | None, columns: ColumnNames, split: Split = split_spaces) -> Iterator[Sentence]:
    """Yield the sentences of a file whose columns have names."""
    word_place, tag_place, width = columns.word_place, columns.tag_place, len(columns.names)
    others = columns.others()
    # Cells needed in each row. Without tags, a tag column at the end may be missing.
    needed = 1 + max([word_place, *others.values(), *([tag_place] if tagged and tag_place is not None else [])])
    file = (format_name(split), columns.text())
    layout: list[str] = []
    cells_by_word: list[list[str]] = []

    def sentence(begin: int) -> Sentence:
        tags = [row[tag_place] if tag_place is not None and tag_place < len(row) else NO_TAG for row in cells_by_word]
        return Sentence(
            [row[word_place] for row in cells_by_word],
            None if tagged is False else tags,
            (*file, *layout),
            line=begin,
            columns={name: [row[i] for row in cells_by_word] for name, i in others.items()} or None,
        )

    for line in lines:
        if not line.strip(" \t"):
            if cells_by_word:
                yield sentence(lines.number - len(layout))
                layout, cells_by_word = [], []
            elif layout:
                layout.append("")  # comments without a sentence stay separate
            continue
        layout.append(line)
        cells = split(line)
        if is_no_token(line, cells, width):
            continue
        check_row(cells, line, lines, needed, columns, tagged)
        cells_by_word.append(cells)
    if cells_by_word:
        yield sentence(lines.number - len(layout) + 1)


def check_row(
    cells: list[str], line: str, lines: Lines, needed: int, columns: ColumnNames, tagged: bool | None
) -> None:
    """Refuse a row with too few columns, an empty word or an empty tag."""
    if not needed <= len(cells) <= len(columns.names) or not cells[columns.word_place]:
        raise lines.error(f"expected the columns {', '.join(columns.names)}, got {quote(line)}")
    if tagged and columns.tag_place is not None and not cells[columns.tag_place]:
        raise lines.error(f"expected a tag in column {columns.tag_place + 1}, got {quote(line)}", MissingTagError)


def format_name(split: Split) -> str:
    """Return the name of the format whose lines are split like this."""
    return "tsv" if split is split_tabs else "columns"


def write(sentence: Sentence, columns: ColumnNames) -> str:
    """Return the lines of a sentence: word, other columns, tag, and its probability if there is one."""
    if layout := sentence.lines_of("columns"):
        return written_layout(sentence, layout, " ")
    others = [[cell or "_" for cell in values] for values in (sentence.columns or {}).values()]
    return written_rows([sentence.words, *others, *tag_columns(sentence)], " ")


def tag_columns(sentence: Sentence) -> list[Sequence[str]]:
    """Return the tags, and the probabilities, as columns, if there are any."""
    tags = [] if sentence.tags is None else [sentence.tags]
    return tags if sentence.probabilities is None else [*tags, [f"{p:.4f}" for p in sentence.probabilities]]


def forbidden_cells(separator: str) -> str:
    """Return the characters that no cell may have between such separators."""
    return "\t\n" if separator == "\t" else " \t\n"


def written_rows(columns: Sequence[Sequence[str]], separator: str) -> str:
    """Return a line for each token, and a blank line."""
    forbidden, lines = forbidden_cells(separator), []
    for row in zip(*columns, strict=True):
        if separator == " " and is_no_token(" ".join(row), row, len(row)):
            raise CorpusError(f"{quote(row[0])} cannot be written in this format. Set format to jsonl")
        *first, last = [cell.rstrip(" ") and cell for cell in row]  # a cell of spaces would look empty
        lines.append(separator.join([*check_cells(first, forbidden), check_last(last, forbidden)]) + "\n")
    return "".join(lines) + "\n"


def written_layout(sentence: Sentence, layout: Sequence[str], separator: str) -> str:
    """Return the lines that a sentence was read from, with its tags in their column, or behind the last one."""
    lines = list(layout[1:])
    if sentence.retagged or sentence.probabilities is not None:
        place, split = ColumnNames.of_layout(layout).tag_place, split_tabs if separator == "\t" else split_spaces
        for i, added in zip(token_lines(layout, split), zip(*tag_columns(sentence), strict=True), strict=True):
            cells = split(lines[i])
            tag, *rest = check_cells(added, forbidden_cells(separator))
            cells[slice(place, place + 1) if place is not None else slice(len(cells), None)] = [tag]
            lines[i] = separator.join([*cells, *rest])
    return "".join(f"{line}\n" for line in lines) + "\n"


def header_line(sentence: Sentence, format: str) -> str:
    """Return the header of the file that a sentence was read from, with names for columns that `write` adds.

    It is empty if the file has none, or another format.
    """
    columns, split = ColumnNames.of_layout(sentence.lines_of(format)), split_tabs if format == "tsv" else split_spaces
    if not columns.header:
        return ""
    added, width = [], len(split(columns.header.rpartition("\n")[2]))
    if sentence.retagged or sentence.probabilities is not None:
        added = [] if columns.tag_place is not None and columns.tag_place < width else [columns.tag or TAG]
        added += [] if sentence.probabilities is None else [PROBABILITY]
    return ("\t" if format == "tsv" else " ").join([columns.header, *added]) + "\n"


def token_lines(layout: Sequence[str], split: Split) -> list[int]:
    """List the lines of a layout, counted behind the names, that hold tokens."""
    width = len(ColumnNames.of_layout(layout).names)
    return [i for i, line in enumerate(layout[1:]) if line and not is_no_token(line, split(line), width)]
