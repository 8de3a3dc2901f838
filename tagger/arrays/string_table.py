"""Strings ↔ ids, growing until frozen, then a compact read-only table.

While a model is being fitted, a `Vocabulary` numbers strings as they come. Frozen, it becomes a `StringTable`: one
UTF-8 blob and where each string ends in it. The strings are sorted by a stable 64-bit hash; a string is found by its
hash (`buckets`) and verified in the blob, many strings at a time. So loading a model builds no dictionary of a million
Python strings.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tagger.arrays.caching import cached_property
from tagger.arrays.hash_index import HashIndex
from tagger.arrays.npz import Archive, Arrays, narrow
from tagger.arrays.ragged import sums_to
from tagger.arrays.string_spans import ByteStrings, StringSpans

COLLIDING = 8  # strings of a file with one hash: chance makes hardly two, an enemy could make a search endless


class StringTable:
    """An immutable set of strings; a string's id is its place in the order of the hashes."""

    def __init__(self, written: ByteStrings, hashes: np.ndarray) -> None:
        self.written = written  # one after the other
        self.hashes = hashes  # (strings,) ascending

    @cached_property
    def buckets(self) -> HashIndex:
        return HashIndex(self.hashes)

    @classmethod
    def build(cls, strings: Sequence[str] | StringSpans | ByteStrings) -> tuple[StringTable, np.ndarray]:
        """The table of distinct strings, and the id of each of them."""
        written = strings if isinstance(strings, ByteStrings) else as_spans(strings).encoded()
        order = np.argsort(written.hashes, kind="stable")
        ids = np.empty(len(order), np.int64)
        ids[order] = np.arange(len(order))
        return cls(written.take(order).compact(), written.hashes[order]), ids

    def __len__(self) -> int:
        return len(self.hashes)

    def __getitem__(self, i: int) -> str:
        own = self.written.blob[self.written.starts[i] : self.written.ends[i]]
        return own.tobytes().decode("utf-8", "surrogatepass")

    def strings(self) -> list[str]:
        return [self[i] for i in range(len(self))]

    def taken(self, ids: np.ndarray) -> StringTable:
        """The table of only these strings, given by ascending ids."""
        return StringTable(self.written.take(ids).compact(), self.hashes[ids])

    def find(self, strings: Sequence[str] | StringSpans) -> np.ndarray:
        """The ids of the strings, -1 for those that are not here."""
        pieces = as_spans(strings)
        written = pieces.encoded()
        keys = written.hashes
        found = np.full(len(pieces), -1)
        place = self.buckets.find(keys)
        open_ = np.flatnonzero(pieces.there)  # not yet decided; more than one round only where hashes collide
        while open_.size:
            open_ = open_[place[open_] < len(self)]
            open_ = open_[self.hashes[place[open_]] == keys[open_]]
            same = written.equal(open_, self.written, place[open_])
            found[open_[same]] = place[open_[same]]
            open_ = open_[~same]
            place[open_] += 1
        return found

    def arrays(self, name: str) -> Arrays:
        return {f"{name}.blob": self.written.blob, f"{name}.lengths": narrow(self.written.lengths)}

    @classmethod
    def restore(cls, archive: Archive, name: str) -> StringTable:
        blob, lengths = archive.take(f"{name}.blob", "b", None), archive.take(f"{name}.lengths", "u", None)
        archive.check(sums_to(lengths, len(blob)), f"the strings {name!r} do not fill their blob")
        ends = np.cumsum(lengths, dtype=np.int64)
        written = ByteStrings(blob, ends - lengths.astype(np.int64), ends)
        archive.check(is_text(blob, written.starts), f"the strings {name!r} are not UTF-8")
        keys = written.hashes
        rising = (keys[1:] >= keys[:-1]).all() and (keys[COLLIDING:] > keys[:-COLLIDING]).all()
        archive.check(bool(rising), f"the strings {name!r} are not in the order of their hashes")
        return cls(written, keys)


def is_text(blob: np.ndarray, starts: np.ndarray) -> bool:
    """Whether the blob is UTF-8, and each string begins where a letter begins."""
    try:
        blob.tobytes().decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return False
    begins = np.append(blob & 0xC0 != 0x80, True)  # an empty string may begin at the end
    return bool(begins[starts].all())


def as_spans(strings: Sequence[str] | StringSpans) -> StringSpans:
    return strings if isinstance(strings, StringSpans) else StringSpans.of(strings)
