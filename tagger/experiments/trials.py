"""Trainings that test settings, on a corpus encoded once, each starting from the weights of the best trial so far.

Settings are tested on a dev set or, without one, by cross-validation: each fold in turn is left out of the likelihood,
and its sentences are the test set. One encoding serves all folds and all settings. A parameter that a training on the
other folds would not have, because its feature is too rare there or never occurs with that tag, is fixed at zero, which
is equivalent to not having it.

Every fold keeps its own starting weights: those of another fold have been trained on the sentences that now test.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from tagger.arrays.ragged import consecutive
from tagger.corpus.labels import check_dev, corpus_size, training_sentences
from tagger.crf.encode import form_of
from tagger.crf.settings import check_settings
from tagger.crf.tagger import CRFTagger
from tagger.evaluation.spans import check_metric, score_by
from tagger.experiments.crossval import fold_numbers
from tagger.experiments.search import Setting, Trial
from tagger.features.word_classes import WordClasses
from tagger.files.resources import available_cores
from tagger.models.monitor import DEV_SCORES
from tagger.models.sentence_results import by_sentence
from tagger.sentence import Sentence
from tagger.tagging.workers import Executor

if TYPE_CHECKING:
    from tagger.crf.lbfgs import Result

FOLDS = 5
FoldWork = tuple[Setting, "int | None", np.ndarray]  # the fold left out, and the weights to begin with
FoldResult = tuple["Result", list[list[str]]]  # and the tags of the test set


class SettingTrials:
    """Trials of settings for a model; all other settings are those of `model`, which is not changed."""

    def __init__(
        self,
        model: CRFTagger,
        sentences: Sequence[Sentence],
        dev: Sequence[Sentence] | None = None,
        init: CRFTagger | None = None,
        classes: WordClasses | None = None,
        watch: Callable[[], None] = lambda: None,
        run: Executor | None = None,
    ) -> None:
        """Encode the corpus.

        `watch` is called after every iteration, and an exception from it ends the trial. `run` trains the folds of a
        trial in processes that encode the corpus again; `watch` is then called after every fold.
        """
        from tagger.experiments.fold_likelihood import make_fold_likelihood
        from tagger.pooled.held_out import ParameterCounts

        self.model = CRFTagger(**model.get_params() | {"min_count": 1})
        self.model.column_, self.model.tokenizer_ = model.column_, model.tokenizer_
        self.model.columns_ = model.columns_
        check_settings(self.model)
        self.sentences = training_sentences(sentences, None, form_of(init))
        self.watch, self.run = watch, run
        self.start = partial(fold_worker, model, sentences, dev, init, classes)
        corpus, self.layout = self.model.encode(self.sentences, init, classes)
        check_metric(self.model.metric, self.model.scheme_)
        self.cross_fitted, self.lengths = corpus.cross_fitted, corpus.lengths
        self.begins = np.cumsum(self.lengths) - self.lengths
        self.test_sets: dict[int | None, list[Sentence]]  # by the fold left out of training, None for a dev set
        if dev is not None:
            check_dev(self.model.classes_, list(dev))
            self.test_sets, folds = {None: list(dev)}, None
        else:
            numbers = np.array(fold_numbers(self.sentences, FOLDS, seed=0))
            folds = self.folds = [np.flatnonzero(numbers == fold) for fold in range(FOLDS)]
            tested = self.sentences if self.cross_fitted is None else self.proposed_for()
            self.test_sets = {fold: [tested[i] for i in ids.tolist()] for fold, ids in enumerate(folds)}
        threads = model.threads or available_cores()
        self.likelihood = make_fold_likelihood(corpus, self.layout, model.l2, threads, folds=folds)
        self.parameters = ParameterCounts(corpus, self.layout)
        every = np.arange(len(self.lengths))
        others = {fold: every if fold is None else np.setdiff1d(every, self.folds[fold]) for fold in self.test_sets}
        self.counts = {fold: self.parameters.of(sentences) for fold, sentences in others.items()}
        self.best: Trial | None = None
        self.results: dict[int | None, Result] = {}  # of the best trial, by fold

    def proposed_for(self) -> list[Sentence]:
        """Return the sentences as candidates were proposed for them: some without their final mark."""
        lengths = self.lengths.tolist()
        return [sentence.begin(n) for sentence, n in zip(self.sentences, lengths, strict=True)]

    def evaluate(self, setting: Setting) -> Trial:
        """Train with a setting, once for each test set, and measure the score on all of them together."""
        folds = [(setting, fold, self.first_weights(fold)) for fold in self.test_sets]
        if self.run is None:
            tested = list(map(self.train_and_tag, folds))
        else:
            tested = [self.watched(fold) for fold in self.run(self.start, [(fold, False) for fold in folds])]
        results = {fold: result for fold, (result, _) in zip(self.test_sets, tested, strict=True)}
        gold = list(chain.from_iterable(self.test_sets.values()))
        guesses = list(chain.from_iterable(tags for _, tags in tested))
        weights = sum(int(np.count_nonzero(result.x)) for result in results.values()) // len(results)
        trial = Trial(setting, score_by(self.model.metric, gold, guesses) or 0.0, weights)
        if self.best is None or trial.score > self.best.score:
            self.best, self.results = trial, results
        return trial

    def watched(self, tested: FoldResult) -> FoldResult:
        """Return what another process has done, after a call of `watch`."""
        self.watch()
        return tested

    def train_and_tag(self, work: FoldWork) -> FoldResult:
        """Train with a setting and without a fold, starting from these weights, and tag its test set."""
        result = self.train(*work)
        self.model.set_weights(self.layout.split(result.x))
        return result, self.predict(work[1], self.test_sets[work[1]])

    def predict(self, fold: int | None, sentences: list[Sentence]) -> list[list[str]]:
        """Tag a test set. The candidates of a fold come from HMMs that have not seen its sentences."""
        if fold is None or self.cross_fitted is None:
            return self.model.predict(sentences)
        proposal = self.cross_fitted.only(consecutive(self.begins[self.folds[fold]], self.lengths[self.folds[fold]]))
        lattice = self.model.proposal_scorer()(self.model.observer()(sentences), lambda allowed: proposal)
        tags = np.array(self.model.classes_, dtype=object)[lattice.best()].tolist()
        return by_sentence(sentences, [(np.arange(len(sentences)), tags)])

    def first_weights(self, fold: int | None) -> np.ndarray:
        """Return the weights that a training without this fold starts from: those of the best trial so far."""
        return self.results[fold].x if self.results else self.layout.centre

    def train(self, setting: Setting, fold: int | None, begin: np.ndarray | None = None) -> Result:
        """Minimize the loss without a fold, starting from these weights, by default its `first_weights`."""
        from threadpoolctl import threadpool_limits

        from tagger.crf.lbfgs import minimize
        from tagger.crf.trainer import preconditioner

        keep = self.parameters.kept(self.counts[fold], setting.min_count, self.model.min_pair_count)
        begin = np.where(keep, self.first_weights(fold) if begin is None else begin, 0.0)
        self.likelihood.l2 = setting.l2
        self.likelihood.leave_out(fold)

        def function(weights: np.ndarray) -> tuple[float, np.ndarray]:
            loss, gradient = self.likelihood(weights)
            return loss, np.where(keep, gradient, 0.0)

        with threadpool_limits(limits=1, user_api="blas"):
            scale, first_step = preconditioner(self.likelihood, begin, setting.l1)
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

    def close(self) -> None:
        """Free the memory of the corpus after the last trial; the best model stays."""
        del self.likelihood, self.counts, self.parameters

    def best_model(self, reason: str) -> CRFTagger | None:
        """Return the model of the best trial if it was trained on all sentences; `reason` is why the search ended."""
        if self.best is None or None not in self.results:
            return None
        result = replace(self.results[None], reason=reason)
        self.model.set_params(**asdict(self.best.setting))
        self.model.set_weights(self.layout.split(result.x))
        figures = result.figures() | {DEV_SCORES[self.model.metric]: self.best.score}
        self.model.conclude(corpus_size(self.sentences), figures)
        return self.model


def fold_worker(*corpus: Any) -> Callable[[FoldWork], FoldResult]:
    """Make the function that trains and tests a fold, in another process."""
    return SettingTrials(*corpus).train_and_tag
