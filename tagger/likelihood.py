"""The penalised likelihood of a tagged corpus and its gradient, for a chain whose scores come from features.

    loss(w) = - Σ_sentences log p(tags | words) + l2 · ‖w‖²        p(y | x) = exp s(y) / Z

Only integers and floats here: the corpus has become feature ids. Two ideas make it fast.

*Score each distinct word once.* Most features look at one word at a fixed offset. So there is one table (words × tags)
per offset, and a token's emissions are the sum of one row from each table. Features of several words that were seen
with few tags (*narrow* ones, such as pairs of words) add to the cells of the tokens themselves.

*A weight knows its cells.* Whatever is scored, a table or the tokens of a pack, is a sparse matrix times the weights,
and the gradient is the transposed matrix times what flows back: marginals minus truth, the *residual* (N, K), for a
table summed by row. Its entries shrink as the fit improves, which is why float32 is exact enough for them.

The packs, and the tables, are spread over threads; every sum has a fixed order, so that any number of threads gives
the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csc_array

from tagger.chain import Chain, forward_backward, path_scores
from tagger.features import Features, token_keys, word_keys
from tagger.pack import Pack, batches
from tagger.rows import ranges
from tagger.windows import Windows

NARROW = 0.25  # a template of several words is narrow if its tokens have fewer than this share of all tags


@dataclass(frozen=True)
class Cells:
    """Which weights add up to which cells of an array (rows, K)."""

    params: np.ndarray  # (columns,) ascending
    matrix: csc_array  # (rows · K, columns)

    @classmethod
    def of(
        cls, features: Features, rows: np.ndarray, ids: np.ndarray, shape: tuple[int, int], dtype: np.dtype
    ) -> Cells:
        """Feature ids[i] fires in row rows[i] of an array of that shape; -1 is none."""
        order = np.argsort(ids, kind="stable")[np.count_nonzero(ids < 0) :]
        distinct, first, count = np.unique(ids[order], return_index=True, return_counts=True)
        params, widths = features.rows.entries(distinct)
        first, count = np.repeat(first, widths), np.repeat(count, widths)  # where each parameter fires
        places = rows[order][np.repeat(first, count) + ranges(count)] * shape[1]
        places += np.repeat(features.rows.tags[params], count)
        arrays = (np.ones(len(places), dtype), places, np.append(0, np.cumsum(count)))
        return cls(params, csc_array(arrays, shape=(shape[0] * shape[1], len(params))))

    def scores(self, weights: np.ndarray, K: int) -> np.ndarray:
        """(rows, K)"""
        return np.asarray(self.matrix @ weights[self.params]).reshape(-1, K)

    def gradient(self, residual: np.ndarray) -> np.ndarray:
        """(columns,)"""
        return np.asarray(self.matrix.T @ residual.ravel())


@dataclass(frozen=True)
class Table:
    """A row of scores for each distinct value of something that every token has."""

    index: np.ndarray  # (N,) the row of each token
    sums: csc_array  # (R, N) adds up tokens by row
    cells: Cells  # of (R, K)

    def gradient(self, residual: np.ndarray) -> np.ndarray:
        return self.cells.gradient(self.sums @ residual)


@dataclass(frozen=True)
class PackLoss:
    """-log p of the sentences of a pack, and expected minus observed counts."""

    loss: float
    transitions: np.ndarray  # (K, K)
    starts: np.ndarray  # (K,)
    ends: np.ndarray  # (K,)
    narrow: np.ndarray  # of the pack's narrow features


class Likelihood:
    """Calling it with weights gives the loss and its gradient.

    The weights are laid out as: the parameters of the features, one for each tag bigram seen, K start scores, K end
    scores.
    """

    def __init__(
        self,
        features: Features,
        windows: Windows,
        lengths: np.ndarray,
        tags: np.ndarray,
        K: int,
        l2: float,
        threads: int = 1,
        dtype: Any = np.float32,
    ) -> None:
        self.K, self.l2, self.dtype = K, l2, np.dtype(dtype)
        self.pool = ThreadPoolExecutor(threads) if threads > 1 else None
        groups = batches(lengths)
        self.packs = [Pack.of(lengths[group]) for group in groups]
        begins = np.cumsum(lengths) - lengths
        order = [
            corpus_tokens(pack, begins[group], lengths[group]) for pack, group in zip(self.packs, groups, strict=True)
        ]
        ends = np.cumsum([len(tokens) for tokens in order]).tolist()
        self.rows = [slice(end - len(tokens), end) for end, tokens in zip(ends, order, strict=True)]
        self.tags = tags[np.concatenate(order)]  # (N,) gold tags, in the order of the packs
        self.residual = np.empty((len(self.tags), K), self.dtype)
        self.seen, self.seen_counts = np.unique(self.bigrams(), return_counts=True)  # previous · K + next
        self.features_end = len(features.rows.tags)
        self.size = self.features_end + len(self.seen) + 2 * K
        windows = Windows(windows.words, windows.places[np.concatenate(order)], windows.around)
        self.tables, self.narrow = Builder(features, windows, K, self.dtype, self.rows).build()

    def bigrams(self) -> np.ndarray:
        """previous · K + next of every step in the corpus."""
        steps = [self.steps(i) for i in range(len(self.packs))]
        return np.concatenate([np.empty(0, np.int64), *steps])

    def steps(self, i: int) -> np.ndarray:
        """previous · K + next of every step in pack i."""
        pack, tags = self.packs[i], self.tags[self.rows[i]]
        return np.asarray(tags[pack.before] * self.K + tags[len(pack.last) :])

    def counts(self, feature_counts: np.ndarray) -> np.ndarray:
        """How often each parameter's event was seen, in the layout of the weights."""
        firsts = [self.tags[rows][: len(pack.last)] for pack, rows in zip(self.packs, self.rows, strict=True)]
        lasts = [self.tags[rows][pack.last] for pack, rows in zip(self.packs, self.rows, strict=True)]
        ends = [np.bincount(np.concatenate(tags), minlength=self.K) for tags in (firsts, lasts)]
        return np.concatenate([feature_counts, self.seen_counts, *ends]).astype(np.float64)

    def split(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """The weights of the features, and start (K,), transitions (K, K), end (K,)."""
        w, steps, start, end = np.split(weights, np.cumsum([self.features_end, len(self.seen), self.K]))
        transitions = np.zeros(self.K * self.K)
        transitions[self.seen] = steps
        return w, start, transitions.reshape(self.K, self.K), end

    def __call__(self, weights: np.ndarray) -> tuple[float, np.ndarray]:
        w, *chain_scores = self.split(weights)
        w = w.astype(self.dtype)
        tables = self.map(lambda table: table.cells.scores(w, self.K), self.tables)

        def one_pack(i: int) -> PackLoss:
            return self.pack_loss(i, self.emissions(i, w, tables), *chain_scores)

        packs = self.map(one_pack, range(len(self.packs)))
        gradient = 2 * self.l2 * weights
        for table, found in zip(
            self.tables, self.map(lambda table: table.gradient(self.residual), self.tables), strict=True
        ):
            gradient[table.cells.params] += found
        for narrow, pack in zip(self.narrow, packs, strict=True):
            gradient[narrow.params] += pack.narrow
        steps = sum(pack.transitions for pack in packs).ravel()[self.seen]
        ends = [sum(pack.starts for pack in packs), sum(pack.ends for pack in packs)]
        gradient[self.features_end :] += np.concatenate([steps, *ends])
        return float(sum(pack.loss for pack in packs) + self.l2 * (weights @ weights)), gradient

    def emissions(self, i: int, w: np.ndarray, tables: list[np.ndarray]) -> np.ndarray:
        """(n, K) the scores of the tags at the tokens of pack i."""
        E = self.narrow[i].scores(w, self.K)
        one = np.empty_like(E)
        for table, scores in zip(self.tables, tables, strict=True):
            np.take(scores, table.index[self.rows[i]], axis=0, out=one, mode="clip")
            E += one
        return E

    def pack_loss(self, i: int, E: np.ndarray, start: np.ndarray, transitions: np.ndarray, end: np.ndarray) -> PackLoss:
        """Of pack i with the emissions E (n, K). Leaves its part of the residual behind."""
        pack, rows = self.packs[i], self.rows[i]
        tags = self.tags[rows]
        chain = Chain(pack, start, transitions, end, E)
        posterior = forward_backward(chain)
        residual = self.residual[rows]
        residual[:] = posterior.marginals
        residual[np.arange(len(tags)), tags] -= 1
        observed = np.bincount(self.steps(i), minlength=self.K * self.K).reshape(self.K, self.K)
        return PackLoss(
            loss=float((posterior.log_z - path_scores(chain, tags)).sum()),
            transitions=posterior.transitions - observed,
            starts=residual[: len(pack.last)].sum(axis=0, dtype=np.float64),
            ends=residual[pack.last].sum(axis=0, dtype=np.float64),
            narrow=self.narrow[i].gradient(residual),
        )

    def map(self, function: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
        return list(self.pool.map(function, items) if self.pool else map(function, items))


def corpus_tokens(pack: Pack, begins: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """(n,) each row's token as a number in the whole corpus; `begins` of the pack's sentences there."""
    shifts = begins - (np.cumsum(lengths) - lengths)
    return np.asarray(pack.tokens + shifts[pack.order][pack.ranks])


class Builder:
    """Turns templates into tables and narrow cells, for tokens in the order of the packs."""

    def __init__(self, features: Features, windows: Windows, K: int, dtype: np.dtype, packs: list[slice]) -> None:
        self.features, self.windows, self.K, self.dtype, self.packs = features, windows, K, dtype, packs
        self.values = features.values(windows.words)

    def build(self) -> tuple[list[Table], list[Cells]]:
        """The tables, and for each pack the cells of its narrow features."""
        tables = [self.word_table(offset) for offset in self.features.offsets]
        narrow = [np.empty((0, len(self.windows.places)), np.int64)]
        for t, template in enumerate(self.features.templates):
            if template.offset is None:
                keys = token_keys(template, self.values, self.windows, self.features.radix)
                ids = self.features.ids(t, keys)  # (N,)
                if self.width(ids) < NARROW * self.K:
                    narrow.append(ids[None])
                else:
                    tables.append(self.template_table(t, ids))
        ids = np.concatenate(narrow)  # (narrow templates, N)
        return tables, [self.cells(ids[:, rows]) for rows in self.packs]

    def width(self, ids: np.ndarray) -> float:
        """The mean number of tags that these features add to."""
        return float(self.features.rows.widths[ids[ids >= 0]].sum() / max(1, len(ids)))

    def word_table(self, offset: int) -> Table:
        """All templates that look at the one word at that offset."""
        own = [t for t, template in enumerate(self.features.templates) if template.offset == offset]
        keys = [word_keys(self.features.templates[t], self.values, self.features.radix) for t in own]
        return self.table(
            self.windows.at(offset), [self.features.ids(t, key) for t, key in zip(own, keys, strict=True)]
        )

    def template_table(self, t: int, ids: np.ndarray) -> Table:
        """A row for each feature of the template, and one more for tokens that have none of them."""
        first, end = self.features.bases[t : t + 2].tolist()
        return self.table(np.where(ids < 0, end, ids) - first, [np.append(np.arange(first, end), -1)])

    def table(self, index: np.ndarray, ids: list[np.ndarray]) -> Table:
        """`index` (N,) is the row of each token, `ids` (R,) of each template the feature of each row."""
        R, N = len(ids[0]), len(index)
        sums = csc_array((np.ones(N, self.dtype), index, np.arange(N + 1)), shape=(R, N))
        return Table(index.astype(np.int32), sums, self.cells(np.stack(ids)))

    def cells(self, ids: np.ndarray) -> Cells:
        """`ids` (templates, rows): the features of each row, -1 for none."""
        templates, rows = ids.shape
        return Cells.of(self.features, np.tile(np.arange(rows), templates), ids.ravel(), (rows, self.K), self.dtype)
