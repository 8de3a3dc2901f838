"""The signals that end a program, and a block of code that they cannot interrupt.

The command line turns these signals into exceptions, which unwind the program and remove temporary files. A signal that
the parent process ignores stays ignored, as `nohup` demands for SIGHUP.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

TERMINATION_SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


def active_signals() -> list[signal.Signals]:
    """List the termination signals that are not ignored."""
    return [number for number in TERMINATION_SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]


@contextmanager
def signals_blocked() -> Iterator[None]:
    """Delay the termination signals until the block ends, so that it runs completely, where the system can."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, TERMINATION_SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
