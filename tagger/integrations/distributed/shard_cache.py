"""Cache of a worker process for what it computes of its shards: in memory, or in files that are mapped into memory.

A file holds one object: its pickle, with all arrays behind it, so that reading it copies no array. Files are written
and read by the same process, in a folder that only its user may open (`mkdtemp`); pickles from elsewhere are never
read. Anything may be dropped, since it can be made again.
"""

from __future__ import annotations

import mmap
import os
import pickle
import shutil
import struct
import tempfile
from collections.abc import Callable, Hashable
from pathlib import Path
from threading import RLock
from typing import Any

HEAD = struct.Struct("<QQ")  # bytes of the pickle, and of the list of sizes
ALIGNED = 64  # bytes
MAX_CACHES = 4  # trainings that a worker has caches of; that of a killed one is dropped for a new one
CACHES: dict[str, ShardCache] = {}
LOCK = RLock()  # a worker works at one shard at a time


class ShardCache:
    """Cache of objects by key; each is made when it is first needed."""

    def __init__(self, folder: str | None) -> None:
        self.folder = None if folder is None else Path(tempfile.mkdtemp(prefix="shards-", dir=folder))
        self.kept: dict[Hashable, Any] = {}
        self.files = 0  # written so far

    def get(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """Return the object of a key."""
        if key not in self.kept:
            value = make()
            if self.folder is None:
                self.kept[key] = value
                return value
            self.files += 1
            path = self.folder / str(self.files)
            write_mapped(path, value)
            self.kept[key] = path
            del value
        return self.kept[key] if self.folder is None else read_mapped(self.kept[key])

    def drop(self, unwanted: Callable[[Any], bool]) -> None:
        """Drop the objects whose key is unwanted."""
        for key in [key for key in self.kept if unwanted(key)]:
            kept = self.kept.pop(key)
            if self.folder is not None:
                kept.unlink(missing_ok=True)

    def close(self) -> None:
        """Drop everything."""
        self.kept.clear()
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)


def cache_of(token: str, on_disk: bool) -> ShardCache:
    """Return the cache of a training in this worker process."""
    if token not in CACHES:
        for old in list(CACHES)[: max(0, len(CACHES) + 1 - MAX_CACHES)]:
            CACHES.pop(old).close()
        CACHES[token] = ShardCache(worker_folder() if on_disk else None)
    return CACHES[token]


def worker_folder() -> str:
    """Return the folder of this worker on its disk."""
    from distributed import get_worker

    return str(get_worker().local_directory)


def forget(token: str) -> None:
    """Drop all that belongs to a training: a task for every worker."""
    if token in CACHES:
        CACHES.pop(token).close()


def write_mapped(path: Path, value: Any) -> None:
    """Write an object to a file, its arrays behind its pickle."""
    buffers: list[pickle.PickleBuffer] = []
    pickled = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    views = [buffer.raw() for buffer in buffers]
    sizes = pickle.dumps([view.nbytes for view in views])
    with path.open("wb") as stream:
        stream.write(HEAD.pack(len(pickled), len(sizes)) + sizes + pickled)
        for view in views:
            stream.write(bytes(-stream.tell() % ALIGNED))
            stream.write(view)


def read_mapped(path: Path) -> Any:
    """Read an object; its arrays are the bytes of the file, not to be changed."""
    with path.open("rb") as stream:
        view = memoryview(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ))
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_SEQUENTIAL)
    pickled, place = HEAD.unpack_from(view)[0], HEAD.size
    sizes_end = place + HEAD.unpack_from(view)[1]
    sizes = pickle.loads(view[place:sizes_end])
    place = sizes_end + pickled
    buffers = []
    for size in sizes:
        place += -place % ALIGNED
        buffers.append(view[place : place + size])
        place += size
    return pickle.loads(view[sizes_end : sizes_end + pickled], buffers=buffers)
