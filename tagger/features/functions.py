"""Feature functions of the spelling of words: affixes, shape, capitals, digits.

A function takes many words at once and returns a string for each, or none, as `StringSpans`; a yes-or-no function
returns an empty string for yes. Functions registered with `@feature` can be named in templates, those of
`@feature_with_number` with a number behind a colon (`suffix:3`). These take all numbers n (numbers, 1) at once and
return the strings of all words for the first number, then for the next. A new function need not work on whole arrays:
`StringSpans.of_some` takes a list of strings.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence

import numpy as np

from tagger.arrays.caching import cached_property
from tagger.arrays.string_spans import StringSpans
from tagger.words.vocabulary import Vocabulary, word_ids

HANGUL = re.compile("[가-힣]")
LONGEST_COUNTED = 10  # letters; longer words have the same `length`
NUMBERS = StringSpans.of([str(n) for n in range(LONGEST_COUNTED + 1)])


class WordForms:
    """Words, with the forms of them that several functions need."""

    def __init__(self, words: Sequence[str]) -> None:
        self.words = words

    def __len__(self) -> int:
        return len(self.words)

    @cached_property
    def lower_words(self) -> list[str]:
        return [word.lower() for word in self.words]

    @cached_property
    def written(self) -> StringSpans:
        return StringSpans.of(self.words)

    @cached_property
    def lower(self) -> StringSpans:
        return StringSpans.of(self.lower_words)

    @cached_property
    def jamo(self) -> StringSpans:
        """Korean words in lower case with their syllables taken apart into letters; other words are empty."""
        decomposed = (unicodedata.normalize("NFD", word) if HANGUL.search(word) else "" for word in self.lower_words)
        return StringSpans.of(list(decomposed))

    @cached_property
    def letter_classes(self) -> np.ndarray:
        """The `LetterClasses` of all letters of all words (letters,), as code points."""
        text = self.written.text.translate(LETTER_CLASSES)
        return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)

    def any(self, letters: np.ndarray) -> StringSpans:
        """Answer yes for each word of which any letter is True, in `letters` of all words."""
        before = np.append(0, np.cumsum(letters))
        return StringSpans.of_flags(before[self.written.ends] > before[self.written.starts])


class DistinctForms(WordForms):
    """The distinct strings of one source, and the place of each token's string among them."""

    places: np.ndarray | None = None  # (tokens,); None if the strings are distinct already

    @classmethod
    def of(cls, strings: Sequence[str], distinct: bool) -> DistinctForms:
        """Collect the distinct strings, unless all are."""
        if distinct:
            return cls(strings)
        vocabulary = Vocabulary()
        places = word_ids([strings], vocabulary)
        forms = cls(list(vocabulary))
        forms.places = places
        return forms

    def at_tokens(self, spans: StringSpans, functions: int) -> StringSpans:
        """Return the span of each token's string, for each of some functions."""
        if self.places is None:
            return spans
        return spans.take((np.arange(functions)[:, None] * len(self) + self.places).ravel())


Function = Callable[[WordForms], StringSpans]
NumberedFunction = Callable[[np.ndarray, WordForms], StringSpans]

PatternFunction = Callable[[re.Pattern[str], WordForms], StringSpans]

FUNCTIONS: dict[str, Function] = {}
NUMBERED: dict[str, NumberedFunction] = {}
PATTERN_FUNCTIONS: dict[str, PatternFunction] = {}


def feature(function: Function) -> Function:
    """Register a feature function under its name."""
    FUNCTIONS[function.__name__] = function
    return function


def feature_with_number(function: NumberedFunction) -> NumberedFunction:
    """Register a feature function that takes a number, under its name."""
    NUMBERED[function.__name__] = function
    return function


def feature_with_pattern(function: PatternFunction) -> PatternFunction:
    """Register a feature function that takes a regular expression, under its name."""
    PATTERN_FUNCTIONS[function.__name__] = function
    return function


class LetterClasses(dict[int, str]):
    """A table for `str.translate`: upper-case letters become X, lower-case ones x, digits d, all others stay."""

    def __missing__(self, code: int) -> str:
        letter = chr(code)
        self[code] = "X" if letter.isupper() else "x" if letter.islower() else "d" if letter.isdigit() else letter
        return self[code]


LETTER_CLASSES = LetterClasses()


@feature
def bias(words: WordForms) -> StringSpans:
    """Answer yes for every word; the weights then express how frequent each tag is."""
    return StringSpans.of_flags(np.ones(len(words), bool))


@feature
def word(words: WordForms) -> StringSpans:
    """Return the words."""
    return words.written


@feature
def lower(words: WordForms) -> StringSpans:
    """Return the words in lower case."""
    return words.lower


@feature
def shape(words: WordForms) -> StringSpans:
    """Return the classes of the letters, runs of one class shortened to one letter: Mid-1990s is Xx-dx."""
    classes, starts, ends = words.letter_classes, words.written.starts, words.written.ends
    kept = np.ones(len(classes), bool)  # the last letter of each run; a run also ends with its word
    kept[:-1] = classes[:-1] != classes[1:]
    kept[ends[ends > starts] - 1] = True
    before = np.append(0, np.cumsum(kept))
    return StringSpans(classes[kept].tobytes().decode("utf-32-le", "surrogatepass"), before[starts], before[ends])


@feature
def digit(words: WordForms) -> StringSpans:
    """Answer yes for words with a digit."""
    return words.any(words.letter_classes == ord("d"))


@feature
def hyphen(words: WordForms) -> StringSpans:
    """Answer yes for words with a hyphen."""
    return words.any(words.letter_classes == ord("-"))


@feature
def capital(words: WordForms) -> StringSpans:
    """Answer yes for words that begin with a capital letter."""
    answers = np.zeros(len(words), bool)
    filled = words.written.starts < words.written.ends
    answers[filled] = words.letter_classes[words.written.starts[filled]] == ord("X")
    return StringSpans.of_flags(answers)


@feature
def length(words: WordForms) -> StringSpans:
    """Return the number of letters, at most LONGEST_COUNTED."""
    return NUMBERS.take(np.minimum(words.written.ends - words.written.starts, LONGEST_COUNTED))


@feature_with_number
def prefix(n: np.ndarray, words: WordForms) -> StringSpans:
    """Return the first n letters in lower case; none for shorter words."""
    text = words.lower
    return StringSpans.where(text.starts + n <= text.ends, text.text, text.starts, text.starts + n)


@feature_with_number
def suffix(n: np.ndarray, words: WordForms) -> StringSpans:
    """Return the last n letters in lower case; none for shorter words."""
    return last_letters(n, words.lower)


@feature_with_number
def ending(n: np.ndarray, words: WordForms) -> StringSpans:
    """Return the last n letters in lower case, or the whole of a shorter word."""
    text = words.lower
    return StringSpans(text.text, np.maximum(text.starts, text.ends - n).ravel(), np.tile(text.ends, len(n)))


@feature_with_number
def jamo(n: np.ndarray, words: WordForms) -> StringSpans:
    """Return the last n letters of Korean words, syllables taken apart: an ending is often part of one (ㄴ in 간)."""
    return last_letters(n, words.jamo) if words.jamo.text else StringSpans.of_flags(np.zeros(len(n) * len(words), bool))


@feature_with_pattern
def match(pattern: re.Pattern[str], words: WordForms) -> StringSpans:
    """Answer yes for words in which the pattern is found."""
    return StringSpans.of_flags(np.array([pattern.search(word) is not None for word in words.words], bool))


@feature_with_pattern
def extract(pattern: re.Pattern[str], words: WordForms) -> StringSpans:
    """Return the part of each word that the pattern matches; none if it is not found."""
    return StringSpans.of_some([found and found[0] for found in map(pattern.search, words.words)])


def last_letters(n: np.ndarray, strings: StringSpans) -> StringSpans:
    """Cut the last n letters of strings; none of shorter ones."""
    starts = strings.ends - n
    return StringSpans.where(starts >= strings.starts, strings.text, starts, strings.ends)
