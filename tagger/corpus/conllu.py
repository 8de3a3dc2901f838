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

from tagger.corpus.checks import check_cell
from tagger.errors import CorpusError, MissingTagError
from tagger.escaping import quote
from tagger.files.reading import Lines
from tagger.sentence import NO_TAG, Sentence

COLUMNS = {"upos": 3, "xpos": 4}
MISC = 9
ID = re.compile(r"[0-9]+")
FORBIDDEN = "\t\n"
COMMENT = re.compile(r"#[ \t]*(\w+)[ \t]*=[ \t]*(.*)")
NOT_A_TOKEN = re.compile(r"[0-9]+[-.][0-9]+")


def read(lines: Lines, tagged: bool | None, column: str) -> Iterator[Sentence]:
    """Yield the sentences, with the tags of `column`."""
    words: list[str] = []
    tags: list[str] = []
    layout: list[str] = []
    for line in lines:
        if not line.strip(" \t"):
            if words:
                begin = lines.number - len(layout)
                yield Sentence(words, None if tagged is False else tags, ("conllu", *layout), line=begin)
                words, tags, layout = [], [], []
            elif layout:
                layout.append("")  # comments without a sentence stay separate
            continue
        layout.append(line)
        cells = token_cells(line)
        if cells is None:
            continue
        if len(cells) != 10 or not ID.fullmatch(cells[0]) or not cells[1]:
            raise lines.error(f"expected ten columns with an id and a word, got {quote(line)}")
        words.append(cells[1])
        if tagged is not False:
            tag = cells[COLUMNS[column]]
            if tagged and tag in ("", "_"):
                other = "xpos" if column == "upos" else "upos"
                fault = f"expected a tag in column {column}, got {quote(tag)}. Set column to {other}"
                raise lines.error(fault, MissingTagError)
            tags.append(NO_TAG if tag == "_" else tag)
    if words or (layout and not tagged):
        begin = lines.number - len(layout) + 1
        yield Sentence(words, None if tagged is False else tags, ("conllu", *layout), line=begin)


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


def write(sentence: Sentence, column: str) -> str:
    """Return the lines of a sentence with its tags in `column`, and probabilities in the last one."""
    layout = sentence.lines_of("conllu") or new_lines(sentence)
    lines = []
    tags, probabilities = iter(sentence.tags or ()), iter(sentence.probabilities or ())
    for line in layout:
        cells = token_cells(line)
        if cells is not None and sentence.tags is not None:
            tag = next(tags)
            if tag == "_":
                raise CorpusError("the tag '_' cannot be written in conllu, where it means no tag. Set format to jsonl")
            cells[COLUMNS[column]] = check_cell(tag, FORBIDDEN)
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
        return ["\t".join([str(i), word, *"_" * 8]) for i, word in enumerate(words, 1)]
    no_space = [end == begin for (_, end), (begin, _) in pairwise(offsets)] + [False]  # after each word
    text = "".join(word + " " * (not joined) for word, joined in zip(words, no_space, strict=True))
    rows = [
        "\t".join([str(i), word, *"_" * 7, "SpaceAfter=No|" * joined + f"start_char={begin}|end_char={end}"])
        for i, (word, joined, (begin, end)) in enumerate(zip(words, no_space, offsets, strict=True), 1)
    ]
    return [f"# text = {text.rstrip(' ')}", *rows]
