"""The format `tsv`: a word per line, its tag in the second column, a blank line after each sentence.

Words may contain spaces. Further columns are ignored unless they have names, by the caller or on a header line; such
files are read like `columns`, but split at tabs. `count_columns` counts columns without names, for a warning.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from tagger.corpus.column_names import ColumnNames
from tagger.corpus.formats import columns as column_files
from tagger.corpus.formats.columns import TAG_NAMES, WORD_NAMES, split_tabs, tag_columns, written_layout, written_rows
from tagger.escaping import quote
from tagger.files.reading import Lines
from tagger.sentence import Sentence

LAYOUT = ("tsv",)


def read(lines: Lines, tagged: bool | None, columns: ColumnNames) -> Iterator[Sentence]:
    """Yield the sentences."""
    if columns.names:
        yield from column_files.read(lines, tagged, columns, split_tabs)
        return
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


def write(sentence: Sentence, columns: ColumnNames) -> str:
    """Return the lines of a sentence: word, tag, its probability if there is one, and the other columns."""
    if layout := sentence.lines_of("tsv"):
        return written_layout(sentence, layout, "\t")
    others = [[cell or "_" for cell in values] for values in (sentence.columns or {}).values()]
    return written_rows([sentence.words, *tag_columns(sentence), *others], "\t")


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
