"""Many words at once, letter by letter: numbers that stand for their endings, beginnings, shapes and cases.

All letters of all words lie in one array, so that an ending of n letters is n additions on whole columns. A piece of a
word c_1 … c_n is known by its hash Σ_i (c_i + 1) · Q^(i-1) mod 2^64: two different pieces share one about never.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tagger.arrays.string_spans import code_points, powers

Q = 0xD1342543DE82EF95
UPPER, LOWER, DIGIT, OTHER = range(4)
NONE = np.uint64(0)  # the key of what a word does not have
INSIDE, KNOWN_IN_LOWER_CASE, NEW = range(3)  # where a word is: inside a sentence, or first and capitalised
LONGEST = 15  # words of that many letters and more are long alike


class Letters:
    """The letters of B words. Every method returns a key (B,) for each word, NONE where a word has no such property.

    `initial` (B,) says of each word whether it is the capitalised first word of a sentence, whose capital may mean
    nothing: KNOWN_IN_LOWER_CASE, NEW, or INSIDE for all others.
    """

    def __init__(self, words: Sequence[str], initial: np.ndarray | None = None) -> None:
        codes, self.lengths = code_points(words)
        self.initial = np.full(len(words), INSIDE) if initial is None else initial
        self.ends = np.cumsum(self.lengths)
        self.starts = self.ends - self.lengths
        there = np.zeros(int(codes.max(initial=0)) + 1, bool)
        there[codes] = True
        distinct = np.flatnonzero(there)
        letters = [chr(code) for code in distinct.tolist()]
        low, kinds = np.zeros(len(there), np.uint64), np.zeros(len(there), np.int8)
        low[distinct] = [ord(letter.lower()[0]) for letter in letters]
        kinds[distinct] = [kind(letter) for letter in letters]
        self.low, self.kinds = low[codes], kinds[codes]
        self.hyphens = codes == ord("-")

    def any(self, letters: np.ndarray) -> np.ndarray:
        """(B,) whether any letter of each word is True."""
        sums = np.append(0, np.cumsum(letters))
        return np.asarray(sums[self.ends] > sums[self.starts])

    def case(self) -> np.ndarray:
        """Digits, a hyphen, capitals: the coarsest look at a word."""
        upper, lower = self.any(self.kinds == UPPER), self.any(self.kinds == LOWER)
        first = np.zeros(len(self.lengths), bool)
        there = self.lengths > 0
        first[there] = self.kinds[self.starts[there]] == UPPER
        case = np.select([upper & ~lower & (self.lengths > 1), first, lower & ~upper], [3, 2, 1], 0)
        flags = 4 * self.any(self.kinds == DIGIT) + 8 * self.any(self.hyphens)
        return (case + flags + 16 * self.initial + 1).astype(np.uint64)

    def shape(self) -> np.ndarray:
        """Runs of letters of a kind, each counted once; marks and letters without case count as themselves."""
        letters = np.where(self.kinds == OTHER, self.low + np.uint64(OTHER), self.kinds.astype(np.uint64))
        return self.sums(letters, self.new(letters))

    def numbered(self) -> np.ndarray:
        """The word in lower case with every number alike; NONE without digits."""
        digits = self.kinds == DIGIT
        keys = self.sums(np.where(digits, np.uint64(ord("0")), self.low), ~digits | self.new(digits))
        return np.where(self.any(digits), keys, NONE)

    def whole(self) -> np.ndarray:
        """The word in lower case."""
        return self.sums(self.low, np.ones(len(self.low), bool))

    def length(self) -> np.ndarray:
        return np.minimum(self.lengths, LONGEST).astype(np.uint64) + np.uint64(1)

    def new(self, letters: np.ndarray) -> np.ndarray:
        """Whether each letter differs from the one before, or is the first of its word."""
        new = np.ones(len(letters), bool)
        new[1:] = letters[1:] != letters[:-1]
        new[self.starts[self.lengths > 0]] = True
        return new

    def sums(self, letters: np.ndarray, counted: np.ndarray) -> np.ndarray:
        """The hash of the counted letters of each word."""
        place = np.cumsum(counted)
        before = np.append(0, place)[np.repeat(self.starts, self.lengths)]
        factors = powers(Q, int(self.lengths.max(initial=0)) + 1)
        terms = np.where(counted, (letters + np.uint64(1)) * factors[place - 1 - before], np.uint64(0))
        sums = np.append(NONE, np.cumsum(terms, dtype=np.uint64))
        return np.asarray(sums[self.ends] - sums[self.starts])

    def endings(self, longest: int) -> list[np.ndarray]:
        """The last letter in lower case, the last two, …"""
        return self.pieces(longest, lambda n: self.ends - n)

    def beginnings(self, longest: int) -> list[np.ndarray]:
        """The first letter in lower case, the first two, …"""
        return self.pieces(longest, lambda n: self.starts + n - 1)

    def pieces(self, longest: int, place: Callable[[int], np.ndarray]) -> list[np.ndarray]:
        """The pieces of 1, 2, … letters, where `place` tells the position of the n-th letter of each."""
        key, factors = np.zeros(len(self.lengths), np.uint64), powers(Q, longest)
        found = []
        for n in range(1, longest + 1):
            there = self.lengths >= n
            key[there] += (self.low[place(n)[there]] + np.uint64(1)) * factors[n - 1]
            found.append(np.where(there, key, NONE))
        return found


def kind(letter: str) -> int:
    return UPPER if letter.isupper() else LOWER if letter.islower() else DIGIT if letter.isdigit() else OTHER


def joined(keys: np.ndarray, others: np.ndarray) -> np.ndarray:
    """A key for each pair of keys; NONE where the first is."""
    return np.where(keys == NONE, NONE, (keys ^ (others * np.uint64(0x9E3779B97F4A7C15))) * np.uint64(Q))
