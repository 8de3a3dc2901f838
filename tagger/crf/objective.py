"""The penalised likelihood of a tagged corpus and its gradient, for a chain whose scores come from features.

    loss(w) = - Σ_sentences log p(tags | words) + l2 · ‖w‖²        p(y | x) = exp s(y) / Z

Where the tags leave a choice, p is summed over all paths allowed: log Z of those paths minus log Z of all.

Only integers and floats here: the corpus has become feature ids, and `tables` turn weights into emissions. Forward and
backward then give the marginals. Marginals minus truth, the *residual*, flow back to the weights, by tag and by part of
a tag (N, K + A); its entries shrink as the fit improves, which is why float32 is exact enough for them.

The packs, and the tables, are spread over threads; every sum has a fixed order, so that any number of threads gives
the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tagger.arrays.ragged import consecutive
from tagger.chain.forward_backward import forward_backward, sum_kernel
from tagger.chain.pack import Pack, batches
from tagger.chain.scores import Chain, path_scores
from tagger.corpus.partial import Choices
from tagger.crf.parameters import EncodedCorpus, ParameterLayout
from tagger.crf.score_tables import TableBuilder
from tagger.words.windows import Windows


@dataclass(frozen=True)
class PackLoss:
    """-log p of the sentences of a pack, and expected minus observed counts."""

    loss: float
    transitions: np.ndarray  # (K, K)
    starts: np.ndarray  # (K,)
    ends: np.ndarray  # (K,)
    narrow: np.ndarray  # of the pack's narrow features


class PenalizedLikelihood:
    """Calling it with weights gives the loss and its gradient.

    `folds` hold the numbers of the sentences that count; one of the folds can be left out. If they are not the whole
    corpus, the loss is estimated for the whole: the sum over the sentences is scaled up.
    """

    def __init__(
        self,
        corpus: EncodedCorpus,
        layout: ParameterLayout,
        l2: float,
        threads: int = 1,
        dtype: Any = np.float32,
        folds: Sequence[np.ndarray] | None = None,
    ) -> None:
        self.K, self.layout, self.l2, self.dtype = corpus.K, layout, l2, np.dtype(dtype)
        self.pool = ThreadPoolExecutor(threads) if threads > 1 else None
        folds = [np.arange(len(corpus.lengths))] if folds is None else folds
        batched = [(f, fold[group]) for f, fold in enumerate(folds) for group in batches(corpus.lengths[fold])]
        groups = [group for _, group in batched]
        self.fold = [f for f, _ in batched]  # of each pack
        self.used = list(range(len(groups)))  # packs
        self.packs = [Pack.of(corpus.lengths[group]) for group in groups]
        begins = np.cumsum(corpus.lengths) - corpus.lengths
        inside = [consecutive(begins[group], corpus.lengths[group]) for group in groups]  # tokens of the corpus
        tokens = [own[pack.tokens] for own, pack in zip(inside, self.packs, strict=True)]
        ends = np.cumsum([len(rows) for rows in tokens]).tolist()
        self.rows = [slice(end - len(rows), end) for end, rows in zip(ends, tokens, strict=True)]
        order = np.concatenate(tokens)  # of the packs' rows, in the corpus
        self.scale = len(corpus.tags) / len(order)
        self.tags = corpus.tags[order]
        self.open = open_rows(corpus.choices, order, self.rows)
        self.parts = corpus.parts
        self.residual = np.empty((len(order), self.parts.columns), self.dtype)
        windows = Windows(corpus.windows.words, corpus.windows.places[order], corpus.windows.around)
        builder = TableBuilder(corpus.features, corpus.values, windows, self.parts.columns, self.dtype, self.rows)
        self.tables, self.narrow = builder.build()

    def __call__(self, weights: np.ndarray) -> tuple[float, np.ndarray]:
        w, *chain_scores = self.layout.split(weights)
        w = w.astype(self.dtype)
        tables = self.map(lambda table: table.scores(w, self.parts.columns), self.tables)

        def one_pack(i: int) -> PackLoss:
            return self.pack_loss(i, self.emissions(i, w, tables), *chain_scores)

        packs = self.map(one_pack, self.used)
        gradient = np.zeros(self.layout.size)
        self.map(lambda table: table.add_gradient(self.residual, gradient), self.tables)  # each has its own weights
        for i, pack in zip(self.used, packs, strict=True):
            gradient[self.narrow[i].params] += pack.narrow
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

    def leave_out(self, fold: int | None) -> None:
        """From now on the sentences of this fold do not count, all others do."""
        self.used = [i for i, own in enumerate(self.fold) if own != fold]
        self.residual[:] = 0.0

    def observed(self) -> np.ndarray:
        """(P,) how often each weight of a feature or a tag bigram is one of the true path's, in the sentences that
        count. All their tags are given."""
        self.residual[:] = 0.0
        found = np.zeros(self.layout.size)
        steps = np.zeros(self.K * self.K)
        for i in self.used:
            every, tags = self.residual[self.rows[i]], self.tags[self.rows[i]]
            every[np.arange(len(tags)), tags] = 1
            self.parts.gather(every)
            found[self.narrow[i].params] += self.narrow[i].gradient(every)
            steps += self.true_steps(i)
        self.map(lambda table: table.add_gradient(self.residual, found), self.tables)
        first = self.layout.features_end
        found[first : first + len(self.layout.seen)] = steps[self.layout.seen]
        return found

    def emissions(self, i: int, w: np.ndarray, tables: list[np.ndarray]) -> np.ndarray:
        """(n, K) the scores of the tags at the tokens of pack i."""
        E = self.narrow[i].scores(w, self.parts.columns)
        one = np.empty_like(E)
        for table, scores in zip(self.tables, tables, strict=True):
            np.take(scores, table.index[self.rows[i]], axis=0, out=one, mode="clip")
            E += one
        return self.parts.spread(E)

    def pack_loss(self, i: int, E: np.ndarray, start: np.ndarray, transitions: np.ndarray, end: np.ndarray) -> PackLoss:
        """Of pack i with the emissions E (n, K). Leaves its part of the residual behind."""
        pack = self.packs[i]
        chain = Chain(pack, start, transitions, end, E)
        free = forward_backward(sum_kernel(chain))
        every = self.residual[self.rows[i]]
        residual = every[:, : self.K]
        residual[:] = free.states
        if self.open[i] is None:
            log_z, steps = self.subtract_tags(i, chain, residual)
        else:
            log_z, steps = self.subtract_choices(i, chain, residual)
        self.parts.gather(every)
        return PackLoss(
            loss=float((free.log_z - log_z).sum()),
            transitions=free.transitions - steps,
            starts=residual[: pack.first].sum(axis=0, dtype=np.float64),
            ends=residual[pack.last].sum(axis=0, dtype=np.float64),
            narrow=self.narrow[i].gradient(every),
        )

    def subtract_tags(self, i: int, chain: Chain, residual: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Take the true tags off the marginals; the scores of the true paths, and their steps (K, K)."""
        tags = self.tags[self.rows[i]]
        residual[np.arange(len(tags)), tags] -= 1
        return path_scores(chain, tags), self.true_steps(i).reshape(self.K, self.K)

    def true_steps(self, i: int) -> np.ndarray:
        """(K · K,) how often each tag bigram occurs in pack i, all of whose tags are given."""
        pack, tags = self.packs[i], self.tags[self.rows[i]]
        return np.bincount(tags[pack.before] * self.K + tags[pack.first :], minlength=self.K * self.K)

    def subtract_choices(self, i: int, chain: Chain, residual: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The same where choices are left: the chain of the allowed tags takes the place of the one true path."""
        tags = self.tags[self.rows[i]]
        allowed = np.zeros(residual.shape, bool)
        allowed[np.arange(len(tags)), tags] = True  # where the tag is OPEN, overwritten at once
        choice = self.open[i]
        assert choice is not None
        allowed[choice[0]] = choice[1]
        E = np.where(allowed, chain.emissions, self.dtype.type(-np.inf))
        bound = forward_backward(sum_kernel(replace(chain, emissions=E)))
        residual -= bound.states
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
