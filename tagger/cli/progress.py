"""Progress bars: on standard error, only on a terminal, removed when the work is done."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack
from typing import Any, TypeVar

Item = TypeVar("Item")


def show_bar(quiet: bool) -> bool:
    """Return True if standard error is a terminal and the command is not `quiet`."""
    return not quiet and sys.stderr is not None and sys.stderr.isatty()


def open_bar(name: str, unit: str, total: int | None = None, show: bool = True) -> AbstractContextManager[Any]:
    """Open a bar, to be closed as a context; call its `update` for each step."""
    from tqdm import tqdm

    tqdm.monitor_interval = 0  # no thread beside us: processes may be forked
    return tqdm(total=total, desc=name, unit=unit, unit_scale=total is None, leave=False, ncols=90, disable=not show)


def with_bar(items: Iterable[Item], name: str, unit: str, total: int, quiet: bool) -> Iterator[Item]:
    """Pass items on, with a bar that moves after each."""
    with open_bar(name, unit, total, show_bar(quiet)) as bar:
        for item in items:
            yield item
            bar.update()


class StepBars(ExitStack):
    """A bar for each step of a task, one after the other."""

    def __init__(self, quiet: bool) -> None:
        super().__init__()
        self.enabled = show_bar(quiet)
        self.bar: Any = None

    def show(self, name: str, unit: str, done: int, total: int | None) -> None:
        """Move the bar of the step to `done`; a new name opens a new bar."""
        if not self.enabled:
            return
        if self.bar is None or self.bar.desc != name:
            self.close()
            self.bar = self.enter_context(open_bar(name, unit, total))
        self.bar.update(done - self.bar.n)
