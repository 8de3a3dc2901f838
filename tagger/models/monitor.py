"""The training monitor: dev scores, early stopping, checkpoints and progress callbacks.

The training loop reports each iteration and is told when to stop. The weights saved and the weights scored may differ:
a checkpoint holds all that is needed to resume, the dev set scores the weights of a model.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from tagger.models.checkpoint import Checkpoint, State


@dataclass(frozen=True)
class Progress:
    """A report after an iteration; `seconds` count from the end of encoding."""

    iteration: int
    loss: float | None  # of the whole corpus; None during warm-up on a part of it
    seconds: float
    dev_accuracy: float | None


ProgressCallback = Callable[[Progress], "str | None"]  # may return a reason to stop
INTERRUPTED = "it was interrupted"  # a reason to stop after which training may be resumed


@dataclass
class TrainingMonitor:
    """Scores the dev set every `dev_every` iterations, keeps the best weights, and writes checkpoints."""

    patience: int  # dev scores without a gain before training stops
    dev_every: int
    dev_score: Callable[[np.ndarray], float] | None  # the accuracy of weights; None without a dev set
    watch: ProgressCallback
    checkpoint: Checkpoint | None
    prints: dict[str, str]  # fingerprints of what a checkpoint depends on
    unit: str = "iteration"
    state: State = field(init=False)

    def start(self, weights: np.ndarray, best: int | None = None) -> State:
        """Start with these weights, or resume from the checkpoint; `best` is the size of the scored weights."""
        self.begin = time.perf_counter()
        self.state = State(0, weights)
        if self.checkpoint and self.checkpoint.resume:
            self.state = self.checkpoint.load(self.prints, len(weights), best)
            self.state.weights = self.state.weights.astype(weights.dtype, copy=False)
            self.state.best_weights = self.state.best_weights.astype(weights.dtype, copy=False)
        return self.state

    def after(
        self, iteration: int, loss: float | None, weights: np.ndarray, judged: np.ndarray | None = None
    ) -> str | None:
        """Report an iteration; return a reason to stop, or None."""
        self.state.iteration, self.state.weights = iteration, weights
        due = loss is not None and iteration % self.dev_every == 0
        accuracy = self.score_dev(judged) if due else None
        if self.checkpoint and iteration % self.checkpoint.every == 0:
            self.save()
        stop = self.watch(Progress(iteration, loss, time.perf_counter() - self.begin, accuracy))
        if stop == INTERRUPTED:
            self.save()
        if accuracy is not None and iteration - self.state.best_iteration >= self.patience * self.dev_every:
            return f"the dev set has not got better since {self.unit} {self.state.best_iteration}"
        return stop

    def save(self) -> None:
        """Write the checkpoint, if there is one."""
        if self.checkpoint:
            self.checkpoint.save(self.state, self.prints)

    def score_dev(self, judged: np.ndarray | None = None) -> float | None:
        """Score weights on the dev set, by default the present ones, and keep the best; None without a dev set."""
        if self.dev_score is None:
            return None
        weights = self.state.weights if judged is None else judged
        accuracy = self.dev_score(weights)
        if self.state.best_accuracy is None or accuracy > self.state.best_accuracy:
            self.state.best_accuracy, self.state.best_iteration = accuracy, self.state.iteration
            self.state.best_weights = weights
        return accuracy
