"""Progress bars: on standard error, for people only, and gone when the work is done."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from typing import Any


def show_bar(quiet: bool) -> bool:
    return not quiet and sys.stderr is not None and sys.stderr.isatty()


def open_bar(name: str, unit: str, total: int | None = None, show: bool = True) -> AbstractContextManager[Any]:
    from tqdm import tqdm

    tqdm.monitor_interval = 0  # no thread beside us: processes may be forked
    return tqdm(total=total, desc=name, unit=unit, unit_scale=total is None, leave=False, ncols=90, disable=not show)
