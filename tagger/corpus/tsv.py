"""`tsv`: a word per line, its tag in the second column, a blank line after each sentence.

Further columns are ignored. Words may contain spaces here.
"""

from __future__ import annotations

from collections.abc import Iterator

from tagger.corpus.cells import checked
from tagger.errors import quote
from tagger.files import Lines
from tagger.sentence import ANY, Sentence


def read(lines: Lines, tagged: bool | None, column: str) -> Iterator[Sentence]:
    words: list[str] = []
    tags: list[str] = []
    for line in lines:
        if line.strip(" \t"):
            word, *others = line.split("\t")
            tag = others[0] if others else ""
            if not word or (tagged and not tag):
                expected = "word TAB tag" if tagged else "a word in the first column"
                raise lines.error(f"expected {expected}, got {quote(line)}")
            words.append(word)
            tags.append(tag if tag or tagged else ANY)
        elif words:
            yield Sentence(words, None if tagged is False else tags)
            words, tags = [], []
    if words:
        yield Sentence(words, None if tagged is False else tags)


def write(sentence: Sentence, column: str) -> str:
    columns = [sentence.words] if sentence.tags is None else [sentence.words, sentence.tags]
    if sentence.probabilities is not None:
        columns.append([f"{probability:.4f}" for probability in sentence.probabilities])
    rows = [
        "\t".join(checked(cell.rstrip(" ") and cell, "\t\n\r") for cell in row) for row in zip(*columns, strict=True)
    ]
    return "".join(f"{row}\n" for row in rows) + "\n"
