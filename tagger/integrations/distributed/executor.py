"""Blocks of work as tasks of a cluster: the executor that folds and trials are given instead of processes.

`start` makes the function from block to result, once in each worker process; it is sent once, with the corpus in it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from tagger.integrations.distributed.placement import Shared, with_retries
from tagger.tagging.workers import Work

if TYPE_CHECKING:
    from distributed import Client

AHEAD = 2  # tasks for each thread of the cluster that are submitted before the first result is awaited
STARTED: dict[str, Work] = {}  # the function of the last run, in a worker process


class DaskExecutor:
    """The executor of a cluster. What `start` makes is kept by the workers until another `start` is given."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.shared, self.token = Shared(client, None), ""

    def __call__(self, start: Callable[[], Work], blocks: Iterable[tuple[Any, bool]]) -> Iterator[Any]:
        """Yield the results of blocks in order."""
        if self.shared.value is not start:
            self.shared, self.token = Shared(self.client, start), uuid4().hex
        waiting = deque[Any]()
        room = AHEAD * max(1, sum(self.client.nthreads().values()))
        for block, _ in blocks:
            waiting.append((block, self.submit(block)))
            if len(waiting) >= room:
                yield self.result(*waiting.popleft())
        while waiting:
            yield self.result(*waiting.popleft())

    def submit(self, block: Any) -> Any:
        """Submit a block."""
        return self.client.submit(run_block, self.token, self.shared.future(), block, pure=False)

    def result(self, block: Any, future: Any) -> Any:
        """Wait for the result of a block."""
        return with_retries(lambda attempt: (self.submit(block) if attempt else future).result(), [self.shared])


def run_block(token: str, start: Callable[[], Work], block: Any) -> Any:
    """Process a block: the task of a worker."""
    if token not in STARTED:
        STARTED.clear()
        STARTED[token] = start()
    return STARTED[token](block)
