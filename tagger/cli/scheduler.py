"""`--scheduler`: the option of commands that can use a cluster, and the executors that they hand down.

Nothing connects before a command asks for it; the connection ends with the command.
"""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from tagger.cli.options import Decorated, combine, is_given, jobs_option
from tagger.errors import TaggerError
from tagger.tagging.workers import Executor, processes

if TYPE_CHECKING:
    from distributed import Client


class SchedulerType(click.ParamType):
    """`local:N`, or the address of a Dask scheduler."""

    name = "address"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from tagger.integrations.distributed.cluster import check_scheduler

        try:
            check_scheduler(value)
        except TaggerError as error:
            self.fail(str(error).removeprefix("scheduler: ") + ".", param, ctx)
        return str(value)


def scheduler_option(help: str) -> Any:
    """Add `--scheduler`."""
    shown = f"{help} on a Dask cluster: local:N for N processes here, or e.g. tcp://scheduler:8786."
    return click.option("--scheduler", type=SchedulerType(), metavar="ADDRESS", help=shown)


def open_client(scheduler: str, **settings: Any) -> Client:
    """Connect; the connection ends with the command."""
    from tagger.integrations.distributed.cluster import connect

    client: Client = click.get_current_context().with_resource(connect(scheduler, **settings))
    return client


def open_executor(scheduler: str) -> Executor:
    """Connect, and return the executor of the cluster."""
    from tagger.integrations.distributed.executor import DaskExecutor

    return DaskExecutor(open_client(scheduler))


def executor_options(command: Decorated) -> Decorated:
    """Add `--jobs` and `--scheduler`; the command gets an executor, `run`, that connects when it is first used."""

    @wraps(command)
    def collect(*args: Any, jobs: int, scheduler: str | None, **others: Any) -> Any:
        if scheduler and is_given("jobs"):
            raise click.UsageError("--jobs counts processes of this machine: leave it out, or use --scheduler local:N.")
        run = processes(jobs) if scheduler is None else lambda *work: open_executor(scheduler)(*work)
        return command(*args, run=run, **others)

    return combine(jobs_option, scheduler_option("Train the models"))(collect)
