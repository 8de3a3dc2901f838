"""Values that all workers have, and which worker has which shards; both survive the death of a worker.

Dask runs the tasks of a dead worker elsewhere. What it cannot make again is data that was sent from here: that is sent
again, and the tasks that needed it are repeated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from tagger.errors import TaggerError

if TYPE_CHECKING:
    from distributed import Client, Future

ATTEMPTS = 10  # of a task whose workers die
Result = TypeVar("Result")


class Shared:
    """A value that is sent to each worker once, and again when all that had it are gone."""

    def __init__(self, client: Client, value: Any) -> None:
        self.client, self.value = client, value
        self.sent: Future | None = None

    def future(self) -> Future:
        """Return the value as an argument for tasks."""
        if self.sent is None or self.sent.status != "finished":
            self.sent = self.client.scatter([self.value], broadcast=True, hash=False)[0]
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
    raise TaggerError(f"scheduler: expected workers that stay alive, got {ATTEMPTS} failures of one task")


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
