"""Many strings as spans of one text: cut without copying, hashed with one cumulative sum.

A word has dozens of prefixes, suffixes and other spellings, and each is looked up in a table. As Python strings they
would cost a call each. As spans, two integers each, whole arrays of them are made, hashed and compared at once.

The hash of the bytes b[0..n) is  mix(Σ_i (b[i] + 1) · P^i  mod 2^64).  P is odd and so has an inverse modulo 2^64: the
sum of a span [start, end) is the difference of two cumulative sums of the whole text, times P^-start.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tagger.arrays.caching import cached_property
from tagger.arrays.keyed import first_places
from tagger.arrays.ragged import consecutive, ranges

P = 0x9E3779B97F4A7C15  # odd: 2^64 over the golden ratio
SPANS_TOGETHER = 1 << 14  # hashed and copied together: the work arrays are 8 times as large as their bytes
MIX = 0xBF58476D1CE4E5B9
BITS_64 = (1 << 64) - 1
P_INVERSE = pow(P, -1, 1 << 64)


@dataclass(frozen=True)
class StringSpans:
    """Strings, or None, as spans of a text; a span that ends before its start is None."""

    text: str
    starts: np.ndarray  # (spans,) in code points
    ends: np.ndarray  # (spans,)

    @classmethod
    def of(cls, strings: Sequence[str]) -> StringSpans:
        """Join strings to a text, and return their spans."""
        lengths = np.fromiter(map(len, strings), np.int64, len(strings))
        ends = np.cumsum(lengths)
        return cls("".join(strings), ends - lengths, ends)

    @classmethod
    def of_some(cls, strings: Sequence[str | None]) -> StringSpans:
        """Join strings to a text, and return their spans; None stays None."""
        present = np.array([string is not None for string in strings], bool)
        return cls.of([string or "" for string in strings]).only(present)

    @classmethod
    def of_flags(cls, flags: np.ndarray) -> StringSpans:
        """Return an empty string where a flag is True, and None elsewhere."""
        return cls("", np.zeros(len(flags), np.int64), flags.astype(np.int64) - 1)

    @classmethod
    def where(cls, kept: np.ndarray, text: str, starts: np.ndarray, ends: np.ndarray) -> StringSpans:
        """Return the spans where `kept` (…, spans) is True, row after row, and None elsewhere; the bounds broadcast."""
        return cls(text, np.where(kept, starts, 0).ravel(), np.where(kept, ends, -1).ravel())

    @classmethod
    def joined(cls, several: Sequence[StringSpans]) -> StringSpans:
        """Concatenate spans. A text that some of them share is stored once."""
        texts = {id(spans.text): spans.text for spans in several}
        text_ends = np.cumsum([0, *map(len, texts.values())]).tolist()
        text_starts = dict(zip(texts, text_ends, strict=False))
        shifts = np.repeat([text_starts[id(spans.text)] for spans in several], list(map(len, several))).astype(np.int64)
        starts = np.concatenate([np.empty(0, np.int64), *(spans.starts for spans in several)])
        ends = np.concatenate([np.empty(0, np.int64), *(spans.ends for spans in several)])
        return cls("".join(texts.values()), starts + shifts, ends + shifts)

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def present(self) -> np.ndarray:
        """Boolean mask (spans,): True for strings, False for None."""
        return self.starts <= self.ends

    def only(self, kept: np.ndarray) -> StringSpans:
        """Keep the spans where `kept` is True; the others become None."""
        return StringSpans.where(kept, self.text, self.starts, self.ends)

    def take(self, indices: np.ndarray) -> StringSpans:
        """Return the spans at these indices."""
        return StringSpans(self.text, self.starts[indices], self.ends[indices])

    def split(self, parts: int) -> list[StringSpans]:
        """Divide the spans into parts of one length."""
        bounds = (bound.reshape(parts, len(self) // parts) for bound in (self.starts, self.ends))
        return [StringSpans(self.text, starts, ends) for starts, ends in zip(*bounds, strict=True)]

    def strings(self) -> list[str | None]:
        """Return the spans as Python strings."""
        bounds = zip(self.starts.tolist(), self.ends.tolist(), strict=True)
        return [self.text[start:end] if start <= end else None for start, end in bounds]

    def encoded(self) -> ByteStrings:
        """Encode as UTF-8; None becomes an empty string."""
        blob = np.frombuffer(self.text.encode("utf-8", "surrogatepass"), np.uint8)
        starts, ends = self.starts, np.maximum(self.starts, self.ends)
        if len(blob) > len(self.text):
            offsets = np.append(np.flatnonzero(blob & 0xC0 != 0x80), len(blob))  # first byte of each code point
            starts, ends = offsets[starts], offsets[ends]
        return ByteStrings(blob, starts, ends)


@dataclass(frozen=True)
class ByteStrings:
    """Strings as spans of a blob of UTF-8."""

    blob: np.ndarray  # (bytes,) uint8
    starts: np.ndarray  # (spans,)
    ends: np.ndarray  # (spans,)

    @classmethod
    def of(cls, strings: Sequence[str]) -> ByteStrings:
        """Encode strings, one after the other."""
        return StringSpans.of(strings).encoded()

    @classmethod
    def joined(cls, several: Sequence[ByteStrings]) -> ByteStrings:
        """Concatenate strings, and their blobs."""
        shifts = np.cumsum([0, *(len(strings.blob) for strings in several)]).tolist()
        starts = [strings.starts + shift for strings, shift in zip(several, shifts, strict=False)]
        ends = [strings.ends + shift for strings, shift in zip(several, shifts, strict=False)]
        blob = np.concatenate([strings.blob for strings in several])
        return cls(blob, np.concatenate(starts), np.concatenate(ends))

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def lengths(self) -> np.ndarray:
        """Number of bytes of each string (spans,)."""
        return self.ends - self.starts

    @cached_property
    def hashes(self) -> np.ndarray:
        """Hash of each string (spans,), 64 bits."""
        return hashes(self.blob, self.starts, self.ends)

    def take(self, indices: np.ndarray) -> ByteStrings:
        """Return the strings at these indices."""
        return ByteStrings(self.blob, self.starts[indices], self.ends[indices])

    def compact(self) -> ByteStrings:
        """Copy the strings, one after the other, to a blob that holds nothing else."""
        lengths = self.lengths
        ends = np.cumsum(lengths)
        begins = range(0, max(1, len(lengths)), SPANS_TOGETHER)
        parts = [slice(begin, begin + SPANS_TOGETHER) for begin in begins]  # an index of all bytes would be large
        blob = np.concatenate([self.blob[consecutive(self.starts[part], lengths[part])] for part in parts])
        return ByteStrings(blob, ends - lengths, ends)

    def equal(self, indices: np.ndarray, others: ByteStrings, other_indices: np.ndarray) -> np.ndarray:
        """Return whether each string at `indices` (n,) equals the string of `others` at `other_indices` (n,)."""
        lengths = self.lengths[indices]
        same = lengths == others.lengths[other_indices]
        # Compare the bytes of all pairs of one length at once; a pair is equal if its stretch has no difference.
        lengths, indices, other_indices = lengths[same], indices[same], other_indices[same]
        inside = ranges(lengths)
        own_bytes = self.blob[np.repeat(self.starts[indices], lengths) + inside]
        differs = own_bytes != others.blob[np.repeat(others.starts[other_indices], lengths) + inside]
        differences = np.concatenate([[0], np.cumsum(differs)])
        ends = np.cumsum(lengths)
        same[same] = differences[ends] == differences[ends - lengths]
        return same


def code_points(strings: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return the code points of all strings, string after string, and the length of each string."""
    text = "".join(strings).encode("utf-32-le", "surrogatepass")
    return np.frombuffer(text, "<u4"), np.fromiter(map(len, strings), np.int64, len(strings))


def hashes(blob: np.ndarray, starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Compute the 64-bit hash of each span of a blob; where millions of spans follow one another, part by part."""
    begins = np.arange(0, len(starts), SPANS_TOGETHER)
    if len(begins) < 2 or (starts[1:] < ends[:-1]).any():
        return hashes_of_part(blob, starts, ends)
    parts = [slice(begin, begin + SPANS_TOGETHER) for begin in begins.tolist()]
    bounds = [(int(starts[part][0]), int(ends[part][-1])) for part in parts]
    own = [(blob[a:b], starts[part] - a, ends[part] - a) for part, (a, b) in zip(parts, bounds, strict=True)]
    return np.concatenate([hashes_of_part(*part) for part in own])


def hashes_of_part(blob: np.ndarray, starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Compute the 64-bit hash of each span of a blob, from the sums of its bytes times powers of P."""
    sums = np.zeros(len(blob) + 1, np.uint64)
    np.cumsum((blob + np.uint64(1)) * powers(P, len(blob)), out=sums[1:])
    keys = (sums[ends] - sums[starts]) * powers(P_INVERSE, len(blob) + 1)[starts]
    # mix: shifts and a product, so that every bit of the sum changes the highest bits, by which tables are sorted
    keys ^= keys >> np.uint64(31)
    keys *= np.uint64(MIX)
    return keys ^ (keys >> np.uint64(29))


def hash_of(encoded: bytes) -> int:
    """Compute the hash of one string, as `hashes` does."""
    key, factor = 0, 1
    for byte in encoded:
        key += (byte + 1) * factor
        factor = factor * P & BITS_64
    key &= BITS_64
    key ^= key >> 31
    key = key * MIX & BITS_64
    return key ^ (key >> 29)


def powers(base: int, count: int) -> np.ndarray:
    """Compute base^0, base^1, …, base^(count-1) modulo 2^64."""
    factors = np.full(count, base, np.uint64)
    factors[:1] = 1
    return np.multiply.accumulate(factors)


def distinct(spans: StringSpans) -> tuple[np.ndarray, np.ndarray]:
    """Find the distinct strings: the index of the first span of each, and the id of every span (spans,), -1 for None.

    Spans of one hash are compared byte by byte; those that differ from the first go to another round.
    """
    encoded = spans.encoded()
    keys = encoded.hashes
    firsts: list[np.ndarray] = [np.empty(0, np.int64)]
    ids = np.full(len(spans), -1, np.int64)
    undecided = np.flatnonzero(spans.present)  # more than one round only where hashes collide
    count = 0
    while undecided.size:
        first, inverse = first_places(keys[undecided])
        firsts.append(undecided[first])
        same = encoded.equal(undecided, encoded, undecided[first][inverse])
        ids[undecided[same]] = count + inverse[same]
        count += len(first)
        undecided = undecided[~same]
    return np.concatenate(firsts), ids
