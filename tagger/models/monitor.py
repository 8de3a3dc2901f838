"""The training monitor: scores a dev set, keeps the best weights, saves checkpoints and reports progress.

The training loop calls `after` at the end of every iteration and stops when that returns a reason. The weights that are
saved and those that are scored may differ: a checkpoint holds all that is needed to continue, the dev set scores the
weights of a model.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tagger.arrays.caching import cached_property
from tagger.models.checkpoint import Checkpoint, State
from tagger.sentence import Sentence


@dataclass(frozen=True)
class Progress:
    """The progress of a training after an iteration; `seconds` count from the end of encoding."""

    iteration: int
    loss: float | None  # of the whole corpus; None during warm-up on a part of it
    seconds: float
    dev_accuracy: float | None
    dev_span_f1: float | None = None  # instead, if the metric is span F1


ProgressCallback = Callable[[Progress], "str | None"]  # returns a reason to stop, or None
DEV_SCORES = {"accuracy": "dev_accuracy", "span-f1": "dev_span_f1"}  # the names of scores on the dev set, by metric
INTERRUPTED = "it was interrupted"  # a reason to stop after which training may be resumed


@dataclass
class TrainingMonitor:
    """Everything around a training loop, for any model whose weights are one vector."""

    use_weights: Callable[[np.ndarray], None]  # puts weights into the model
    score: Callable[[Sequence[Sentence]], float]  # of the model with the weights it has
    dev: Sequence[Sentence] | None
    dev_every: int  # iterations between two scorings
    patience: int  # scorings without a gain
    watch: ProgressCallback
    checkpoint: Checkpoint | None
    fingerprints: Callable[[], dict[str, str]]  # of the training that a checkpoint belongs to
    unit: str = "iteration"
    metric: str = "accuracy"  # of `score`
    state: State = field(init=False)

    @cached_property
    def prints(self) -> dict[str, str]:
        """The fingerprints, computed when the first checkpoint is written or read: hashing a corpus takes time."""
        return self.fingerprints()

    def run(self, train: Callable[[TrainingMonitor], tuple[np.ndarray, dict[str, Any]]]) -> dict[str, Any]:
        """Train a model; leave it with the best weights on the dev set, or without one with the last.

        `train` gets this monitor and returns the last weights and the figures of the training. Returned are those
        figures, with the ones of the dev set. The checkpoint is removed, unless it is to be kept.
        """
        weights, figures = train(self)
        self.use_weights(self.state.best_weights if self.dev else weights)
        if self.dev:
            figures |= {DEV_SCORES[self.metric]: self.state.best_accuracy, "best_iteration": self.state.best_iteration}
        if self.checkpoint and not self.checkpoint.keep:
            self.checkpoint.remove()
        return figures

    def start(self, weights: np.ndarray, best_size: int | None = None) -> State:
        """Begin with these weights, or with the state of the checkpoint; `best_size` is the size of those scored."""
        self.begin = time.perf_counter()
        self.state = State(0, weights)
        if self.checkpoint and self.checkpoint.resume:
            self.state = self.checkpoint.load(self.prints, len(weights), best_size)
            self.state.weights = self.state.weights.astype(weights.dtype, copy=False)
            self.state.best_weights = self.state.best_weights.astype(weights.dtype, copy=False)
        return self.state

    def after(
        self, iteration: int, loss: float | None, weights: np.ndarray, scored: np.ndarray | None = None
    ) -> str | None:
        """Record that an iteration is done; return a reason to stop, or None."""
        self.state.iteration, self.state.weights = iteration, weights
        due = loss is not None and iteration % self.dev_every == 0
        score = self.score_dev(scored) if due else None
        if self.checkpoint and iteration % self.checkpoint.every == 0:
            self.save()
        figures = {"dev_accuracy": None, DEV_SCORES[self.metric]: score}
        stop = self.watch(Progress(iteration, loss, time.perf_counter() - self.begin, **figures))
        if stop == INTERRUPTED:
            self.save()
        if score is not None and iteration - self.state.best_iteration >= self.patience * self.dev_every:
            return f"{self.metric} on the dev set has not improved since {self.unit} {self.state.best_iteration}"
        return stop

    def save(self) -> None:
        """Write the state to the checkpoint, if there is one."""
        if self.checkpoint:
            self.checkpoint.save(self.state, self.prints)

    def score_dev(self, scored: np.ndarray | None = None) -> float | None:
        """Score weights on the dev set, by default the present ones, and keep them if they are the best so far."""
        if not self.dev:
            return None
        weights = self.state.weights if scored is None else scored
        self.use_weights(weights)
        score = self.score(self.dev)
        if self.state.best_accuracy is None or score > self.state.best_accuracy:
            self.state.best_accuracy, self.state.best_iteration = score, self.state.iteration
            self.state.best_weights = weights
        return score
