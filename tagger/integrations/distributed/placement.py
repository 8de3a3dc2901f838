"""Values that all workers have, and which worker has which shards; both survive the death of a worker.

Dask runs the tasks of a dead worker elsewhere, and gives up on a task whose workers die again and again; then it is
submitted once more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from tagger.errors import TaggerError
from tagger.integrations.distributed.shards import Shard

if TYPE_CHECKING:
    from distributed import Client, Future

ATTEMPTS = 10  # of a task whose workers die
PATIENCE = 60  # seconds to wait for a first worker
TimeoutErrors = (TimeoutError, asyncio.TimeoutError)  # one and the same from Python 3.11 on
Result = TypeVar("Result")


class Box:
    """A value that Dask sends as it is, without looking into it."""

    def __init__(self, value: Any) -> None:
        self.value = value


def unboxed(box: Box) -> Any:
    """Return the value of a box: the task that brings it to a worker."""
    return box.value


class Shared:
    """A value that is sent to each worker once.

    It is the result of a task, not scattered data: Dask repeats the task when all workers that had the value are gone.
    """

    def __init__(self, client: Client, value: Any) -> None:
        self.client, self.value = client, value
        self.sent: Future | None = None

    def future(self) -> Future:
        """Return the value as an argument for tasks."""
        if self.sent is None:
            self.sent = self.client.submit(unboxed, Box(self.value), pure=False)
        return self.sent

    def renew(self) -> None:
        """Send the value again with the next task."""
        self.sent = None


def with_retries(work: Callable[[int], Result], shared: Iterable[Shared] = ()) -> Result:
    """Return what `work` returns; it gets the number of the attempt, and is repeated after the death of a worker."""
    from concurrent.futures import CancelledError

    from distributed import KilledWorker
    from distributed.client import FutureCancelledError
    from distributed.comm import CommClosedError

    shared = list(shared)
    for attempt in range(ATTEMPTS):
        try:
            return work(attempt)
        except (CancelledError, FutureCancelledError, KilledWorker, CommClosedError, TimeoutError):
            for value in shared:
                value.renew()
        except TypeError as error:  # a result for which there was no room
            raise MemoryError if MemoryError.__name__ in str(error) else error from None
    raise TaggerError(f"scheduler: expected workers that stay alive, got {ATTEMPTS} failures of one task")


class ShardWorkers:
    """The workers of a cluster with the shards that each has: a worker keeps its shards as long as it lives."""

    def __init__(self, client: Client, shards: Sequence[Shard]) -> None:
        self.client, self.shards = client, shards
        self.owners: dict[int, str] = {}

    def keep(self, numbers: Sequence[int]) -> None:
        """Keep only shards of these numbers, and number them anew."""
        self.shards = [replace(self.shards[old], number=new) for new, old in enumerate(numbers)]
        self.owners = {new: self.owners[old] for new, old in enumerate(numbers)}

    def run(self, task: Callable[..., Any], job: Any, *args: Any) -> list[Any]:
        """Run a task on every worker with its shards and return the results; `Shared` arguments are sent once."""
        return self.retried(lambda: list(map(self.result, self.submit(task, job, args))), args)

    def sum(self, task: Callable[..., Any], add: Callable[[Any, Any], Any], job: Any, *args: Any) -> Any:
        """Run a task on every worker with its shards, and add the results of two workers at a time."""

        def work() -> Any:
            futures = self.submit(task, job, args)
            while len(futures) > 1:
                pairs = zip(futures[::2], futures[1::2], strict=False)
                added = [self.client.submit(add, a, b, pure=False) for a, b in pairs]
                futures = added + futures[len(futures) // 2 * 2 :]
            return self.result(futures[0])

        return self.retried(work, args)

    def submit(self, task: Callable[..., Any], job: Any, args: Sequence[Any]) -> list[Future]:
        """Submit a task for every worker that has shards."""
        workers: list[str] = []
        while not workers:
            self.client.wait_for_workers(1, timeout=PATIENCE)
            workers = sorted(self.client.scheduler_info(n_workers=-1)["workers"])
        self.owners = assign(self.owners, [shard.size for shard in self.shards], workers)
        values = [arg.future() if isinstance(arg, Shared) else arg for arg in args]
        futures = []
        for worker in workers:
            own = [shard for shard in self.shards if self.owners[shard.number] == worker]
            if own:
                place = {"workers": [worker], "allow_other_workers": True}  # elsewhere, if it dies
                futures.append(self.client.submit(task, job, own, *values, pure=False, **place))
        return futures

    def result(self, future: Future) -> Any:
        """Wait for a result as long as there are workers."""
        while True:
            try:
                return future.result(timeout=PATIENCE)
            except TimeoutErrors:
                if not self.client.nthreads():
                    raise TaggerError(f"scheduler: expected workers, got none for {PATIENCE} seconds") from None

    def retried(self, work: Callable[[], Result], args: Sequence[Any]) -> Result:
        """Return what `work` returns; repeat it after the death of a worker."""
        return with_retries(lambda attempt: work(), [arg for arg in args if isinstance(arg, Shared)])


def assign(owners: dict[int, str], sizes: Sequence[int], workers: Sequence[str]) -> dict[int, str]:
    """Assign shards of these sizes to workers: as before where possible, and about the same size for each.

    `owners` are the workers that have the shards; those that are gone, or have more than their part, give theirs away.
    """
    part = sum(sizes) / len(workers)
    load = dict.fromkeys(workers, 0.0)
    assigned = {}
    for number, size in enumerate(sizes):
        owner = owners.get(number)
        if owner in load and load[owner] + size / 2 <= part:
            assigned[number] = owner
            load[owner] += size
    for number, size in enumerate(sizes):
        if number not in assigned:
            assigned[number] = min(load, key=lambda worker: load[worker])
            load[assigned[number]] += size
    return dict(sorted(assigned.items()))
