"""The training of a pool: CRFs that have not seen some of the sentences show what each member is worth.

1. Train a CRF on all tags and then, from its weights, one on candidates, without a fold of the sentences.
2. Learn the weights of both and of the HMM on that fold (`opinion_weights`).
3. Train both CRFs on all sentences, from the weights of step 1, which takes less than half of the iterations.

The CRF on all tags learns from every token, that on candidates only from tokens with a choice, but it is of second
order and has the HMM's probability as a feature. They err in different places too. Both are chains with the same
features, so that their pool is one chain, whose weights are a weighted sum (Smith, Cohn & Osborne 2005).

A small corpus is left out fold by fold, so that the weights are learned on all of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from tagger.arrays.caching import cached_property
from tagger.arrays.ragged import consecutive
from tagger.corpus.partial import OPEN
from tagger.crf.candidates.proposal import Proposal, block_folds
from tagger.crf.lbfgs import Result
from tagger.crf.parameters import EncodedCorpus, ParameterLayout
from tagger.crf.tagger import MAX_DENSE_TAGS, CRFTagger
from tagger.crf.trainer import Trainer, Watch
from tagger.models.monitor import INTERRUPTED, TrainingMonitor
from tagger.neural.feedforward.network import FeedForwardNetwork
from tagger.neural.feedforward.training import RATE, NetworkTraining
from tagger.pooled.held_out import ParameterCounts, kept_parameters, propose_without
from tagger.pooled.lattice import Opinion
from tagger.pooled.network_opinion import NetworkOpinion, network_training
from tagger.pooled.opinion_weights import OpinionSample, fit_coverage
from tagger.sentence import Sentence

if TYPE_CHECKING:
    from tagger.pooled.tagger import PooledTagger

HELD_OUT_TOKENS = 20_000  # that the weights of the pool are learned on, if the corpus has as many
TOKENS_TOGETHER = 1 << 15  # in one lattice
EPOCHS, MORE_EPOCHS = 8, 4  # of the network: without a fold, then on all sentences
SHARES = (0.45, 0.25, 0.15)  # of the iterations: the CRF on all tags, that on candidates, the first on all sentences


@dataclass
class PooledTrainer(Trainer):
    """A training of the CRFs of a pool; the weights that it ends with are those of the CRF on candidates."""

    model: PooledTagger = field(kw_only=True)
    corpus_sentences: Sequence[Sentence] = field(kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.partner: np.ndarray | None = None  # the weights of the CRF on all tags, in the order of the other's
        is_adapted = bool(self.layout.centre.any())
        self.network = None if is_adapted else self.network_training()
        # no such CRF for large tag sets, and none where a model is adapted
        has_dense = self.corpus.K <= MAX_DENSE_TAGS and not is_adapted
        self.dense = self.dense_trainer() if has_dense else None

    def dense_trainer(self) -> Trainer:
        """Make the trainer of the CRF on all tags."""
        corpus = replace(self.corpus, proposal=None, is_right=None, cross_fitted=None)
        layout = ParameterLayout(corpus, self.layout.counts[: self.layout.features_end])
        return Trainer(corpus, layout, *self.settings())

    def trainer_without(self, fold: np.ndarray, others: np.ndarray, kept: np.ndarray) -> Trainer:
        """Make the trainer of a CRF on candidates that has not seen a fold, only the other sentences."""
        corpus = self.corpus
        if not self.layout.centre.any():  # the HMM of a model that is adapted has seen none of the sentences
            corpus = propose_without(corpus, self.corpus_sentences, fold, self.model, self.threads)
        return Trainer(corpus, self.layout, *self.settings(), others, kept)

    def counts_of(self, sentences: np.ndarray) -> np.ndarray:
        """Count how often each parameter (P,) is on the right paths of these sentences."""
        return self.parameter_counts.of(sentences)

    @cached_property
    def parameter_counts(self) -> ParameterCounts:
        """The occurrences of parameters."""
        return ParameterCounts(self.corpus, self.layout)

    def settings(self) -> tuple[float, float, int, float, int]:
        """Return the settings of a trainer."""
        return self.l2, self.l1, self.max_iterations, self.tolerance, self.threads

    def check_memory(self) -> None:
        super().check_memory()
        if self.dense:
            self.dense.check_memory()

    def prepare(self, monitor: TrainingMonitor) -> int:
        """Learn the weights of the pool, and the CRF on all tags; return the number of evaluations.

        The last of these trainings count as the first iterations of the whole. A training that is resumed has them
        behind it, and does them again without a report.
        """
        resumed, folds = monitor.state.iteration > 0, self.held_out_folds()
        results: list[list[Result]] = []
        networks: list[FeedForwardNetwork] = []
        for number, fold in enumerate(folds, 1):
            is_reported = number == len(folds) and not resumed
            results.append(self.train_without(fold, self.reporter(monitor) if is_reported else silent))
            if results[-1][0].reason == INTERRUPTED:
                break
            networks += self.network_without(fold)
        self.learn_pool([[self.embed(result.x) for result in members] for members in results], folds, networks)
        if self.dense:
            begin = results[-1][1].x if results else self.dense.layout.centre
            watch = silent if resumed else self.reporter(monitor)
            result = self.dense.optimize(begin, self.share(2), watch)
            self.partner = self.embed(result.x)
            results.append([result])
        if not any(result.reason == INTERRUPTED for members in results for result in members):
            self.finish_network()
        if not resumed and folds:
            monitor.state.weights = results[len(folds) - 1][0].x
        return sum(result.evaluations for members in results for result in members)

    def held_out_folds(self) -> list[np.ndarray]:
        """Choose the folds that are left out: of a partly tagged corpus, those without which some word has a tag."""
        lengths, is_tagged = self.corpus.lengths, self.corpus.tags != OPEN
        folds = held_out_folds(lengths)
        if is_tagged.all():  # also where the tokens are elsewhere
            return folds
        tagged = np.repeat(np.arange(len(lengths)), lengths)[is_tagged]  # the sentence of each tagged token
        return [fold for fold in folds if not np.isin(tagged, fold).all()]

    def reporter(self, monitor: TrainingMonitor) -> Watch:
        """Make a function that reports iterations to the monitor, counted from those it has seen."""
        before = monitor.state.iteration
        return lambda i, loss, x: monitor.after(before + i, None, self.embed(x))

    def share(self, number: int) -> int:
        """Return the iterations that a part of the training may take."""
        return max(1, int(SHARES[number] * self.max_iterations))

    def train_without(self, fold: np.ndarray, watch: Watch) -> list[Result]:
        """Train the CRF on candidates, and if there is one that on all tags, without a fold of the sentences."""
        begin, dense, before = self.layout.centre, [], 0
        others = np.setdiff1d(np.arange(len(self.corpus.lengths)), fold)
        limits = (self.model.min_count, self.model.min_pair_count)
        kept = kept_parameters(self.corpus, self.layout, self.counts_of(others), *limits)
        if self.dense:
            trainer = replace(self.dense, sentences=others, kept=kept[: self.dense.layout.size])
            dense = [trainer.optimize(trainer.layout.centre, self.share(0), watch)]
            begin, before = self.embed(dense[0].x), dense[0].iterations
        trainer = self.trainer_without(fold, others, kept)
        return [trainer.optimize(begin, self.share(1), lambda i, loss, x: watch(before + i, None, x)), *dense]

    def embed(self, weights: np.ndarray) -> np.ndarray:
        """Append weights of 0 for what a CRF on all tags lacks: trigrams, and the HMM's probability."""
        return np.append(weights, np.zeros(self.layout.size - len(weights)))

    def network_training(self) -> NetworkTraining | None:
        """Make the training of a network on the corpus, if the pool has one."""
        return network_training(self.corpus)

    def network_without(self, fold: np.ndarray) -> list[FeedForwardNetwork]:
        """Train a network without a fold of the sentences; return it, or nothing."""
        if self.network is None:
            return []
        others = np.setdiff1d(np.arange(len(self.corpus.lengths)), fold)
        self.network.restart()
        self.network.run(others, EPOCHS, RATE)
        return [self.network.network()]

    def finish_network(self) -> None:
        """Train the network of the last fold on all sentences, if the pool has learned to listen to it."""
        if self.network and self.model.network_:
            self.network.run(np.arange(len(self.corpus.lengths)), MORE_EPOCHS, RATE / 2)
            self.model.network_ = replace(self.model.network_, network=self.network.network())

    def learn_pool(
        self,
        members: Sequence[Sequence[np.ndarray]],
        folds: Sequence[np.ndarray],
        networks: Sequence[FeedForwardNetwork],
    ) -> None:
        """Learn the weights of the pool, from weights of CRFs, networks, and the fold that each has not seen."""
        self.model.coverage_ = self.coverage()
        opinions = [[NetworkOpinion(1.0, network)] for network in networks] or [[] for _ in members]
        sample = OpinionSample(members=(3 if self.dense else 2) + len(networks[:1]))
        for weights, fold, others in zip(members, folds, opinions, strict=False):  # an interrupted training has fewer
            self.add_opinions(sample, weights, fold, others)
        pool = sample.weights()
        if networks:
            weight, pool = float(pool[-1]), pool[:-1]
            self.model.network_ = NetworkOpinion(weight, networks[-1]) if weight else None
        self.model.pool_ = np.append(pool, np.zeros(3 - len(pool)))

    def coverage(self) -> np.ndarray:
        """Estimate how often the right tag is a candidate."""
        corpus, proposal = self.corpus, self.corpus.cross_fitted
        assert proposal is not None
        closed = np.flatnonzero(corpus.tags != OPEN)
        return fit_coverage(proposal.only(closed).candidates, corpus.tags[closed])

    def add_opinions(
        self, sample: OpinionSample, weights: Sequence[np.ndarray], fold: np.ndarray, others: Sequence[Opinion]
    ) -> None:
        """Add the opinions of the HMM, of CRFs with these weights, and others, on a fold that they have not seen."""
        add_opinions(sample, self.corpus, self.corpus_sentences, fold, self.members(weights), others)

    def members(self, weights: Sequence[np.ndarray]) -> list[PooledTagger]:
        """Make CRFs with these weights."""
        models = [copy(self.model) for _ in weights]
        for model, vector in zip(models, weights, strict=True):
            model.set_weights(self.layout.split(vector))
        return models

    def model_weights(self, weights: np.ndarray) -> np.ndarray:
        """Return the weights of the pool's chain, given those of the CRF on candidates."""
        hmm, candidates, dense = self.model.pool_
        pooled = candidates * weights + (0.0 if self.partner is None else dense * self.partner)
        pooled[-1] += hmm
        return np.asarray(pooled)


def add_opinions(
    sample: OpinionSample,
    corpus: EncodedCorpus,
    sentences: Sequence[Sentence],
    fold: np.ndarray,
    crfs: Sequence[CRFTagger],
    others: Sequence[Opinion] = (),
) -> None:
    """Add the opinions of the HMM, of CRFs, and others, on a fold of the sentences of a corpus."""
    proposal, begins = corpus.cross_fitted, np.cumsum(corpus.lengths) - corpus.lengths
    assert proposal is not None
    scorers = [(crf.observer(), crf.proposal_scorer()) for crf in crfs]
    before = np.cumsum(corpus.lengths[fold]) // TOKENS_TOGETHER
    for group in np.split(fold, np.flatnonzero(np.diff(before)) + 1):
        tokens = consecutive(begins[group], corpus.lengths[group])
        own = proposal.only(tokens)
        trained = [sentences[i].begin(int(corpus.lengths[i])) for i in group.tolist()]
        lattices = [score(observe(trained), partial(constant, own)) for observe, score in scorers]
        P = [np.exp(own.log_posterior), *(lattice.node_marginals for lattice in lattices)]
        P += [other.probabilities(scorers[0][0](trained), own.candidates) for other in others]
        sample.add(own.candidates, corpus.tags[tokens], P)


def constant(proposal: Proposal, allowed: np.ndarray | None) -> Proposal:
    """Return the proposal, whatever tags are allowed."""
    return proposal


def silent(iteration: int, loss: float | None, weights: np.ndarray) -> None:
    """Report nothing."""


def held_out_folds(lengths: np.ndarray) -> list[np.ndarray]:
    """Choose the folds that are left out, of sentences with these lengths: as many as have HELD_OUT_TOKENS.

    They are those of the HMM, so that no member has seen the sentences. A single sentence cannot be left out.
    """
    chosen: list[np.ndarray] = []
    for fold in reversed(block_folds(len(lengths))):
        if len(fold) < len(lengths) and sum(lengths[some].sum() for some in chosen) < HELD_OUT_TOKENS:
            chosen.append(fold)
    return chosen
