"""What words' letters reveal: affixes, shape, capitals, digits.

Each function takes many words at once and returns a string for each, or none where it has nothing to say, as `StringSpans`.
Functions registered with `@feature` can be named in templates, those of `@feature_with_number` with a number behind a
colon (`suffix:3`). A function that answers yes or no says an empty string for yes. Where looking at many words at once
is not worth the trouble, `StringSpans.of_some` takes a list of strings.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence

import numpy as np

from tagger.arrays.caching import cached_property
from tagger.arrays.string_spans import StringSpans


class WordForms:
    """Words, and what several functions want to know of them."""

    def __init__(self, words: Sequence[str]) -> None:
        self.words = words

    def __len__(self) -> int:
        return len(self.words)

    @cached_property
    def lows(self) -> list[str]:
        return [word.lower() for word in self.words]

    @cached_property
    def given(self) -> StringSpans:
        return StringSpans.of(self.words)

    @cached_property
    def low(self) -> StringSpans:
        return StringSpans.of(self.lows)

    @cached_property
    def apart(self) -> StringSpans:
        """The syllables of Korean words as single letters; other words are empty."""
        return StringSpans.of([unicodedata.normalize("NFD", low) if HANGUL.search(low) else "" for low in self.lows])

    @cached_property
    def kinds(self) -> np.ndarray:
        """(letters,) of all words: X, x and d for upper case, lower case and digits; other letters are themselves."""
        return np.frombuffer(self.given.text.translate(KINDS).encode("utf-32-le", "surrogatepass"), np.uint32)

    def any(self, letters: np.ndarray) -> StringSpans:
        """Yes where any letter of a word is True."""
        before = np.append(0, np.cumsum(letters))
        return StringSpans.yes(before[self.given.ends] > before[self.given.starts])


Function = Callable[[WordForms], StringSpans]
NumberedFunction = Callable[[int, WordForms], StringSpans]

FUNCTIONS: dict[str, Function] = {}
NUMBERED: dict[str, NumberedFunction] = {}


def feature(function: Function) -> Function:
    FUNCTIONS[function.__name__] = function
    return function


def feature_with_number(function: NumberedFunction) -> NumberedFunction:
    NUMBERED[function.__name__] = function
    return function


class Kinds(dict[int, str]):
    """For `str.translate`: upper-case letters are X, lower-case ones x, digits d, the rest is itself."""

    def __missing__(self, code: int) -> str:
        letter = chr(code)
        kind = "X" if letter.isupper() else "x" if letter.islower() else "d" if letter.isdigit() else letter
        self[code] = kind
        return kind


KINDS = Kinds()
HANGUL = re.compile("[가-힣]")


@feature
def bias(words: WordForms) -> StringSpans:
    """Always yes: how frequent a tag is."""
    return StringSpans.yes(np.ones(len(words), bool))


@feature
def word(words: WordForms) -> StringSpans:
    return words.given


@feature
def lower(words: WordForms) -> StringSpans:
    return words.low


@feature
def shape(words: WordForms) -> StringSpans:
    """Runs of letters of one kind, each shown once: Mid-1990s is Xx-dx."""
    kinds, starts, ends = words.kinds, words.given.starts, words.given.ends
    shown = np.ones(len(kinds), bool)  # the last letter of each run
    shown[:-1] = kinds[:-1] != kinds[1:]
    shown[ends[ends > starts] - 1] = True
    before = np.append(0, np.cumsum(shown))
    return StringSpans(kinds[shown].tobytes().decode("utf-32-le", "surrogatepass"), before[starts], before[ends])


@feature
def digit(words: WordForms) -> StringSpans:
    return words.any(words.kinds == ord("d"))


@feature
def hyphen(words: WordForms) -> StringSpans:
    return words.any(words.kinds == ord("-"))


@feature
def capital(words: WordForms) -> StringSpans:
    first = np.zeros(len(words), bool)
    there = words.given.starts < words.given.ends
    first[there] = words.kinds[words.given.starts[there]] == ord("X")
    return StringSpans.yes(first)


@feature
def length(words: WordForms) -> StringSpans:
    """The number of letters; ten stands for all that are longer."""
    numbers = StringSpans.of([str(n) for n in range(11)])
    return numbers.take(np.minimum(words.given.ends - words.given.starts, 10))


@feature_with_number
def prefix(n: int, words: WordForms) -> StringSpans:
    """The first n letters in lower case, if there are so many."""
    low = words.low
    return StringSpans(low.text, low.starts, low.starts + n).only(low.starts + n <= low.ends)


@feature_with_number
def suffix(n: int, words: WordForms) -> StringSpans:
    """The last n letters in lower case, if there are so many."""
    return last(n, words.low)


@feature_with_number
def ending(n: int, words: WordForms) -> StringSpans:
    """The last n letters in lower case, or all of them."""
    low = words.low
    return StringSpans(low.text, np.maximum(low.starts, low.ends - n), low.ends)


@feature_with_number
def jamo(n: int, words: WordForms) -> StringSpans:
    """The last n letters of Korean words, syllables taken apart (간 ends in ㄴ): endings are often part of one."""
    return last(n, words.apart)


def last(n: int, pieces: StringSpans) -> StringSpans:
    return StringSpans(pieces.text, pieces.ends - n, pieces.ends).only(pieces.starts + n <= pieces.ends)
