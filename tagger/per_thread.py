"""`PerThread`: something expensive to build that one thread may use at a time, kept once for each thread.

The entry of a thread is freed when the thread ends, and all entries are freed with the object that holds them: that is
how `threading.local` works, as long as an entry holds no reference back to its holder. Nothing here needs a lock, so a
process may be forked at any time. Copies, pickled ones too, begin without entries.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")


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
