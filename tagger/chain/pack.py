"""`Pack`: sentences sorted by length and laid out step by step, so that every recursion runs on whole slices.

All first tokens come first, then all second tokens, and so on; within a step the longest sentence comes first. So at
step t the sentences still alive are a prefix of those alive at t-1, and one step of a recursion is one operation on
two contiguous slices: no padding, no masks, and a sentence of one token is nothing special.

    length 3:  a1 a2 a3
    length 2:  b1 b2          rows:  a1 b1 c1 | a2 b2 | a3      sizes 3 2 1, starts 0 3 5
    length 1:  c1

A sentence of length zero has a rank (the last ones) and no rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from tagger.arrays.caching import cached_property

SHARED_LENGTH = 256  # sentences of up to this length share the layout of a pack of one
PACK_TOKENS = 16384  # keeps both BLAS and the cache busy; 4,000 was slower


@dataclass(frozen=True)
class Pack:
    """The layout of B sentences with N tokens in all. The rank of a sentence is its place by falling length."""

    order: np.ndarray  # (B,) the sentence at each rank, as an index into the lengths given
    lengths: np.ndarray  # (B,) by rank, falling
    sizes: np.ndarray  # (T,) sentences alive at each step
    starts: np.ndarray  # (T,) first row of each step
    ranks: np.ndarray  # (N,) the rank that each row belongs to
    tokens: np.ndarray  # (N,) each row's place in the concatenation of the sentences in their given order
    last: np.ndarray  # (ranks with tokens,) row of each sentence's last token
    before: np.ndarray  # (N - sizes[0],) row of the token before, for each row from starts[1] on

    @classmethod
    def of(cls, lengths: Sequence[int] | np.ndarray) -> Pack:
        """Lay out sentences of these lengths."""
        return (
            pack_of_one(int(lengths[0])) if len(lengths) == 1 and lengths[0] <= SHARED_LENGTH else cls.laid_out(lengths)
        )

    @classmethod
    def laid_out(cls, lengths: Sequence[int] | np.ndarray) -> Pack:
        """Lay out sentences as `of` does."""
        given = np.asarray(lengths, np.int64)
        order = np.argsort(-given, kind="stable")
        falling = given[order]
        steps = int(falling[0]) if len(falling) else 0
        sizes = np.searchsorted(-falling, -np.arange(steps), side="left")  # how many are longer than t
        starts = np.cumsum(sizes) - sizes
        step = np.repeat(np.arange(steps), sizes)  # (N,)
        ranks = np.arange(len(step)) - starts[step]
        begins = np.cumsum(given) - given
        filled = falling[falling > 0]
        first = int(sizes[0]) if steps else 0
        return cls(
            order=order,
            lengths=falling,
            sizes=sizes,
            starts=starts,
            ranks=ranks,
            tokens=begins[order][ranks] + step,
            last=starts[filled - 1] + np.arange(len(filled)),
            before=starts[step[first:] - 1] + ranks[first:],
        )

    @property
    def first(self) -> int:
        """Number of sentences that have tokens, and so of rows that begin one."""
        return len(self.last)

    @cached_property
    def rank_of(self) -> np.ndarray:
        """Rank of each sentence, (B,): `by_rank[pack.rank_of]` is in the order the sentences were given."""
        return np.argsort(self.order)

    def steps(self) -> Iterator[tuple[slice, slice]]:
        """Yield for each step after the first the rows of the tokens before and the rows of the step."""
        starts, sizes = self.starts.tolist(), self.sizes.tolist()
        for t in range(1, len(sizes)):
            yield slice(starts[t - 1], starts[t - 1] + sizes[t]), slice(starts[t], starts[t] + sizes[t])

    def sums(self, values: np.ndarray) -> np.ndarray:
        """Sum values (N,) over each sentence, in float64, (B,)."""
        sums = np.bincount(self.ranks, weights=values, minlength=len(self.order))
        return sums.astype(np.float64, copy=False)  # of nothing at all, bincount makes integers

    def unpack(self, packed: np.ndarray) -> np.ndarray:
        """Reorder rows to the order in which the sentences were given."""
        out = np.empty_like(packed)
        out[self.tokens] = packed
        return out


@lru_cache(maxsize=SHARED_LENGTH)
def pack_of_one(length: int) -> Pack:
    """Lay out one sentence; nothing writes to a pack, so sentences of one length share theirs."""
    return Pack.laid_out([length])


def batches(lengths: Sequence[int] | np.ndarray, tokens: int = PACK_TOKENS) -> list[np.ndarray]:
    """Group sentences of similar length, about `tokens` tokens a group; return the indices of each group."""
    given = np.asarray(lengths, np.int64)
    if len(given) == 1:
        return [np.zeros(1, np.int64)]
    order = np.argsort(-given, kind="stable")
    before = np.cumsum(given[order]) - given[order]
    groups = max(1, round(given.sum() / tokens))
    cuts = np.searchsorted(before, given.sum() * np.arange(1, groups) / groups)
    return [part for part in np.split(order, cuts) if len(part)]
