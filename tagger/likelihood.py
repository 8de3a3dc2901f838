"""The penalised likelihood of a tagged corpus and its gradient, for a chain whose scores come from features.

    loss(w) = - Σ_sentences log p(tags | words) + l2 · ‖w‖²        p(y | x) = exp s(y) / Z

Where the tags leave a choice, p is summed over all paths allowed: log Z of those paths minus log Z of all.

Only integers and floats here: the corpus has become feature ids. Two ideas make it fast.

*Score each distinct word once.* Most features look at one word at a fixed offset. So there is one table (words × tags)
per offset, and a token's emissions are the sum of one row from each table. Features of several words that were seen
with few tags (*narrow* ones, such as pairs of words) add to the cells of the tokens themselves, wide ones (such as
pairs of shapes) have tables of their own.

*A weight knows its cells.* Whatever is scored, a table or the tokens of a pack, is a sparse matrix times the weights,
and the gradient is the transposed matrix times what flows back: marginals minus truth, the *residual* (N, K), for a
table summed by row. Its entries shrink as the fit improves, which is why float32 is exact enough for them.

The packs, and the tables, are spread over threads; every sum has a fixed order, so that any number of threads gives
the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import csc_array

from tagger.chain import Chain, forward_backward, path_scores
from tagger.features import Features, token_keys, word_keys
from tagger.pack import Pack, batches
from tagger.partial import OPEN, Choices
from tagger.rows import ranges
from tagger.windows import MARKS, Windows

NARROW = 0.15  # a template is narrow if the features it gives have fewer than this share of all tags


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
        places = rows[order].astype(index_type(shape))[np.repeat(first, count) + ranges(count)]
        places *= shape[1]
        places += np.repeat(features.rows.tags[params], count).astype(places.dtype)
        arrays = (np.ones(len(places), dtype), places, np.append(0, np.cumsum(count)))
        return cls(params, csc_array(arrays, shape=(shape[0] * shape[1], len(params))))

    def scores(self, weights: np.ndarray, K: int) -> np.ndarray:
        """(rows, K)"""
        return np.asarray(self.matrix @ weights[self.params]).reshape(-1, K)

    def gradient(self, residual: np.ndarray) -> np.ndarray:
        """(columns,)"""
        return np.asarray(self.matrix.T @ residual.ravel())


def index_type(shape: tuple[int, int]) -> Any:
    return np.int32 if shape[0] * shape[1] < 2**31 else np.int64


@dataclass(frozen=True)
class Table:
    """A row of scores for each distinct value of something that every token has, or every row of another table.

    Its cells come from its narrow features. A wide one, such as the last letter of a word, is better off with a small
    table of its own (letters × tags) from which the rows of this one are added up: those are the `inner` tables.
    """

    index: np.ndarray  # (N,) the row of each token
    sums: csc_array  # (R, N) adds up tokens by row
    cells: Cells  # of (R, K)
    inner: list[Table]

    def scores(self, weights: np.ndarray, K: int) -> np.ndarray:
        """(R, K)"""
        out = self.cells.scores(weights, K)
        for table in self.inner:
            out += np.take(table.scores(weights, K), table.index, axis=0)
        return out

    def add_gradient(self, residual: np.ndarray, gradient: np.ndarray) -> None:
        """Add to the gradient what the residual (N, K) says of the weights of this table."""
        by_row = self.sums @ residual
        gradient[self.cells.params] += self.cells.gradient(by_row)
        for table in self.inner:
            table.add_gradient(by_row, gradient)


@dataclass(frozen=True)
class PackLoss:
    """-log p of the sentences of a pack, and expected minus observed counts."""

    loss: float
    transitions: np.ndarray  # (K, K)
    starts: np.ndarray  # (K,)
    ends: np.ndarray  # (K,)
    narrow: np.ndarray  # of the pack's narrow features


@dataclass(frozen=True)
class Corpus:
    """A tagged corpus as numbers."""

    features: Features
    values: dict[str, np.ndarray]  # of the functions at the distinct words
    windows: Windows
    lengths: np.ndarray  # (sentences,)
    tags: np.ndarray  # (N,) gold, OPEN where a choice is left
    choices: Choices
    K: int


class Layout:
    """Where each weight lives: first those of the features, then one for each tag bigram seen, K starts, K ends."""

    def __init__(self, corpus: Corpus, feature_counts: np.ndarray, also_seen: np.ndarray | None = None) -> None:
        self.K, self.features_end = corpus.K, len(feature_counts)
        ends = np.cumsum(corpus.lengths)
        bigrams, often = np.unique(seen_bigrams(corpus), return_counts=True)
        self.seen = bigrams if also_seen is None else np.union1d(bigrams, also_seen)  # previous · K + next
        counts = np.zeros(len(self.seen))
        counts[np.searchsorted(self.seen, bigrams)] = often
        firsts, lasts = corpus.tags[ends - corpus.lengths], corpus.tags[ends - 1]
        chain_counts = [counts, *(np.bincount(tags[tags != OPEN], minlength=self.K) for tags in (firsts, lasts))]
        self.counts = np.concatenate([feature_counts, *chain_counts]).astype(np.float64)  # how often each was seen
        self.size = len(self.counts)
        self.centre = np.zeros(self.size)  # the penalty is the distance from here

    def join(self, w: np.ndarray, start: np.ndarray, transitions: np.ndarray, end: np.ndarray) -> np.ndarray:
        """All weights in one; the other way round than `split`."""
        return np.concatenate([w, transitions.ravel()[self.seen], start, end]).astype(np.float64)

    def split(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """The weights of the features, and start (K,), transitions (K, K), end (K,)."""
        w, steps, start, end = np.split(weights, np.cumsum([self.features_end, len(self.seen), self.K]))
        transitions = np.zeros(self.K * self.K)
        transitions[self.seen] = steps
        return w, start, transitions.reshape(self.K, self.K), end


def seen_bigrams(corpus: Corpus) -> np.ndarray:
    """previous · K + next of every step between tags that are said of two neighbours."""
    tokens, tags = corpus.choices.events(corpus.tags)
    begins = np.searchsorted(tokens, np.arange(len(corpus.tags) + 1))  # the events of each token
    widths = np.diff(begins)
    before = np.delete(np.arange(len(corpus.tags)), np.cumsum(corpus.lengths) - 1)  # all but the last tokens
    pairs = widths[before] * widths[before + 1]
    first, second = np.divmod(ranges(pairs), np.repeat(widths[before + 1], pairs))
    first += np.repeat(begins[before], pairs)
    second += np.repeat(begins[before + 1], pairs)
    return np.asarray(tags[first] * corpus.K + tags[second])


class Likelihood:
    """Calling it with weights gives the loss and its gradient.

    With `chosen` sentences only, it estimates them for the whole corpus: the sum over the sentences is scaled up.
    """

    def __init__(
        self,
        corpus: Corpus,
        layout: Layout,
        l2: float,
        threads: int = 1,
        dtype: Any = np.float32,
        chosen: np.ndarray | None = None,
    ) -> None:
        self.K, self.layout, self.l2, self.dtype = corpus.K, layout, l2, np.dtype(dtype)
        self.pool = ThreadPoolExecutor(threads) if threads > 1 else None
        chosen = np.arange(len(corpus.lengths)) if chosen is None else chosen
        groups = [chosen[group] for group in batches(corpus.lengths[chosen])]
        self.packs = [Pack.of(corpus.lengths[group]) for group in groups]
        begins = np.cumsum(corpus.lengths) - corpus.lengths
        tokens = [corpus_tokens(pack, begins[group]) for pack, group in zip(self.packs, groups, strict=True)]
        ends = np.cumsum([len(rows) for rows in tokens]).tolist()
        self.rows = [slice(end - len(rows), end) for end, rows in zip(ends, tokens, strict=True)]
        order = np.concatenate(tokens)  # of the packs' rows, in the corpus
        self.scale = len(corpus.tags) / len(order)
        self.tags = corpus.tags[order]
        self.open = open_rows(corpus.choices, order, self.rows)
        self.residual = np.empty((len(order), self.K), self.dtype)
        windows = Windows(corpus.windows.words, corpus.windows.places[order], corpus.windows.around)
        builder = Builder(corpus.features, corpus.values, windows, self.K, self.dtype, self.rows)
        self.tables, self.narrow = builder.build()

    def __call__(self, weights: np.ndarray) -> tuple[float, np.ndarray]:
        w, *chain_scores = self.layout.split(weights)
        w = w.astype(self.dtype)
        tables = self.map(lambda table: table.scores(w, self.K), self.tables)

        def one_pack(i: int) -> PackLoss:
            return self.pack_loss(i, self.emissions(i, w, tables), *chain_scores)

        packs = self.map(one_pack, range(len(self.packs)))
        gradient = np.zeros(self.layout.size)
        self.map(lambda table: table.add_gradient(self.residual, gradient), self.tables)  # each has its own weights
        for narrow, pack in zip(self.narrow, packs, strict=True):
            gradient[narrow.params] += pack.narrow
        steps = sum(pack.transitions for pack in packs).ravel()[self.layout.seen]
        ends = [sum(pack.starts for pack in packs), sum(pack.ends for pack in packs)]
        gradient[self.layout.features_end :] = np.concatenate([steps, *ends])
        gradient *= self.scale
        distance = weights - self.layout.centre
        gradient += 2 * self.l2 * distance
        loss = self.scale * sum(pack.loss for pack in packs) + self.l2 * (distance @ distance)
        return float(loss), gradient

    def curvature(self, weights: np.ndarray) -> np.ndarray:
        """About the diagonal of the second derivative: Σ p · (1 - p) over the places where each weight counts.

        That is exact if tokens were independent. Of the chain's own weights a tenth of their count is taken.
        """
        self(weights)
        sure = np.abs(self.residual)  # p, or 1 - p where the tag is the true one
        sure *= 1 - sure
        found = 0.1 * self.layout.counts
        found[: self.layout.features_end] = 0.0
        sure *= self.scale
        self.map(lambda table: table.add_gradient(sure, found), self.tables)
        for narrow, rows in zip(self.narrow, self.rows, strict=True):
            found[narrow.params] += narrow.gradient(sure[rows])
        return found + 2 * self.l2

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
        pack = self.packs[i]
        chain = Chain(pack, start, transitions, end, E)
        free = forward_backward(chain)
        residual = self.residual[self.rows[i]]
        residual[:] = free.marginals
        if self.open[i] is None:
            log_z, steps = self.subtract_tags(i, chain, residual)
        else:
            log_z, steps = self.subtract_choices(i, chain, residual)
        return PackLoss(
            loss=float((free.log_z - log_z).sum()),
            transitions=free.transitions - steps,
            starts=residual[: len(pack.last)].sum(axis=0, dtype=np.float64),
            ends=residual[pack.last].sum(axis=0, dtype=np.float64),
            narrow=self.narrow[i].gradient(residual),
        )

    def subtract_tags(self, i: int, chain: Chain, residual: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Take the true tags off the marginals; the scores of the true paths, and their steps (K, K)."""
        pack, tags = self.packs[i], self.tags[self.rows[i]]
        residual[np.arange(len(tags)), tags] -= 1
        steps = np.bincount(tags[pack.before] * self.K + tags[len(pack.last) :], minlength=self.K * self.K)
        return path_scores(chain, tags), steps.reshape(self.K, self.K)

    def subtract_choices(self, i: int, chain: Chain, residual: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The same where choices are left: the chain of the allowed tags takes the place of the one true path."""
        tags = self.tags[self.rows[i]]
        allowed = np.zeros(residual.shape, bool)
        allowed[np.arange(len(tags)), tags] = True  # where the tag is OPEN, overwritten at once
        choice = self.open[i]
        assert choice is not None
        allowed[choice[0]] = choice[1]
        E = np.where(allowed, chain.emissions, self.dtype.type(-np.inf))
        bound = forward_backward(replace(chain, emissions=E))
        residual -= bound.marginals
        return bound.log_z, bound.transitions

    def map(self, function: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
        return list(self.pool.map(function, items) if self.pool else map(function, items))


def open_rows(choices: Choices, order: np.ndarray, packs: list[slice]) -> list[tuple[np.ndarray, np.ndarray] | None]:
    """For each pack the rows whose tag is open and what they may be (rows, K); None where there are none."""
    place = np.full(len(order) and int(order.max()) + 1, -1)
    inside = choices.tokens < len(place)
    place[choices.tokens[inside]] = np.flatnonzero(inside)
    found = []
    for rows in packs:
        choice = place[order[rows]]  # of each row, -1 for none
        own = np.flatnonzero(choice >= 0)
        found.append((own, choices.allowed[choice[own]]) if len(own) else None)
    return found


def corpus_tokens(pack: Pack, begins: np.ndarray) -> np.ndarray:
    """(n,) each row's token as a number in the whole corpus, where its sentences begin at `begins`."""
    steps = np.repeat(np.arange(len(pack.sizes)), pack.sizes)
    return np.asarray(begins[pack.order][pack.ranks] + steps)


class Builder:
    """Turns templates into tables and narrow cells, for tokens in the order of the packs."""

    def __init__(
        self,
        features: Features,
        values: dict[str, np.ndarray],
        windows: Windows,
        K: int,
        dtype: np.dtype,
        packs: list[slice],
    ) -> None:
        self.features, self.values, self.windows = features, values, windows
        self.K, self.dtype, self.packs = K, dtype, packs

    def build(self) -> tuple[list[Table], list[Cells]]:
        """The tables, and for each pack the cells of its narrow features."""
        tables = [self.word_table(offset) for offset in self.features.offsets]
        several = [t for t, template in enumerate(self.features.templates) if template.offset is None]
        narrow, wide = self.sorted_out(several, [self.token_features(t) for t in several])
        return tables + wide, [self.cells(narrow[:, rows]) for rows in self.packs]

    def token_features(self, t: int) -> np.ndarray:
        """(N,) the feature of each token that template t gives, -1 for none."""
        keys = token_keys(self.features.templates[t], self.values, self.windows, self.features.radix)
        return self.features.ids(t, keys)

    def word_table(self, offset: int) -> Table:
        """All templates that look at the one word at that offset; a row for each word that stands there."""
        words = self.windows.at(offset)
        present = np.flatnonzero(np.bincount(words, minlength=len(self.windows.words) + MARKS))
        index = np.empty(len(self.windows.words) + MARKS, np.int32)
        index[present] = np.arange(len(present))
        own = [t for t, template in enumerate(self.features.templates) if template.offset == offset]
        keys = [word_keys(self.features.templates[t], self.values, self.features.radix)[present] for t in own]
        narrow, wide = self.sorted_out(own, [self.features.ids(t, key) for t, key in zip(own, keys, strict=True)])
        return self.table(index[words], len(present), narrow, wide)

    def sorted_out(self, templates: list[int], ids: list[np.ndarray]) -> tuple[np.ndarray, list[Table]]:
        """The features (rows,) of each template: the narrow ones together, and a table for each wide template."""
        narrow = [np.empty((0, len(ids[0]) if ids else len(self.windows.places)), np.int64)]
        wide = []
        for t, found in zip(templates, ids, strict=True):
            if self.width(found) < NARROW * self.K:
                narrow.append(found[None])
            else:
                wide.append(self.template_table(t, found))
        return np.concatenate(narrow), wide

    def width(self, ids: np.ndarray) -> float:
        """The mean number of tags that these features add to."""
        return float(self.features.rows.widths[ids[ids >= 0]].sum() / max(1, len(ids)))

    def template_table(self, t: int, ids: np.ndarray) -> Table:
        """A row for each feature of the template, and one more for whatever has none of them."""
        first, end = self.features.bases[t : t + 2].tolist()
        own = np.append(np.arange(first, end), -1)[None]
        return self.table(np.where(ids < 0, end, ids) - first, end - first + 1, own, [])

    def table(self, index: np.ndarray, R: int, narrow: np.ndarray, wide: list[Table]) -> Table:
        """`index` (N,) is the row of each token, `narrow` (templates, R) the features of each row."""
        N = len(index)
        sums = csc_array((np.ones(N, self.dtype), index, np.arange(N + 1)), shape=(R, N))
        return Table(index.astype(np.int32), sums, self.cells(narrow), wide)

    def cells(self, ids: np.ndarray) -> Cells:
        """`ids` (templates, rows): the features of each row, -1 for none."""
        templates, rows = ids.shape
        return Cells.of(self.features, np.tile(np.arange(rows), templates), ids.ravel(), (rows, self.K), self.dtype)
