"""Guesses for large tag sets: each word is evaluated only at the tags of its own descriptions.

Of hundreds of tags most are in none of a word's descriptions but the most general ones: its case, shape and length. The
levels of a spelling model (`spelling_levels.Level.refine`) unfold to a sum, whose scale cancels in the pool:

    P_i(tag)   = scale_i · (P_0(tag) + Σ_k w_k · count_k(tag)),        w_k = 1 / (scale_{k-1} · κ_k)
    log P(tag) = a_0 · log P_0(tag) + Σ_i a_i · log(1 + Σ_k w_k · count_k(tag) / P_0(tag)) - log Z

Words with the same general descriptions form a group. A tag without counts in the specific descriptions has the same
sum for all words of a group, so these sums are computed once per group; the specific tags of each word are computed
apart. The result is that of the dense computation, up to rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from tagger.arrays.keyed import find_keys
from tagger.arrays.npz import MIN_POSITIVE
from tagger.arrays.ragged import RaggedRows
from tagger.hmm.spelling_levels import Level

WIDE = 32  # tags; a description with more may be general, all others are specific


@dataclass(frozen=True)
class OwnShares:
    """The share of each tag in the tokens of each word, by entry (word, tag, share); words ascend."""

    owners: np.ndarray
    tags: np.ndarray
    shares: np.ndarray

    @classmethod
    def none(cls) -> OwnShares:
        """Return the shares of unknown words."""
        return cls(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))

    def dense(self, words: int, K: int) -> np.ndarray:
        """Return the shares as an array (words, K)."""
        out = np.zeros((words, K))
        out[self.owners, self.tags] = self.shares
        return out

    def block(self, begin: int, end: int) -> OwnShares:
        """Return the entries of the words from `begin` to `end`, which are numbered from 0 again."""
        inside = slice(*np.searchsorted(self.owners, [begin, end]).tolist())
        return OwnShares(self.owners[inside] - begin, self.tags[inside], self.shares[inside])


@dataclass(frozen=True)
class SparseGuess:
    """P(tag) of words: `P` at the tags of `rows`, at all others share · base of the word's group."""

    rows: RaggedRows
    P: np.ndarray  # (entries,)
    groups: np.ndarray  # (words,)
    base: np.ndarray  # (groups, K)
    share: np.ndarray  # (words,)

    def dense(self) -> np.ndarray:
        """Return P (words, K)."""
        P = self.base[self.groups]
        P *= self.share[:, None]
        P[self.rows.owners, self.rows.tags] = self.P
        return P


@dataclass(frozen=True)
class GeneralCounts:
    """The counts of the general descriptions of one level."""

    model: int
    table: np.ndarray  # (lines, K)
    lines: np.ndarray  # (words,)
    has_counts: np.ndarray  # (lines,)
    w: np.ndarray  # (words,)


@dataclass
class SparsePool:
    """The sums of a block of words; a *cell* is the number word · K + tag."""

    prior: np.ndarray  # (K,) P_0
    weights: np.ndarray  # (1 + models,) a
    own: OwnShares  # subtracted from all counts
    words: int
    own_cells: np.ndarray = field(init=False)  # (own entries,) ascending
    is_specific: np.ndarray = field(init=False)  # (words · K,)
    specific: list[list[tuple[np.ndarray, np.ndarray]]] = field(init=False)  # of each model: cells, w · counts
    general: list[GeneralCounts] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        self.own_cells = self.own.owners * len(self.prior) + self.own.tags
        self.is_specific = np.zeros(self.words * len(self.prior), bool)
        self.is_specific[self.own_cells] = True
        self.specific = [[] for _ in self.weights[1:]]

    def add_model(self, model: int, levels: Sequence[Level], found: Sequence[np.ndarray], general: int) -> None:
        """Add the counts of the levels of one spelling model, from general to specific.

        `found` (words,) are the words' descriptions at each level, -1 for none. Wide ones of the first `general` levels
        are general.
        """
        scale = np.ones(self.words)
        for k, (level, index) in enumerate(zip(levels, found, strict=True)):
            w, total = 1 / (scale * level.kappa), np.zeros(self.words)
            if k < general:
                widths = np.where(index >= 0, level.rows.bounds[index + 1] - level.rows.bounds[index], 0)
                wide = np.where(widths > WIDE, index, -1)
                index = np.where(widths > WIDE, -1, index)
                total += self.add_general(model, level, wide, w)
            total += self.add_specific(model, level, index, w)
            scale *= level.kappa / (total + level.kappa)
            np.maximum(scale, MIN_POSITIVE, out=scale)

    def add_general(self, model: int, level: Level, index: np.ndarray, w: np.ndarray) -> np.ndarray:
        """Add general descriptions; return the sum of the counts of each word (words,)."""
        distinct, lines = np.unique(index, return_inverse=True)
        table = np.zeros((len(distinct), len(self.prior)))
        entries, owners = level.rows.known_entries(distinct)
        table[owners, level.rows.tags[entries]] = level.counts[entries]
        self.general.append(GeneralCounts(model, table, lines, distinct >= 0, w))
        own = self.own
        return self.without_own(level.totals[index], slice(None), table[lines[own.owners], own.tags])

    def add_specific(self, model: int, level: Level, index: np.ndarray, w: np.ndarray) -> np.ndarray:
        """Add specific descriptions; return the sum of the counts of each word (words,)."""
        present = np.flatnonzero(index >= 0)
        if not len(present):
            return np.zeros(self.words)
        entries, widths = level.rows.entries(index[present])
        cells = np.repeat(present * len(self.prior), widths)
        cells += level.rows.tags[entries]
        counts = level.counts[entries].astype(float)
        places = find_keys(cells, self.own_cells)
        known = np.flatnonzero(places >= 0)
        total = self.without_own(level.totals[index], known, counts[places[known]])
        counts[places[known]] = np.maximum(counts[places[known]] - self.own.shares[known], 0.0)
        counts *= np.repeat(w[present], widths)
        self.is_specific[cells] = True
        self.specific[model].append((cells, counts))
        return total

    def without_own(self, totals: np.ndarray, entries: slice | np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Subtract words' own shares, some `entries` of them, from the sums of counts (words,); none falls below 0."""
        subtracted = np.minimum(counts, self.own.shares[entries])
        return np.maximum(totals - np.bincount(self.own.owners[entries], subtracted, self.words), 0.0)

    def groups(self) -> tuple[np.ndarray, np.ndarray]:
        """Group words by their general descriptions: the group of each word, and log P + log Z (groups, K)."""
        groups = np.zeros(self.words, np.int64)
        for general in self.general:
            for column in (general.lines, np.where(general.has_counts[general.lines], general.w, 0.0)):
                distinct, number = np.unique(column, return_inverse=True)
                if len(distinct) > 1:
                    groups = np.unique(groups * len(distinct) + number, return_inverse=True)[1]
        first = np.unique(groups, return_index=True)[1]  # a word of each group
        sums: dict[int, np.ndarray] = {}  # of each model (groups, K)
        for general in self.general:
            counts = general.table[general.lines[first]] * general.w[first, None]
            sums[general.model] = sums.get(general.model, 0.0) + counts
        scores = self.weights[0] * np.log(self.prior)
        return groups, sum((self.weights[1 + i] * np.log1p(sums[i] / self.prior) for i in sums), scores[None])

    def scores_at(self, cells: np.ndarray, owners: np.ndarray, tags: np.ndarray) -> np.ndarray:
        """Compute log P + log Z (cells,) at ascending cells, among which are all specific ones."""
        prior, K = self.prior[tags], len(self.prior)
        places = np.empty(len(self.is_specific), np.int32)
        places[cells] = np.arange(len(cells))
        own_places = places[self.own_cells]
        scores = self.weights[0] * np.log(self.prior)[tags]
        for i, weight in enumerate(self.weights[1:].tolist()):
            of_model = [general for general in self.general if general.model == i]
            if not of_model and not self.specific[i]:
                continue
            sums = np.zeros(len(cells))  # Σ_k w_k · count_k(tag)
            for at, values in self.specific[i]:
                sums[places[at]] += values  # a level has each cell at most once
            for general in of_model:
                counts = general.table.ravel()[general.lines[owners] * K + tags]
                counts[own_places] = np.maximum(counts[own_places] - self.own.shares, 0.0)
                sums += counts * general.w[owners]
            sums /= prior
            sums += 1.0
            scores += weight * np.log(sums, out=sums)
        return scores

    def evaluate(self, width: int) -> SparseGuess:
        """Pool the models. The rows hold the specific tags of each word and the `width` likeliest of its group."""
        K, (groups, scores) = len(self.prior), self.groups()
        width = min(width, K)
        likely = np.argpartition(scores, K - width, axis=1)[:, K - width :]
        self.is_specific[(np.arange(self.words, dtype=np.int64) * K)[:, None] + likely[groups]] = True
        cells = np.flatnonzero(self.is_specific)
        bounds = np.searchsorted(cells, np.arange(self.words + 1, dtype=np.int64) * K)
        owners = np.repeat(np.arange(self.words, dtype=np.int64), np.diff(bounds))
        tags = cells - owners * K
        P = self.scores_at(cells, owners, tags)
        # All numbers are divided by the largest of the word before they are summed to Z.
        highest = scores.max(axis=1)
        base = np.exp(scores - highest[:, None])
        best = np.maximum(np.maximum.reduceat(P, bounds[:-1]), highest[groups])
        P = np.exp(P - best[owners])
        replaced = np.add.reduceat(base.ravel()[groups[owners] * K + tags], bounds[:-1])
        share = np.exp(highest[groups] - best)
        Z = np.add.reduceat(P, bounds[:-1]) + share * np.maximum(base.sum(axis=1)[groups] - replaced, 0.0)
        return SparseGuess(RaggedRows(np.diff(bounds), tags), P / Z[owners], groups, base, share / Z)
