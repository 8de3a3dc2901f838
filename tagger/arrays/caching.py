"""`cached_property` without a lock, as that of Python 3.12 is.

The lock of older versions belongs to the class: threads wait for each other at different objects, and a process that is
forked while another thread computes waits for ever. Here two threads may compute the same value twice; one is kept.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class cached_property(Generic[T]):  # noqa: N801 - named as the one it replaces
    def __init__(self, compute: Callable[[Any], T]) -> None:
        self.compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> cached_property[T]: ...

    @overload
    def __get__(self, instance: object, owner: type) -> T: ...

    def __get__(self, instance: object | None, owner: type) -> cached_property[T] | T:
        """Called once for an instance: from then on the value in its dictionary comes first."""
        if instance is None:
            return self
        value: T = instance.__dict__.setdefault(self.name, self.compute(instance))
        return value


class PerThread(Generic[T]):
    def __init__(self) -> None:
        self.local = threading.local()

    def get(self, build: Callable[[], T]) -> T:
        """Return the entry of the calling thread; build it if there is none."""
        try:
            entry: T = self.local.entry
        except AttributeError:
            entry = self.local.entry = build()
        return entry

    def __reduce__(self) -> tuple[type[PerThread[Any]], tuple[()]]:
        return PerThread, ()
