"""The objective of a CRF: the penalised negative log-likelihood of a tagged corpus, and its gradient.

    loss(w) = - Σ_sentences log p(tags | words) + l2 · ‖w - centre‖²        p(y | x) = exp s(y) / Z

Where the tags leave a choice, p is summed over all paths allowed: log Z of those paths minus log Z of all.

There are only integers and floats here: the corpus is feature ids, and tables turn weights into emissions. Forward and
backward then give the marginals. Marginals minus gold, the *residual*, flow back to the weights, by tag and by part of
a tag (N, K + A); its entries shrink as the fit improves, which is why float32 is exact enough for them.

The packs, and the tables, of a large corpus are spread over threads; every sum has a fixed order, so that any number of
threads gives the same bits.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from tagger.arrays.ragged import consecutive, slices
from tagger.chain.forward_backward import forward_backward, sum_kernel
from tagger.chain.pack import PACK_TOKENS, Pack, batches
from tagger.chain.scores import Chain, block_rows, forbid, path_scores
from tagger.corpus.partial import Choices
from tagger.crf.lbfgs import LossFunction
from tagger.crf.parameters import EncodedCorpus, ParameterLayout
from tagger.crf.score_tables import StepCells, Subtraction, TableBuilder
from tagger.files.resources import return_freed_memory, reuse_freed_memory, useful_threads


@dataclass(frozen=True)
class PackLoss:
    """-log p of the sentences of a pack, and expected minus observed counts."""

    loss: float
    transitions: np.ndarray  # (K, K)
    starts: np.ndarray  # (K,)
    ends: np.ndarray  # (K,)
    steps: list[np.ndarray]  # of the parameters of features of steps, by block


class Objective(LossFunction):
    """A function from weights to the loss of a corpus in packs, and its gradient.

    `groups` hold the numbers of the sentences that count, by default one group with all of them; a pack has sentences
    of one group only. Where sentences are missing, the loss of the whole corpus is estimated: the sum over the
    sentences is scaled up.
    """

    residual: np.ndarray  # marginals minus gold, of the last evaluation

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
        reuse_freed_memory()  # each evaluation makes the same arrays again
        self.layout, self.l2, self.dtype, lengths = layout, l2, np.dtype(dtype), corpus.lengths
        threads = useful_threads(threads, len(corpus.tags), corpus.K)
        self.pool = ThreadPoolExecutor(threads) if threads > 1 else None
        groups = [np.arange(len(lengths))] if groups is None else groups
        size = self.pack_tokens(corpus)
        self.sentences = [group[batch] for group in groups for batch in batches(lengths[group], size)]  # of each pack
        begins = np.cumsum(lengths) - lengths
        tokens = [consecutive(begins[sentences], lengths[sentences]) for sentences in self.sentences]
        self.scale = len(corpus.tags) / sum(map(len, tokens))
        self.encode(corpus, tokens)
        return_freed_memory()

    @abstractmethod
    def pack_tokens(self, corpus: EncodedCorpus) -> int:
        """Choose the number of tokens of a pack."""

    @abstractmethod
    def encode(self, corpus: EncodedCorpus, tokens: list[np.ndarray]) -> None:
        """Lay out all that stays the same; `tokens` are those of each pack, sentence after sentence."""

    @abstractmethod
    def pack_losses(self, weights: np.ndarray) -> list[Any]:
        """Compute the loss and the counts of each pack that counts, and fill in its rows of the residual."""

    @abstractmethod
    def feature_gradient(self, residual: np.ndarray, squares: bool = False) -> np.ndarray:
        """Compute the gradient of the features' weights, zero for those of steps, from the packs that count.

        With `squares`, values of features are squared.
        """

    @abstractmethod
    def chain_gradient(self, packs: list[Any]) -> np.ndarray:
        """Compute the gradient of all other weights from what `pack_losses` returned."""

    @abstractmethod
    def add_step_gradient(self, packs: list[Any], gradient: np.ndarray) -> None:
        """Add the gradient of the weights of features of steps, from what `pack_losses` returned."""

    @property
    def used(self) -> Sequence[int]:
        """The packs that count: all of them, unless a subclass leaves some out."""
        return range(len(self.sentences))

    def __call__(self, weights: np.ndarray) -> tuple[float, np.ndarray]:
        packs = self.pack_losses(weights)
        loss = self.scale * sum(pack.loss for pack in packs)
        # Of millions of weights each copy counts: the gradient is added up in place, and what it has taken in is freed.
        gradient = np.zeros(self.layout.size)
        gradient[self.layout.features_end :] = self.chain_gradient(packs)
        self.add_step_gradient(packs, gradient)
        del packs
        gradient[: self.layout.features_end] += self.feature_gradient(self.residual)
        gradient *= self.scale
        distance = weights - self.layout.centre
        loss += self.l2 * (distance @ distance)
        distance *= 2 * self.l2
        gradient += distance
        return float(loss), gradient

    def curvature(self, weights: np.ndarray) -> np.ndarray:
        """Estimate the diagonal of the second derivative: Σ v² · p · (1 - p) over the tokens where each weight counts.

        v is the value of the feature, mostly 1. That is exact if tokens were independent. For weights of steps it is a
        tenth of their count.
        """
        self(weights)
        variance = np.abs(self.residual)  # p, or 1 - p where the tag is the gold one
        variance *= 1 - variance
        diagonal = 0.1 * self.layout.counts
        of_tokens = slice(0, self.layout.steps_begin)
        diagonal[of_tokens] = self.scale * self.feature_gradient(variance, squares=True)[of_tokens]
        return diagonal + 2 * self.l2

    def map(self, function: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
        """Apply a function to all items, on the threads there are."""
        return list(self.pool.map(function, items) if self.pool else map(function, items))


class PenalizedLikelihood(Objective):
    """The objective over all tags."""

    def pack_tokens(self, corpus: EncodedCorpus) -> int:
        return min(PACK_TOKENS, block_rows(corpus.K)) if corpus.features.step_templates else PACK_TOKENS

    def encode(self, corpus: EncodedCorpus, tokens: list[np.ndarray]) -> None:
        self.K, self.tag_parts = corpus.K, corpus.tag_parts
        # with order 0 every token is a sentence of its own, and p is a softmax
        lengths = [corpus.lengths[sentences] for sentences in self.sentences]
        self.packs = [Pack.of(T if self.layout.order else np.ones(T.sum(), np.int64)) for T in lengths]
        # All arrays of tokens here have the rows of one pack after the other; `order` maps them to the corpus.
        order = np.concatenate([places[pack.tokens] for places, pack in zip(tokens, self.packs, strict=True)])
        self.rows = slices(map(len, tokens))
        self.tags = corpus.tags[order]
        self.open = open_rows(corpus.choices, order, self.rows)
        self.residual = np.empty((len(order), self.tag_parts.columns), self.dtype)
        packed = corpus.at(order)
        self.tables, self.narrow, self.wide = TableBuilder(packed, self.dtype, self.rows).build()
        self.steps: list[StepCells] = []  # of each pack, for features of steps
        if corpus.features.step_templates:
            ids = np.stack(packed.step_features())  # (templates, N)
            after_first = [slice(r.start + pack.first, r.stop) for r, pack in zip(self.rows, self.packs, strict=True)]
            self.steps = [StepCells.of(corpus, ids[:, own], self.dtype) for own in after_first]

    def pack_losses(self, weights: np.ndarray) -> list[PackLoss]:
        w, *chain_scores, _, _ = self.layout.split(weights)
        chain_scores = list(forbid(self.layout.allowed, *chain_scores))
        w = w.astype(self.dtype)
        tables = self.map(lambda table: table.scores(w, self.tag_parts.columns), self.tables)
        tables += [] if self.wide is None else [self.wide.weights(w)]
        return self.map(lambda i: self.pack_loss(i, self.chain(i, w, tables, *chain_scores)), self.used)

    def feature_gradient(self, residual: np.ndarray, squares: bool = False) -> np.ndarray:
        gradient = np.zeros(self.layout.features_end)
        self.map(lambda table: table.add_gradient(residual, gradient), self.tables)  # each has its own weights
        sums = self.map(lambda i: self.narrow[i].gradient(residual[self.rows[i]], squares), self.used)
        for i, own in zip(self.used, sums, strict=True):
            gradient[self.narrow[i].params] += own
        if self.wide is not None:
            gradient[self.wide.params] += self.wide.gradient(residual, self.used, self.rows, self.map, squares)
        return gradient

    def add_step_gradient(self, packs: list[PackLoss], gradient: np.ndarray) -> None:
        for i, pack in zip(self.used, packs, strict=True):
            for cells, own in zip(self.steps[i].blocks, pack.steps, strict=True) if self.steps else ():
                gradient[cells.params] += own

    def chain_gradient(self, packs: list[PackLoss]) -> np.ndarray:
        if not self.layout.order:
            return np.empty(0)
        steps = sum((pack.transitions for pack in packs), np.zeros((self.K, self.K)))
        ends = [sum(pack.starts for pack in packs), sum(pack.ends for pack in packs)]
        return np.concatenate([steps.ravel()[self.layout.seen], *ends])

    def emissions(self, i: int, w: np.ndarray, tables: list[np.ndarray]) -> np.ndarray:
        """Compute the emissions (n, K) of pack i: its narrow features, a row of each table, wide features with values.

        The weights of the last follow the scores of the tables.
        """
        E = self.narrow[i].scores(w, self.tag_parts.columns)
        added = np.empty_like(E)
        for table, scores in zip(self.tables, tables, strict=False):
            np.take(scores, table.index[self.rows[i]], axis=0, out=added, mode="clip")
            E += added
        if self.wide is not None:
            E += self.wide.packs[i] @ tables[-1]
        return self.tag_parts.spread(E)

    def chain(
        self,
        i: int,
        w: np.ndarray,
        tables: list[np.ndarray],
        start: np.ndarray,
        transitions: np.ndarray,
        end: np.ndarray,
    ) -> Chain:
        """Compute the scores of pack i; with features of steps each step has transitions of its own."""
        E = self.emissions(i, w, tables)
        if not self.steps:
            return Chain(self.packs[i], start, transitions, end, E)
        return Chain(self.packs[i], start, self.steps[i].transitions(w, transitions), end, E)

    def pack_loss(self, i: int, chain: Chain) -> PackLoss:
        """Compute the loss of pack i from its scores, and fill in its rows of the residual."""
        pack = self.packs[i]
        free = forward_backward(sum_kernel(chain))
        columns = self.residual[self.rows[i]]  # (n, K + A)
        residual = columns[:, : self.K]
        residual[:] = free.states
        subtract = self.subtract_tags if self.open[i] is None else self.subtract_choices
        log_z, subtract_right = subtract(i, chain, residual)
        self.tag_parts.gather(columns)
        steps: list[np.ndarray] = []
        if free.row_transitions is None:
            transitions = free.transitions
            subtract_right(transitions, slice(None))
        else:
            transitions, steps = self.steps[i].gradient(free.row_transitions, subtract_right)
        return PackLoss(
            loss=float((free.log_z - log_z).sum()),
            transitions=transitions,
            starts=residual[: pack.first].sum(axis=0, dtype=np.float64),
            ends=residual[pack.last].sum(axis=0, dtype=np.float64),
            steps=steps,
        )

    def subtract_tags(self, i: int, chain: Chain, residual: np.ndarray) -> tuple[np.ndarray, Subtraction]:
        """Subtract the gold paths from the marginals; return their scores, and what subtracts their steps."""
        tags = self.tags[self.rows[i]]
        residual[np.arange(len(tags)), tags] -= 1
        return path_scores(chain, tags), partial(self.subtract_steps, i)

    def subtract_steps(self, i: int, steps: np.ndarray, rows: slice) -> None:
        """Subtract the tag bigrams of pack i, all of whose tags are given, from steps (K, K), or by row."""
        pack, tags = self.packs[i], self.tags[self.rows[i]]
        before, here = tags[pack.before[rows]], tags[pack.first :][rows]
        if steps.ndim == 3:
            steps[np.arange(len(here)), before, here] -= 1
        else:
            steps -= np.bincount(before * self.K + here, minlength=self.K**2).reshape(self.K, self.K)

    def subtract_choices(self, i: int, chain: Chain, residual: np.ndarray) -> tuple[np.ndarray, Subtraction]:
        """Subtract the marginals of the chain of allowed tags; return its log Z, and what subtracts its steps."""
        tags = self.tags[self.rows[i]]
        allowed = np.zeros(residual.shape, bool)
        allowed[np.arange(len(tags)), tags] = True  # where the tag is OPEN, overwritten at once
        choice = self.open[i]
        assert choice is not None
        allowed[choice[0]] = choice[1]
        E = np.where(allowed, chain.emissions, self.dtype.type(-np.inf))
        bound = forward_backward(sum_kernel(replace(chain, emissions=E)))
        residual -= bound.states

        def subtract_steps(steps: np.ndarray, rows: slice) -> None:
            steps -= bound.transitions if bound.row_transitions is None else bound.row_transitions(rows)

        return bound.log_z, subtract_steps


def open_rows(choices: Choices, order: np.ndarray, packs: list[slice]) -> list[tuple[np.ndarray, np.ndarray] | None]:
    """For each pack, list the rows whose tag is open and the tags allowed there (rows, K); None if there are none."""
    place = np.full(len(order) and int(order.max()) + 1, -1, np.int64)  # of each token among the choices, -1 for none
    inside = choices.tokens < len(place)
    place[choices.tokens[inside]] = np.flatnonzero(inside)
    open_by_pack = []
    for rows in packs:
        choice = place[order[rows]]
        open_here = np.flatnonzero(choice >= 0)
        open_by_pack.append((open_here, choices.allowed[choice[open_here]]) if len(open_here) else None)
    return open_by_pack
