"""The search for settings as a user sees it: a row for each one that was tried, and what the best is worth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from tagger.cli.console import say
from tagger.cli.progress import open_bar, show_bar
from tagger.cli.training import Stop
from tagger.crf.tagger import CRFTagger
from tagger.experiments.search import Search, Setting, Trial
from tagger.experiments.trials import FOLDS, SettingTrials
from tagger.features.word_classes import WordClasses
from tagger.models.monitor import INTERRUPTED
from tagger.sentence import Sentence

HEAD = "      l2        l1  min count    weights  accuracy"


class Interrupted(KeyboardInterrupt):
    """Somebody asked for the end."""


class Tuning:
    """Finds the settings for a model and its corpus."""

    def __init__(
        self,
        model: CRFTagger,
        sentences: Sequence[Sentence],
        dev: Sequence[Sentence] | None,
        init: CRFTagger | None,
        classes: WordClasses | None,
        quiet: bool,
        stop: Stop,
    ) -> None:
        self.model, self.quiet, self.stop = model, quiet, stop
        self.by = f"{FOLDS}-fold cross-validation" if dev is None else "the dev set"
        self.saves = dev is not None  # then a trial is a whole model, and worth keeping
        self.rehearsal = SettingTrials(model, sentences, dev, init, classes, self.watch)
        self.search = Search(self.judge)
        self.bar: Any = None

    def finds(self) -> bool:
        """Give the model the best settings. False if the search was interrupted and a model can be saved: if there is
        none, the interruption ends everything, after a word on what was found."""
        say(f"trying settings by {self.by}\n{HEAD}", self.quiet)
        try:
            self.search.run(Setting(self.model.l2, self.model.l1, self.model.min_count))
        except Interrupted:
            return False
        finally:
            self.rehearsal.close()
            if self.search.trials:
                say(verdict(list(self.search.trials.values()), self.search.best, self.by), self.quiet)
        self.model.set_params(**asdict(self.search.best.setting))
        return True

    def judge(self, setting: Setting) -> Trial:
        name = f"l2 {setting.l2:g}, l1 {setting.l1:g}, min count {setting.min_count}"
        with open_bar(name, "it", show=show_bar(self.quiet)) as self.bar:
            trial = self.rehearsal.judge(setting)
        say(row(trial), self.quiet)
        self.stop.begun = self.saves  # from now on there is something to save
        return trial

    def watch(self) -> None:
        if self.stop.caught is not None:
            raise Interrupted
        self.bar.update()

    def concluded(self, model: CRFTagger) -> CRFTagger:
        """The trained model or, after an interruption, that of the best trial if training has not come so far."""
        if self.stop.caught is not None:
            tried = self.rehearsal.best_model(f"{INTERRUPTED}; this is the best model of the search")
            reached = getattr(model, "summary_", {}).get("dev_accuracy", 0.0)
            if tried and tried.summary_["dev_accuracy"] > reached:
                model = tried
        model.summary_["settings_tried"] = len(self.search.trials)
        return model


def row(trial: Trial) -> str:
    tried = trial.setting
    return f"{tried.l2:>8g} {tried.l1:>9g} {tried.min_count:>10} {trial.weights:>10,} {100 * trial.accuracy:>7.2f} %"


def verdict(trials: list[Trial], best: Trial, by: str) -> str:
    """The best settings, and how far to trust their accuracy."""
    found, several = best.setting, len(trials) > 1
    options = f"--l2 {found.l2:.15g} --l1 {found.l1:.15g} --min-count {found.min_count}"
    told = f"best of {len(trials)}: {options}, {100 * best.accuracy:.2f} % by {by}"
    doubt = "The best of many tries is partly the luckiest: on new text, expect a little less."
    return f"{told}\n{doubt}" if several else told
