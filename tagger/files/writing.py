"""Write files atomically, compressed by their suffix, and escape what goes to a terminal.

A file is written under a temporary name in the same folder, flushed to disk, then renamed: a reader sees the old file
or the new one, never a half-written one. On Linux it has no name at all until it is complete (`O_TMPFILE`), so that a
killed program leaves nothing behind.
"""

from __future__ import annotations

import codecs
import contextlib
import errno
import gzip
import hashlib
import os
import secrets
import shutil
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, cast

from tagger.errors import FileError
from tagger.escaping import visible
from tagger.files.reading import COMPRESSED, exists, reason
from tagger.files.remote import check_store, file_system, has_scheme, remote_size, remote_writer

MAX_NAME_BYTES = 255  # on all common file systems
RETRY_SECONDS = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6)  # between attempts to replace a file that is in use
LINK_ATTEMPTS = 100  # other processes may write the same file
STDOUT = ("-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")  # by any of these names


@contextlib.contextmanager
def open_output(path: str) -> Iterator[IO[bytes]]:
    """Open a binary stream for text in UTF-8: standard output (`-`), or an atomic file compressed by its suffix."""
    with open_stream(path) as stream:
        yield cast(IO[bytes], TextOutput(stream))


class TextOutput:
    """Stream that writes a byte order mark before text whose first character is U+FEFF, as that of a word may be.

    Readers take a first U+FEFF for a byte order mark and drop it.
    """

    def __init__(self, stream: IO[bytes]) -> None:
        self.stream = stream
        self.begun = False
        self.flush = stream.flush

    def write(self, text: bytes) -> int:
        """Write bytes of UTF-8."""
        if not self.begun and text.startswith(codecs.BOM_UTF8):
            self.stream.write(codecs.BOM_UTF8)
        self.begun = self.begun or bool(text)
        return self.stream.write(text)


@contextlib.contextmanager
def open_stream(path: str) -> Iterator[IO[bytes]]:
    """Open a binary stream for any bytes: standard output (`-`), or an atomic file compressed by its suffix."""
    if path in STDOUT:
        if sys.stdout is None:
            raise FileError("cannot write stdout: it is closed. Name a file")
        try:
            yield terminal_safe(sys.stdout.buffer)
            sys.stdout.buffer.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise FileError(f"cannot write stdout: {reason(error)}") from error
        return
    with atomic_writer(path) as stream:
        suffix = Path(path).suffix
        if suffix == ".gz":  # without name and time: the same text gives the same bytes
            with gzip.GzipFile(filename="", mode="wb", fileobj=stream, mtime=0) as packed:
                yield cast(IO[bytes], packed)
        elif suffix in COMPRESSED:
            with COMPRESSED[suffix](stream, "wb") as packed:
                yield packed
        else:
            yield stream


@contextlib.contextmanager
def atomic_writer(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a binary file that replaces `path` when the block ends without an error."""
    if has_scheme(path):
        with remote_writer(os.fspath(path)) as stream:
            yield stream
        return
    target = Path(real_path(path))
    temporary = target.with_name(f".tagger-{secrets.token_hex(6)}.tmp")
    try:
        if fault := name_fault(path):
            raise IsADirectoryError(errno.EISDIR, fault)
        if exists(path) and not target.is_file():  # a device or a named pipe has no content to protect
            with Path(path).open("wb") as stream:
                yield terminal_safe(stream)
            return
        nameless = open_nameless(target.parent)
        with nameless or temporary.open("xb") as stream:
            if target.exists():
                mode = target.stat().st_mode & 0o7777
                os.fchmod(stream.fileno(), mode) if nameless else temporary.chmod(mode)
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
            if nameless:
                link_file(nameless, temporary, target)
        if not nameless:
            replace_file(temporary, target)
        sync_folder(target.parent)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise FileError(f"cannot write {path}: {reason(error)}") from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def replace_file(temporary: Path, target: Path) -> None:
    """Rename a file over another. On Windows a file that another program has open cannot be replaced.

    Virus scanners and indexers let go of a file soon: it is tried again for a while. In the end the new file is kept
    beside the old one, and the error says where.
    """
    for seconds in (*RETRY_SECONDS, None):
        try:
            temporary.replace(target)
            return
        except PermissionError:
            if sys.platform != "win32":
                raise
            if seconds is not None:
                time.sleep(seconds)
    kept = target.with_name(f"{target.stem}.new{target.suffix}")
    temporary.replace(kept)
    raise FileError(f"cannot replace {target}: another program has it open. The new file is {kept}")


def open_nameless(folder: Path) -> IO[bytes] | None:
    """Open a file without a name, deleted when closed unless it is linked; None where the system has no `O_TMPFILE`."""
    with contextlib.suppress(OSError, AttributeError):
        return os.fdopen(os.open(folder, os.O_TMPFILE | os.O_RDWR, 0o666), "w+b")
    return None


def link_file(stream: IO[bytes], temporary: Path, target: Path) -> None:
    """Give a nameless file its name, replacing the target.

    A link cannot replace a file, so the file is first linked under a temporary name, then renamed. That name depends on
    the target alone: if the process is killed in between, the file left there is complete, and the next write removes
    it.
    """
    descriptor = stream.fileno()
    beside = target.with_name(f".tagger-{hashlib.sha256(os.fsencode(target.name)).hexdigest()[:12]}.tmp")
    for _ in range(LINK_ATTEMPTS):
        try:
            # `src_dir_fd` has no effect on an absolute path, but makes Python call `linkat` and follow the link.
            os.link(f"/proc/self/fd/{descriptor}", beside, src_dir_fd=descriptor)
        except FileExistsError:
            try:
                beside.unlink(missing_ok=True)
            except OSError:  # a folder of that name, or a file of another user
                beside = temporary
            continue
        except OSError:
            break
        try:
            beside.replace(target)
            return
        except FileNotFoundError:  # another process that writes this target removed the link
            continue
        except BaseException:
            beside.unlink(missing_ok=True)
            raise
    # Linking is impossible here: copy the content to a file with a name.
    stream.seek(0)
    with temporary.open("xb") as named:
        shutil.copyfileobj(stream, named)
        named.flush()
        os.fchmod(named.fileno(), os.fstat(descriptor).st_mode & 0o7777)
        os.fsync(named.fileno())
    temporary.replace(target)


def sync_folder(folder: Path) -> None:
    """Flush a folder to disk, where possible, so that the new name survives a power failure."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def real_path(path: str | os.PathLike[str]) -> str:
    """Return a path without links, from the root; FileError if it begins in a working folder that is gone."""
    try:
        return os.path.realpath(path)
    except FileNotFoundError as error:
        got = "got one that has been removed. Change to another"
        raise FileError(f"{os.fspath(path)}: expected a working folder that exists, {got}") from error


def name_fault(path: str | os.PathLike[str]) -> str | None:
    """Return why a path cannot name a file: it names a folder, or is too long; None if it can."""
    if os.path.isdir(path):  # noqa: PTH112 (`Path.is_dir` raises on overlong names)
        return "it is a directory"
    name = os.path.basename(path)  # noqa: PTH119 (`Path` drops the slash)
    if not name:
        return "it names a folder: expected a file"
    return "its name is too long" if len(os.fsencode(name)) > MAX_NAME_BYTES else None


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise a FileError if a file cannot be written at `path`, before hours of training are spent on it."""
    if has_scheme(path):
        check_store(os.fspath(path))
        return
    folder = Path(real_path(path)).parent
    if not exists(folder):
        raise FileError(f"cannot write {path}: there is no folder {str(folder)!r}")
    plain = not exists(path) or Path(path).is_file()  # a device is not replaced, so its folder may be read-only
    if plain and not os.access(folder, os.W_OK):
        raise FileError(f"cannot write {path}: no permission to write in {str(folder)!r}")
    if fault := name_fault(path):
        raise FileError(f"cannot write {path}: {fault}")


def remove_files(paths: Iterable[str]) -> None:
    """Remove files, local ones or those of stores; one that is not there, or cannot be removed, is left."""
    for path in paths:
        with contextlib.suppress(Exception):  # stores raise anything
            if has_scheme(path):
                store, name = file_system(path)
                store.rm_file(name)
            else:
                Path(path).unlink()


def file_size(path: str | os.PathLike[str]) -> int:
    """Return the size of a file in bytes."""
    return remote_size(os.fspath(path)) if has_scheme(path) else Path(path).stat().st_size


class TerminalWriter:
    """Binary stream that escapes unsafe characters, except line ends and tabs, and bytes that are not UTF-8.

    Some terminals take single bytes of the range C1 for control characters.
    """

    def __init__(self, stream: IO[bytes]) -> None:
        self.stream = stream
        self.decode = codecs.getincrementaldecoder("utf-8")("backslashreplace").decode

    def write(self, text: bytes) -> int:
        """Write bytes, escaped."""
        self.stream.write(visible(self.decode(text), keep="\n\t").encode())
        return len(text)

    def flush(self) -> None:
        """Flush the terminal."""
        self.stream.flush()


def terminal_safe(stream: IO[bytes]) -> IO[bytes]:
    """Wrap a stream in a TerminalWriter if it is a terminal."""
    return cast(IO[bytes], TerminalWriter(stream)) if stream.isatty() else stream
