"""Many strings as pieces of one text: cut without being copied, hashed by one running sum.

A word has dozens of prefixes, suffixes and other spellings, each of which is looked up in a table. As Python strings
they would cost a call each; as two numbers, where a piece begins and where it ends, whole arrays of them are made,
hashed and compared at once.

The hash of the bytes b[0..n) is  mix(Σ_i (b[i] + 1) · P^i  mod 2^64).  As P is odd it has an inverse, so the hashes of
all pieces of a blob come out of one running sum: the sum over [start, end) times P^-start.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tagger.arrays.caching import cached_property
from tagger.arrays.ragged import consecutive, ranges

P = 0x9E3779B97F4A7C15  # odd: 2^64 over the golden ratio
P_INVERSE = pow(P, -1, 1 << 64)


@dataclass(frozen=True)
class StringSpans:
    """Strings as stretches of a text; where one ends before it starts, there is none."""

    text: str
    starts: np.ndarray  # (pieces,) in letters
    ends: np.ndarray  # (pieces,)

    @classmethod
    def of(cls, strings: Sequence[str]) -> StringSpans:
        lengths = np.fromiter(map(len, strings), np.int64, len(strings))
        ends = np.cumsum(lengths)
        return cls("".join(strings), ends - lengths, ends)

    @classmethod
    def of_some(cls, strings: Sequence[str | None]) -> StringSpans:
        there = np.array([string is not None for string in strings], bool)
        return cls.of([string or "" for string in strings]).only(there)

    @classmethod
    def yes(cls, there: np.ndarray) -> StringSpans:
        """An empty string where `there` is True."""
        nothing = np.zeros(len(there), np.int64)
        return cls("", nothing, nothing).only(there)

    @classmethod
    def joined(cls, several: Sequence[StringSpans]) -> StringSpans:
        """All of them, one after the other. A text that several share is taken once."""
        texts = {id(pieces.text): pieces.text for pieces in several}
        ends = np.cumsum([0, *map(len, texts.values())]).tolist()
        place = dict(zip(texts, ends, strict=False))
        begins = np.repeat([place[id(pieces.text)] for pieces in several], [len(pieces) for pieces in several])
        starts, ends = (
            np.concatenate([np.empty(0, np.int64), *own])
            for own in ([pieces.starts for pieces in several], [pieces.ends for pieces in several])
        )
        return cls("".join(texts.values()), starts + begins.astype(np.int64), ends + begins.astype(np.int64))

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def there(self) -> np.ndarray:
        return self.starts <= self.ends

    def only(self, there: np.ndarray) -> StringSpans:
        """None where `there` is False."""
        return StringSpans(self.text, np.where(there, self.starts, 0), np.where(there, self.ends, -1))

    def take(self, places: np.ndarray) -> StringSpans:
        return StringSpans(self.text, self.starts[places], self.ends[places])

    def strings(self) -> list[str | None]:
        places = zip(self.starts.tolist(), self.ends.tolist(), strict=True)
        return [self.text[start:end] if start <= end else None for start, end in places]

    def encoded(self) -> ByteStrings:
        """The same as bytes. What is none becomes empty."""
        blob = np.frombuffer(self.text.encode("utf-8", "surrogatepass"), np.uint8)
        starts, ends = self.starts, np.maximum(self.starts, self.ends)
        if len(blob) > len(self.text):
            letters = np.append(np.flatnonzero(blob & 0xC0 != 0x80), len(blob))  # where each begins
            starts, ends = letters[starts], letters[ends]
        return ByteStrings(blob, starts, ends)


@dataclass(frozen=True)
class ByteStrings:
    """Pieces of a blob of UTF-8."""

    blob: np.ndarray  # (bytes,) uint8
    starts: np.ndarray  # (pieces,)
    ends: np.ndarray  # (pieces,)

    @classmethod
    def of(cls, strings: Sequence[str]) -> ByteStrings:
        return StringSpans.of(strings).encoded()

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def lengths(self) -> np.ndarray:
        return self.ends - self.starts

    @cached_property
    def hashes(self) -> np.ndarray:
        """(pieces,) 64 bits each"""
        return hashes(self.blob, self.starts, self.ends)

    def take(self, places: np.ndarray) -> ByteStrings:
        return ByteStrings(self.blob, self.starts[places], self.ends[places])

    def compact(self) -> ByteStrings:
        """The same, one after the other in a blob that holds nothing else."""
        lengths = self.lengths
        ends = np.cumsum(lengths)
        return ByteStrings(self.blob[consecutive(self.starts, lengths)], ends - lengths, ends)

    def equal(self, mine: np.ndarray, others: ByteStrings, theirs: np.ndarray) -> np.ndarray:
        """Whether each of these pieces of mine is the same string as that piece of the others."""
        lengths = self.lengths[mine]
        same = lengths == others.lengths[theirs]
        lengths, mine, theirs = lengths[same], mine[same], theirs[same]
        inside = ranges(lengths)
        ours = self.blob[np.repeat(self.starts[mine], lengths) + inside]
        differ = ours != others.blob[np.repeat(others.starts[theirs], lengths) + inside]
        wrong = np.concatenate([[0], np.cumsum(differ)])
        ends = np.cumsum(lengths)
        same[same] = wrong[ends] == wrong[ends - lengths]
        return same


def hashes(blob: np.ndarray, starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """The 64-bit hash of each piece of the blob."""
    sums = np.zeros(len(blob) + 1, np.uint64)
    np.cumsum((blob + np.uint64(1)) * powers(P, len(blob)), out=sums[1:])
    keys = (sums[ends] - sums[starts]) * powers(P_INVERSE, len(blob) + 1)[starts]
    keys ^= keys >> np.uint64(31)
    keys *= np.uint64(0xBF58476D1CE4E5B9)
    return keys ^ (keys >> np.uint64(29))


def powers(base: int, count: int) -> np.ndarray:
    """base^0, base^1, … modulo 2^64."""
    factors = np.full(count, base, np.uint64)
    factors[:1] = 1
    return np.multiply.accumulate(factors)


def distinct(pieces: StringSpans) -> tuple[np.ndarray, np.ndarray]:
    """The first place of each distinct piece, and for every piece (pieces,) the number of its string among those, -1
    for none. Pieces with one hash are one string, unless a look at their bytes says otherwise."""
    written = pieces.encoded()
    keys = written.hashes
    firsts: list[np.ndarray] = [np.empty(0, np.int64)]
    numbers = np.full(len(pieces), -1)
    open_ = np.flatnonzero(pieces.there)  # more than one round only where hashes collide
    known = 0
    while open_.size:
        _, first, inverse = np.unique(keys[open_], return_index=True, return_inverse=True)
        firsts.append(open_[first])
        same = written.equal(open_, written, open_[first][inverse])
        numbers[open_[same]] = known + inverse[same]
        known += len(first)
        open_ = open_[~same]
    return np.concatenate(firsts), numbers
