"""The levels of a spelling model: tag counts of descriptions, from general to specific.

A description has a key, a hash of 32 bits (`affixes.shorten_keys`); files of formats 1 and 2 have 64. A file
stores the gaps between ascending keys, byte by byte: first the lowest byte of each gap, last the highest. The lower
bytes are random, the higher ones mostly 0, and apart they compress best.

Each level smooths the counts of its descriptions towards the level above (`guesser` has the formula).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tagger.arrays.caching import cached_property
from tagger.arrays.keyed import find_keys, stable_order
from tagger.arrays.npz import MIN_POSITIVE, Archive, Arrays
from tagger.arrays.ragged import RaggedRows, sums_to
from tagger.hmm.affixes import NO_KEY, shorten_keys
from tagger.hmm.smoothing import best_kappa, smooth

SpellingKeys = list[np.ndarray]  # the descriptions (words,) of words by one spelling model, from general to specific


@dataclass(frozen=True)
class Level:
    """One level of a spelling model: sparse tag counts of its descriptions, and κ for the level above."""

    keys: np.ndarray  # (descriptions,) ascending: uint32, or uint64 from older files
    rows: RaggedRows
    counts: np.ndarray  # of each entry
    kappa: float

    @cached_property
    def totals(self) -> np.ndarray:
        """The sums of the counts (descriptions + 1,); the last is 0, for an unseen description."""
        return np.append(np.bincount(self.rows.owners, weights=self.counts, minlength=len(self.keys)), 0.0)

    def find(self, keys: np.ndarray) -> np.ndarray:
        """Return the description of each key of 64 bits (words,), -1 where there is none."""
        short = self.keys.dtype == np.uint32
        return find_keys(self.keys, shorten_keys(keys) if short else keys)  # NO_KEY is never among the keys

    def shortened(self) -> Level:
        """Return the level with keys of 32 bits. Of descriptions that then share a key, only one is kept."""
        # Sorting numbers of 64 bits, the key and then the place, is faster than an argsort.
        places, bits = np.arange(len(self.keys), dtype=np.uint64), np.uint64(32)
        numbers = np.sort(shorten_keys(self.keys).astype(np.uint64) << bits | places)
        keys = (numbers >> bits).astype(np.uint32)
        kept = changes(keys)
        entries, widths = self.rows.entries(numbers[kept].astype(np.uint32).astype(np.int64))
        return Level(keys[kept], RaggedRows(widths, self.rows.tags[entries]), self.counts[entries], self.kappa)

    def refine(self, P: np.ndarray, scale: np.ndarray, keys: np.ndarray, own_shares: np.ndarray | None = None) -> None:
        """Smooth in place: scale (words,) · P (words, K) goes in as the level above, and comes out as this level.

        `own_shares` (words, K) is subtracted from the counts. With count their sum, 0 for an unseen description:

            (counts + κ · scale · P) / (count + κ)  =  (scale · κ / (count + κ)) · (P + counts / (scale · κ))

        The right side changes P only at the sparse counts.
        """
        entries, owners = self.rows.known_entries(self.find(keys))
        cells, counts = owners * P.shape[1] + self.rows.tags[entries], self.counts[entries].astype(float)
        if own_shares is not None:
            counts = np.maximum(counts - own_shares.ravel()[cells], 0.0)
        P.ravel()[cells] += counts / (scale * self.kappa)[owners]
        scale *= self.kappa / (np.bincount(owners, weights=counts, minlength=len(P)) + self.kappa)
        np.maximum(scale, MIN_POSITIVE, out=scale)


def key_arrays(levels: Sequence[Level]) -> Arrays:
    """Return the keys of all levels to store; those of 64 bits as they are."""
    if any(level.keys.dtype != np.uint32 for level in levels):
        return {"guesser.keys": np.concatenate([level.keys for level in levels])}
    gaps = np.concatenate([np.diff(level.keys, prepend=np.uint32(0)) for level in levels])
    return {"guesser.gaps": gaps.astype("<u4").view(np.uint8).reshape(-1, 4).T}


def restore_keys(archive: Archive, sizes: np.ndarray) -> np.ndarray:
    """Read the keys of all levels, of which there are `sizes` (levels,)."""
    message = "expected the keys of its guesser in ascending order, as many as its levels have"
    if archive.has("guesser.keys"):
        keys = archive.take("guesser.keys", "u", None)
        archive.check(sums_to(sizes, len(keys)) and keys.dtype == np.uint64, message)
        return keys
    columns = archive.take("guesser.gaps", "b", 4, None)
    gaps = np.ascontiguousarray(columns.T).view("<u4")[:, 0].astype(np.uint64)
    archive.check(sums_to(sizes, len(gaps)) and bool((gaps > 0).all()), message)
    sums, sizes = np.append(np.uint64(0), np.cumsum(gaps)), sizes.astype(np.int64)
    keys = sums[1:] - np.repeat(sums[np.cumsum(sizes) - sizes], sizes)  # each level begins at 0
    archive.check(int(keys.max(initial=0)) < 1 << 32, message)
    return keys.astype(np.uint32)


def split_levels(
    keys: np.ndarray, sizes: np.ndarray, rows: RaggedRows, counts: np.ndarray, kappas: np.ndarray, levels: np.ndarray
) -> list[list[Level]]:
    """Cut the stored arrays, which hold all levels of all models, into the levels of each spelling model."""
    ends = np.cumsum(sizes)
    every = []
    for begin, end, kappa in zip((ends - sizes).tolist(), ends.tolist(), kappas.tolist(), strict=True):
        inside = slice(int(rows.bounds[begin]), int(rows.bounds[end]))
        of_level = RaggedRows(rows.widths[begin:end], rows.tags[inside])
        every.append(Level(keys[begin:end], of_level, counts[inside], kappa))
    stops = np.cumsum(levels)
    return [every[begin:end] for begin, end in zip((stops - levels).tolist(), stops.tolist(), strict=True)]


def learn_levels(
    keys: SpellingKeys, owners: np.ndarray, tags: np.ndarray, share: np.ndarray, prior: np.ndarray
) -> list[Level]:
    """Learn the levels of one spelling model, from entries (word, tag, share) in ascending order of tags."""
    guess = prior[tags]  # P_{k-1} of each entry's tag, without the entry's word
    levels = []
    for key in keys:
        # A stable sort by key brings the entries of a description together, and those of each of its tags among them.
        order = np.flatnonzero(key[owners] != NO_KEY)
        order = order[stable_order(key[owners[order]])]
        of_entry, tag, mass = key[owners[order]], tags[order], share[order]
        new_key = changes(of_entry)
        new_cell = new_key | changes(tag)
        description, cell = np.cumsum(new_key) - 1, np.cumsum(new_cell) - 1
        total, of_tag = np.bincount(description, weights=mass), np.bincount(cell, weights=mass)
        # The shares of a word sum to 1: without the word a description has 1 less in all.
        left_out = of_tag[cell] - mass, total[description] - 1.0, guess[order]
        kappa = best_kappa(*left_out, mass)
        guess[order] = smooth(*left_out, kappa)
        rows = RaggedRows(np.bincount(description[new_cell]), tag[new_cell])
        levels.append(Level(of_entry[new_key], rows, of_tag.astype(np.float32), kappa).shortened())
    return levels


def changes(numbers: np.ndarray) -> np.ndarray:
    """Return True for each number that differs from the one before; the first does."""
    differs = np.ones(len(numbers), bool)
    differs[1:] = numbers[1:] != numbers[:-1]
    return differs
