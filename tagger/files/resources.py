"""How much memory there is for us: a refusal in time is better than a machine that swaps.

There are two safeguards. A training asks the operating system for no more than is free when it starts (`limit`), so
that whatever would go beyond fails at once instead of making everything slow. And it estimates what it will need as
soon as its sizes are known, and is refused with the figures (`check`). A lower limit of the user's own stays.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from functools import cache
from pathlib import Path

from tagger.errors import TrainingError

LEAST = 1 << 30  # set aside by libraries, and more for each thread: such memory is hardly touched, but counts
LEAST_PER_CORE = 1 << 26


def free() -> int | None:
    """Bytes that can be had without taking them from others; None if the system does not tell."""
    found = [size for size in (free_in_machine(), free_in_group()) if size is not None]
    return min(found) if found else None


def free_in_machine() -> int | None:
    with suppress(OSError):
        match = re.search(r"MemAvailable: *(\d+) kB", Path("/proc/meminfo").read_text())
        return int(match[1]) << 10 if match else None
    with suppress(AttributeError, OSError, ValueError):
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None


def free_in_group() -> int | None:
    """Of the container, if it has a limit of its own."""
    group = Path("/sys/fs/cgroup")
    with suppress(OSError, ValueError):  # "max" is no number
        return int((group / "memory.max").read_text()) - int((group / "memory.current").read_text())
    return None


def limit(size: int | None = None) -> None:
    """Let this process have so many bytes of memory, or what is free, where the system can hold it to that; never more
    than the user's own limits allow."""
    size = size or max(free() or 0, LEAST + LEAST_PER_CORE * available_cores())
    with suppress(ImportError, AttributeError, OSError, ValueError):
        import resource

        soft, hard = limits_at_start()
        finite = [bound for bound in (soft, hard) if bound != resource.RLIM_INFINITY]
        resource.setrlimit(resource.RLIMIT_DATA, (min([size, *finite]), hard))


@cache
def limits_at_start() -> tuple[int, int]:
    """Soft and hard limit as they were before the first call of `limit`: those of the user (`ulimit -d`)."""
    import resource

    return resource.getrlimit(resource.RLIMIT_DATA)


def allowed() -> int | None:
    """Bytes that we may have: the limit if there is one, else what is free."""
    with suppress(ImportError, AttributeError, OSError):
        import resource

        soft = resource.getrlimit(resource.RLIMIT_DATA)[0]
        if soft != resource.RLIM_INFINITY:
            return soft
    return free()


def check(need: float, what: str, advice: str) -> None:
    """Refuse a training that will need more bytes than it may have."""
    most = allowed()
    if most is not None and need > most:
        raise TrainingError(
            f"{what} needs about {gigabytes(need)} of memory, and there are {gigabytes(most)}: {advice}; "
            f"--max-memory {need / 1e9 + 1:.0f}G tries all the same"
        )


def gigabytes(size: float) -> str:
    return f"{size / 1e9:,.1f} GB"


def available_cores() -> int:
    """Those this process may use, which in a container are fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
