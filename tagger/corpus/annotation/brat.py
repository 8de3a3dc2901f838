"""brat: a text file and a file of stand-off annotations beside it, `T1<TAB>PER 0 4<TAB>Anna`.

Each line of the text is a sentence. Only text-bound annotations (`T`) are read; relations, events, attributes and notes
belong to no tag, and are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import PurePath

from tagger.corpus.annotation.labels import Label, LabeledText
from tagger.corpus.annotation.records import checked_label
from tagger.errors import CorpusError
from tagger.escaping import quote
from tagger.files.reading import Lines
from tagger.files.writing import open_output

ANNOTATIONS, TEXT = ".ann", ".txt"


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
    lines = [line.removesuffix("\r") for line in "".join(Lines(text_path, encoding).texts()).split("\n")]
    text = "\n".join(lines)
    labels = read_labels(annotation_path, encoding, text)
    texts, begin = [], 0
    for line in lines:
        end = begin + len(line)
        inside = tuple(Label(a - begin, b - begin, name) for a, b, name in labels if begin <= a < b <= end)
        if line.strip():
            texts.append(LabeledText(line, inside))
        begin = end + 1
    if len(labels) != sum(len(each.labels) for each in texts):
        raise CorpusError(f"{annotation_path}: expected annotations within lines of {text_path}, got one across lines.")
    return texts


def read_labels(path: str, encoding: str, text: str) -> list[Label]:
    """Read the text-bound annotations; one in several pieces is refused."""
    labels = []
    with closing(Lines(path, encoding)) as lines:
        for line in lines:
            if not line.startswith("T"):
                continue
            _, _, middle = line.partition("\t")
            parts = middle.partition("\t")[0].split(" ")
            if len(parts) != 3 or not all(part.isdigit() for part in parts[1:]):
                raise lines.error(f"expected T1 TAB LABEL BEGIN END TAB TEXT, in one piece, got {quote(line)}")
            name, begin, end = parts
            labels.append(checked_label(int(begin), int(end), name, text, f"{lines.name}:{lines.number}"))
    return labels


def write(path: str, texts: Sequence[LabeledText], suggested: bool) -> None:
    """Write text and annotations; labels have no spaces in brat, so that `_` takes their place."""
    text_path, annotation_path = both_paths(path)
    begin, number, rows = 0, 0, []
    for text in texts:
        for a, b, name in text.labels:
            number += 1
            rows.append(f"T{number}\t{'_'.join(name.split())} {begin + a} {begin + b}\t{text.text[a:b]}\n")
        begin += len(text.text) + 1
    with open_output(text_path) as stream:
        stream.write("".join(f"{text.text}\n" for text in texts).encode("utf-8", "backslashreplace"))
    with open_output(annotation_path) as stream:
        stream.write("".join(rows).encode("utf-8", "backslashreplace"))
