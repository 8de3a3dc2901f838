"""Opening any file: compressed, encoded, or standard input. What may be a pipe is opened once.

`Lines` hands out lines as they arrive. It takes whatever the other side has ready, so that somebody who types a line is
answered at once while a large file is still read in large blocks. Only `\\n` and `\\r\\n` end a line: U+2028 and its
kin live inside real corpora. Undecodable bytes are an error that knows its line.
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
from tagger.files.sniffing import disguise

LOOK_AHEAD = 1000  # lines that may be looked at to see what a corpus is
BLOCK = 1 << 20  # bytes asked for at once; a pipe or a terminal gives less
COMPRESSED: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
BROKEN = (OSError, EOFError, zlib.error, lzma.LZMAError)
DROP_MARK = ("utf-8-sig", "utf-16", "utf-32")  # encodings that drop a byte order mark themselves
UNDECODABLE = re.compile("[\udc80-\udcff]")  # what `surrogateescape` makes of a byte that fits nowhere


def reason(error: BaseException) -> str:
    """What the operating system or a decompressor had to say, without numbers and file names."""
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def exists(path: str | os.PathLike[str]) -> bool:
    """Whether there is such a file; a name that no file can have is no error either."""
    return os.path.exists(path)  # noqa: PTH110 (`Path.exists` raises on endless names)


class Skipped:
    """What was left out of inputs because of its faults: how many lines, and what was wrong with the first of them."""

    def __init__(self, shown: int = 5) -> None:
        self.shown = shown
        self.lines = self.count = 0
        self.faults: list[str] = []  # the first of `count`

    def add(self, error: CorpusError, lines: int = 1) -> None:
        self.lines += lines
        self.count += 1
        if self.count <= self.shown:
            self.faults.append(str(error))


class Lines:
    """The lines of one input, numbered, without their ends. With `skipped`, readers leave out what is faulty and note
    it there."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        encoding: str = "utf-8",
        skipped: Skipped | None = None,
        opened: IO[bytes] | None = None,
    ) -> None:
        self.path = os.fspath(path)
        self.opened = opened  # the bytes of the file, if it is open already
        self.name = "stdin" if self.path == "-" else self.path
        self.encoding = encoding
        self.skipped = skipped
        self.number = 0  # of the line handed out last
        self._drained = True  # nothing that has arrived is left to hand out
        self._stream: Any = None
        self._live = True  # somebody writes on the other side: not a file that lies there complete
        self._ahead: deque[str] = deque()
        self._decode = decoder(encoding)
        self._mark = "" if codecs.lookup(encoding).name in DROP_MARK else "\ufeff"
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
        """Nothing more will be asked for."""
        self._source.close()

    def check(self) -> None:
        """Refuse what is no text, before anything is done with it: a look at the first bytes of a file."""
        with contextlib.closing(self._texts()) as texts:
            next(texts, None)

    def texts(self) -> Iterator[str]:
        """The same input as it arrives, line ends included: for a reader to whom a line means little."""
        self.number, column = 1, 0  # of the character that comes next
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
        """The text with a mark for each byte that fits nowhere; the lines that have any count as skipped."""
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
        """Whether the next line may have to be waited for: the moment to answer what has come so far."""
        return self._drained and not self._ahead and self.silent

    @property
    def silent(self) -> bool:
        """Whether nothing more has arrived yet from somebody who writes on the other side."""
        if not self._live or self._stream is None:
            return self._live
        try:
            return not select.select([self._stream], [], [], 0)[0]
        except (OSError, ValueError, TypeError):  # nothing that can be asked
            return True

    def head(self, count: int) -> list[str]:
        """The next `count` lines, for a look; they will be handed out all the same."""
        self._ahead.extend(islice(self._source, max(0, count - len(self._ahead))))
        return [line.removesuffix("\r") for line in islice(self._ahead, count)]

    def error(self, message: str, kind: type[CorpusError] = CorpusError) -> CorpusError:
        return kind(f"{self.name}:{self.number}: {message}")

    def _undecodable(self, escaped: str, column: int) -> CorpusError:
        byte = ord(escaped) - 0xDC00
        place = f"byte 0x{byte:02X} after {several(column, 'character')}"
        return self.error(f"{place} is not {self.encoding}; try --encoding, or save it as utf-8")

    def _read(self) -> Generator[str, None, None]:
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

    def _texts(self) -> Generator[str, None, None]:
        try:
            with open_input(self.path, self.opened) as stream:
                self._live, self._stream = is_live(stream), stream
                first = True
                while True:
                    block = stream.read1(BLOCK)
                    if first and (what := disguise(block, self.encoding)):
                        raise FileError(f"{self.name}: {what}")
                    text = self._decode(block, not block)
                    yield text.removeprefix(self._mark) if first else text
                    first = first and not text
                    if not block:
                        return
        except BROKEN as error:
            raise FileError(f"cannot read {self.name}: {reason(error)}") from error
        except UnicodeError as error:
            why = getattr(error, "reason", str(error))
            raise FileError(f"{self.name}: cannot be read as {self.encoding}: {why}; try --encoding") from error


@contextlib.contextmanager
def open_input(path: str, opened: IO[bytes] | None = None) -> Iterator[Any]:
    """A binary stream with `read1`, decompressed; `-` is standard input, which stays open, as does what is `opened`."""
    compressed = COMPRESSED.get(Path(path).suffix)
    if path == "-":
        yield opened or standard_input()
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
    """A binary stream to read in any order and again, not decompressed. Standard input and pipes are read whole, since
    they can be read only once."""
    if path == "-":
        yield io.BytesIO(standard_input().read())
        return
    with Path(path).open("rb") as stream:
        yield stream if stream.seekable() else io.BytesIO(stream.read())


def standard_input() -> IO[bytes]:
    if sys.stdin is None:
        raise FileError("cannot read stdin: it is closed")
    return sys.stdin.buffer


def pipe_identity(path: str) -> tuple[int, int] | None:
    """Number of the device and the file of a pipe or terminal; None for a file that can be read again, and for one that
    cannot be looked at. Standard input has the same numbers in all workers, where it is closed."""
    if path == "-":
        return (0, 0)
    try:
        status = Path(path).stat()
    except (OSError, ValueError):
        return None
    return None if stat.S_ISREG(status.st_mode) else (status.st_dev, status.st_ino)


def is_live(stream: Any) -> bool:
    try:
        return not stat.S_ISREG(os.fstat(stream.fileno()).st_mode)
    except (OSError, AttributeError):
        return True


def decoder(encoding: str) -> Callable[[bytes, bool], str]:
    """Decodes bytes as they come; a byte that fits nowhere becomes a lone surrogate."""
    try:
        with contextlib.suppress(UnicodeDecodeError):
            b"a".decode(encoding)  # refuses codecs that are no text encodings
        decode = codecs.getincrementaldecoder(encoding)("surrogateescape").decode
        decode(b"", True)  # refuses those that know no surrogates
    except (LookupError, UnicodeError):
        raise FileError(
            f"unknown encoding {encoding!r}: expected a name such as utf-8, utf-16, cp1252, latin-1 or gbk"
        ) from None
    return decode
