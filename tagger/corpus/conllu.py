"""`conllu`: ten columns, comments, multiword ranges and empty nodes, as Universal Dependencies publishes them.

Ranges (`1-2`) and empty nodes (`1.1`) hold no token of ours and are skipped. A sentence keeps its lines as `layout`,
so that writing it back changes one column and nothing else. One that was cut from a text gets its `# text` and, in the
last column, the places of its words. One that has no words, as a blank line of a text, is written as nothing at all,
for two blank lines in a row are no CoNLL-U.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from tagger.corpus.checks import checked
from tagger.errors import CorpusError, MissingTagError
from tagger.escaping import quote
from tagger.files.reading import Lines
from tagger.sentence import NO_TAG, Sentence

COLUMNS = {"upos": 3, "xpos": 4}
MISC = 9
ID = re.compile(r"[0-9]+")
FORBIDDEN = "\t\n"
COMMENT = re.compile(r"#[ \t]*(\w+)[ \t]*=[ \t]*(.*)")
SKIPPED = re.compile(r"[0-9]+[-.][0-9]+")


def read(lines: Lines, tagged: bool | None, column: str) -> Iterator[Sentence]:
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
                layout.append("")  # comments that stand alone stay alone
            continue
        layout.append(line)
        cells = row(line)
        if cells is None:
            continue
        if len(cells) != 10 or not ID.fullmatch(cells[0]) or not cells[1]:
            raise lines.error(f"expected ten columns with an id and a word, got {quote(line)}")
        words.append(cells[1])
        if tagged is not False:
            tag = cells[COLUMNS[column]]
            if tag in ("", "_"):
                if not tagged:
                    tags.append(NO_TAG)
                    continue
                other = "xpos" if column == "upos" else "upos"
                fault = f"expected a tag in column {column}, got {quote(tag)}; try --column {other}"
                raise lines.error(fault, MissingTagError)
            tags.append(tag)
    if words or (layout and not tagged):
        begin = lines.number - len(layout) + 1
        yield Sentence(words, None if tagged is False else tags, ("conllu", *layout), line=begin)


def row(line: str) -> list[str] | None:
    """The columns of a token's line; None for a comment, a multiword range or an empty node."""
    if not line or line.startswith("#"):
        return None
    cells = line.split("\t")
    return None if len(cells) == 10 and SKIPPED.fullmatch(cells[0]) else cells


def comment(lines: Sequence[str], key: str) -> str | None:
    """The value of the last comment `# key = value` among lines."""
    found = [match[2] for line in lines if (match := COMMENT.match(line)) and match[1] == key]
    return found[-1] if found else None


def write(sentence: Sentence, column: str) -> str:
    layout = sentence.lines_of("conllu") or fresh(sentence)
    lines = []
    tags, sure = iter(sentence.tags or ()), iter(sentence.probabilities or ())
    for line in layout:
        cells = row(line)
        if cells is not None and sentence.tags is not None:
            tag = next(tags)
            if tag == "_":
                raise CorpusError("the tag '_' cannot be written as CoNLL-U: there it means none; try jsonl")
            cells[COLUMNS[column]] = checked(tag, FORBIDDEN)
            if sentence.retagged or sentence.probabilities is not None:
                cells[MISC] = noted(cells[MISC], next(sure, None))
            line = "\t".join(cells)
        lines.append(line + "\n")
    return "".join(lines) + "\n" if lines else ""


def noted(misc: str, probability: float | None) -> str:
    """The last column with a probability, if there is one, among its attributes, and without that of an older tag."""
    notes = [note for note in misc.split("|") if note not in ("", "_") and not note.startswith("prob=")]
    notes += [] if probability is None else [f"prob={probability:.4f}"]
    return "|".join(notes) or "_"


def fresh(sentence: Sentence) -> list[str]:
    """The lines of a sentence that comes from elsewhere."""
    words = [checked(word, FORBIDDEN) for word in sentence.words]
    places = sentence.offsets
    if places is None:
        return ["\t".join([str(i), word, *"_" * 8]) for i, word in enumerate(words, 1)]
    joined = [end == begin for (_, end), (begin, _) in pairwise(places)] + [False]
    text = "".join(word + " " * (not together) for word, together in zip(words, joined, strict=True))
    rows = [
        "\t".join([str(i), word, *"_" * 7, "SpaceAfter=No|" * together + f"start_char={begin}|end_char={end}"])
        for i, (word, together, (begin, end)) in enumerate(zip(words, joined, places, strict=True), 1)
    ]
    return [f"# text = {text.rstrip(' ')}", *rows]
