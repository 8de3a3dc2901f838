"""The format `lines`: one `word/TAG` per line, a blank line after each sentence.

Some corpora of this kind have no blank lines, or a few by accident. In those a token that is a sentence-final mark also
ends the sentence. The first lines decide: there must be more than MARKS_PER_BLANK such marks for each blank line. A
sentence with several such marks inside is written with blank lines before it, one for every MARKS_PER_BLANK of them, so
that our own output is always read by its blank lines, wherever the first lines end.
Untagged words may be typed, so the reader does not look ahead there; blank lines end the sentences if there are any.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from tagger.corpus.column_names import ColumnNames
from tagger.corpus.formats.checks import check_last
from tagger.corpus.formats.slash import SEPARATORS, split_if_tagged, split_token, tokens, written_tokens
from tagger.escaping import quote
from tagger.files.reading import LOOK_AHEAD, Lines
from tagger.sentence import NO_TAG, Sentence

LAYOUT = ("lines",)
FINAL_MARKS = frozenset(".!?。！？")
MARKS_PER_BLANK = 3
SPARE_MARKS = 10  # beyond that ratio: one sentence may have several


def read(lines: Lines, tagged: bool | None, columns: ColumnNames) -> Iterator[Sentence]:
    """Yield the sentences."""
    by_marks = bool(tagged) and marks_end_sentences(lines.head(LOOK_AHEAD))
    pairs: list[tuple[str, str]] = []  # since the last blank line
    any_blank = False
    for line in lines:
        line_tokens = tokens(line)
        if len(line_tokens) > 1:
            expected = "word/TAG" if tagged else "word"
            raise lines.error(f"expected one {expected} on the line, got {len(line_tokens)}: {quote(line)}")
        if line_tokens:
            pairs.append(split(line_tokens[0], lines, tagged))
        elif pairs:
            any_blank = True
            yield from sentences(pairs, lines.number - len(pairs), by_marks, tagged)
            pairs = []
    yield from sentences(pairs, lines.number - len(pairs) + 1, by_marks or not any_blank, tagged)


def split(token: str, lines: Lines, tagged: bool | None) -> tuple[str, str]:
    """Split a token into word and tag, as `read` is asked to."""
    if tagged is False:
        return token, NO_TAG
    return split_token(token, lines) if tagged else split_if_tagged(token)


def sentences(pairs: Sequence[tuple[str, str]], first: int, by_marks: bool, tagged: bool | None) -> Iterator[Sentence]:
    """Cut words and tags between two blank lines into sentences; `first` is the line of the first word."""
    ends = [i for i, (word, _) in enumerate(pairs, 1) if word in FINAL_MARKS] if by_marks else []
    for begin, end in pairwise(sorted({0, *ends, len(pairs)})):
        words, tags = zip(*pairs[begin:end], strict=True)
        yield Sentence(words, None if tagged is False else tags, LAYOUT, line=first + begin)


def shows_ends(head: Sequence[str]) -> bool:
    """Return whether lines of one token each show where sentences end, by a blank line or a final mark."""
    return not (FINAL_MARKS | {""}).isdisjoint(first_words(head))


def marks_end_sentences(head: Sequence[str]) -> bool:
    """Return whether final marks far outnumber blank lines; of several blank lines at the end, one counts."""
    words = first_words(head)
    while words[-2:] == ["", ""]:
        words.pop()
    return count_marks(words) > MARKS_PER_BLANK * words.count("") + SPARE_MARKS


def count_marks(words: Sequence[str]) -> int:
    """Count the final marks; several in a row count once."""
    return sum(word in FINAL_MARKS and after not in FINAL_MARKS for word, after in pairwise([*words, ""]))


def first_words(lines: Sequence[str]) -> list[str]:
    """Return the word of each line, an empty string for a blank line."""
    return [split_if_tagged(line.strip(" \t"))[0] for line in lines]


def write(sentence: Sentence, columns: ColumnNames) -> str:
    """Return the lines of a sentence: a blank line after it, and as many before it as its marks need."""
    before = (count_marks(sentence.words) - 1) // MARKS_PER_BLANK
    lines = [f"{check_last(token, SEPARATORS)}\n" for token in written_tokens(sentence)]
    return "".join(["\n" * before, *lines, "\n"])
