"""`train-crf --tune`: the search for settings, with a row for each trial and the best settings at the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from tagger.cli.console import print_message
from tagger.cli.interrupt import GracefulStop
from tagger.cli.progress import open_bar, show_bar
from tagger.crf.tagger import CRFTagger
from tagger.experiments.search import Search, Setting, Trial
from tagger.experiments.trials import FOLDS, SettingTrials
from tagger.features.word_classes import WordClasses
from tagger.models.monitor import DEV_SCORES, INTERRUPTED
from tagger.sentence import Sentence
from tagger.tagging.workers import Executor

HEAD = "      l2        l1  min count    weights"
SELECTION_BIAS = "The best of many trials is partly luck: expect slightly less on new text."


class SearchInterrupted(KeyboardInterrupt):
    """A signal has asked the search to stop."""


class Tuning:
    """A search for the settings of a model: by its metric on the dev set, or by cross-validation without one."""

    def __init__(
        self,
        model: CRFTagger,
        sentences: Sequence[Sentence],
        dev: Sequence[Sentence] | None,
        init: CRFTagger | None,
        classes: WordClasses | None,
        quiet: bool,
        stop: GracefulStop,
        run: Executor | None = None,
    ) -> None:
        self.model, self.quiet, self.stop = model, quiet, stop
        self.method = f"{FOLDS}-fold cross-validation" if dev is None else "the dev set"
        self.keeps_models = dev is not None  # a trial on the dev set is a whole model, and worth saving
        self.trials = SettingTrials(model, sentences, dev, init, classes, self.update, run)
        self.search = Search(self.try_setting)
        self.bar: Any = None

    def run(self) -> bool:
        """Give the model the best settings found; return False if a signal stopped a search that has a model to save.

        Without such a model the interruption propagates, after the best settings are printed.
        """
        print_message(f"trying settings by {self.method}\n{HEAD} {self.model.metric:>9}", self.quiet)
        try:
            self.search.run(Setting(self.model.l2, self.model.l1, self.model.min_count))
        except SearchInterrupted:
            return False
        finally:
            self.trials.close()
            if self.search.trials:
                print_message(best_settings(len(self.search.trials), self.search.best, self.method), self.quiet)
        self.model.set_params(**asdict(self.search.best.setting))
        return True

    def try_setting(self, setting: Setting) -> Trial:
        name = f"l2 {setting.l2:g}, l1 {setting.l1:g}, min count {setting.min_count}"
        with open_bar(name, "it", show=show_bar(self.quiet)) as self.bar:
            trial = self.trials.evaluate(setting)
        print_message(trial_row(trial), self.quiet)
        self.stop.can_save = self.keeps_models
        return trial

    def update(self) -> None:
        if self.stop.requested:
            raise SearchInterrupted
        self.bar.update()

    def best_model(self, model: CRFTagger) -> CRFTagger:
        """Return the trained model or, after a signal, the model of the best trial if that one is better."""
        if self.stop.requested:
            tried = self.trials.best_model(f"{INTERRUPTED}; this is the best model of the search")
            name = DEV_SCORES[model.metric]
            score = getattr(model, "summary_", {}).get(name, 0.0)
            if tried and tried.summary_[name] > score:
                model = tried
        model.summary_["settings_tried"] = len(self.search.trials)
        return model


def trial_row(trial: Trial) -> str:
    """Format a trial as a row under `HEAD`."""
    tried = trial.setting
    return f"{tried.l2:>8g} {tried.l1:>9g} {tried.min_count:>10} {trial.weights:>10,} {100 * trial.score:>7.2f} %"


def best_settings(count: int, best: Trial, method: str) -> str:
    """Return the best settings as options, with a note on selection bias after several trials."""
    setting = best.setting
    options = f"--l2 {setting.l2:.15g} --l1 {setting.l1:.15g} --min-count {setting.min_count}"
    message = f"best of {count}: {options}, {100 * best.score:.2f} % by {method}"
    return f"{message}\n{SELECTION_BIAS}" if count > 1 else message
