"""Objects that serve one thread at a time, and turns for threads that all have a little to do.

NumPy releases the global interpreter lock in the middle of many short calls. A thread that releases it gets it back
only after another one has worked for some milliseconds. So threads that each tag one sentence interrupt each other in
the middle of every sentence. With turns they wait for the end of a sentence instead. A turn is for speed only: a thread
that waits too long, because the turn was lost or its holder waits for this thread, goes on without it.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Generic, TypeVar

T = TypeVar("T")

MAX_IDLE = 16  # objects that are kept for later
PATIENCE = 1.0  # seconds that a thread waits for its turn
SLICE = 0.02  # seconds that a thread may have one turn after the other while others wait
POLL = 0.002  # seconds after which the first of those that wait looks whether the turn is free


class PerThread(Generic[T]):
    """One object for each thread. Copies and pickles begin empty."""

    def __init__(self) -> None:
        self.local = threading.local()
        self.idle: list[T] = []

    def get(self, build: Callable[[], T]) -> T:
        """Return the object of the calling thread, which keeps it; without one it gets an idle or a new one."""
        try:
            entry: T = self.local.entry
        except AttributeError:
            entry = self.local.entry = self.take(build)
        return entry

    def lend(self, build: Callable[[], T]) -> T | None:
        """Give the calling thread an object that it will give back; None if it has one already."""
        if hasattr(self.local, "entry"):
            return None
        entry: T = self.take(build)
        self.local.entry = entry
        return entry

    def give_back(self, entry: T, usable: bool) -> None:
        """Take an object back that was lent to the calling thread; others may have it, if it is still usable."""
        del self.local.entry
        if usable and len(self.idle) < MAX_IDLE:
            self.idle.append(entry)

    def take(self, build: Callable[[], T]) -> T:
        """Take the object that became idle last, or build one."""
        try:
            return self.idle.pop()  # atomic
        except IndexError:
            return build()

    def __reduce__(self) -> tuple[type[PerThread[Any]], tuple[()]]:
        return PerThread, ()


class Holder(threading.local):
    """Whether the calling thread has the turn."""

    has_turn = False


class Turn:
    """A lock for the threads of a process; a thread that has it may take it again.

    Threads wait in a queue, and only the first of them looks at the lock. It is woken when a thread ends the first of
    its sentences, and when one has worked for SLICE. In between, a thread that works on one sentence after the other
    gives the lock back and takes it again without any call of the system: to wake a thread takes as long as a third of
    a sentence. A lock that a thread has waited for longer than PATIENCE is replaced.
    """

    lock: threading.Lock
    queue: threading.Lock  # of the first of those that wait
    bell: threading.Lock  # that this one waits for; released to ring
    is_first_waiting: bool
    is_first_sentence: bool  # of the thread that has the turn

    def __init__(self) -> None:
        self.holder = Holder()
        self.last, self.since = 0, 0.0  # the thread that had the turn last, and since when
        self.replace()

    def take(self) -> threading.Lock | None:
        """Wait for the turn; return what to give back, None if there is nothing to wait for, or it takes too long."""
        if self.holder.has_turn or not has_gil():
            return None
        thread, lock = threading.get_ident(), self.lock
        over = self.is_first_waiting and self.last == thread and time.monotonic() - self.since > SLICE
        if over:
            self.wake_first()
        if (over or not lock.acquire(blocking=False)) and not self.wait(lock):
            self.replace(lock)
            return None
        if self.last != thread:
            self.last, self.since, self.is_first_sentence = thread, time.monotonic(), True
        self.holder.has_turn = True
        return lock

    def wait(self, lock: threading.Lock) -> bool:
        """Queue for the lock, but not longer than about PATIENCE."""
        queue, deadline = self.queue, time.monotonic() + PATIENCE
        if not queue.acquire(timeout=PATIENCE):
            return False
        try:
            self.is_first_waiting = True
            while not lock.acquire(blocking=False):
                if time.monotonic() > deadline:
                    return False
                self.bell.acquire(timeout=POLL)
            return True
        finally:
            self.is_first_waiting = False
            queue.release()

    def wake_first(self) -> None:
        """Wake the first thread of the queue."""
        with suppress(RuntimeError):  # it rings already
            self.bell.release()

    def give_back(self, lock: threading.Lock) -> None:
        """End the turn of the calling thread."""
        self.holder.has_turn = False
        lock.release()
        if self.is_first_sentence:
            self.is_first_sentence = False
            if self.is_first_waiting:
                self.wake_first()

    def replace(self, lost: threading.Lock | None = None) -> None:
        """Begin with new locks, unless another thread has replaced the lost one already."""
        if lost is None or lost is self.lock:
            self.lock, self.queue, self.bell = threading.Lock(), threading.Lock(), threading.Lock()
            self.bell.acquire()
            self.is_first_waiting = self.is_first_sentence = False


@contextmanager
def one_at_a_time(few: bool, objects: PerThread[T], build: Callable[[], T]) -> Iterator[None]:
    """Lend the calling thread an object until the block ends; with `few`, in turns, so that all have the same object.

    After an exception, which may have left it half changed, the object is dropped.
    """
    turn, entry, done = TURN.take() if few else None, None, False
    try:
        entry = objects.lend(build)
        yield
        done = True
    finally:
        if entry is not None:
            objects.give_back(entry, done)
        if turn is not None:
            TURN.give_back(turn)


def has_gil() -> bool:
    """Return whether only one thread at a time runs Python."""
    enabled: Callable[[], bool] | None = getattr(sys, "_is_gil_enabled", None)  # from Python 3.13 on
    return enabled is None or enabled()


TURN = Turn()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=TURN.replace)  # another thread of the parent may have held it
