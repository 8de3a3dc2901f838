"""What a word's letters reveal: affixes, shape, capitals, digits.

Each function takes a word and returns a string, or None where it has nothing to say. Functions registered with
`@feature` can be named in templates, those of `@feature_with_number` with a number behind a colon (`suffix:3`). A
function that answers yes or no returns "" for yes.
"""

from __future__ import annotations

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


@feature
def shape(word: str) -> str:
    """Runs of letter classes, each shown once: upper X, lower x, digit d, the rest as it is. Mid-1990s is Xx-dx."""
    out: list[str] = []
    for letter in word:
        kind = "X" if letter.isupper() else "x" if letter.islower() else "d" if letter.isdigit() else letter
        if not out or out[-1] != kind:
            out.append(kind)
    return "".join(out)


@feature
def digit(word: str) -> str | None:
    return "" if any(letter.isdigit() for letter in word) else None


@feature
def hyphen(word: str) -> str | None:
    return "" if "-" in word else None


@feature
def capital(word: str) -> str | None:
    return "" if word[:1].isupper() else None


@feature_with_number
def prefix(n: int, word: str) -> str | None:
    """The first n letters of the lower-case word, if it has so many."""
    return word.lower()[:n] if len(word) >= n else None


@feature_with_number
def suffix(n: int, word: str) -> str | None:
    """The last n letters of the lower-case word, if it has so many."""
    return word.lower()[-n:] if len(word) >= n else None


@feature_with_number
def ending(n: int, word: str) -> str:
    """The last n letters of the lower-case word, or all of it."""
    return word.lower()[-n:]
