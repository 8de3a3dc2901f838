"""brat: a text file and a file of stand-off annotations beside it, `T1<TAB>PER 0 4<TAB>Anna`.

Each line of the text is a sentence. Only text-bound annotations (`T`) are read; relations, events, attributes and notes
belong to no tag, and are left out.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Sequence
from contextlib import closing
from pathlib import PurePath

from tagger.corpus.annotation.labeled_text import Label, LabeledText
from tagger.corpus.annotation.records import checked_label
from tagger.errors import CorpusError
from tagger.escaping import quote
from tagger.files.reading import Lines, open_input
from tagger.files.writing import open_output

ANNOTATIONS, TEXT = ".ann", ".txt"
MARK = "\ufeff"  # byte order mark, a character of the text for brat
NUMBER = re.compile(r"[0-9]{1,18}")
LINE_END = re.compile(r"[\r\n]")


def both_paths(path: str) -> tuple[str, str]:
    """Return the paths of text and annotations, given one of them."""
    suffix = PurePath(path).suffix
    if suffix not in (ANNOTATIONS, TEXT):
        raise CorpusError(f"{path}: expected a file that ends in {ANNOTATIONS} or {TEXT}, with the other beside it.")
    stem = path.removesuffix(suffix)
    return stem + TEXT, stem + ANNOTATIONS


def read(path: str, encoding: str) -> list[LabeledText]:
    """Read the lines of the text, each with its labels."""
    text_path, annotation_path = both_paths(path)
    text = read_text(text_path, encoding)
    labels = read_labels(annotation_path, encoding, text)
    texts, begin = [], 0
    for raw in text.split("\n"):
        following = begin + len(raw) + 1
        line = raw.removesuffix("\r").removeprefix(MARK)
        begin += raw.startswith(MARK)
        end = begin + len(line)
        inside = tuple(Label(a - begin, b - begin, name) for a, b, name in labels if begin <= a < b <= end)
        if line.strip():
            texts.append(LabeledText(line, inside))
        begin = following
    if len(labels) != sum(len(each.labels) for each in texts):
        raise CorpusError(f"{annotation_path}: expected annotations within lines of {text_path}, got one across lines.")
    return texts


def read_text(path: str, encoding: str) -> str:
    """Return a text as brat counts its characters: with carriage returns and the byte order mark of UTF-8."""
    text = "".join(Lines(path, encoding).texts())
    with open_input(path) as stream:
        marked = stream.read1(len(BOM_UTF8)) == BOM_UTF8
    return MARK + text if marked else text


def read_labels(path: str, encoding: str, text: str) -> list[Label]:
    """Read the text-bound annotations; one in several pieces is refused."""
    labels = []
    with closing(Lines(path, encoding)) as lines:
        for line in lines:
            if not line.startswith("T"):
                continue
            _, middle, inside = [*line.split("\t", 2), "", ""][:3]
            parts = middle.split(" ")
            if not inside or len(parts) != 3 or not all(map(NUMBER.fullmatch, parts[1:])):
                raise lines.error(f"expected T1 TAB LABEL BEGIN END TAB TEXT, in one piece, got {quote(line)}")
            name, begin, end = parts
            labels.append(checked_label(int(begin), int(end), name, text, f"{lines.name}:{lines.number}"))
            found = text[int(begin) : int(end)]
            if found.split() != inside.split():  # line ends are spaces in the annotation
                raise lines.error(
                    f"expected {quote(inside)}, got {quote(found)} in the text. Do the files belong together?"
                )
    return labels


def write(path: str, texts: Sequence[LabeledText], suggested: bool) -> None:
    """Write text and annotations; `_` takes the place of spaces in labels, a space that of line ends in a text."""
    text_path, annotation_path = both_paths(path)
    begin, number, rows = 0, 0, []
    plain = [LINE_END.sub(" ", text.text) for text in texts]
    for text, line in zip(texts, plain, strict=True):
        for a, b, name in text.labels:
            number += 1
            rows.append(f"T{number}\t{'_'.join(name.split())} {begin + a} {begin + b}\t{line[a:b]}\n")
        begin += len(line) + 1
    with open_output(text_path) as stream:
        stream.write("".join(f"{line}\n" for line in plain).encode("utf-8", "backslashreplace"))
    with open_output(annotation_path) as stream:
        stream.write("".join(rows).encode("utf-8", "backslashreplace"))
