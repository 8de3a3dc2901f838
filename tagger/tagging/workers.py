"""Process blocks on several processes; results come in the order of the blocks.

Every worker has one block at a time. While they work the next block is read, and goes to the worker whose result is due
next. So the order needs no bookkeeping and no queue grows. The first block is processed here, and workers are started
for the second unless it is the last: short texts and interactive sessions never need them. A worker that dies ends the
run with an error; when the program itself dies, its workers see their pipes close and exit.
"""

from __future__ import annotations

import signal
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, cast

from tagger.errors import TaggerError
from tagger.files.signals import TERMINATION_SIGNALS, active_signals, signals_blocked

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

Block = TypeVar("Block")
Result = TypeVar("Result")
Work = Callable[[Any], Any]

# Runs blocks somewhere and yields their results in order: `in_order` with a number of processes, or a cluster. It gets
# the arguments `start` and `blocks` of `in_order`.
Executor = Callable[[Callable[[], Work], Iterable[tuple[Any, bool]]], Iterator[Any]]


def processes(jobs: int) -> Executor:
    """Return the executor of this machine: `jobs` processes, or with 1 this one."""
    return partial(in_order, jobs=jobs)


def in_order(
    start: Callable[[], Callable[[Block], Result]], blocks: Iterable[tuple[Block, bool]], jobs: int
) -> Iterator[Result]:
    """Yield the results of all blocks in order.

    `start` makes the function from block to result; where processes are spawned it must be picklable. Each block comes
    with True if its result is urgent: then it is yielded before anything more is read.
    """
    here = start()
    pool: Pool | None = None
    failure: Exception | None = None
    source, ahead = enumerate(blocks), deque[tuple[int, tuple[Block, bool]]]()

    def read() -> bool:
        """Read one block ahead; return False at the end or after an error."""
        nonlocal failure
        if failure:
            return False
        try:
            ahead.append(next(source))
        except StopIteration:
            return False
        except Exception as error:  # raised after the results of the blocks before it
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
                yield pool.oldest_result()
            pool.give(block)
            while urgent and pool.busy:
                yield pool.oldest_result()
        while pool and pool.busy:
            yield pool.oldest_result()
        if failure:
            raise failure
    finally:
        if pool:
            pool.close()


class Pool:
    """Worker processes, each with its pipe; the busy ones in the order in which they got their blocks."""

    def __init__(self, start: Callable[[], Work], here: Work, jobs: int) -> None:
        import multiprocessing

        self.idle: deque[Connection] = deque()
        self.busy: deque[Connection] = deque()
        self.processes = []
        # A fork inherits the caches of `here`, and nothing is pickled. A program may have chosen another method.
        method = multiprocessing.get_start_method(allow_none=True) or ("fork" if sys.platform == "linux" else "spawn")
        forks, context = method == "fork", cast(Any, multiprocessing.get_context(method))
        with signals_blocked():
            for _ in range(jobs):
                parent_end, worker_end = context.Pipe()
                self.idle.append(parent_end)
                inherited = list(self.idle) if forks else []  # pipes that a fork has open too
                args = (lambda: here) if forks else start, worker_end, inherited
                process = context.Process(target=serve, args=args, daemon=True)
                process.start()
                worker_end.close()
                self.processes.append(process)

    def give(self, block: Any) -> None:
        """Send a block to an idle worker."""
        worker = self.idle.popleft()
        try:
            worker.send(block)
        except OSError:
            raise died() from None
        self.busy.append(worker)

    def oldest_result(self) -> Any:
        """Wait for the result of the block that was given first."""
        worker = self.busy.popleft()
        try:
            result, error = worker.recv()
        except (EOFError, OSError):
            raise died() from None
        if error is not None:
            raise error
        self.idle.append(worker)
        return result

    def close(self) -> None:
        """End all workers: idle ones exit when their pipe closes; if any is busy, all are terminated."""
        if len(self.idle) < len(self.processes):
            for process in self.processes:
                process.terminate()
        for worker in self.idle:
            worker.close()
        for process in self.processes:
            process.join()


def died() -> TaggerError:
    """Make the error for a worker that died."""
    return TaggerError("jobs: a worker process died (killed, or out of memory); the output is incomplete. Use 1 job.")


def serve(start: Callable[[], Work], pipe: Connection, inherited: list[Connection]) -> None:
    """Process blocks until the pipe closes: the main function of a worker."""
    for number in active_signals():
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches every process of a terminal; the parent handles it
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, TERMINATION_SIGNALS)
    for other in inherited:
        other.close()
    try:
        work = start()
        while True:
            block = pipe.recv()
            try:
                result, error = work(block), None
            except Exception as caught:
                result, error = None, caught
            pipe.send((result, error))
    except (EOFError, OSError):
        return
