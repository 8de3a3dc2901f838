"""The training of a pool: first without some sentences, on which the weights of the pool are learned, then with all.

The sentences left out are blocks from all over the corpus. Sentence by sentence, parts of one document would be on both
sides; one long stretch would be one kind of text. The CRF that has not seen them is where the training with all
sentences begins, which then takes less than half of its iterations. A small corpus is left out fold by fold, so that
the weights are learned on all of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tagger.crf.lbfgs import Result, minimize
from tagger.crf.trainer import Trainer, make_likelihood, preconditioner
from tagger.models.monitor import INTERRUPTED, TrainingMonitor

FOLDS, BLOCKS = 5, 50
HELD_OUT_TOKENS = 20_000  # that the weights of the pool are learned on, if the corpus has as many

HeldOutCallback = Callable[[list[tuple[np.ndarray, np.ndarray]]], None]  # gets pairs of weights and sentences left out


@dataclass
class PooledTrainer(Trainer):
    """A training of a CRF that shows it to sentences it has not seen before it trains on them."""

    learn_pool: HeldOutCallback

    def warm_up(self, monitor: TrainingMonitor) -> int:
        """Train without each fold, and learn the weights of the pool; return the number of evaluations.

        The last of these trainings counts as the first iterations of the whole. A training that is resumed has them
        behind it, and learns the weights of the pool anew.
        """
        resumed, evaluations, left_out = monitor.state.iteration > 0, 0, []
        folds = held_out_folds(self.corpus.lengths)
        for number, fold in enumerate(folds, 1):
            is_reported = number == len(folds) and not resumed
            result = self.train_without(fold, monitor.after if is_reported else lambda *progress: None)
            evaluations += result.evaluations
            left_out.append((result.x, fold))
            if result.reason == INTERRUPTED:
                break
        self.learn_pool(left_out)
        return evaluations

    def train_without(self, fold: np.ndarray, report: Callable[..., Any]) -> Result:
        """Train on all sentences but those of a fold, with half of the iterations allowed."""
        others = np.setdiff1d(np.arange(len(self.corpus.lengths)), fold)
        likelihood = make_likelihood(self.corpus, self.layout, self.l2, self.threads, groups=[others])
        scale, first_step = preconditioner(likelihood, self.layout.centre)
        return minimize(
            likelihood,
            self.layout.centre,
            scale,
            max(1, self.max_iterations // 2),
            self.tolerance,
            self.l1,
            watch=lambda i, loss, x: report(i, None, x),
            first_step=first_step,
        )


def held_out_folds(lengths: np.ndarray) -> list[np.ndarray]:
    """Choose the sentences that are left out: folds, until they have HELD_OUT_TOKENS; none if nothing would be left.

    `lengths` are those of all sentences.
    """
    count = len(lengths)
    fold = np.arange(count) * min(BLOCKS, count) // max(1, count) % FOLDS
    chosen: list[np.ndarray] = []
    for number in reversed(range(FOLDS)):
        members = np.flatnonzero(fold == number)
        if 0 < len(members) < count and sum(lengths[some].sum() for some in chosen) < HELD_OUT_TOKENS:
            chosen.append(members)
    return chosen
