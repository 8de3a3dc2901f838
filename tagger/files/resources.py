"""Memory and cores available to this process.

Two safeguards keep training from making the machine swap. `limit` bounds the memory of the process to what is free at
the start, so that a larger allocation fails at once. `check` compares an estimate, made as soon as the sizes are known,
with the memory available, and raises an error with both figures. A lower limit set by the user (`ulimit -d`) stays.
"""

from __future__ import annotations

import ctypes
import os
import re
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path

from tagger.errors import TrainingError

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # see mallopt(3)
KEPT_BLOCK, KEPT_MEMORY = 1 << 25, 1 << 26  # bytes of a block, and of all free ones, that are kept
RETURNED_BLOCK = 1 << 18  # bytes, where memory is scarce
scarce = False

# RLIMIT_DATA counts memory that libraries reserve and never touch: this much, and more for each thread
RESERVED = 1 << 30
RESERVED_PER_CORE = 1 << 26

LARGE = 1_000_000  # tokens times tags, from which on threads gain more than it costs to hand them their work


def reuse_freed_memory() -> None:
    """Make the C library keep freed memory for the next arrays, where that is glibc and memory is not scarce.

    By default it returns the memory of large arrays to the system, and each page that is asked for again costs time:
    up to two fifths of the time of training a CRF, a tenth of that of tagging with a pool.
    """
    if not scarce:
        set_thresholds(KEPT_BLOCK, KEPT_MEMORY)


def keep_no_freed_memory() -> None:
    """Make the C library return the memory of each array that is freed, for good, where that is glibc.

    What it keeps counts against the limit of memory, and an array that does not fit into a gap needs new memory.
    """
    global scarce
    scarce = True
    set_thresholds(RETURNED_BLOCK, RETURNED_BLOCK)


def set_thresholds(block: int, total: int) -> None:
    """Set the bytes from which on a block, or all free blocks together, are returned to the system."""
    with suppress(AttributeError, OSError, TypeError):
        set_option = ctypes.CDLL(None).mallopt
        set_option(M_MMAP_THRESHOLD, block)
        set_option(M_TRIM_THRESHOLD, total)


def return_freed_memory() -> None:
    """Make the C library return freed memory to the system, where that is glibc.

    Between two stages of a training: the arrays of the second are larger than the gaps that the first leaves.
    """
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


def free() -> int | None:
    """Return the bytes of free memory in the machine and its container; None if unknown."""
    sizes = [size for size in (free_in_machine(), free_in_group()) if size is not None]
    return min(sizes, default=None)


def free_in_machine() -> int | None:
    """Return the bytes of available memory, or of all memory where only that is known."""
    with suppress(OSError):
        match = re.search(r"MemAvailable: *(\d+) kB", Path("/proc/meminfo").read_text())
        return int(match[1]) << 10 if match else None
    if sys.platform == "darwin" and (size := free_on_macos()) is not None:
        return size
    with suppress(AttributeError, OSError, ValueError):
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None


def free_on_macos() -> int | None:
    """Return the bytes of pages that are free or can be freed at once, as `vm_stat` counts them; None if it fails."""
    import subprocess

    with suppress(OSError, subprocess.SubprocessError):
        output = subprocess.run(["/usr/bin/vm_stat"], capture_output=True, text=True, timeout=5, check=True).stdout
        size = re.search(r"page size of (\d+) bytes", output)
        pages = re.findall(r"^Pages (?:free|inactive|speculative): *(\d+)", output, re.MULTILINE)
        return int(size[1]) * sum(map(int, pages)) if size and pages else None
    return None


def free_in_group() -> int | None:
    """Return the bytes left of the container's own limit (cgroup v2), if there is one."""
    group = Path("/sys/fs/cgroup")
    with suppress(OSError, ValueError):  # "max" is no number
        return int((group / "memory.max").read_text()) - int((group / "memory.current").read_text())
    return None


def limit(size: int | None = None) -> None:
    """Bound the memory of this process to `size` bytes, by default the free memory, where RLIMIT_DATA exists.

    The user's own limits stay in force.
    """
    size = size or max(free() or 0, RESERVED + RESERVED_PER_CORE * available_cores())
    with suppress(ImportError, AttributeError, OSError, ValueError):
        import resource

        soft, hard = limits_at_start()
        finite = [bound for bound in (soft, hard) if bound != resource.RLIM_INFINITY]
        resource.setrlimit(resource.RLIMIT_DATA, (min([size, *finite]), hard))


@cache
def limits_at_start() -> tuple[int, int]:
    """Return the soft and hard limit from before the first call of `limit`: those of the user (`ulimit -d`)."""
    import resource

    return resource.getrlimit(resource.RLIMIT_DATA)


def allowed() -> int | None:
    """Return the bytes this process may use: its limit if there is one, else the free memory."""
    with suppress(ImportError, AttributeError, OSError):
        import resource

        soft = resource.getrlimit(resource.RLIMIT_DATA)[0]
        if soft != resource.RLIM_INFINITY:
            return soft
    return free()


def check(need: float, what: str, advice: str) -> None:
    """Raise a TrainingError if an estimate of `need` bytes is more than the process may use."""
    available = allowed()
    if available is not None and need > available:
        raise TrainingError(
            f"{what} needs about {gigabytes(need)} of memory, and there are {gigabytes(available)}: {advice}; "
            f"set max_memory to {need / 1e9 + 1:.0f}G to try anyway"
        )


def gigabytes(size: float) -> str:
    """Return a number of bytes as text in GB (10^9 bytes)."""
    return f"{size / 1e9:,.1f} GB"


def available_cores() -> int:
    """Return the number of cores this process may use; in a container that may be fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def useful_threads(threads: int, tokens: int, tags: int) -> int:
    """Return how many of the threads a training on a corpus of this size gains from: a small one has just one."""
    return threads if tokens * tags >= LARGE else 1
