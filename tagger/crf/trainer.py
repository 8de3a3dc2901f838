"""The training of a CRF: warm up on parts of the corpus, then go on with all of it.

The optimiser and the objective have no part in this. After every iteration the monitor (`models.monitor`) gets the loss
and the weights, and returns a reason when it is time to stop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tagger.chain.pack import PACK_TOKENS
from tagger.chain.scores import BLOCK_CELLS
from tagger.crf.candidates.objective import CandidateLikelihood, count_arcs
from tagger.crf.lbfgs import Function, LossFunction, Result, minimize
from tagger.crf.objective import PenalizedLikelihood
from tagger.crf.parameters import EncodedCorpus, ParameterLayout
from tagger.errors import TrainingError, several
from tagger.files import resources
from tagger.models.checkpoint import Checkpoint
from tagger.models.monitor import ProgressCallback, TrainingMonitor
from tagger.sentence import Sentence

if TYPE_CHECKING:
    from tagger.crf.tagger import CRFTagger

DEV_EVERY = 5  # iterations between two scorings of the dev set
WARM_UP = ((20, 20), (5, 15))  # (n, iterations): first on every twentieth sentence, then on every fifth
WARM_UP_TOKENS = 5000  # smaller parts of the corpus are no help
MIN_CURVATURE = 0.01  # without a penalty, that of a weight may be zero
MAX_PENALTY = 1e15  # leaves no weight; more does the same, but overflows
FIRST_STEP = 0.1  # along the gradient, where the scale is the square root of the curvature
ADVICE = "use a part of the corpus, fewer tags, min_count=2 or features='comparison'"

Watch = Callable[[int, "float | None", np.ndarray], "str | None"]  # the loss is None while a sample is iterated on


class Start(NamedTuple):
    """Where an optimisation begins, and what it took to get there."""

    x: np.ndarray
    iterations: int = 0
    evaluations: int = 0


@dataclass
class Trainer:
    """A training on an encoded corpus, with settings of `CRFTagger`."""

    corpus: EncodedCorpus
    layout: ParameterLayout
    l2: float
    l1: float
    max_iterations: int
    tolerance: float
    threads: int
    sentences: np.ndarray | None = None  # the numbers of those to train on; None for all
    kept: np.ndarray | None = None  # (P,) whether a parameter is trained or stays as it is; None for all

    def __post_init__(self) -> None:
        self.l2, self.l1 = min(self.l2, MAX_PENALTY), min(self.l1, MAX_PENALTY)

    def check_memory(self) -> None:
        """Refuse a training that needs more memory than there is. docs/lab-notes/training.md has measurements."""
        corpus = self.corpus
        sizes = {"token": len(corpus.tags), "tag": corpus.K, "word": len(corpus.windows.words)}
        need = self.dense_bytes(*sizes.values()) if corpus.proposal is None else self.candidate_bytes()
        named = ", ".join(several(count, noun) for noun, count in sizes.items())
        resources.check(need, f"training on {named}", ADVICE)

    def dense_bytes(self, N: int, K: int, V: int) -> float:
        """Estimate the memory of a training on N tokens with all K tags and V words."""
        columns = self.corpus.tag_parts.columns
        return 1.2 * (  # a fifth more for what comes and goes
            N * (8 * columns + 700)  # residuals twice; tokens and their cells
            + 8 * columns * V * len(self.corpus.features.offsets)  # tables of words, and their gradients
            + 8 * columns * PACK_TOKENS * self.threads
            + 8 * K * K * (N // PACK_TOKENS + 8)  # expected steps of each pack
            + (
                32 * BLOCK_CELLS * self.threads if self.corpus.features.step_templates else 0
            )  # transitions of each step
            + 150 * self.layout.size  # the optimiser's memory
            + 80 * (self.corpus.valued.size if self.corpus.valued else 0)  # features with values, and their matrix
            + 1e8
        )

    def candidate_bytes(self) -> float:
        """Estimate the memory of a training on candidates."""
        assert self.corpus.proposal is not None
        widths = self.corpus.proposal.candidates.widths
        nodes, templates = int(widths[widths > 1].sum()), len(self.corpus.features.templates)
        return (
            400 * len(widths)
            + nodes * (300 + 12 * templates)  # and their features
            + 60 * count_arcs(widths, self.layout.order)
            + 120 * (self.corpus.K + 1) ** 2  # the HMM
            + 150 * self.layout.size  # the optimiser's memory
            + 1e8
        )

    def train(self, monitor: TrainingMonitor) -> tuple[np.ndarray, dict[str, Any]]:
        """Train to the end; return the last weights and the figures of the training."""
        state = monitor.start(self.layout.centre.copy())
        evaluations = self.prepare(monitor)
        before = state.iteration
        result = self.optimize(
            state.weights,
            max(0, self.max_iterations - before),
            lambda i, loss, x: monitor.after(before + i, loss, x),
        )
        state.weights, state.iteration = result.x, before + result.iterations
        monitor.score_dev()
        if not np.isfinite(result.loss):
            raise TrainingError(f"the loss became {result.loss}: no model. Try another l2, it was {self.l2:g}")
        result = replace(result, iterations=state.iteration, evaluations=evaluations + result.evaluations)
        if result.iterations >= self.max_iterations:
            result = replace(result, reason=f"max_iterations={self.max_iterations} was reached")
        return result.x, result.figures()

    def prepare(self, monitor: TrainingMonitor) -> int:
        """Do what comes before the optimisation, for a subclass; return the number of evaluations."""
        return 0

    def model_weights(self, weights: np.ndarray) -> np.ndarray:
        """Return the weights of the model, given those that are optimised; a subclass may change them."""
        return weights

    def optimize(self, x: np.ndarray, max_iterations: int, watch: Watch) -> Result:
        """Minimise the loss, beginning at x; `watch` gets iteration, loss and weights, and can stop with a reason.

        From zero, samples of the corpus come first. With candidates they gain nothing: EWT takes 99 evaluations
        without, 130 with them.
        """
        begin = self.warm_up(x, max_iterations, watch) if self.corpus.proposal is None and not x.any() else Start(x)
        likelihood = self.likelihood(self.sentences)
        scale, first_step = preconditioner(likelihood, begin.x, self.l1)
        result = minimize(
            self.masked(likelihood),
            begin.x,
            scale,
            max(0, max_iterations - begin.iterations),
            self.tolerance,
            self.l1,
            watch=lambda i, loss, x: watch(begin.iterations + i, loss, x),
            first_step=first_step,
        )
        iterations, evaluations = begin.iterations + result.iterations, begin.evaluations + result.evaluations
        return replace(result, iterations=iterations, evaluations=evaluations)

    def warm_up(self, x: np.ndarray, max_iterations: int, watch: Watch) -> Start:
        """Iterate on samples of the corpus, where an iteration costs a fraction."""
        sentences = np.arange(len(self.corpus.lengths)) if self.sentences is None else self.sentences
        begin = Start(x)
        for every, iterations in WARM_UP:
            sample = sentences[every // 2 :: every]
            before = begin.iterations
            if self.corpus.lengths[sample].sum() < WARM_UP_TOKENS or before >= max_iterations:
                continue
            likelihood = self.likelihood(sample)
            result = minimize(
                self.masked(likelihood),
                begin.x,
                first_scale(likelihood),
                min(iterations, max_iterations - before),
                l1=self.l1,
                watch=lambda i, loss, x, before=before: watch(before + i, None, x),  # type: ignore[misc]
            )
            begin = Start(result.x, before + result.iterations, begin.evaluations + result.evaluations)
        return begin

    def masked(self, likelihood: LossFunction) -> Function:
        """Make a function whose gradient is zero at the parameters that are not trained."""

        if self.kept is None:
            return likelihood
        dropped = ~self.kept

        def function(weights: np.ndarray) -> tuple[float, np.ndarray]:
            loss, gradient = likelihood(weights)
            gradient[dropped] = 0.0
            return loss, gradient

        return function

    def likelihood(self, sentences: np.ndarray | None) -> LossFunction:
        """Make the objective of these sentences, by default of all, over their candidates if they have any."""
        kind = PenalizedLikelihood if self.corpus.proposal is None else CandidateLikelihood
        groups = None if sentences is None else [sentences]
        return kind(self.corpus, self.layout, self.l2, self.threads, groups=groups)


def learn_weights(
    model: CRFTagger,
    trainer: Trainer,
    size: dict[str, int],
    dev: Sequence[Sentence] | None,
    watch: ProgressCallback,
    checkpoint: Checkpoint | None,
    fingerprints: Callable[[], dict[str, str]],
) -> None:
    """Let a trainer find the weights of a model, with all that belongs to a training; `size` is that of the corpus."""
    from threadpoolctl import threadpool_limits

    monitor = TrainingMonitor(
        use_weights=lambda weights: model.set_weights(trainer.layout.split(trainer.model_weights(weights))),
        score=model.score,
        dev=dev,
        dev_every=DEV_EVERY,
        patience=model.patience,
        watch=watch,
        checkpoint=checkpoint,
        fingerprints=fingerprints,
        metric=model.metric,
    )
    with threadpool_limits(limits=1, user_api="blas"):
        model.conclude(size, monitor.run(trainer.train))


def first_scale(likelihood: LossFunction) -> np.ndarray:
    """Scale the weights by count^-1/4: curvature grows with the count, but slower; the exponent is found by trial."""
    return np.asarray((likelihood.layout.counts + max(2 * likelihood.l2, 1.0)) ** -0.25)


def preconditioner(likelihood: LossFunction, weights: np.ndarray, l1: float) -> tuple[np.ndarray, float | None]:
    """Choose the scale of the variables for a minimisation that begins at these weights, and its first step.

    Away from zero weights the scale comes from the curvature there. With an L1 penalty it does not: the weights of rare
    features, which most of those at zero are, would make steps too long.
    """
    first_step = FIRST_STEP if weights.any() else None
    if l1 or first_step is None:
        return first_scale(likelihood), first_step
    return np.maximum(likelihood.curvature(weights), MIN_CURVATURE) ** -0.45, first_step
