"""The objective of a CRF: the penalised negative log-likelihood of a tagged corpus, and its gradient.

    loss(w) = - Σ_sentences log p(tags | words) + l2 · ‖w - centre‖²        p(y | x) = exp s(y) / Z

Where the tags leave a choice, p is summed over all paths allowed: log Z of those paths minus log Z of all.

There are only integers and floats here: the corpus is feature ids, and tables turn weights into emissions. Forward and
backward then give the marginals. Marginals minus gold, the *residual*, flow back to the weights, by tag and by part of
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
from tagger.chain.scores import Chain, forbid, path_scores
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
    """A function from weights to the loss and its gradient.

    `groups` hold the numbers of the sentences that count, by default one group with all of them; a pack has sentences
    of one group only. Where sentences are missing, the loss of the whole corpus is estimated: the sum over the
    sentences is scaled up.
    """

    def __init__(
        self,
        corpus: EncodedCorpus,
        layout: ParameterLayout,
        l2: float,
        threads: int = 1,
        dtype: Any = np.float32,
        *,
        groups: Sequence[np.ndarray] | None = None,
    ) -> None:
        self.K, self.layout, self.l2, self.dtype = corpus.K, layout, l2, np.dtype(dtype)
        self.pool = ThreadPoolExecutor(threads) if threads > 1 else None
        groups = [np.arange(len(corpus.lengths))] if groups is None else groups
        self.sentences = [group[batch] for group in groups for batch in batches(corpus.lengths[group])]  # of each pack
        self.packs = [Pack.of(corpus.lengths[sentences]) for sentences in self.sentences]
        # All arrays of tokens here have the rows of one pack after the other; `order` maps them to the corpus.
        begins = np.cumsum(corpus.lengths) - corpus.lengths
        tokens = [consecutive(begins[sentences], corpus.lengths[sentences]) for sentences in self.sentences]
        tokens = [places[pack.tokens] for places, pack in zip(tokens, self.packs, strict=True)]
        ends = np.cumsum([len(rows) for rows in tokens]).tolist()
        self.rows = [slice(end - len(rows), end) for end, rows in zip(ends, tokens, strict=True)]
        order = np.concatenate(tokens)
        self.scale = len(corpus.tags) / len(order)
        self.tags = corpus.tags[order]
        self.open = open_rows(corpus.choices, order, self.rows)
        self.tag_parts = corpus.tag_parts
        self.residual = np.empty((len(order), self.tag_parts.columns), self.dtype)
        windows = Windows(corpus.windows.words, corpus.windows.places[order], corpus.windows.around)
        builder = TableBuilder(corpus.features, corpus.values, windows, self.tag_parts.columns, self.dtype, self.rows)
        self.tables, self.narrow = builder.build()

    @property
    def used(self) -> Sequence[int]:
        """The packs that count: all of them, unless a subclass leaves some out."""
        return range(len(self.packs))

    def __call__(self, weights: np.ndarray) -> tuple[float, np.ndarray]:
        w, *chain_scores, _, _ = self.layout.split(weights)
        chain_scores = list(forbid(self.layout.allowed, *chain_scores))
        w = w.astype(self.dtype)
        tables = self.map(lambda table: table.scores(w, self.tag_parts.columns), self.tables)

        def one_pack(i: int) -> PackLoss:
            return self.pack_loss(i, self.emissions(i, w, tables), *chain_scores)

        packs = self.map(one_pack, self.used)
        gradient = np.zeros(self.layout.size)
        self.map(lambda table: table.add_gradient(self.residual, gradient), self.tables)  # each has its own weights
        for i, pack in zip(self.used, packs, strict=True):
            gradient[self.narrow[i].params] += pack.narrow
        steps = sum(pack.transitions for pack in packs).ravel()[self.layout.seen]
        ends = [sum(pack.starts for pack in packs), sum(pack.ends for pack in packs)]
        gradient[self.layout.features_end :] = np.concatenate([steps, *ends])  # of order 1, without candidates
        gradient *= self.scale
        distance = weights - self.layout.centre
        gradient += 2 * self.l2 * distance
        loss = self.scale * sum(pack.loss for pack in packs) + self.l2 * (distance @ distance)
        return float(loss), gradient

    def curvature(self, weights: np.ndarray) -> np.ndarray:
        """Estimate the diagonal of the second derivative: Σ p · (1 - p) over the tokens where each weight counts.

        That is exact if tokens were independent. For the chain's own weights it is a tenth of their count.
        """
        self(weights)
        variance = np.abs(self.residual)  # p, or 1 - p where the tag is the gold one
        variance *= 1 - variance
        variance *= self.scale
        diagonal = 0.1 * self.layout.counts
        diagonal[: self.layout.features_end] = 0.0
        self.map(lambda table: table.add_gradient(variance, diagonal), self.tables)
        for narrow, rows in zip(self.narrow, self.rows, strict=True):
            diagonal[narrow.params] += narrow.gradient(variance[rows])
        return diagonal + 2 * self.l2

    def emissions(self, i: int, w: np.ndarray, tables: list[np.ndarray]) -> np.ndarray:
        """Compute the emissions (n, K) of pack i: its narrow features, plus a row of each table."""
        E = self.narrow[i].scores(w, self.tag_parts.columns)
        added = np.empty_like(E)
        for table, scores in zip(self.tables, tables, strict=True):
            np.take(scores, table.index[self.rows[i]], axis=0, out=added, mode="clip")
            E += added
        return self.tag_parts.spread(E)

    def pack_loss(self, i: int, E: np.ndarray, start: np.ndarray, transitions: np.ndarray, end: np.ndarray) -> PackLoss:
        """Compute the loss of pack i with the emissions E (n, K), and fill in its rows of the residual."""
        pack = self.packs[i]
        chain = Chain(pack, start, transitions, end, E)
        free = forward_backward(sum_kernel(chain))
        columns = self.residual[self.rows[i]]  # (n, K + A)
        residual = columns[:, : self.K]
        residual[:] = free.states
        subtract = self.subtract_tags if self.open[i] is None else self.subtract_choices
        log_z, steps = subtract(i, chain, residual)
        self.tag_parts.gather(columns)
        return PackLoss(
            loss=float((free.log_z - log_z).sum()),
            transitions=free.transitions - steps,
            starts=residual[: pack.first].sum(axis=0, dtype=np.float64),
            ends=residual[pack.last].sum(axis=0, dtype=np.float64),
            narrow=self.narrow[i].gradient(columns),
        )

    def subtract_tags(self, i: int, chain: Chain, residual: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Subtract the gold tags from the marginals; return the scores of the gold paths and their steps (K, K)."""
        tags = self.tags[self.rows[i]]
        residual[np.arange(len(tags)), tags] -= 1
        return path_scores(chain, tags), self.gold_steps(i).reshape(self.K, self.K)

    def gold_steps(self, i: int) -> np.ndarray:
        """Count the tag bigrams (K · K,) of pack i, all of whose tags are given."""
        pack, tags = self.packs[i], self.tags[self.rows[i]]
        return np.bincount(tags[pack.before] * self.K + tags[pack.first :], minlength=self.K * self.K)

    def subtract_choices(self, i: int, chain: Chain, residual: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Subtract the marginals of the chain of allowed tags; return its log Z and expected steps (K, K)."""
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
        """Apply a function to all items, on the threads there are."""
        return list(self.pool.map(function, items) if self.pool else map(function, items))


def open_rows(choices: Choices, order: np.ndarray, packs: list[slice]) -> list[tuple[np.ndarray, np.ndarray] | None]:
    """For each pack, list the rows whose tag is open and the tags allowed there (rows, K); None if there are none."""
    place = np.full(len(order) and int(order.max()) + 1, -1)  # of each token among the choices, -1 for none
    inside = choices.tokens < len(place)
    place[choices.tokens[inside]] = np.flatnonzero(inside)
    open_by_pack = []
    for rows in packs:
        choice = place[order[rows]]
        open_here = np.flatnonzero(choice >= 0)
        open_by_pack.append((open_here, choices.allowed[choice[open_here]]) if len(open_here) else None)
    return open_by_pack
