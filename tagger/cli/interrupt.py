"""Signals that end the program: Ctrl-C (SIGINT), SIGTERM and SIGHUP.

Most commands end at once: the signal becomes an exception, so that temporary files are removed. A training ends in
order: the first signal makes it stop after the current step and save its model, a second one ends it at once.
"""

from __future__ import annotations

import signal
from typing import Any, NoReturn

import click

from tagger.files.signals import active_signals


class Terminated(BaseException):
    """SIGTERM or SIGHUP has come; its argument is the number of the signal."""


def raise_terminated(number: int, frame: Any) -> NoReturn:
    raise Terminated(number)


def install_handlers() -> None:
    """Turn signals that the caller has not asked us to ignore into exceptions."""
    for number in active_signals():
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else raise_terminated)


class GracefulStop:
    """A context in which the first signal asks for a stop instead of ending the program.

    While `can_save` is False there is no model to save yet, and a signal ends the program as usual.
    """

    def __enter__(self) -> GracefulStop:
        self.signal: int | None = None  # the one that came
        self.can_save = False
        self.handlers = {number: signal.signal(number, self.handle) for number in active_signals()}
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self.handlers.items():
            signal.signal(number, handler)

    @property
    def requested(self) -> bool:
        return self.signal is not None

    def handle(self, number: int, frame: Any) -> None:
        """Note the signal, and restore its old handler for a second one."""
        self.signal = number
        signal.signal(number, self.handlers[signal.Signals(number)])
        if not self.can_save:
            signal.raise_signal(number)

    def exit_if_requested(self) -> None:
        """Leave with the exit code of the signal, 128 + its number, if one came."""
        if self.signal is not None:
            raise click.exceptions.Exit(128 + self.signal)
