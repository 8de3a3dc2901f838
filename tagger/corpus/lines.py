"""`lines`: one `word/TAG` per line, a blank line after each sentence.

Some corpora of this kind have no blank lines, or a few by accident. In those a token that is a sentence-final mark
ends the sentence, too: the first lines decide, by more than MARKS_PER_BLANK such marks for each blank line. Untagged
words may come from a person who types them, so there no line is waited for, and blank lines alone decide if there are
any.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from tagger.corpus.checks import ending
from tagger.corpus.slash import SEPARATORS, split_if_tagged, split_token, tokens, written_tokens
from tagger.escaping import quote
from tagger.files.reading import LOOK_AHEAD, Lines
from tagger.sentence import NO_TAG, Sentence

LAYOUT = ("lines",)
FINAL_MARKS = frozenset(".!?。！？")
MARKS_PER_BLANK = 3
AT_LEAST = 10  # marks more than that: one sentence may have several


def read(lines: Lines, tagged: bool | None, column: str) -> Iterator[Sentence]:
    by_marks = bool(tagged) and marks_end_sentences(lines.head(LOOK_AHEAD))
    pairs: list[tuple[str, str]] = []  # since the last blank line
    any_blank = False
    for line in lines:
        found = tokens(line)
        if len(found) > 1:
            expected = "word/TAG" if tagged else "word"
            raise lines.error(f"expected one {expected} on the line, got {len(found)}: {quote(line)}")
        if found:
            pairs.append(split(found[0], lines, tagged))
        elif pairs:
            any_blank = True
            yield from sentences(pairs, lines.number - len(pairs), by_marks, tagged)
            pairs = []
    yield from sentences(pairs, lines.number - len(pairs) + 1, by_marks or not any_blank, tagged)


def split(token: str, lines: Lines, tagged: bool | None) -> tuple[str, str]:
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
    """Whether the first lines, with one token each, show where sentences end: a blank line or a final mark."""
    return not FINAL_MARKS.isdisjoint(first_words(head)) or "" in first_words(head)


def marks_end_sentences(head: Sequence[str]) -> bool:
    """Whether final marks far outnumber the blank lines among the first lines; several marks in a row count once."""
    words = first_words(head)
    marks = sum(word in FINAL_MARKS and after not in FINAL_MARKS for word, after in pairwise([*words, ""]))
    blanks = sum(bool(word) and not after for word, after in pairwise([*words, "end"]))
    return marks > MARKS_PER_BLANK * blanks + AT_LEAST


def first_words(lines: Sequence[str]) -> list[str]:
    """The word of each line; an empty one if the line is blank."""
    return [split_if_tagged(line.strip(" \t"))[0] for line in lines]


def write(sentence: Sentence, column: str) -> str:
    return "".join(f"{ending(token, SEPARATORS)}\n" for token in written_tokens(sentence)) + "\n"
