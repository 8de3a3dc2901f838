"""Opening any file (compressed, encoded, standard input) and writing any file atomically.

Reading: `Lines` hands out lines as they arrive. It takes whatever the other side has ready, so that somebody who
types a line is answered at once while a large file is still read in large blocks. Only `\\n` and `\\r\\n` end a line:
U+2028 and its kin live inside real corpora. Undecodable bytes are an error that knows its line.

Writing: into a temporary file beside the target, flushed to disk, then renamed over it. A reader sees the old file
or the new one, never half of either.
"""

from __future__ import annotations

import bz2
import codecs
import contextlib
import gzip
import lzma
import os
import re
import secrets
import sys
import zlib
from collections import deque
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import IO, Any, cast

from tagger.errors import CorpusError, FileError

BLOCK = 1 << 20  # bytes asked for at once; a pipe or a terminal gives less
COMPRESSED: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
BROKEN = (OSError, EOFError, zlib.error, lzma.LZMAError)
UNDECODABLE = re.compile("[\udc80-\udcff]")  # what `surrogateescape` makes of a byte that fits nowhere


def reason(error: BaseException) -> str:
    """What the operating system or a decompressor had to say, without numbers and file names."""
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


class Lines:
    """The lines of one input, numbered, without their ends."""

    def __init__(self, path: str | os.PathLike[str], encoding: str = "utf-8") -> None:
        self.path = os.fspath(path)
        self.name = "stdin" if self.path == "-" else self.path
        self.encoding = encoding
        self.number = 0  # of the line handed out last
        self._drained = True  # nothing that has arrived is left to hand out
        self._ahead: deque[str] = deque()
        try:
            self._decode = codecs.getincrementaldecoder(encoding)("surrogateescape").decode
        except LookupError:
            raise FileError(f"unknown encoding {encoding!r}: expected a name such as utf-8 or gbk") from None
        self._source = self._read()

    def __iter__(self) -> Iterator[str]:
        while True:
            try:
                line = self._ahead.popleft() if self._ahead else next(self._source)
            except StopIteration:
                return
            self.number += 1
            if not line.isascii() and (bad := UNDECODABLE.search(line)):
                byte = ord(bad.group()) - 0xDC00
                raise self.error(
                    f"byte 0x{byte:02X} after {bad.start()} characters is not {self.encoding}; try --encoding"
                )
            yield line[:-1] if line.endswith("\r") else line

    @property
    def waiting(self) -> bool:
        """Whether the next line may have to be waited for: the moment to answer what has come so far."""
        return self._drained and not self._ahead

    def head(self, count: int) -> list[str]:
        """The next `count` lines, for a look; they will be handed out all the same."""
        self._ahead.extend(islice(self._source, max(0, count - len(self._ahead))))
        return [line.removesuffix("\r") for line in islice(self._ahead, count)]

    def error(self, message: str) -> CorpusError:
        return CorpusError(f"{self.name}:{self.number}: {message}")

    def _read(self) -> Iterator[str]:
        pieces: list[str] = []  # of a line whose end has not come yet
        for text in self._texts():
            first, *others = text.split("\n")
            pieces.append(first)
            if not others:
                continue
            rest = others.pop()
            last = len(others)
            for i, line in enumerate(["".join(pieces), *others]):
                self._drained = i == last
                yield line
            pieces = [rest]
        if line := "".join(pieces):
            yield line

    def _texts(self) -> Iterator[str]:
        try:
            with open_input(self.path) as stream:
                first = True
                while True:
                    block = stream.read1(BLOCK)
                    text = self._decode(block, not block)
                    yield text.removeprefix("\ufeff") if first else text
                    first = first and not text
                    if not block:
                        return
        except BROKEN as error:
            raise FileError(f"cannot read {self.name}: {reason(error)}") from error
        except UnicodeDecodeError as error:
            raise self.error(f"cannot be read as {self.encoding}: {error.reason}; try --encoding") from error


@contextlib.contextmanager
def open_input(path: str) -> Iterator[Any]:
    """A binary stream with `read1`; `-` is standard input, which stays open."""
    if path == "-":
        if sys.stdin is None:
            raise FileError("cannot read stdin: it is closed")
        yield sys.stdin.buffer
    else:
        opener = COMPRESSED.get(Path(path).suffix, open)
        with opener(path, "rb") as stream:
            yield stream


@contextlib.contextmanager
def atomic_writer(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A binary file that takes the place of `path` when the block ends without an error."""
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file() and not target.is_dir():
        with open_checked(target, "wb") as stream:  # a device or a named pipe has no content to protect
            yield stream
        return
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    if target.is_dir():
        raise FileError(f"cannot write {path}: it is a directory")
    stream = open_checked(temporary, "xb", shown=path)
    try:
        with stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        if target.exists():
            temporary.chmod(target.stat().st_mode & 0o7777)
        temporary.replace(target)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and not isinstance(error, BrokenPipeError):
            raise FileError(f"cannot write {path}: {reason(error)}") from error
        raise


@contextlib.contextmanager
def open_output(path: str) -> Iterator[IO[bytes]]:
    """A binary stream for results: standard output, or an atomic file, compressed as its suffix says."""
    if path == "-":
        if sys.stdout is None:
            raise FileError("cannot write stdout: it is closed")
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
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


def open_checked(path: Path, mode: str, shown: str | os.PathLike[str] | None = None) -> IO[Any]:
    try:
        return path.open(mode)
    except OSError as error:
        raise FileError(f"cannot write {shown or path}: {reason(error)}") from error
