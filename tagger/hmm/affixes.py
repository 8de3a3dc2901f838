"""Prefixes, suffixes, shape, case and length of many words at once, as integer keys.

All letters of all words lie in one array, so a suffix of n letters is n additions on whole columns. The key of a string
c_1 … c_n is its hash Σ_i (c_i + 1) · Q^(i-1) mod 2^64; two different strings practically never share one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tagger.arrays.caching import cached_property
from tagger.arrays.string_spans import code_points, powers

Q = 0xD1342543DE82EF95
MULTIPLIER = 0x9E3779B97F4A7C15  # odd, so that multiplication modulo 2^64 is a bijection
UPPER, LOWER, DIGIT, OTHER = range(4)
NO_KEY = np.uint64(0)  # the key of a property that a word lacks
INSIDE, KNOWN_IN_LOWER_CASE, NEW = range(3)  # inside a sentence, or its capitalised first word: see `Letters.initial`
MAX_LENGTH = 15  # longer words share the key of this length


class Letters:
    """The letters of B words. Every method returns one key per word (B,), NO_KEY where a word lacks the property.

    `initial` (B,) marks the capitalised first words of sentences, whose capital may be due to their position only:
    KNOWN_IN_LOWER_CASE if the lexicon has the word in lower case, else NEW. All other words are INSIDE.
    """

    def __init__(self, words: Sequence[str], initial: np.ndarray | None = None) -> None:
        self.words = words
        self.initial = np.full(len(words), INSIDE, np.int64) if initial is None else initial

    def __len__(self) -> int:
        return len(self.words)

    @cached_property
    def lengths(self) -> np.ndarray:
        """The number of letters of each word, (B,)."""
        return np.fromiter(map(len, self.words), np.int64, len(self.words))

    @cached_property
    def ends(self) -> np.ndarray:
        """The place after the last letter of each word, (B,)."""
        return np.cumsum(self.lengths)

    @cached_property
    def starts(self) -> np.ndarray:
        """The place of the first letter of each word, (B,)."""
        return np.asarray(self.ends - self.lengths)

    @property
    def low(self) -> np.ndarray:
        """The code point of each letter in lower case."""
        return self.of_letters[0]

    @property
    def classes(self) -> np.ndarray:
        """The class of each letter."""
        return self.of_letters[1]

    @property
    def hyphens(self) -> np.ndarray:
        """Whether each letter is a hyphen."""
        return self.of_letters[2]

    @cached_property
    def of_letters(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """`low`, `classes` and `hyphens`; case and class are found once per distinct character, then gathered."""
        codes, _ = code_points(self.words)
        present = np.zeros(int(codes.max(initial=0)) + 1, bool)
        present[codes] = True
        distinct = np.flatnonzero(present)
        letters = [chr(code) for code in distinct.tolist()]
        low, classes = np.zeros(len(present), np.uint64), np.zeros(len(present), np.int8)
        low[distinct] = [low_code(letter) for letter in letters]
        classes[distinct] = [letter_class(letter) for letter in letters]
        return low[codes], classes[codes], codes == ord("-")

    def any(self, letters: np.ndarray) -> np.ndarray:
        """Return True (B,) for each word with a letter that is True in `letters`."""
        sums = np.append(0, np.cumsum(letters))
        return np.asarray(sums[self.ends] > sums[self.starts])

    def case(self) -> np.ndarray:
        """Describe the word most coarsely: capitals, digits, a hyphen, and `initial`."""
        upper, lower = self.any(self.classes == UPPER), self.any(self.classes == LOWER)
        capitalized = np.zeros(len(self.lengths), bool)
        nonempty = self.lengths > 0
        capitalized[nonempty] = self.classes[self.starts[nonempty]] == UPPER
        case = np.select([upper & ~lower & (self.lengths > 1), capitalized, lower & ~upper], [3, 2, 1], 0)
        flags = 4 * self.any(self.classes == DIGIT) + 8 * self.any(self.hyphens)
        return (case + flags + 16 * self.initial + 1).astype(np.uint64)

    def shape(self) -> np.ndarray:
        """Collapse runs of one letter class; marks and letters without case count as themselves."""
        letters = np.where(self.classes == OTHER, self.low + np.uint64(OTHER), self.classes.astype(np.uint64))
        return self.hashes(letters, self.run_starts(letters))

    def number_pattern(self) -> np.ndarray:
        """Write the word in lower case with every number as 0; NO_KEY without digits."""
        digits = self.classes == DIGIT
        keys = self.hashes(np.where(digits, np.uint64(ord("0")), self.low), ~digits | self.run_starts(digits))
        return np.where(self.any(digits), keys, NO_KEY)

    def lower_case(self) -> np.ndarray:
        """Return the key of the whole word in lower case."""
        return self.hashes(self.low, np.ones(len(self.low), bool))

    def length(self) -> np.ndarray:
        """Return the number of letters, at most MAX_LENGTH, plus 1."""
        return np.minimum(self.lengths, MAX_LENGTH).astype(np.uint64) + np.uint64(1)

    def run_starts(self, letters: np.ndarray) -> np.ndarray:
        """Return True for each letter that differs from the one before, or is the first of its word."""
        starts = np.ones(len(letters), bool)
        starts[1:] = letters[1:] != letters[:-1]
        starts[self.starts[self.lengths > 0]] = True
        return starts

    def hashes(self, letters: np.ndarray, counted: np.ndarray) -> np.ndarray:
        """Hash the counted letters of each word: a difference of two running sums of (c_i + 1) · Q^(i-1)."""
        place = np.cumsum(counted)
        before = np.append(0, place)[np.repeat(self.starts, self.lengths)]
        factors = powers(Q, int(self.lengths.max(initial=0)) + 1)
        terms = np.where(counted, (letters + np.uint64(1)) * factors[place - 1 - before], np.uint64(0))
        sums = np.append(NO_KEY, np.cumsum(terms, dtype=np.uint64))
        return np.asarray(sums[self.ends] - sums[self.starts])

    def suffixes(self, max_length: int) -> np.ndarray:
        """Return the keys (lengths, B) of the last letter in lower case, the last two, …"""
        return self.affixes(max_length, lambda n: self.ends - n)

    def prefixes(self, max_length: int) -> np.ndarray:
        """Return the keys (lengths, B) of the first letter in lower case, the first two, …"""
        return self.affixes(max_length, lambda n: self.starts + n - 1)

    def affixes(self, max_length: int, position: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """Return the keys of affixes of 1, 2, … letters; `position` gives the place of the n-th letter."""
        n = np.arange(1, max_length + 1)[:, None]
        long_enough = self.lengths >= n
        letters = np.append(self.low, np.uint64(0))[np.where(long_enough, position(n), -1)]
        keys = np.cumsum((letters + np.uint64(1)) * powers(Q, max_length)[:, None], axis=0, dtype=np.uint64)
        return np.where(long_enough, keys, NO_KEY)


def low_code(letter: str) -> int:
    """Return the code point of a character in lower case; of several, the first."""
    return ord(letter.lower()[0])


def letter_class(letter: str) -> int:
    """Classify a character as UPPER, LOWER, DIGIT or OTHER."""
    return UPPER if letter.isupper() else LOWER if letter.islower() else DIGIT if letter.isdigit() else OTHER


def combine_keys(keys: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Make one key of each pair of keys, of the same shape or (…, B) and (B,); NO_KEY where the first is."""
    return np.where(keys == NO_KEY, NO_KEY, (keys ^ (others * np.uint64(MULTIPLIER))) * np.uint64(Q))


def shorten_keys(keys: np.ndarray) -> np.ndarray:
    """Hash keys (B,) to 32 bits: the highest of a product, since short strings have small keys.

    NO_KEY stays 0, and no other key becomes 0. Among n descriptions an unseen one is mistaken for a seen one with
    probability n / 2^32.
    """
    short = np.maximum((keys * np.uint64(MULTIPLIER)) >> np.uint64(32), np.uint64(1)).astype(np.uint32)
    short[keys == NO_KEY] = 0
    return short
