"""Coordinate search over l2, l1 and min_count of a CRF.

One setting changes at a time, up and then down, step by step, as long as one of the last `PATIENCE` steps improves on
the best so far; every walk starts from the best. The search ends after a round without improvement. A step doubles or
halves a penalty: accuracy changes slowly with it, and smaller steps would measure noise. Nothing is tried twice.

The search gets numbers only; a function, `SettingTrials.evaluate`, trains and tests. The best of many trials is partly
the luckiest, so its accuracy is biased upwards: expect less on new text.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

PATIENCE = 2  # steps without a gain before a walk ends
MIN_L2 = 1 / 64  # without a penalty weights may grow without bound
MIN_L1 = 1 / 32  # the step below is zero


@dataclass(frozen=True)
class Setting:
    """The settings of a `CRFTagger` that are searched."""

    l2: float
    l1: float
    min_count: int


@dataclass(frozen=True)
class Trial:
    """The result of training with a setting."""

    setting: Setting
    score: float  # accuracy, or another metric
    weights: int  # other than zero


class Search:
    """A search and its trials, in the order in which they were made."""

    def __init__(self, evaluate: Callable[[Setting], Trial]) -> None:
        self.evaluate = evaluate
        self.trials: dict[Setting, Trial] = {}

    @property
    def best(self) -> Trial:
        """The trial with the highest score, the first of equal ones."""
        return max(self.trials.values(), key=lambda trial: trial.score)

    def run(self, start: Setting) -> Trial:
        """Search from a setting until a round over all three brings no improvement; return the best trial."""
        best = self.trial(start)
        while True:
            for name in ("l2", "l1", "min_count"):
                for up in (True, False):
                    self.walk(name, up)
            if self.best == best:
                return best
            best = self.best

    def walk(self, name: str, up: bool) -> None:
        """Change one setting in one direction, starting from the best."""
        here = neighbour(self.best.setting, name, up)
        misses = 0
        while here and misses < PATIENCE:
            before = self.best
            misses = 0 if self.trial(here).score > before.score else misses + 1
            here = neighbour(here, name, up)

    def trial(self, setting: Setting) -> Trial:
        """Return the trial of a setting; train only if there is none yet."""
        if setting not in self.trials:
            self.trials[setting] = self.evaluate(setting)
        return self.trials[setting]


def neighbour(setting: Setting, name: str, up: bool) -> Setting | None:
    """Return the setting with one number a step higher or lower, or None at the end of its range."""
    if name == "l2":
        l2 = max(MIN_L2, 2 * setting.l2) if up else setting.l2 / 2
        return replace(setting, l2=l2) if l2 >= MIN_L2 else None
    if name == "l1":
        l1 = max(MIN_L1, 2 * setting.l1) if up else setting.l1 / 2 if setting.l1 >= 2 * MIN_L1 else 0.0
        return replace(setting, l1=l1) if l1 != setting.l1 else None
    count = setting.min_count + 1 if up else setting.min_count - 1
    return replace(setting, min_count=count) if count else None
