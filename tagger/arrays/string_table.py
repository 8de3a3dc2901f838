"""Immutable table of strings and their ids, in the layout of model files.

The table is one UTF-8 blob with the length of each string. The strings are sorted by a stable 64-bit hash; a string is
found by its hash (`HashIndex`) and verified in the blob, many strings at a time. So loading a model builds no
dictionary of a million Python strings. (While a model is fitted, `words.vocabulary` assigns ids.)
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from tagger.arrays.caching import cached_property
from tagger.arrays.hash_index import HashIndex
from tagger.arrays.keyed import stable_order
from tagger.arrays.npz import Archive, Arrays, narrow
from tagger.arrays.ragged import sums_to
from tagger.arrays.string_spans import SPANS_TOGETHER, ByteStrings, StringSpans, hash_of

FEW_STRINGS = 8  # that are looked up one by one
MAX_COLLISIONS = 8  # strings of one hash: rarely 2 by chance; a hostile file could make every search long


class StringTable:
    """An immutable set of strings; the id of a string is its rank by hash."""

    def __init__(self, encoded: ByteStrings, hashes: np.ndarray) -> None:
        self.encoded = encoded  # one after the other
        self.hashes = hashes  # (strings,) ascending

    @cached_property
    def index(self) -> HashIndex:
        """Search index over the hashes."""
        return HashIndex(self.hashes)

    @classmethod
    def build(cls, strings: Sequence[str] | StringSpans | ByteStrings) -> tuple[StringTable, np.ndarray]:
        """Build the table of distinct strings, and return it with the id of each string."""
        encoded = strings if isinstance(strings, ByteStrings) else as_spans(strings).encoded()
        order = stable_order(encoded.hashes)
        ids = np.empty(len(order), np.int64)
        ids[order] = np.arange(len(order))
        return cls(encoded.take(order).compact(), encoded.hashes[order]), ids

    @classmethod
    def union(cls, tables: Sequence[StringTable]) -> tuple[StringTable, list[np.ndarray]]:
        """Build the table of the strings of several tables; return it, and the ids in it of each table's strings."""
        every = ByteStrings.joined([table.encoded for table in tables])
        keys = np.concatenate([table.hashes for table in tables])
        order = np.argsort(keys, kind="stable")
        repeated = np.flatnonzero(keys[order[1:]] == keys[order[:-1]])  # as the one before
        parts = np.array_split(repeated, 1 + len(repeated) // SPANS_TOGETHER)
        if not all(every.equal(order[part + 1], every, order[part]).all() for part in parts):  # strings of one hash
            strings = [string for table in tables for string in table.strings()]
            union, _ = cls.build(list(dict.fromkeys(strings)))
            return union, [union.find(table.strings()) for table in tables]
        is_new = np.ones(len(order), bool)
        is_new[repeated + 1] = False
        ids = np.empty(len(order), np.int64)
        ids[order] = np.cumsum(is_new) - 1
        firsts = order[is_new]
        union = cls(every.take(firsts).compact(), keys[firsts])
        return union, np.split(ids, np.cumsum([len(table) for table in tables])[:-1])

    def __len__(self) -> int:
        return len(self.hashes)

    def __getitem__(self, i: int) -> str:
        start, end = self.encoded.starts[i], self.encoded.ends[i]
        return self.encoded.blob[start:end].tobytes().decode("utf-8", "surrogatepass")

    def strings(self) -> list[str]:
        """Return all strings, by id."""
        return [self[i] for i in range(len(self))]

    def taken(self, ids: np.ndarray) -> StringTable:
        """Return the table of the strings with these ascending ids."""
        return StringTable(self.encoded.take(ids).compact(), self.hashes[ids])

    def find(self, strings: Sequence[str] | StringSpans) -> np.ndarray:
        """Return the id of each string, -1 for absent strings."""
        if len(strings) <= FEW_STRINGS and not isinstance(strings, StringSpans):
            return np.array([self.find_one(string) for string in strings], np.int64)
        spans = as_spans(strings)
        encoded = spans.encoded()
        keys = encoded.hashes
        ids = np.full(len(spans), -1, np.int64)
        candidate = self.index.find(keys)  # the first id with a hash not smaller
        undecided = np.flatnonzero(spans.present)  # more than one round only where hashes collide
        while undecided.size:
            undecided = undecided[candidate[undecided] < len(self)]
            undecided = undecided[self.hashes[candidate[undecided]] == keys[undecided]]
            same = encoded.equal(undecided, self.encoded, candidate[undecided])
            ids[undecided[same]] = candidate[undecided[same]]
            undecided = undecided[~same]
            candidate[undecided] += 1
        return ids

    def ids_of(self, table: StringTable) -> np.ndarray:
        """Return the id of each string of another table, -1 for absent strings."""
        if not len(self):
            return np.full(len(table), -1, np.int64)
        ids = np.minimum(np.searchsorted(self.hashes, table.hashes), len(self) - 1)
        likely = np.flatnonzero(self.hashes[ids] == table.hashes)
        if not self.encoded.equal(ids[likely], table.encoded, likely).all():  # strings of one hash
            return self.find(table.strings())
        matches = np.full(len(table), -1, np.int64)
        matches[likely] = ids[likely]
        return matches

    def find_one(self, string: str) -> int:
        """Return the id of a string, -1 if it is absent; for a few strings faster than arrays are."""
        encoded = string.encode("utf-8", "surrogatepass")
        key, blob, starts, ends = hash_of(encoded), self.encoded.blob, self.encoded.starts, self.encoded.ends
        i = self.index.find_one(key)
        while i < len(self.hashes) and int(self.hashes[i]) == key:  # more than one round only where hashes collide
            if blob[starts[i] : ends[i]].tobytes() == encoded:
                return i
            i += 1
        return -1

    def find_in_any_case(self, strings: Sequence[str]) -> np.ndarray:
        """Return the id of each string, else that of its lower-case form, else -1."""
        ids = self.find(strings)
        missing = np.flatnonzero(ids < 0)
        ids[missing] = self.find([strings[i].lower() for i in missing.tolist()])
        return ids

    def arrays(self, name: str) -> Arrays:
        """Return the arrays to store under names that begin with `name`."""
        return {f"{name}.blob": self.encoded.blob, f"{name}.lengths": narrow(self.encoded.lengths)}

    @classmethod
    def restore(cls, archive: Archive, name: str) -> StringTable:
        """Read a table from a model file."""
        blob, lengths = archive.take(f"{name}.blob", "b", None), archive.take(f"{name}.lengths", "u", None)
        archive.check(sums_to(lengths, len(blob)), f"the strings {name!r} do not fill their blob")
        ends = np.cumsum(lengths, dtype=np.int64)
        encoded = ByteStrings(blob, ends - lengths.astype(np.int64), ends)
        archive.check(is_text(blob, encoded.starts), f"the strings {name!r} are not UTF-8")
        keys = encoded.hashes
        ascending = (keys[1:] >= keys[:-1]).all() and (keys[MAX_COLLISIONS:] > keys[:-MAX_COLLISIONS]).all()
        archive.check(bool(ascending), f"the strings {name!r} are not in the order of their hashes")
        return cls(encoded, keys)


def is_text(blob: np.ndarray, starts: np.ndarray) -> bool:
    """Return whether the blob is UTF-8, and each string begins with the first byte of a code point; part by part."""
    begins = starts[::SPANS_TOGETHER].tolist()
    for number, (begin, end) in enumerate(pairwise([*begins, len(blob)])):
        part, own = blob[begin:end], starts[number * SPANS_TOGETHER : (number + 1) * SPANS_TOGETHER] - begin
        try:
            part.tobytes().decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            return False
        is_first = np.append(part & 0xC0 != 0x80, True)  # an empty string may begin at the end
        if not is_first[own].all():
            return False
    return True


def as_spans(strings: Sequence[str] | StringSpans) -> StringSpans:
    """Return the argument as spans."""
    return strings if isinstance(strings, StringSpans) else StringSpans.of(strings)
