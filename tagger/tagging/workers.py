"""Blocks of work on several processes, answers in the order of the blocks.

Every worker has one block at a time: while they work, the next block is being read, and the worker whose answer is due
gets it. So the order needs no bookkeeping and nothing piles up. The first block is done here, and workers are started
for the second, unless that is the last: short texts and conversations never need them. A worker that dies takes the run
down with it, with a message; when the program itself dies, the workers see their pipes close and end.
"""

from __future__ import annotations

import signal
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from tagger.errors import TaggerError
from tagger.files.signals import TERMINATION_SIGNALS, active_signals, signals_blocked

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

Block = TypeVar("Block")
Answer = TypeVar("Answer")
Work = Callable[[Any], Any]


def in_order(
    start: Callable[[], Callable[[Block], Answer]], blocks: Iterable[tuple[Block, bool]], jobs: int
) -> Iterator[Answer]:
    """The answers to all blocks.

    `start` makes the function that answers; where processes are spawned it must pickle. A block comes with whether its
    answer is urgent: then nothing more is read before it is out.
    """
    here = start()
    pool: Pool | None = None
    failure: Exception | None = None
    source, ahead = enumerate(blocks), deque[tuple[int, tuple[Block, bool]]]()

    def read() -> bool:
        """Whether another block has come."""
        nonlocal failure
        if failure:  # whatever else the source may have
            return False
        try:
            ahead.append(next(source))
        except StopIteration:
            return False
        except Exception as error:  # what was read before it is answered first
            failure = error
            return False
        return True

    try:
        while ahead or read():
            number, (block, urgent) = ahead.popleft()
            if jobs == 1 or number == 0 or (pool is None and (urgent or not read())):
                yield here(block)
                continue
            pool = pool or Pool(start, here, jobs)
            if not pool.idle:
                yield pool.oldest_answer()
            pool.give(block)
            while urgent and pool.busy:
                yield pool.oldest_answer()
        while pool and pool.busy:
            yield pool.oldest_answer()
        if failure:
            raise failure
    finally:
        if pool:
            pool.close()


class Pool:
    """Workers, each with its pipe; the busy ones in the order in which they got their blocks."""

    def __init__(self, start: Callable[[], Work], here: Work, jobs: int) -> None:
        import multiprocessing

        self.idle: deque[Connection] = deque()
        self.busy: deque[Connection] = deque()
        self.processes = []
        forks = sys.platform == "linux"  # then what `here` has in its caches is there already, and nothing is pickled
        context: Any = multiprocessing.get_context("fork" if forks else "spawn")
        with signals_blocked():
            for _ in range(jobs):
                ours, theirs = context.Pipe()
                self.idle.append(ours)
                foreign = list(self.idle) if forks else []  # pipes that a copy of this process has open, too
                args = (give(here) if forks else start, theirs, foreign)
                process = context.Process(target=serve, args=args, daemon=True)
                process.start()
                theirs.close()
                self.processes.append(process)

    def give(self, block: Any) -> None:
        worker = self.idle.popleft()
        try:
            worker.send(block)
        except OSError:
            raise died() from None
        self.busy.append(worker)

    def oldest_answer(self) -> Any:
        worker = self.busy.popleft()
        try:
            answer, error = worker.recv()
        except (EOFError, OSError):
            raise died() from None
        if error is not None:
            raise error
        self.idle.append(worker)
        return answer

    def close(self) -> None:
        """All workers end: if every one waits for a block, by themselves, else they are stopped."""
        if len(self.idle) < len(self.processes):
            for process in self.processes:
                process.terminate()
        for worker in self.idle:
            worker.close()
        for process in self.processes:
            process.join()


def give(work: Work) -> Callable[[], Work]:
    return lambda: work


def died() -> TaggerError:
    return TaggerError("a worker process died (killed, or out of memory): the output is incomplete; try --jobs 1")


def serve(start: Callable[[], Work], pipe: Connection, foreign: list[Connection]) -> None:
    """The life of a worker: answer blocks until the pipe closes."""
    for number in active_signals():
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes of a terminal; the first one decides
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, TERMINATION_SIGNALS)
    for other in foreign:
        other.close()
    try:
        work = start()
        while True:
            block = pipe.recv()
            try:
                answer, error = work(block), None
            except Exception as caught:
                answer, error = None, caught
            pipe.send((answer, error))
    except (EOFError, OSError):
        return
