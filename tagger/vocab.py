"""Strings ↔ ids, growing until frozen, then a compact read-only table.

While a model is being fitted, a `Vocabulary` numbers strings as they come. Frozen, it becomes a `StringTable`: one
UTF-8 blob, the lengths of the strings in it, and nothing else. The strings are sorted by a stable 64-bit hash; a
string is found by `searchsorted` among the hashes and verified in the blob, many strings at a time. So loading a
model builds no dictionary of a million Python strings.

The hash of the bytes b[0..n) is  mix(Σ_i (b[i] + 1) · P^i  mod 2^64).  As P is odd it has an inverse, so the hashes of
all strings of a blob come out of one running sum: the sum over [start, end) times P^-start.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from tagger.archive import Archive, Arrays, narrow
from tagger.rows import adds_up, ranges

P = 0x9E3779B97F4A7C15  # odd: 2^64 over the golden ratio
P_INVERSE = pow(P, -1, 1 << 64)
COLLIDING = 8  # strings of a file with one hash: chance makes hardly two, an enemy could make a search endless


class Vocabulary(dict[str, int]):
    """A dictionary in which every string asked for gets the next free number."""

    def __missing__(self, string: str) -> int:
        self[string] = number = len(self)
        return number

    def freeze(self) -> tuple[StringTable, np.ndarray]:
        """The table, and for each number given out the string's id in it."""
        return StringTable.build(list(self))


class StringTable:
    """An immutable set of strings; a string's id is its place in the order of the hashes."""

    def __init__(self, blob: np.ndarray, lengths: np.ndarray) -> None:
        self.blob = blob  # (bytes,) uint8
        self.lengths = lengths  # (strings,)
        self.ends = np.cumsum(lengths, dtype=np.int64)  # (strings,)
        self.starts = self.ends - lengths

    @cached_property
    def hashes(self) -> np.ndarray:
        """(strings,) ascending"""
        return hashes(self.blob, self.starts, self.ends)

    @classmethod
    def build(cls, strings: Sequence[str]) -> tuple[StringTable, np.ndarray]:
        """The table of distinct strings, and the id of each of them."""
        blob, lengths = encode(strings)
        ends = np.cumsum(lengths)
        keys = hashes(blob, ends - lengths, ends)
        order = np.argsort(keys, kind="stable")
        ids = np.empty(len(strings), np.int64)
        ids[order] = np.arange(len(strings))
        return cls(*encode([strings[i] for i in order.tolist()])), ids

    def __len__(self) -> int:
        return len(self.ends)

    def __getitem__(self, i: int) -> str:
        return self.blob[self.starts[i] : self.ends[i]].tobytes().decode("utf-8", "surrogatepass")

    def strings(self) -> list[str]:
        return [self[i] for i in range(len(self))]

    def find(self, strings: Sequence[str]) -> np.ndarray:
        """The ids of the strings, -1 for those that are not here."""
        blob, lengths = encode(strings)
        ends = np.cumsum(lengths)
        starts = ends - lengths
        keys = hashes(blob, starts, ends)
        found = np.full(len(strings), -1)
        place = np.searchsorted(self.hashes, keys)
        open_ = np.arange(len(strings))  # not yet decided; more than one round only where hashes collide
        while open_.size:
            open_ = open_[place[open_] < len(self)]
            open_ = open_[self.hashes[place[open_]] == keys[open_]]
            at = place[open_]
            same = self.lengths[at] == lengths[open_]
            same[same] = equal(self.blob, self.starts[at[same]], blob, starts[open_[same]], lengths[open_[same]])
            found[open_[same]] = at[same]
            open_ = open_[~same]
            place[open_] += 1
        return found

    def arrays(self, name: str) -> Arrays:
        return {f"{name}.blob": self.blob, f"{name}.lengths": narrow(self.lengths)}

    @classmethod
    def restore(cls, archive: Archive, name: str) -> StringTable:
        blob, lengths = archive.take(f"{name}.blob", "b", None), archive.take(f"{name}.lengths", "u", None)
        archive.check(adds_up(lengths, len(blob)), f"the strings {name!r} do not fill their blob")
        table = cls(blob, lengths.astype(np.int64))
        archive.check(is_text(blob, table.starts), f"the strings {name!r} are not UTF-8")
        sorted_, far = (np.diff(table.hashes) >= 0).all(), table.hashes[COLLIDING:] > table.hashes[:-COLLIDING]
        archive.check(bool(sorted_ and far.all()), f"the strings {name!r} are not in the order of their hashes")
        return table


def is_text(blob: np.ndarray, starts: np.ndarray) -> bool:
    """Whether the blob is UTF-8, and each string begins where a letter begins."""
    try:
        blob.tobytes().decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return False
    begins = np.append(blob & 0xC0 != 0x80, True)  # an empty string may begin at the end
    return bool(begins[starts].all())


def encode(strings: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """All strings in one blob of bytes, and the length of each."""
    blob = np.frombuffer("".join(strings).encode("utf-8", "surrogatepass"), np.uint8)
    letters = np.fromiter(map(len, strings), np.int64, len(strings))
    if letters.sum() == len(blob):
        return blob, letters
    begins = np.append(np.flatnonzero(blob & 0xC0 != 0x80), len(blob))  # of each letter, a byte that continues none
    return blob, np.diff(begins[np.cumsum(letters)], prepend=0)


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


def equal(a: np.ndarray, a_starts: np.ndarray, b: np.ndarray, b_starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Whether each piece of blob `a` equals the piece of blob `b` of the same length."""
    inside = ranges(lengths)
    differ = a[np.repeat(a_starts, lengths) + inside] != b[np.repeat(b_starts, lengths) + inside]
    wrong = np.concatenate([[0], np.cumsum(differ)])
    ends = np.cumsum(lengths)
    return np.asarray(wrong[ends] == wrong[ends - lengths])
