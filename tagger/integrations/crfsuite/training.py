"""Training as CRFsuite does it: its parameters, its penalties, its rule when to stop, and a log of the iterations.

The loss is CRFsuite's: `-Σ log p + c2 · ‖w‖² + c1 · ‖w‖₁` over the same parameters, so that both programs have one
optimum. The optimiser is another one, and reaches a given loss in fewer iterations.
"""

from __future__ import annotations

import math
import operator
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from tagger.crf.lbfgs import Result
from tagger.crf.parameters import ChainWeights, EncodedCorpus, ParameterLayout
from tagger.crf.tagger import CRFTagger
from tagger.crf.trainer import Start, Trainer, Watch
from tagger.features.valued import Selection
from tagger.sentence import Sentence

FEW_ITERATIONS = 50  # with fewer, none are spent on samples of the corpus


@dataclass
class TrainingLog:
    """The iterations of a training, with the names that python-crfsuite's log parser gives to their figures."""

    iterations: list[dict[str, Any]] = field(default_factory=list)
    featgen_num_features: int | None = None
    training_seconds: float | None = None
    log: list[str] = field(default_factory=list)

    @property
    def last_iteration(self) -> dict[str, Any] | None:
        """The last iteration; None before the first."""
        return self.iterations[-1] if self.iterations else None


class LabelScore(NamedTuple):
    """The counts and rates of a label; a rate without a denominator is None."""

    match: int
    model: int
    ref: int
    precision: float | None
    recall: float | None
    f1: float | None

    @classmethod
    def of(cls, label: str, pairs: Sequence[tuple[str, str]]) -> LabelScore:
        """Score a label, given all pairs of a right label and a predicted one."""
        match = sum(gold == guess == label for gold, guess in pairs)
        ref, model = (sum(pair[i] == label for pair in pairs) for i in (0, 1))
        precision, recall = (match / count if count else None for count in (model, ref))
        f1 = 2 * match / (model + ref) if model + ref else None
        return cls(match, model, ref, precision, recall, f1)


def holdout_scores(labels: Sequence[str], gold: list[list[str]], guesses: list[list[str]]) -> dict[str, Any]:
    """Compute the scores that python-crfsuite's log has for held-out data, by its names."""
    pairs = [pair for two in zip(gold, guesses, strict=True) for pair in zip(*two, strict=True)]
    scores = {label: LabelScore.of(label, pairs) for label in labels}
    right = Fraction(sum(a == b for a, b in pairs), max(1, len(pairs)))
    whole = Fraction(sum(map(operator.eq, gold, guesses)), max(1, len(gold)))
    return {
        "scores": scores,
        "avg_precision": sum(score.precision or 0.0 for score in scores.values()) / len(labels),
        "avg_recall": sum(score.recall or 0.0 for score in scores.values()) / len(labels),
        "avg_f1": sum(score.f1 or 0.0 for score in scores.values()) / len(labels),
        "item_accuracy": right,
        "item_accuracy_float": float(right),
        "instance_accuracy": whole,
        "instance_accuracy_float": float(whole),
    }


class LinePerIteration:
    """The default trainer class: it prints a line for each iteration, if `verbose`."""

    def __init__(self, algorithm: str | None = None, params: Any = None, verbose: bool = True) -> None:
        self.algorithm, self.params, self.verbose = algorithm, params, verbose

    def on_iteration(self, log: str, info: dict[str, Any]) -> None:
        """Print the line of an iteration."""
        sys.stdout.write(log)

    def on_optimization_end(self, log: str) -> None:
        """Print the end of a training."""
        sys.stdout.write(log)


@dataclass(eq=False, repr=False, kw_only=True)
class CRFsuiteTagger(CRFTagger):
    """A `CRFTagger` with the parameters of CRFsuite, whose weights are not rounded."""

    def __post_init__(self) -> None:
        self.chosen, self.period, self.delta = Selection(min_value=0.0, edges=False, zeros=True), 10, 1e-5
        self.log_ = TrainingLog()
        self.hooks: Any = None  # of a trainer class

    def selection(self) -> Selection:
        return self.chosen

    def trainer(self, corpus: EncodedCorpus, layout: ParameterLayout, sentences: Sequence[Sentence]) -> Trainer:
        kept = layout.kept(self.chosen)
        settings = {**self.trainer_settings(), "tolerance": 0.0}
        trainer = LoggingTrainer(corpus, layout, **settings, kept=kept)
        trainer.log, trainer.period, trainer.delta, trainer.hooks = self.log_, self.period, self.delta, self.hooks
        self.log_.featgen_num_features = layout.size if kept is None else int(kept.sum())
        return trainer

    def set_weights(self, weights: ChainWeights) -> None:
        super().set_weights(weights)
        self.weights_ = weights.features.astype(np.float32)


class LoggingTrainer(Trainer):
    """A trainer that stops by CRFsuite's rule and writes a log."""

    log: TrainingLog
    period: int
    delta: float
    hooks: Any = None

    def optimize(self, x: np.ndarray, max_iterations: int, watch: Watch) -> Result:
        begin = time.perf_counter()

        def watch_and_log(iteration: int, loss: float | None, weights: np.ndarray) -> str | None:
            stop = watch(iteration, loss, weights)
            return stop if loss is None else self.add(loss, weights, time.perf_counter() - begin) or stop

        result = super().optimize(x, max_iterations, watch_and_log)
        self.log.training_seconds = time.perf_counter() - begin
        return result

    def warm_up(self, x: np.ndarray, max_iterations: int, watch: Watch) -> Start:
        """Iterate on samples, unless few iterations are allowed, or weights that became zero there would stay so.

        These iterations are none of those that the settings limit.
        """
        if max_iterations < FEW_ITERATIONS or self.l1:
            return Start(x)
        begin = super().warm_up(x, max_iterations, watch)
        return Start(begin.x, 0, begin.evaluations)

    def add(self, loss: float, weights: np.ndarray, seconds: float) -> str | None:
        """Add an iteration to the log; return a reason to stop if the loss falls by less than `delta` of itself."""
        iterations = self.log.iterations
        last = sum(row["time"] for row in iterations)
        active, norm = int(np.count_nonzero(weights)), math.sqrt(float(weights @ weights))
        info: dict[str, Any] = {"num": len(iterations) + 1, "loss": loss, "time": seconds - last, "scores": {}}
        info |= {"active_features": active, "feature_norm": norm}
        iterations.append(info)
        line = f"Iter {info['num']:<3} time={info['time']:<5.2f} loss={loss:<8.2f} active={active:<5} "
        self.log.log.append(f"{line}feature_norm={norm:<8.2f}".strip() + "\n")
        if self.hooks is not None:
            self.hooks.on_iteration(self.log.log[-1], info)
        if not self.period or len(iterations) <= self.period:
            return None
        fall = iterations[-1 - self.period]["loss"] - loss
        return f"the loss fell by less than delta={self.delta:g}" if fall < self.delta * abs(loss) else None
