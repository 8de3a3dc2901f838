"""The format `tsv`: a word per line, its tag in the second column, a blank line after each sentence.

Words may contain spaces. Further columns are ignored; `count_columns` counts them, for a warning. Spreadsheets write
the names of the columns on the first line, which looks like a word and its tag; `find_header` detects it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from tagger.corpus.checks import check_cells, check_last
from tagger.escaping import quote
from tagger.files.reading import Lines
from tagger.sentence import Sentence

LAYOUT = ("tsv",)
WORD_NAMES = frozenset(["word", "words", "form", "forms", "token", "tokens", "text"])
TAG_NAMES = frozenset(["tag", "tags", "pos", "upos", "xpos", "postag", "pos_tag", "label"])


def read(lines: Lines, tagged: bool | None, column: str) -> Iterator[Sentence]:
    """Yield the sentences."""
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
    """Return the lines of a sentence; probabilities, if any, are the third column."""
    columns = [sentence.words] if sentence.tags is None else [sentence.words, sentence.tags]
    if sentence.probabilities is not None:
        columns.append([f"{probability:.4f}" for probability in sentence.probabilities])
    return "".join(map(written, zip(*columns, strict=True))) + "\n"


def written(row: tuple[str, ...]) -> str:
    """Return the line of a token."""
    *first, last = [cell.rstrip(" ") and cell for cell in row]  # a cell of spaces would look empty
    return "\t".join([*check_cells(first, "\t\n"), check_last(last, "\t\n")]) + "\n"


def count_columns(lines: Sequence[str]) -> int:
    """Return the least number of columns of the lines that are not blank."""
    filled = (line.rstrip("\t ") for line in lines)
    return min((len(line.split("\t")) for line in filled if line), default=0)


def find_header(sentences: Sequence[Sentence]) -> str | None:
    """Return the names of the columns if the first word and tag look like them and no other word has that tag."""
    if not sentences or not sentences[0].tags:
        return None
    word, tag = sentences[0].words[0], sentences[0].tags[0]
    if word.lower() not in WORD_NAMES or tag.lower() not in TAG_NAMES:
        return None
    counts = Counter(tag for sentence in sentences for tag in sentence.tags or ())
    return f"{word}/{tag}" if counts[tag] == 1 else None
