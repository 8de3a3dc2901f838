"""Read text input: plain or compressed files in any encoding, pipes, standard input.

`Lines` yields lines as they arrive. It reads as many bytes as are available at once, so that a typed line is answered
immediately and a large file is read in large blocks. Only `\\n` and `\\r\\n` end a line: U+2028 and similar characters
occur inside words of real corpora. Undecodable bytes raise an error with the line number. An input is opened once,
because a pipe cannot be read twice.
"""

from __future__ import annotations

import bz2
import codecs
import contextlib
import gzip
import io
import lzma
import os
import re
import select
import stat
import sys
import zlib
from collections import deque
from collections.abc import Callable, Generator, Iterator
from itertools import islice
from pathlib import Path
from typing import IO, Any

from tagger.errors import CorpusError, FileError, several
from tagger.files import zstd
from tagger.files.remote import has_scheme, open_remote, remote_exists
from tagger.files.sniffing import content_mismatch

LOOK_AHEAD = 1000  # lines inspected to recognize the format of a corpus
BLOCK = 1 << 20  # bytes requested per read; a pipe or a terminal returns fewer
COMPRESSED: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open, ".zst": zstd.open_zstd}
READ_ERRORS = (OSError, EOFError, zlib.error, lzma.LZMAError)
BOM_DROPPING = ("utf-8-sig", "utf-16", "utf-32")  # codecs that remove a byte order mark themselves
UNDECODABLE = re.compile("[\udc80-\udcff]")  # undecodable bytes as decoded with `surrogateescape`


def reason(error: BaseException) -> str:
    """Return the message of the operating system or decompressor, without error number and file name."""
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def exists(path: str | os.PathLike[str]) -> bool:
    """Return whether the path exists; False, not an error, for a name that no file can have."""
    if has_scheme(path):
        return remote_exists(str(path))
    return os.path.exists(path)  # noqa: PTH110 (`Path.exists` raises on overlong names)


class Skipped:
    """Record of the faulty lines that a reader left out: their number, and the first messages.

    Parameters
    ----------
    shown : int, default 5
        How many messages to keep in `faults`.
    """

    def __init__(self, shown: int = 5) -> None:
        self.shown = shown
        self.lines = self.count = 0  # lines left out, and errors
        self.faults: list[str] = []  # messages of the first errors

    def add(self, error: CorpusError, lines: int = 1) -> None:
        """Count an error and the lines left out because of it."""
        self.lines += lines
        self.count += 1
        if self.count <= self.shown:
            self.faults.append(str(error))


def raise_or_skip(error: CorpusError, skipped: Skipped | None) -> None:
    """Raise the error of a faulty line or sentence, or record it as skipped."""
    if skipped is None:
        raise error
    skipped.add(error)


class Lines:
    """Iterator over the numbered lines of one input, without line ends.

    `path` is a file name or `-` for standard input; `opened` its binary stream if it is open already. With `skipped`,
    readers leave out faulty sentences and record them there.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        encoding: str = "utf-8",
        skipped: Skipped | None = None,
        opened: IO[bytes] | None = None,
    ) -> None:
        self.path = os.fspath(path)
        self.opened = opened
        self.name = "stdin" if self.path == "-" else self.path
        self.encoding = encoding
        self.skipped = skipped
        self.number = 0  # of the last line yielded
        self._drained = True  # all lines that have arrived are yielded
        self._stream: Any = None
        self._live = True  # a pipe or terminal that may deliver more, not a regular file
        self._ahead: deque[str] = deque()
        self._decode = decoder(encoding)
        self._mark = "" if codecs.lookup(encoding).name in BOM_DROPPING else "\ufeff"
        self._source = self._read()

    def __iter__(self) -> Iterator[str]:
        while True:
            try:
                line = self._ahead.popleft() if self._ahead else next(self._source)
            except StopIteration:
                return
            self.number += 1
            if not line.isascii() and (bad := UNDECODABLE.search(line)):
                raise self._undecodable(bad.group(), bad.start())
            yield line[:-1] if line.endswith("\r") else line

    def close(self) -> None:
        """Close the input."""
        self._source.close()

    def check(self) -> None:
        """Read the first block, and raise an error if it is not text."""
        with contextlib.closing(self._texts()) as texts:
            next(texts, None)

    def texts(self) -> Iterator[str]:
        """Yield the input in blocks as they arrive, line ends included, for readers that do not work by lines."""
        self.number, column = 1, 0  # of the next character
        for text in self._texts():
            if self.skipped and not text.isascii():
                text = self._replaced(text, column)
            bad = None if text.isascii() else UNDECODABLE.search(text)
            before, line_end, line = text[: bad.start() if bad else None].rpartition("\n")
            if not bad:
                yield text
            self.number += before.count("\n") + len(line_end)
            column = len(line) + (0 if line_end else column)
            if bad:
                raise self._undecodable(bad.group(), column)

    def _replaced(self, text: str, column: int) -> str:
        """Replace each undecodable byte by U+FFFD, and record the lines that have one as skipped."""
        before = self.number
        for number, line in enumerate(text.split("\n")):
            if bad := UNDECODABLE.search(line):
                assert self.skipped is not None
                self.number = before + number
                self.skipped.add(self._undecodable(bad.group(), bad.start() + (0 if number else column)))
        self.number = before
        return UNDECODABLE.sub("\N{REPLACEMENT CHARACTER}", text)

    @property
    def waiting(self) -> bool:
        """Return whether the next line may not have arrived yet: the moment to flush all output."""
        return self._drained and not self._ahead and self.silent

    @property
    def silent(self) -> bool:
        """Return whether a pipe or terminal has no bytes to read at this moment."""
        if not self._live or self._stream is None:
            return self._live
        try:
            return not select.select([self._stream], [], [], 0)[0]
        except (OSError, ValueError, TypeError):  # not a stream that `select` accepts
            return True

    def head(self, count: int) -> list[str]:
        """Return the next `count` lines without consuming them."""
        self._ahead.extend(islice(self._source, max(0, count - len(self._ahead))))
        return [line.removesuffix("\r") for line in islice(self._ahead, count)]

    def error(self, message: str, kind: type[CorpusError] = CorpusError) -> CorpusError:
        """Make an error whose message begins with the place, `name:line`."""
        return kind(f"{self.name}:{self.number}: {message}")

    def _undecodable(self, escaped: str, column: int) -> CorpusError:
        byte = ord(escaped) - 0xDC00
        place = f"byte 0x{byte:02X} after {several(column, 'character')}"
        return self.error(f"expected {self.encoding}, got {place}. Set encoding, or save the text as utf-8")

    def _read(self) -> Generator[str, None, None]:
        """Yield lines without their line feeds."""
        begin: list[str] = []  # blocks of a line whose end has not arrived
        for text in self._texts():
            first, *others = text.split("\n")
            begin.append(first)
            if not others:
                continue
            rest = others.pop()
            last = len(others)
            for i, line in enumerate(["".join(begin), *others]):
                self._drained = i == last
                yield line
            begin = [rest]
        if line := "".join(begin):
            yield line

    def _texts(self) -> Generator[str, None, None]:
        """Yield decoded blocks; undecodable bytes are lone surrogates in them."""
        try:
            with open_input(self.path, self.opened) as stream:
                self._live, self._stream = not has_scheme(self.path) and is_live(stream), stream
                first = True
                while True:
                    block = stream.read1(BLOCK)
                    if first and (fault := content_mismatch(block, self.encoding)):
                        raise FileError(f"{self.name}: {fault}")
                    text = self._decode(block, not block)
                    yield text.removeprefix(self._mark) if first else text
                    first = first and not text
                    if not block:
                        return
        except READ_ERRORS as error:
            raise FileError(f"cannot read {self.name}: {reason(error)}") from error
        except UnicodeError as error:
            why = getattr(error, "reason", str(error))
            raise FileError(f"{self.name}: expected {self.encoding}, got other bytes ({why}). Set encoding") from error


@contextlib.contextmanager
def open_input(path: str, opened: IO[bytes] | None = None) -> Iterator[Any]:
    """Open a decompressed binary stream with `read1`; standard input (`-`) and `opened` are not closed at the end."""
    compressed = COMPRESSED.get(Path(path).suffix)
    if path == "-":
        yield opened or standard_input()
    elif has_scheme(path) and not opened:
        with open_remote(path) as remote, open_input(path, remote) as stream:
            yield stream
    elif compressed:
        with compressed(opened or path, "rb") as stream:
            yield stream
    elif opened:
        yield opened
    else:
        with Path(path).open("rb") as stream:
            yield stream


@contextlib.contextmanager
def open_seekable(path: str) -> Iterator[IO[bytes]]:
    """Open a seekable binary stream, not decompressed; standard input and pipes are read into memory."""
    if path == "-":
        yield io.BytesIO(standard_input().read())
        return
    with open_remote(path) if has_scheme(path) else Path(path).open("rb") as stream:
        yield stream if stream.seekable() else io.BytesIO(stream.read())


def standard_input() -> IO[bytes]:
    """Return the binary stream of standard input."""
    if sys.stdin is None:
        raise FileError("cannot read stdin: it is closed. Name a file")
    return sys.stdin.buffer


def pipe_identity(path: str) -> tuple[int, int] | None:
    """Return the device and inode number of a pipe or terminal; None for a regular or missing file.

    Standard input is (0, 0) in every process, because worker processes have it closed.
    """
    if path == "-":
        return (0, 0)
    try:
        status = Path(path).stat()
    except (OSError, ValueError):
        return None
    return None if stat.S_ISREG(status.st_mode) else (status.st_dev, status.st_ino)


def is_live(stream: Any) -> bool:
    """Return whether a stream is a pipe or terminal, not a regular file."""
    try:
        return not stat.S_ISREG(os.fstat(stream.fileno()).st_mode)
    except (OSError, AttributeError):
        return True


def decoder(encoding: str) -> Callable[[bytes, bool], str]:
    """Return an incremental decoder; an undecodable byte becomes a lone surrogate (`surrogateescape`)."""
    try:
        with contextlib.suppress(UnicodeDecodeError):
            b"a".decode(encoding)  # fails for codecs that are no text encodings
        decode = codecs.getincrementaldecoder(encoding)("surrogateescape").decode
        decode(b"", True)  # fails for codecs without `surrogateescape`
    except (LookupError, UnicodeError):
        raise FileError(
            f"encoding: expected a name such as utf-8, utf-16, cp1252, latin-1 or gbk, got {encoding!r}"
        ) from None
    return decode
