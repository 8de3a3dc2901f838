"""The training of a CRF: warm up on parts of the corpus, then go on with all of it.

The optimiser and the objective have no part in this. After every iteration the monitor (`models.monitor`) gets the loss
and the weights, and returns a reason when it is time to stop.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tagger.chain.pack import PACK_TOKENS
from tagger.crf.candidates.objective import CandidateLikelihood, count_arcs
from tagger.crf.lbfgs import minimize
from tagger.crf.objective import PenalizedLikelihood
from tagger.crf.parameters import EncodedCorpus, ParameterLayout
from tagger.errors import TrainingError, several
from tagger.files import resources
from tagger.models.monitor import TrainingMonitor

DEV_EVERY = 5  # iterations between two scorings of the dev set
WARM_UP = ((20, 20), (5, 15))  # (n, iterations): first on every twentieth sentence, then on every fifth
WARM_UP_TOKENS = 5000  # smaller parts of the corpus are no help
MIN_CURVATURE = 0.01  # without a penalty, that of a weight may be zero
MAX_PENALTY = 1e15  # leaves no weight; more does the same, but overflows
FIRST_STEP = 0.1  # along the gradient, where the scale is the square root of the curvature
ADVICE = "use a part of the corpus, fewer tags, min_count=2 or features='comparison'"

Likelihood = PenalizedLikelihood | CandidateLikelihood


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
            + 150 * self.layout.size  # the optimiser's memory
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
        likelihood = make_likelihood(self.corpus, self.layout, self.l2, self.threads)
        state = monitor.start(self.layout.centre.copy())
        evaluations = self.warm_up(monitor)
        before = state.iteration
        scale, first_step = preconditioner(likelihood, state.weights)
        result = minimize(
            likelihood,
            state.weights,
            scale,
            max(0, self.max_iterations - before),
            self.tolerance,
            self.l1,
            watch=lambda i, loss, x: monitor.after(before + i, loss, x),
            first_step=first_step,
        )
        state.weights, state.iteration = result.x, before + result.iterations
        monitor.score_dev()
        if not np.isfinite(result.loss):
            raise TrainingError(f"the loss became {result.loss}: no model. Try another l2, it was {self.l2:g}")
        result = replace(result, iterations=state.iteration, evaluations=evaluations + result.evaluations)
        if result.iterations >= self.max_iterations:
            result = replace(result, reason=f"max_iterations={self.max_iterations} was reached")
        return result.x, result.figures()

    def warm_up(self, monitor: TrainingMonitor) -> int:
        """Iterate on samples of the corpus, where an iteration costs a fraction; return the number of evaluations.

        A training that does not begin at zero needs none. With candidates it gains nothing: EWT takes 99 evaluations
        without, 130 with it.
        """
        evaluations = 0
        if monitor.state.iteration or monitor.state.weights.any() or self.corpus.proposal is not None:
            return evaluations
        for every, iterations in WARM_UP:
            sample = np.arange(every // 2, len(self.corpus.lengths), every)
            before = monitor.state.iteration
            if self.corpus.lengths[sample].sum() < WARM_UP_TOKENS or before >= self.max_iterations:
                continue
            likelihood = make_likelihood(self.corpus, self.layout, self.l2, self.threads, groups=[sample])
            result = minimize(
                likelihood,
                monitor.state.weights,
                first_scale(likelihood),
                min(iterations, self.max_iterations - before),
                l1=self.l1,
                watch=lambda i, loss, x, before=before: monitor.after(before + i, None, x),  # type: ignore[misc]
            )
            evaluations += result.evaluations
        return evaluations


def make_likelihood(corpus: EncodedCorpus, *args: Any, **settings: Any) -> Likelihood:
    """Make the objective of a corpus, over its candidates if it has any."""
    kind = PenalizedLikelihood if corpus.proposal is None else CandidateLikelihood
    return kind(corpus, *args, **settings)


def first_scale(likelihood: Likelihood) -> np.ndarray:
    """Scale the weights by count^-1/4: curvature grows with the count, but slower; the exponent is found by trial."""
    return np.asarray((likelihood.layout.counts + max(2 * likelihood.l2, 1.0)) ** -0.25)


def preconditioner(likelihood: Likelihood, weights: np.ndarray) -> tuple[np.ndarray, float | None]:
    """Choose the scale of the variables for a minimisation that begins at these weights, and its first step.

    Away from zero weights the scale comes from the curvature there.
    """
    if not weights.any():
        return first_scale(likelihood), None
    return np.maximum(likelihood.curvature(weights), MIN_CURVATURE) ** -0.45, FIRST_STEP
