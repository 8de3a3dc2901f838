"""What goes on beside a training: a dev set is scored, the best is kept, what was reached is saved, watchers are told.

Whoever learns tells the course how far things have come, and hears when it is time to stop. What is kept and what is
judged may differ: a checkpoint holds all that is needed to go on, the dev set judges the weights of a model.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from tagger.models.checkpoint import Checkpoint, State


@dataclass(frozen=True)
class Progress:
    """What a watcher is told after an iteration; `seconds` count from the end of encoding."""

    iteration: int
    loss: float | None  # of the whole corpus; None while warming up on a part of it
    seconds: float
    dev_accuracy: float | None


ProgressCallback = Callable[[Progress], "str | None"]  # may answer with a reason to stop
INTERRUPTED = "it was interrupted"  # the reason of somebody who may want to go on later


@dataclass
class TrainingMonitor:
    """`dev_score` gives the accuracy of weights on the dev set, if there is one, every `dev_every` iterations."""

    patience: int  # scorings without a gain
    dev_every: int
    dev_score: Callable[[np.ndarray], float] | None
    watch: ProgressCallback
    checkpoint: Checkpoint | None
    prints: dict[str, str]  # of what a checkpoint belongs to
    unit: str = "iteration"
    state: State = field(init=False)

    def start(self, weights: np.ndarray, best: int | None = None) -> State:
        """Begin with these weights, or with those of the checkpoint; `best` is the size of the ones judged."""
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
        """One iteration is done. The answer is a reason to stop, if there is one."""
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
        if self.checkpoint:
            self.checkpoint.save(self.state, self.prints)

    def score_dev(self, judged: np.ndarray | None = None) -> float | None:
        """The accuracy of the weights to be judged, by default the present ones; the best ones are kept."""
        if self.dev_score is None:
            return None
        weights = self.state.weights if judged is None else judged
        accuracy = self.dev_score(weights)
        if self.state.best_accuracy is None or accuracy > self.state.best_accuracy:
            self.state.best_accuracy, self.state.best_iteration = accuracy, self.state.iteration
            self.state.best_weights = weights
        return accuracy
