"""Trainings that try out settings: a corpus encoded once, and weights that begin where the best so far ended.

Settings are judged by a dev set or, without one, by cross-validation: each fold in turn is left out of the sum over the
sentences, and its own sentences are judged. One encoding serves all folds and all settings. A parameter that a training
on the other sentences would not have, because its feature is too rare there or never comes with that tag, is held at
zero, which is the same as not having it.

Every fold has its own weights to begin with. To begin with those of another would be to begin with what was learned
from the very sentences that are going to judge.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

import numpy as np

from tagger.corpus.labels import check_dev, training_sentences
from tagger.crf.encode import form_of
from tagger.crf.tagger import CRFTagger
from tagger.evaluation.metrics import accuracy
from tagger.experiments.crossval import fold_numbers
from tagger.experiments.search import Setting, Trial
from tagger.features.word_classes import WordClasses
from tagger.files.resources import available_cores
from tagger.sentence import Sentence

if TYPE_CHECKING:
    from tagger.crf.lbfgs import Result

FOLDS = 5


class SettingTrials:
    """Settings are those of `model`, except for the ones that are tried; `model` itself stays as it is."""

    def __init__(
        self,
        model: CRFTagger,
        sentences: Sequence[Sentence],
        dev: Sequence[Sentence] | None = None,
        init: CRFTagger | None = None,
        classes: WordClasses | None = None,
        watch: Callable[[], None] = lambda: None,
    ) -> None:
        """`watch` is called after every iteration; what it raises ends the trial."""
        from tagger.experiments.fold_likelihood import FoldLikelihood

        self.model = CRFTagger(**model.get_params() | {"min_count": 1})
        self.model.column_ = model.column_
        self.model.check_settings()
        self.sentences = training_sentences(sentences, None, form_of(init))
        self.watch = watch
        corpus, self.layout = self.model.encode(self.sentences, init, classes)
        self.judges: dict[int | None, list[Sentence]]  # by the fold that is left out for them
        if dev is not None:
            check_dev(self.model.classes_, list(dev))
            self.judges, folds = {None: list(dev)}, None
        else:
            numbers = np.array(fold_numbers(self.sentences, FOLDS, seed=0))
            folds = [np.flatnonzero(numbers == fold) for fold in range(FOLDS)]
            self.judges = {fold: [self.sentences[i] for i in own.tolist()] for fold, own in enumerate(folds)}
        threads = model.threads or available_cores()
        self.likelihood = FoldLikelihood(corpus, self.layout, model.l2, threads, folds=folds)
        self.counts = {fold: self.observed(fold) for fold in self.judges}
        self.best: Trial | None = None
        self.found: dict[int | None, Result] = {}  # of the best trial

    def observed(self, fold: int | None) -> np.ndarray:
        """(P,) how often each parameter is seen in training."""
        if fold is None:
            return self.layout.counts
        self.likelihood.leave_out(fold)
        return self.likelihood.observed()

    def judge(self, setting: Setting) -> Trial:
        """How good a setting is."""
        gold: list[Sentence] = []
        guesses: list[list[str]] = []
        found = {}
        for fold, own in self.judges.items():
            found[fold] = self.train(setting, fold)
            self.model.set_weights(*self.layout.split(found[fold].x))
            gold += own
            guesses += self.model.predict(own)
        weights = sum(int(np.count_nonzero(result.x)) for result in found.values()) // len(found)
        trial = Trial(setting, accuracy(gold, guesses) or 0.0, weights)
        if self.best is None or trial.accuracy > self.best.accuracy:
            self.best, self.found = trial, found
        return trial

    def train(self, setting: Setting, fold: int | None) -> Result:
        """To the minimum, without that fold, from the weights of the best trial so far."""
        from threadpoolctl import threadpool_limits

        from tagger.crf.lbfgs import minimize
        from tagger.crf.trainer import preconditioner

        begin = self.found[fold].x if self.found else self.layout.centre
        keep = self.kept(self.counts[fold], setting.min_count)
        begin = np.where(keep, begin, 0.0)
        self.likelihood.l2 = setting.l2
        self.likelihood.leave_out(fold)

        def function(weights: np.ndarray) -> tuple[float, np.ndarray]:
            loss, gradient = self.likelihood(weights)
            return loss, np.where(keep, gradient, 0.0)

        with threadpool_limits(limits=1, user_api="blas"):
            scale, first_step = preconditioner(self.likelihood, begin)
            return minimize(
                function,
                begin,
                scale,
                self.model.max_iterations,
                self.model.tolerance,
                setting.l1,
                watch=lambda iteration, loss, weights: self.watch(),
                first_step=first_step,
            )

    def kept(self, counts: np.ndarray, min_count: int) -> np.ndarray:
        """(P,) whether a training with these counts has the parameter; what a model brings stays."""
        features, K = self.model.features_, len(self.model.classes_)
        own = features.rows
        at_least = [1 if template.offset is not None else self.model.min_pair_count for template in features.templates]
        needed = np.maximum(min_count, np.repeat(at_least, np.diff(features.bases)))  # (F,)
        first = counts[: len(own.tags)]
        seen = np.bincount(own.owners, weights=np.where(own.tags < K, first, 0), minlength=len(own))  # (F,)
        keep = counts > 0
        keep[: len(own.tags)] &= (seen >= needed)[own.owners]
        keep[-2 * K :] = True  # start and end
        return keep | (self.layout.centre != 0)

    def close(self) -> None:
        """No more trials: what takes room is given back, the best model stays."""
        del self.likelihood, self.counts

    def best_model(self, reason: str) -> CRFTagger | None:
        """That of the best trial, if it was trained on all sentences; `reason` tells why there is no other."""
        if self.best is None or None not in self.found:
            return None
        found = replace(self.found[None], reason=reason)
        self.model.set_params(**asdict(self.best.setting))
        self.model.set_weights(*self.layout.split(found.x))
        self.model.conclude(self.sentences, found.figures() | {"dev_accuracy": self.best.accuracy})
        return self.model
