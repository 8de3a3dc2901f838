"""The course of a CRF's training: warm up on parts of the corpus, go on with all of it, watch a dev set, keep the best.

The optimiser knows none of this and the likelihood neither. After every iteration the trainer is told how far things
have come; it scores the dev set now and then, saves a checkpoint, passes the news on to whoever watches, and says when
it is time to stop.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from tagger.checkpoint import Checkpoint, State

if TYPE_CHECKING:
    from tagger.likelihood import Corpus, Layout, Likelihood
    from tagger.optimize import Result

DEV_EVERY = 5  # iterations between two looks at the dev set
WARM_UP = ((20, 20), (5, 15))  # iterations on every twentieth sentence, then on every fifth
WARM_UP_TOKENS = 5000  # parts smaller than this teach nothing
LEAST_CURVATURE = 0.01  # without a penalty, that of a weight may be zero
FIRST_STEP = 0.1  # along the gradient, where the scale is the square root of the curvature


@dataclass(frozen=True)
class Progress:
    """What a watcher is told after an iteration; `seconds` count from the end of encoding."""

    iteration: int
    loss: float | None  # of the whole corpus; None while warming up on a part of it
    seconds: float
    dev_accuracy: float | None


Watch = Callable[[Progress], "str | None"]  # may answer with a reason to stop


@dataclass
class Trainer:
    """Settings as those of `CRFTagger`; `dev_score` gives the accuracy of weights on the dev set, if there is one."""

    corpus: Corpus
    layout: Layout
    l2: float
    l1: float
    max_iterations: int
    tolerance: float
    patience: int
    threads: int
    dev_score: Callable[[np.ndarray], float] | None
    watch: Watch
    checkpoint: Checkpoint | None
    prints: dict[str, str]

    def train(self) -> tuple[Result, State]:
        """The weights where the optimiser ended, and the state with the best ones on the dev set."""
        from tagger.likelihood import Likelihood
        from tagger.optimize import minimise

        likelihood = Likelihood(self.corpus, self.layout, self.l2, self.threads)
        self.begin = time.perf_counter()
        self.state = State(0, self.layout.centre.copy())
        if self.checkpoint and self.checkpoint.resume:
            self.state = self.checkpoint.load(self.prints, self.layout.size)
        anew = not self.state.iteration and not self.state.weights.any()
        evaluations = self.warm_up() if anew else 0
        before = self.state.iteration
        scale, first_step = approach(likelihood, self.state.weights)
        found = minimise(
            likelihood,
            self.state.weights,
            scale,
            max(0, self.max_iterations - before),
            self.tolerance,
            self.l1,
            watch=lambda i, loss, x: self.after(before + i, loss, x),
            first_step=first_step,
        )
        iterations, evaluations = before + found.iterations, evaluations + found.evaluations
        self.state.weights, self.state.iteration = found.x, iterations
        self.score_dev()
        full = iterations >= self.max_iterations
        reason = f"{self.max_iterations} iterations were allowed" if full else found.reason
        return replace(found, iterations=iterations, evaluations=evaluations, reason=reason), self.state

    def warm_up(self) -> int:
        """Go a long way for little: iterations on a twentieth of the corpus cost a twentieth. Returns evaluations."""
        from tagger.likelihood import Likelihood
        from tagger.optimize import minimise

        evaluations = 0
        for every, iterations in WARM_UP:
            chosen = np.arange(every // 2, len(self.corpus.lengths), every)
            before = self.state.iteration
            if self.corpus.lengths[chosen].sum() < WARM_UP_TOKENS or before >= self.max_iterations:
                continue
            part = Likelihood(self.corpus, self.layout, self.l2, self.threads, folds=[chosen])
            found = minimise(
                part,
                self.state.weights,
                first_scale(part),
                min(iterations, self.max_iterations - before),
                l1=self.l1,
                watch=lambda i, loss, x, before=before: self.after(before + i, None, x),  # type: ignore[misc]
            )
            evaluations += found.evaluations
        return evaluations

    def after(self, iteration: int, loss: float | None, weights: np.ndarray) -> str | None:
        """One iteration is done. The answer is a reason to stop, if there is one."""
        self.state.iteration, self.state.weights = iteration, weights
        accuracy = self.score_dev() if loss is not None and iteration % DEV_EVERY == 0 else None
        if self.checkpoint and iteration % self.checkpoint.every == 0:
            self.checkpoint.save(self.state, self.prints)
        stop = self.watch(Progress(iteration, loss, time.perf_counter() - self.begin, accuracy))
        if accuracy is not None and iteration - self.state.best_iteration >= self.patience * DEV_EVERY:
            return f"the dev set has not got better since iteration {self.state.best_iteration}"
        return stop

    def score_dev(self) -> float | None:
        """The accuracy of the present weights; the best ones are kept."""
        if self.dev_score is None:
            return None
        accuracy = self.dev_score(self.state.weights)
        if self.state.best_accuracy is None or accuracy > self.state.best_accuracy:
            self.state.best_accuracy, self.state.best_iteration = accuracy, self.state.iteration
            self.state.best_weights = self.state.weights
        return accuracy


def first_scale(likelihood: Likelihood) -> np.ndarray:
    """A weight's curvature grows with its count, slower than in proportion; the exponent was found by trial."""
    return np.asarray((likelihood.layout.counts + max(2 * likelihood.l2, 1.0)) ** -0.25)


def approach(likelihood: Likelihood, weights: np.ndarray) -> tuple[np.ndarray, float | None]:
    """The scale of the variables for a way that begins at these weights, and the length of the first step on it.

    Near the goal the curvature is known better.
    """
    if not weights.any():
        return first_scale(likelihood), None
    return np.maximum(likelihood.curvature(weights), LEAST_CURVATURE) ** -0.45, FIRST_STEP
