"""Cached attributes, without locks.

`functools.cached_property` has a lock per class before Python 3.12: threads wait for each other at different objects,
and a process that is forked while another thread computes waits for ever. Here two threads may compute a value twice;
one of the two is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class cached_property(Generic[T]):  # noqa: N801 - the name of the one it replaces
    """Attribute computed at its first use, as `functools.cached_property` of Python 3.12."""

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
        """Compute the value and store it in the instance, where later uses find it without this call."""
        if instance is None:
            return self
        value: T = instance.__dict__.setdefault(self.name, self.compute(instance))
        return value
