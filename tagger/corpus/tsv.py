"""`tsv`: a word per line, its tag in the second column, a blank line after each sentence.

Further columns are ignored; `columns` counts them. Words may contain spaces here. Spreadsheets like to write the names
of the columns on the first line, which looks like a word and its tag; `header` finds it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from tagger.corpus.checks import checked, ending
from tagger.escaping import quote
from tagger.files.reading import Lines
from tagger.sentence import Sentence

LAYOUT = ("tsv",)
WORD_NAMES = frozenset(["word", "words", "form", "forms", "token", "tokens", "text"])
TAG_NAMES = frozenset(["tag", "tags", "pos", "upos", "xpos", "postag", "pos_tag", "label"])


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
            tags.append(tag)
        elif words:
            yield Sentence(words, None if tagged is False else tags, LAYOUT, line=lines.number - len(words))
            words, tags = [], []
    if words:
        yield Sentence(words, None if tagged is False else tags, LAYOUT, line=lines.number - len(words) + 1)


def write(sentence: Sentence, column: str) -> str:
    columns = [sentence.words] if sentence.tags is None else [sentence.words, sentence.tags]
    if sentence.probabilities is not None:
        columns.append([f"{probability:.4f}" for probability in sentence.probabilities])
    return "".join(map(written, zip(*columns, strict=True))) + "\n"


def written(row: tuple[str, ...]) -> str:
    *first, last = [cell.rstrip(" ") and cell for cell in row]  # a cell of spaces would look empty
    return "\t".join([*(checked(cell, "\t\n") for cell in first), ending(last, "\t\n")]) + "\n"


def columns(lines: Sequence[str]) -> int:
    """How many columns every line has, blank ones apart."""
    filled = (line.rstrip("\t ") for line in lines)
    return min((len(line.split("\t")) for line in filled if line), default=0)


def header(sentences: Sequence[Sentence]) -> str | None:
    """The names of the columns, if the first word and its tag look like them and nothing else has that tag."""
    if not sentences or not sentences[0].tags:
        return None
    word, tag = sentences[0].words[0], sentences[0].tags[0]
    if word.lower() not in WORD_NAMES or tag.lower() not in TAG_NAMES:
        return None
    often = Counter(tag for sentence in sentences for tag in sentence.tags or ())
    return f"{word}/{tag}" if often[tag] == 1 else None
