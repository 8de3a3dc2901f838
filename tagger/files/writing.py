"""Writing any file: all of it or nothing, compressed as its name says.

A file is written beside its place under another name, flushed to disk, then renamed. A reader sees the old file or the
new one, never half of either. Where the system can (Linux), it has no name at all until it is whole, so that whatever
kills the program leaves no litter. What goes to a terminal is shown, never obeyed.
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
from collections.abc import Iterator
from pathlib import Path
from typing import IO, cast

from tagger.errors import FileError
from tagger.escaping import visible
from tagger.files.reading import COMPRESSED, exists, reason

LONGEST_NAME = 255  # bytes, on all file systems of today
ATTEMPTS = 100  # to name a file while others write the same one
STDOUT = ("-", "/dev/stdout")


@contextlib.contextmanager
def open_output(path: str) -> Iterator[IO[bytes]]:
    """A binary stream for text in UTF-8: standard output, or an atomic file, compressed as its suffix says."""
    with open_stream(path) as stream:
        yield cast(IO[bytes], TextOutput(stream))


class TextOutput:
    """Writes a byte order mark before text that begins with the character U+FEFF, as a word may: every reader takes the
    first one for a byte order mark and drops it."""

    def __init__(self, stream: IO[bytes]) -> None:
        self.stream = stream
        self.begun = False
        self.flush = stream.flush

    def write(self, text: bytes) -> int:
        if not self.begun and text.startswith(codecs.BOM_UTF8):
            self.stream.write(codecs.BOM_UTF8)
        self.begun = self.begun or bool(text)
        return self.stream.write(text)


@contextlib.contextmanager
def open_stream(path: str) -> Iterator[IO[bytes]]:
    """The same for any bytes."""
    if path in STDOUT:
        if sys.stdout is None:
            raise FileError("cannot write stdout: it is closed")
        try:
            yield shown(sys.stdout.buffer)
            sys.stdout.buffer.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise FileError(f"cannot write stdout: {reason(error)}") from error
        return
    with atomic_writer(path) as stream:
        suffix = Path(path).suffix
        if suffix == ".gz":  # no name and no clock inside: the same text gives the same bytes
            with gzip.GzipFile(filename="", mode="wb", fileobj=stream, mtime=0) as packed:
                yield cast(IO[bytes], packed)
        elif suffix in COMPRESSED:
            with COMPRESSED[suffix](stream, "wb") as packed:
                yield packed
        else:
            yield stream


@contextlib.contextmanager
def atomic_writer(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A binary file that takes the place of `path` when the block ends without an error."""
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".tagger-{secrets.token_hex(6)}.tmp")
    try:
        if fault := no_file_name(path):
            raise IsADirectoryError(errno.EISDIR, fault)
        if exists(path) and not target.is_file():  # a device or a named pipe has no content to protect
            with Path(path).open("wb") as stream:
                yield shown(stream)
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
                give_name(nameless, temporary, target)
        if not nameless:
            temporary.replace(target)
        sync_folder(target.parent)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise FileError(f"cannot write {path}: {reason(error)}") from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def open_nameless(folder: Path) -> IO[bytes] | None:
    """A file that is gone when it is closed, unless it got a name; None where there is no such thing."""
    with contextlib.suppress(OSError, AttributeError):
        return os.fdopen(os.open(folder, os.O_TMPFILE | os.O_RDWR, 0o666), "w+b")
    return None


def give_name(stream: IO[bytes], temporary: Path, target: Path) -> None:
    """Put the file where it belongs. A link cannot take the place of a file, so it first gets a name beside it, always
    the same if possible: what a kill at this very instant leaves there is whole, and gone with the next write."""
    descriptor = stream.fileno()
    beside = target.with_name(f".tagger-{hashlib.sha256(os.fsencode(target.name)).hexdigest()[:12]}.tmp")
    for _ in range(ATTEMPTS):
        try:
            # With `src_dir_fd`, which means nothing here, Python asks the system to follow the link.
            os.link(f"/proc/self/fd/{descriptor}", beside, src_dir_fd=descriptor)
        except FileExistsError:
            try:
                beside.unlink(missing_ok=True)
            except OSError:  # a folder of that name, or a file of somebody else
                beside = temporary
            continue
        except OSError:
            break
        try:
            beside.replace(target)
            return
        except FileNotFoundError:  # another writer of this file took it for litter
            continue
        except BaseException:
            beside.unlink(missing_ok=True)
            raise
    # Nothing that took hours is lost because a name cannot be had in this way.
    stream.seek(0)
    with temporary.open("xb") as named:
        shutil.copyfileobj(stream, named)
        named.flush()
        os.fchmod(named.fileno(), os.fstat(descriptor).st_mode & 0o7777)
        os.fsync(named.fileno())
    temporary.replace(target)


def sync_folder(folder: Path) -> None:
    """Let the new name outlive a loss of power, where folders can be flushed."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def no_file_name(path: str | os.PathLike[str]) -> str | None:
    """What is wrong with a path that names a folder, be it there or not, or that no file can have."""
    if os.path.isdir(path):  # noqa: PTH112 (`Path.is_dir` raises on endless names)
        return "it is a directory"
    name = os.path.basename(path)  # noqa: PTH119 (`Path` drops the slash)
    if not name:
        return "it names a folder: expected a file"
    return "its name is too long" if len(os.fsencode(name)) > LONGEST_NAME else None


def check_writable(path: str | os.PathLike[str]) -> None:
    """Complain now about what would fail after hours of training."""
    folder = Path(os.path.realpath(path)).parent
    if not exists(folder):
        raise FileError(f"cannot write {path}: there is no folder {str(folder)!r}")
    plain = not exists(path) or Path(path).is_file()  # a device needs no folder to be replaced in
    if plain and not os.access(folder, os.W_OK):
        raise FileError(f"cannot write {path}: no permission to write in {str(folder)!r}")
    if fault := no_file_name(path):
        raise FileError(f"cannot write {path}: {fault}")


class Screen:
    """A terminal to write to. Unsafe characters other than line ends and tabs are written out, and so are bytes that
    are no UTF-8: some terminals take single ones for controls."""

    def __init__(self, stream: IO[bytes]) -> None:
        self.stream = stream
        self.decode = codecs.getincrementaldecoder("utf-8")("backslashreplace").decode

    def write(self, text: bytes) -> int:
        self.stream.write(visible(self.decode(text), keep="\n\t").encode())
        return len(text)

    def flush(self) -> None:
        self.stream.flush()


def shown(stream: IO[bytes]) -> IO[bytes]:
    return cast(IO[bytes], Screen(stream)) if stream.isatty() else stream
