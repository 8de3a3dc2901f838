"""The format `conllu` of Universal Dependencies: ten columns, comments, multiword ranges and empty nodes.

Ranges (`1-2`) and empty nodes (`1.1`) are not tokens and are skipped. A sentence keeps its lines as `layout`, so that
writing it back changes one column and nothing else. A sentence cut from raw text gets a `# text` comment and, in the
last column, the offsets of its words. A sentence without words is written as nothing, because CoNLL-U does not allow
two blank lines in a row.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from tagger.corpus.column_names import SKIPPED, TAG, WORD, ColumnNames
from tagger.corpus.formats.checks import check_cell
from tagger.errors import CorpusError, MissingTagError
from tagger.escaping import quote
from tagger.files.reading import Lines
from tagger.sentence import NO_TAG, Sentence

COLUMNS = {"upos": 3, "xpos": 4}  # that models fill
CELLS = {
    name: i for i, name in enumerate(["id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc"])
}
FEATS, MISC = CELLS["feats"], CELLS["misc"]
NOT_READ = {SKIPPED, WORD, TAG, "id", "form"}  # names that are no column beside words and tags
ID = re.compile(r"[0-9]+")
FORBIDDEN = "\t\n"
COMMENT = re.compile(r"#[ \t]*(\w+)[ \t]*=[ \t]*(.*)")
NOT_A_TOKEN = re.compile(r"[0-9]+[-.][0-9]+")


def read(lines: Lines, tagged: bool | None, columns: ColumnNames) -> Iterator[Sentence]:
    """Yield the sentences, with the tags of `columns.tag` or `columns.column`, and the columns that are named."""
    words: list[str] = []
    tags: list[str] = []
    layout: list[str] = []
    own_word, own_tag = columns.elsewhere
    column, word_place = own_tag or columns.column, cell_place(own_word or "form")[0]
    tag_place, attribute = (0, None) if tagged is False else cell_place(column)
    named = [name for name in columns.names if name.partition(".")[0] in CELLS and name not in NOT_READ]
    others = {name: cell_place(name) for name in (*named, *columns.wanted)}

    def sentence(begin: int) -> Sentence:
        values = read_columns(layout, others) if others else None
        given = None if tagged is False else tags
        return Sentence(words, given, ("conllu", *layout), line=begin, columns=values)

    for line in lines:
        if not line.strip(" \t"):
            if words:
                yield sentence(lines.number - len(layout))
                words, tags, layout = [], [], []
            elif layout:
                layout.append("")  # comments without a sentence stay separate
            continue
        layout.append(line)
        cells = token_cells(line)
        if cells is None:
            continue
        if len(cells) != 10 or not ID.fullmatch(cells[0]) or not cells[word_place]:
            raise lines.error(f"expected ten columns with an id and a word, got {quote(line)}")
        words.append(cells[word_place])
        if tagged is not False:
            tag = cells[tag_place] if attribute is None else cell_value(cells, (tag_place, attribute))
            if tagged and tag in ("", "_"):
                other = "xpos" if column == "upos" else "upos"
                fault = f"expected a tag in column {column}, got {quote(tag)}. Set column to {other}"
                raise lines.error(fault, MissingTagError)
            tags.append(NO_TAG if tag == "_" else tag)
    if words or (layout and not tagged):
        yield sentence(lines.number - len(layout) + 1)


def cell_place(name: str) -> tuple[int, str | None]:
    """Return the place of a column by name, and the attribute in it: `feats.Case` is the attribute Case of FEATS."""
    column, _, attribute = name.partition(".")
    if column not in CELLS or (attribute and CELLS[column] not in (FEATS, MISC)):
        known = ", ".join(CELLS)
        raise CorpusError(f"column: expected one of {known}, feats.KEY or misc.KEY in conllu, got {quote(name)}")
    return CELLS[column], attribute or None


def cell_value(cells: Sequence[str], place: tuple[int, str | None]) -> str:
    """Return the value of a column or attribute; `_` for none."""
    i, attribute = place
    if attribute is None:
        return cells[i]
    return next((item[len(attribute) + 1 :] for item in cells[i].split("|") if item.startswith(f"{attribute}=")), "_")


def read_columns(layout: Sequence[str], places: dict[str, tuple[int, str | None]]) -> dict[str, list[str]]:
    """Read columns from the lines of a sentence."""
    rows = [cells for line in layout if (cells := token_cells(line)) is not None]
    return {name: [cell_value(cells, place) for cells in rows] for name, place in places.items()}


def token_cells(line: str) -> list[str] | None:
    """Split the line of a token into columns; return None for a comment, a multiword range or an empty node."""
    if not line or line.startswith("#"):
        return None
    cells = line.split("\t")
    return None if len(cells) == 10 and NOT_A_TOKEN.fullmatch(cells[0]) else cells


def comment(lines: Sequence[str], key: str) -> str | None:
    """Return the value of the last comment `# key = value`, if there is one."""
    values = [match[2] for line in lines if (match := COMMENT.match(line)) and match[1] == key]
    return values[-1] if values else None


def write(sentence: Sentence, columns: ColumnNames) -> str:
    """Return the lines of a sentence with its tags in `columns.column`, and probabilities in the last one."""
    layout = sentence.lines_of("conllu") or new_lines(sentence)
    lines = []
    tags, probabilities = iter(sentence.tags or ()), iter(sentence.probabilities or ())
    for line in layout:
        cells = token_cells(line)
        if cells is not None and sentence.tags is not None:
            tag = next(tags)
            if tag == "_":
                raise CorpusError("the tag '_' cannot be written in conllu, where it means no tag. Set format to jsonl")
            cells[COLUMNS[columns.column]] = check_cell(tag, FORBIDDEN)
            if sentence.retagged or sentence.probabilities is not None:
                cells[MISC] = with_probability(cells[MISC], next(probabilities, None))
            line = "\t".join(cells)
        lines.append(line + "\n")
    return "".join(lines) + "\n" if lines else ""


def with_probability(misc: str, probability: float | None) -> str:
    """Replace the attribute `prob` of a MISC column; None removes it."""
    attributes = [item for item in misc.split("|") if item not in ("", "_") and not item.startswith("prob=")]
    attributes += [] if probability is None else [f"prob={probability:.4f}"]
    return "|".join(attributes) or "_"


def new_lines(sentence: Sentence) -> list[str]:
    """Make the lines of a sentence that was read from another format or cut from raw text."""
    words = [check_cell(word, FORBIDDEN) for word in sentence.words]
    offsets = sentence.offsets
    if offsets is None:
        new_rows = [[str(i), word, *"_" * 8] for i, word in enumerate(words, 1)]
        for name in (sentence.columns or {}).keys() & CELLS.keys() - NOT_READ:
            for cells, value in zip(new_rows, (sentence.columns or {})[name], strict=True):
                cells[CELLS[name]] = check_cell(value or "_", FORBIDDEN)
        return ["\t".join(cells) for cells in new_rows]
    no_space = [end == begin for (_, end), (begin, _) in pairwise(offsets)] + [False]  # after each word
    text = "".join(word + " " * (not joined) for word, joined in zip(words, no_space, strict=True))
    rows = [
        "\t".join([str(i), word, *"_" * 7, "SpaceAfter=No|" * joined + f"start_char={begin}|end_char={end}"])
        for i, (word, joined, (begin, end)) in enumerate(zip(words, no_space, offsets, strict=True), 1)
    ]
    return [f"# text = {text.rstrip(' ')}", *rows]
