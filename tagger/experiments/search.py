"""Which settings suit a corpus: a walk from setting to setting, always on from the best so far.

One setting is changed at a time: l2, then l1, then min_count, up and down step by step, as long as one of the last
`PATIENCE` steps has brought something better. When a whole round brings nothing, the walk ends. A step doubles or
halves a penalty: accuracy changes slowly with it, and smaller steps would measure chance. Nothing is tried twice.

What a setting is worth, a judge says, who knows the corpus; here are only numbers. The best of many tries is partly the
luckiest, so its accuracy is a little flattered: on new text, expect less.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

PATIENCE = 2  # steps without a gain before a walk turns back
LEAST_L2 = 1 / 64  # without it, weights would grow for ever
LEAST_L1 = 1 / 32  # the step below is zero


@dataclass(frozen=True)
class Setting:
    """Of `CRFTagger`."""

    l2: float
    l1: float
    min_count: int


@dataclass(frozen=True)
class Trial:
    """What came of a setting."""

    setting: Setting
    accuracy: float
    weights: int  # that are not zero


class Search:
    """Settings tried so far, in their order."""

    def __init__(self, judge: Callable[[Setting], Trial]) -> None:
        self.judge = judge
        self.trials: dict[Setting, Trial] = {}

    @property
    def best(self) -> Trial:
        """Of equally good ones the first."""
        return max(self.trials.values(), key=lambda trial: trial.accuracy)

    def run(self, start: Setting) -> Trial:
        best = self.look(start)
        while True:
            for name in ("l2", "l1", "min_count"):
                for up in (True, False):
                    self.walk(name, up)
            if self.best == best:
                return best
            best = self.best

    def walk(self, name: str, up: bool) -> None:
        """From the best setting in one direction."""
        here = neighbour(self.best.setting, name, up)
        misses = 0
        while here and misses < PATIENCE:
            before = self.best
            misses = 0 if self.look(here).accuracy > before.accuracy else misses + 1
            here = neighbour(here, name, up)

    def look(self, setting: Setting) -> Trial:
        if setting not in self.trials:
            self.trials[setting] = self.judge(setting)
        return self.trials[setting]


def neighbour(setting: Setting, name: str, up: bool) -> Setting | None:
    """The same with one number a step higher or lower; None where there is none."""
    if name == "l2":
        l2 = max(LEAST_L2, 2 * setting.l2) if up else setting.l2 / 2
        return replace(setting, l2=l2) if l2 >= LEAST_L2 else None
    if name == "l1":
        l1 = max(LEAST_L1, 2 * setting.l1) if up else setting.l1 / 2 if setting.l1 >= 2 * LEAST_L1 else 0.0
        return replace(setting, l1=l1) if l1 != setting.l1 else None
    count = setting.min_count + 1 if up else setting.min_count - 1
    return replace(setting, min_count=count) if count else None
