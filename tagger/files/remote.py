"""Files in object stores and on other machines: paths with a scheme, such as `s3://bucket/corpus.txt`, through fsspec.

fsspec is an extra, and its stores need packages of their own (`s3fs` for `s3://`); both are imported only for a path
with a scheme. A file is written to a local temporary file first. Object stores get it whole, in one request that
replaces the old object; other file systems get it under another name, which is then changed. So nothing half-written
has the final name.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import IO, Any

from tagger.errors import FileError

SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")  # at least two letters: C:// is a drive
OBJECT_STORES = ("s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "oci", "oss", "memory")  # replace objects as a whole
WEB = ("http://", "https://")  # servers that need not say that a page has changed, and take no files
LOCAL = re.compile(r"(file|local)://")  # addresses of files of this machine
BLOCK = 1 << 20  # bytes requested per read


def has_scheme(path: object) -> bool:
    """Return whether a path is an address such as `s3://bucket/corpus.txt`."""
    return bool(SCHEME.match(str(path)))


def local_path(path: object) -> str | None:
    """Return a path as one of this machine, `file:///x` as `/x`; None for the address of a store."""
    plain = LOCAL.sub("", str(path), count=1)
    return None if has_scheme(plain) else plain


def check_store(path: str) -> None:
    """Refuse an address that nothing can be written to."""
    if path.startswith(WEB):
        advice = "Name a file, or the address of a store such as s3://"
        raise FileError(f"cannot write {path}: expected a place for a file, got a web address, to read only. {advice}")
    file_system(path)


def file_system(path: str) -> tuple[Any, str]:
    """Return the file system of an address and the name in it."""
    try:
        import fsspec
    except ImportError:
        advice = "Install it with: pip install 'hmm-crf-tagger[remote]'"
        raise FileError(f"{path}: an address with a scheme needs fsspec. {advice}") from None
    try:
        store, name = fsspec.core.url_to_fs(path)
        store.invalidate_cache()  # listings of the past may be wrong
    except Exception as error:  # a missing package, an unknown scheme, an incomplete address: stores raise anything
        raise FileError(f"{path}: expected the address of a store that fsspec can open, got: {error}") from None
    return store, name


def explained(error: Exception) -> OSError:
    """Convert an error of a store to an OSError with its message; stores raise errors of many libraries."""
    return error if isinstance(error, OSError) and error.strerror else OSError(0, str(error) or type(error).__name__)


class RemoteInput(io.RawIOBase):
    """A file of a store as a stream whose errors are OSErrors."""

    def __init__(self, path: str) -> None:
        store, name = file_system(path)
        try:
            self.stream = store.open(name, "rb")
        except FileNotFoundError:
            raise FileNotFoundError(2, "No such file or directory", path) from None
        except Exception as error:
            raise explained(error) from error

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            block = self.stream.read(len(buffer))
        except Exception as error:
            raise explained(error) from error
        buffer[: len(block)] = block
        return len(block)

    def close(self) -> None:
        if not self.closed and hasattr(self, "stream"):
            self.stream.close()
        super().close()


def open_remote(path: str) -> io.BufferedReader:
    """Open a file of a store to read."""
    return io.BufferedReader(RemoteInput(path), BLOCK)


def remote_exists(path: str) -> bool:
    """Return whether a store has a file of that address."""
    store, name = file_system(path)
    try:
        return bool(store.exists(name))
    except Exception as error:
        raise FileError(f"cannot read {path}: {explained(error).strerror}") from error


def remote_size(path: str) -> int:
    """Return the size of a file in bytes."""
    store, name = file_system(path)
    return int(store.size(name) or 0)


def remote_key(path: str) -> str:
    """Return a text that changes whenever the file does, such as its entity tag; of a web page, a hash of its bytes."""
    store, name = file_system(path)
    try:
        if path.startswith(WEB):
            with open_remote(path) as stream:
                return hashlib.sha256(stream.read()).hexdigest()
        return str(store.ukey(name))
    except Exception as error:
        raise FileError(f"cannot read {path}: {explained(error).strerror}") from error


@contextlib.contextmanager
def remote_writer(path: str) -> Iterator[IO[bytes]]:
    """Open a binary file that replaces the one at an address when the block ends without an error."""
    import tempfile

    check_store(path)
    store, name = file_system(path)
    with tempfile.TemporaryDirectory(prefix="tagger-") as folder:
        local = f"{folder}/output"
        with open(local, "w+b") as stream:  # noqa: PTH123
            yield stream
        try:
            put(store, local, name)
        except Exception as error:
            raise FileError(f"cannot write {path}: {explained(error).strerror}") from error


def put(store: Any, local: str, name: str) -> None:
    """Copy a local file into a store: as a whole, or under another name that is then changed."""
    protocols = (store.protocol,) if isinstance(store.protocol, str) else store.protocol
    if set(protocols) & set(OBJECT_STORES):
        store.put_file(local, name)
        return
    parent = PurePosixPath(name).parent
    temporary = str(parent / f".tagger-{os.urandom(6).hex()}.tmp")
    try:
        store.makedirs(str(parent), exist_ok=True)
        store.put_file(local, temporary)
        store.mv(temporary, name)
    except BaseException:
        with contextlib.suppress(Exception):
            store.rm_file(temporary)
        raise
