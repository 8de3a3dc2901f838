"""The penalised likelihood of a tagged corpus and its gradient, for a chain whose scores come from features.

    loss(w) = - Σ_sentences log p(tags | words) + l2 · ‖w‖²        p(y | x) = exp s(y) / Z

Only integers and floats here: the corpus has become feature ids. An evaluation has three parts.

1. *Tables.* The features that look at one word make one row of scores per distinct word and offset: `table = X @ W`,
   X sparse (words × features), W the weights (features × tags). Words are far fewer than tokens.
2. *Packs.* A token's emissions are the sum of one row from each table, plus the few cells of its *narrow* features:
   those of several words, which were seen with one or two tags each. Forward–backward then gives the marginals, and
   marginals minus truth is the *residual* (N, K). Its entries shrink as the fit improves, which is why float32 is
   exact enough for them.
3. *Gradient.* The residual flows back the way the scores came: summed per distinct word, then one product with X
   transposed. Narrow features add up their own cells.

Parts 1 and 3 are spread over threads by table, part 2 by pack; every sum has a fixed order, so that any number of
threads gives the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from tagger.chain import Chain, forward_backward, path_scores
from tagger.features import Features, token_keys, word_keys
from tagger.pack import Pack, batches
from tagger.windows import Windows

NARROW = 0.25  # a template of several words whose tokens have fewer than this share of all tags is done cell by cell


@dataclass(frozen=True)
class Table:
    """One row of scores for each distinct value of something a token has; the parameters are `span` of them all."""

    index: np.ndarray  # (N,) the row of each token
    scores: csr_array  # X (R, F): which features each row has
    sums: csr_array  # (R, N): which tokens have each row
    span: slice  # its parameters
    cells: np.ndarray  # (parameters,) feature · K + tag within the span
    K: int

    def rows(self, weights: np.ndarray) -> np.ndarray:
        """(R, K)"""
        W = np.zeros((self.scores.shape[1], self.K), self.scores.dtype)
        W.ravel()[self.cells] = weights[self.span]
        return np.asarray(self.scores @ W)

    def gradient(self, residual: np.ndarray) -> np.ndarray:
        """(parameters,)"""
        return np.take((self.scores.T @ (self.sums @ residual)).ravel(), self.cells)


@dataclass(frozen=True)
class Cells:
    """A narrow template: the cells of (N, K) that its parameters add to. No cell occurs twice."""

    span: slice
    cells: np.ndarray  # row · K + tag, ascending
    params: np.ndarray  # the parameter of each cell
    by_param: np.ndarray  # the same cells, ordered by parameter
    begins: np.ndarray  # where each parameter's cells begin in `by_param`

    def gradient(self, residual: np.ndarray) -> np.ndarray:
        """(parameters,)"""
        return np.add.reduceat(np.take(residual.ravel(), self.by_param), self.begins, dtype=np.float64)


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
        self.groups = batches(lengths)
        self.packs = [Pack.of(lengths[group]) for group in self.groups]
        begins = np.cumsum(lengths) - lengths
        order = np.concatenate(
            [corpus_tokens(pack, begins[g], lengths[g]) for pack, g in zip(self.packs, self.groups, strict=True)]
        )
        ends = np.cumsum([pack.ranks.size for pack in self.packs])
        self.rows = [slice(int(end) - pack.ranks.size, int(end)) for end, pack in zip(ends, self.packs, strict=True)]
        self.tags = tags[order]  # (N,) gold tags, in the order of the packs
        self.pool = ThreadPoolExecutor(threads) if threads > 1 else None
        self.residual = np.empty((len(order), K), self.dtype)

        values = features.values(windows.words)
        parts = Builder(features, windows, values, order, K, self.dtype)
        self.tables = [parts.word_table(offset) for offset in features.offsets]
        several = [parts.token_template(t) for t, template in enumerate(features.templates) if template.offset is None]
        self.tables += [part for part in several if isinstance(part, Table)]
        self.narrow = [part for part in several if isinstance(part, Cells)]

        self.seen = np.unique(self.bigrams())  # previous · K + next
        self.features_end = len(features.rows.tags)
        self.size = self.features_end + len(self.seen) + 2 * K

    def bigrams(self) -> np.ndarray:
        """previous · K + next of every step in the corpus."""
        found = [np.empty(0, np.int64)]
        for pack, rows in zip(self.packs, self.rows, strict=True):
            tags = self.tags[rows]
            found.append(tags[pack.before] * self.K + tags[len(tags) - len(pack.before) :])
        return np.concatenate(found)

    def counts(self, feature_counts: np.ndarray) -> np.ndarray:
        """How often each parameter's event was seen, in the layout of the weights."""
        steps = np.bincount(np.searchsorted(self.seen, self.bigrams()), minlength=len(self.seen))
        firsts = np.concatenate([self.tags[rows][: len(p.last)] for p, rows in zip(self.packs, self.rows, strict=True)])
        lasts = np.concatenate([self.tags[rows][p.last] for p, rows in zip(self.packs, self.rows, strict=True)])
        ends = [np.bincount(tags, minlength=self.K) for tags in (firsts, lasts)]
        return np.concatenate([feature_counts, steps, *ends]).astype(np.float64)

    def split(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """The weights of the features, and start (K,), transitions (K, K), end (K,)."""
        w, steps, start, end = np.split(weights, np.cumsum([self.features_end, len(self.seen), self.K]))
        transitions = np.zeros(self.K * self.K)
        transitions[self.seen] = steps
        return w, start, transitions.reshape(self.K, self.K), end

    def __call__(self, weights: np.ndarray) -> tuple[float, np.ndarray]:
        w, *chain_scores = self.split(weights)
        w = w.astype(self.dtype)
        tables = self.map(lambda table: table.rows(w), self.tables)

        def one_pack(i: int) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
            return self.pack_loss(i, w, tables, *chain_scores)

        losses, transitions, starts, ends = zip(*self.map(one_pack, range(len(self.packs))), strict=True)
        gradient = np.empty(self.size)
        parts: list[Table | Cells] = [*self.tables, *self.narrow]
        for part, found in zip(parts, self.map(lambda part: part.gradient(self.residual), parts), strict=True):
            gradient[part.span] = found
        gradient[self.features_end :] = np.concatenate([sum(transitions).ravel()[self.seen], sum(starts), sum(ends)])
        gradient += 2 * self.l2 * weights
        return float(sum(losses) + self.l2 * (weights @ weights)), gradient

    def pack_loss(
        self,
        i: int,
        w: np.ndarray,
        tables: list[np.ndarray],
        start: np.ndarray,
        transitions: np.ndarray,
        end: np.ndarray,
    ) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
        """-log p of pack i, and expected minus observed: transitions, starts, ends. Leaves its part of the residual."""
        pack, rows = self.packs[i], self.rows[i]
        tags = self.tags[rows]
        chain = Chain(pack, start, transitions, end, self.emissions(rows, w, tables))
        posterior = forward_backward(chain)
        residual = self.residual[rows]
        residual[:] = posterior.marginals
        residual[np.arange(len(tags)), tags] -= 1
        first = len(pack.last)
        steps = tags[pack.before] * self.K + tags[first:]
        observed = np.bincount(steps, minlength=self.K * self.K).reshape(self.K, self.K)
        return (
            float((posterior.log_z - path_scores(chain, tags)).sum()),
            posterior.transitions - observed,
            residual[:first].sum(axis=0, dtype=np.float64),
            residual[pack.last].sum(axis=0, dtype=np.float64),
        )

    def emissions(self, rows: slice, w: np.ndarray, tables: list[np.ndarray]) -> np.ndarray:
        """(n, K) the scores of the tags at these rows."""
        E = np.zeros((rows.stop - rows.start, self.K), self.dtype)
        one = np.empty_like(E)
        for table, scores in zip(self.tables, tables, strict=True):
            np.take(scores, table.index[rows], axis=0, out=one, mode="clip")
            E += one
        for narrow in self.narrow:
            begin, end = np.searchsorted(narrow.cells, [rows.start * self.K, rows.stop * self.K])
            cells = narrow.cells[begin:end] - rows.start * self.K
            E.ravel()[cells] += w[narrow.params[begin:end]]
        return E

    def map(self, function: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
        return list(self.pool.map(function, items) if self.pool else map(function, items))


def corpus_tokens(pack: Pack, begins: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """(n,) each row's token as a number in the whole corpus; `begins` of the pack's sentences there."""
    shifts = begins - (np.cumsum(lengths) - lengths)
    return pack.tokens + shifts[pack.order][pack.ranks]


class Builder:
    """Turns templates into tables and cells, for tokens in the order of the packs."""

    def __init__(
        self,
        features: Features,
        windows: Windows,
        values: dict[str, np.ndarray],
        order: np.ndarray,
        K: int,
        dtype: np.dtype,
    ) -> None:
        self.features, self.windows, self.values = features, windows, values
        self.order, self.K, self.dtype = order, K, dtype

    def word_table(self, offset: int) -> Table:
        """All templates that look at the one word at that offset."""
        own = [t for t, template in enumerate(self.features.templates) if template.offset == offset]
        ids = [
            self.features.ids(t, word_keys(self.features.templates[t], self.values, self.features.radix)) for t in own
        ]
        first, end = self.features.bases[own[0]], self.features.bases[own[-1] + 1]
        return self.table(self.windows.at(offset)[self.order], np.stack(ids), int(first), int(end))

    def token_template(self, t: int) -> Table | Cells:
        """A template of several words: as cells where it is narrow, else as a table of its own features."""
        features = self.features
        keys = token_keys(features.templates[t], self.values, self.windows, features.radix)
        ids = features.ids(t, keys)[self.order]  # (N,)
        first, end = int(features.bases[t]), int(features.bases[t + 1])
        rows = np.flatnonzero(ids >= 0)
        params, widths = features.rows.entries(ids[rows])
        if len(params) < NARROW * self.K * len(ids):
            cells = np.repeat(rows * self.K, widths) + features.rows.tags[params]
            span = slice(int(features.rows.bounds[first]), int(features.rows.bounds[end]))
            by_param = np.argsort(params, kind="stable")
            begins = np.searchsorted(params[by_param], np.arange(span.start, span.stop))
            return Cells(span, cells, params.astype(np.int32), cells[by_param], begins)
        index = np.where(ids < 0, end, ids) - first  # the row after the last: no feature
        return self.table(index, np.append(np.arange(first, end), -1)[None], first, end)

    def table(self, index: np.ndarray, ids: np.ndarray, first: int, end: int) -> Table:
        """`ids` (templates, R): the features of each row, numbered from `first` to `end` in all, -1 for none."""
        features = self.features
        _templates, R = ids.shape
        there = ids.T.ravel() >= 0
        scores = csr_array(
            (
                np.ones(there.sum(), self.dtype),
                ids.T.ravel()[there] - first,
                np.append(0, np.cumsum((ids >= 0).sum(axis=0))),
            ),
            shape=(R, end - first),
        )
        tokens = np.argsort(index, kind="stable")
        bounds = np.append(0, np.cumsum(np.bincount(index, minlength=R)))
        sums = csr_array((np.ones(len(index), self.dtype), tokens, bounds), shape=(R, len(index)))
        span = slice(int(features.rows.bounds[first]), int(features.rows.bounds[end]))
        feature = np.repeat(np.arange(end - first), np.diff(features.rows.bounds[first : end + 1]))
        return Table(index.astype(np.int32), scores, sums, span, feature * self.K + features.rows.tags[span], self.K)
