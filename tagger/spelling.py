"""What a word's letters reveal: affixes, shape, capitals, digits.

Each function takes a word and returns a string, or None where it has nothing to say. Functions registered with
`@feature` can be named in templates, those of `@feature_with_number` with a number behind a colon (`suffix:3`); the
latter look at the lower-case word. A function that answers yes or no returns "" for yes.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

Function = Callable[[str], "str | None"]

FUNCTIONS: dict[str, Function] = {}
NUMBERED: dict[str, Callable[[int, str], str | None]] = {}


def feature(function: Function) -> Function:
    FUNCTIONS[function.__name__] = function
    return function


def feature_with_number(function: Callable[[int, str], str | None]) -> Callable[[int, str], str | None]:
    NUMBERED[function.__name__] = function
    return function


@feature
def bias(word: str) -> str:
    """Always yes: how frequent a tag is."""
    return ""


@feature
def word(word: str) -> str:
    return word


@feature
def lower(word: str) -> str:
    return word.lower()


class Kinds(dict[int, str]):
    """For `str.translate`: upper-case letters are X, lower-case ones x, digits d, the rest is itself."""

    def __missing__(self, code: int) -> str:
        letter = chr(code)
        kind = "X" if letter.isupper() else "x" if letter.islower() else "d" if letter.isdigit() else letter
        self[code] = kind
        return kind


KINDS = Kinds()
REPEATED = re.compile(r"(.)(?=\1)", re.DOTALL)


HANGUL = re.compile("[가-힣]")


@feature
def shape(word: str) -> str:
    """Runs of letters of one kind, each shown once: Mid-1990s is Xx-dx."""
    return REPEATED.sub("", word.translate(KINDS))


@feature
def digit(word: str) -> str | None:
    return "" if "d" in word.translate(KINDS) else None


@feature
def hyphen(word: str) -> str | None:
    return "" if "-" in word else None


@feature
def capital(word: str) -> str | None:
    return "" if word[:1].isupper() else None


@feature
def length(word: str) -> str:
    """The number of letters; ten stands for all that are longer."""
    return str(min(len(word), 10))


@feature_with_number
def prefix(n: int, low: str) -> str | None:
    """The first n letters, if there are so many."""
    return low[:n] if len(low) >= n else None


@feature_with_number
def suffix(n: int, low: str) -> str | None:
    """The last n letters, if there are so many."""
    return low[-n:] if len(low) >= n else None


@feature_with_number
def ending(n: int, low: str) -> str:
    """The last n letters, or all of them."""
    return low[-n:]


@feature_with_number
def jamo(n: int, low: str) -> str | None:
    """The last n letters of a Korean word, its syllables taken apart (간 ends in ㄴ): endings are often part of one."""
    if not HANGUL.search(low):
        return None
    apart = unicodedata.normalize("NFD", low)
    return apart[-n:] if len(apart) >= n else None
