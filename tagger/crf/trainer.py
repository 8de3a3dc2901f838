"""How a CRF is trained: warm up on parts of the corpus, then go on with all of it.

The optimiser knows none of this and the likelihood neither. After every iteration the course of the training is told
how far things have come, and says when it is time to stop.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from tagger.errors import several
from tagger.models.checkpoint import State
from tagger.models.monitor import TrainingMonitor

if TYPE_CHECKING:
    from tagger.crf.lbfgs import Result
    from tagger.crf.objective import PenalizedLikelihood
    from tagger.crf.parameters import EncodedCorpus, ParameterLayout

DEV_EVERY = 5  # iterations between two looks at the dev set
WARM_UP = ((20, 20), (5, 15))  # iterations on every twentieth sentence, then on every fifth
WARM_UP_TOKENS = 5000  # parts smaller than this teach nothing
LEAST_CURVATURE = 0.01  # without a penalty, that of a weight may be zero
FIRST_STEP = 0.1  # along the gradient, where the scale is the square root of the curvature


@dataclass
class Trainer:
    """Settings as those of `CRFTagger`."""

    corpus: EncodedCorpus
    layout: ParameterLayout
    l2: float
    l1: float
    max_iterations: int
    tolerance: float
    threads: int
    course: TrainingMonitor

    def train(self) -> tuple[Result, State]:
        """The weights where the optimiser ended, and the state with the best ones on the dev set."""
        from tagger.crf.lbfgs import minimize
        from tagger.crf.objective import PenalizedLikelihood

        likelihood = PenalizedLikelihood(self.corpus, self.layout, self.l2, self.threads)
        self.state = self.course.start(self.layout.centre.copy())
        anew = not self.state.iteration and not self.state.weights.any()
        evaluations = self.warm_up() if anew else 0
        before = self.state.iteration
        scale, first_step = approach(likelihood, self.state.weights)
        found = minimize(
            likelihood,
            self.state.weights,
            scale,
            max(0, self.max_iterations - before),
            self.tolerance,
            self.l1,
            watch=lambda i, loss, x: self.course.after(before + i, loss, x),
            first_step=first_step,
        )
        iterations, evaluations = before + found.iterations, evaluations + found.evaluations
        self.state.weights, self.state.iteration = found.x, iterations
        self.course.score_dev()
        full = iterations >= self.max_iterations
        reason = f"{several(self.max_iterations, 'iteration')} had been allowed" if full else found.reason
        return replace(found, iterations=iterations, evaluations=evaluations, reason=reason), self.state

    def warm_up(self) -> int:
        """Go a long way for little: iterations on a twentieth of the corpus cost a twentieth. Returns evaluations."""
        from tagger.crf.lbfgs import minimize
        from tagger.crf.objective import PenalizedLikelihood

        evaluations = 0
        for every, iterations in WARM_UP:
            chosen = np.arange(every // 2, len(self.corpus.lengths), every)
            before = self.state.iteration
            if self.corpus.lengths[chosen].sum() < WARM_UP_TOKENS or before >= self.max_iterations:
                continue
            part = PenalizedLikelihood(self.corpus, self.layout, self.l2, self.threads, folds=[chosen])
            found = minimize(
                part,
                self.state.weights,
                first_scale(part),
                min(iterations, self.max_iterations - before),
                l1=self.l1,
                watch=lambda i, loss, x, before=before: self.course.after(before + i, None, x),  # type: ignore[misc]
            )
            evaluations += found.evaluations
        return evaluations


def first_scale(likelihood: PenalizedLikelihood) -> np.ndarray:
    """A weight's curvature grows with its count, slower than in proportion; the exponent was found by trial."""
    return np.asarray((likelihood.layout.counts + max(2 * likelihood.l2, 1.0)) ** -0.25)


def approach(likelihood: PenalizedLikelihood, weights: np.ndarray) -> tuple[np.ndarray, float | None]:
    """The scale of the variables for a way that begins at these weights, and the length of the first step on it.

    Near the goal the curvature is known better.
    """
    if not weights.any():
        return first_scale(likelihood), None
    return np.maximum(likelihood.curvature(weights), LEAST_CURVATURE) ** -0.45, FIRST_STEP
