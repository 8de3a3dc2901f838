"""Connections to a Dask scheduler, and clusters of worker processes on this machine.

A cluster on this machine listens on the loopback interface only. Its workers ignore Ctrl-C, which
a terminal sends to every process: the program that started them ends them.
"""

from __future__ import annotations

import re
import signal
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Any

from tagger.errors import TaggerError
from tagger.files.resources import available_cores

if TYPE_CHECKING:
    from distributed import Client, Security

LOOPBACK = "127.0.0.1"
LOCAL = re.compile(r"local:(\d{1,4})")
REMOTE = re.compile(r"(tcp|tls|ws|wss)://[^/\s]+")
TIMEOUT = 10  # seconds to connect
QUIET = {
    "distributed.worker.memory.pause": False,  # the memory of workers is bounded by the system, not by pausing
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.terminate": False,
    "distributed.admin.large-graph-warning-threshold": "1GB",
    "distributed.comm.timeouts.connect": f"{TIMEOUT}s",
    # What Dask measures for its dashboard 100 times a second costs more than to send the weights of a model.
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "5s",
}
# Dask lets workers return freed memory at once. Arrays that come and go in every evaluation are then new pages each
# time, which takes longer than the evaluation itself. With a limit of memory it is as Dask has it.
KEEP_MEMORY = {"distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": None}


def check_scheduler(scheduler: str) -> int | None:
    """Return the number of workers of `local:N`, None for the address of a scheduler; refuse anything else."""
    if match := LOCAL.fullmatch(scheduler):
        if int(match[1]) > 0:
            return int(match[1])
    elif REMOTE.fullmatch(scheduler):
        return None
    raise TaggerError(f"scheduler: expected local:N or an address such as tcp://scheduler:8786, got {scheduler!r}")


@contextmanager
def connect(scheduler: str, security: Security | None = None, worker_memory: int | None = None) -> Iterator[Client]:
    """Connect to a scheduler, or start workers on this machine; the connection ends with the context.

    Parameters
    ----------
    scheduler : str
        ``local:N`` for N processes on this machine, or the address of a Dask scheduler, ``tcp://…`` or ``tls://…``.
    security : distributed.Security, optional
        Certificates for ``tls://``; by default those of Dask's own configuration.
    worker_memory : int, optional
        Limit of the memory of each process of ``local:N``, in bytes.

    Yields
    ------
    distributed.Client

    Raises
    ------
    TaggerError
        If Dask is missing, or the scheduler does not answer.
    """
    workers = check_scheduler(scheduler)
    try:
        import dask
        from distributed import Client
    except ImportError:
        hint = "expected the library Dask: pip install 'hmm-crf-tagger[dask]'"
        raise TaggerError(f"scheduler {scheduler}: {hint}") from None
    with ExitStack() as stack:
        stack.enter_context(dask.config.set(QUIET if worker_memory else QUIET | KEEP_MEMORY))
        address = scheduler if workers is None else stack.enter_context(local_cluster(workers))
        try:
            client = stack.enter_context(
                Client(address, security=security, timeout=TIMEOUT, set_as_default=False, heartbeat_interval="5s")
            )
        except (OSError, ValueError) as error:
            raise TaggerError(f"scheduler {scheduler}: expected an answer, got none ({error})") from error
        if workers is not None:
            client.register_plugin(worker_setup(worker_memory))
        yield client


@contextmanager
def local_cluster(workers: int) -> Iterator[Any]:
    """Start worker processes on this machine, each with its share of the cores and a folder that goes with it."""
    import logging

    from distributed import LocalCluster

    with tempfile.TemporaryDirectory(prefix="tagger-", ignore_cleanup_errors=True) as folder:
        cluster = LocalCluster(
            n_workers=workers,
            threads_per_worker=max(1, available_cores() // workers),
            processes=True,
            host=LOOPBACK,
            dashboard_address=f"{LOOPBACK}:0",
            memory_limit=0,
            silence_logs=logging.CRITICAL,
            local_directory=folder,
        )
        try:
            yield cluster
        finally:
            with suppress(TimeoutError):
                cluster.close()


def worker_setup(memory: int | None) -> Any:
    """Return the plugin of worker processes on this machine: it ignores Ctrl-C and sets a memory limit."""
    from distributed import WorkerPlugin

    class WorkerSetup(WorkerPlugin):
        """Sets up a worker process."""

        name = "tagger-setup"

        def setup(self, worker: Any) -> None:
            from tagger.files import resources

            with suppress(ValueError):  # a worker that is a thread
                signal.signal(signal.SIGINT, signal.SIG_IGN)
            if memory:
                resources.limit(memory)
                resources.keep_no_freed_memory()

    return WorkerSetup()
