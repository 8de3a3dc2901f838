"""Opening any file (compressed, encoded, standard input) and writing any file atomically.

Reading: `Lines` hands out lines as they arrive. It takes whatever the other side has ready, so that somebody who
types a line is answered at once while a large file is still read in large blocks. Only `\\n` and `\\r\\n` end a line:
U+2028 and its kin live inside real corpora. Undecodable bytes are an error that knows its line.

Writing: into a temporary file beside the target, flushed to disk, then renamed over it. A reader sees the old file
or the new one, never half of either. Where the system can (Linux), the temporary file has no name until it is whole, so
that whatever kills the program leaves no litter. What goes to a terminal is shown, never obeyed.
"""

from __future__ import annotations

import bz2
import codecs
import contextlib
import errno
import gzip
import hashlib
import lzma
import os
import re
import secrets
import select
import shutil
import stat
import sys
import zlib
from collections import deque
from collections.abc import Callable, Generator, Iterator
from itertools import islice
from pathlib import Path
from typing import IO, Any, cast

from tagger.disguise import disguise
from tagger.errors import CorpusError, FileError

LONGEST_NAME = 255  # bytes, on all file systems of today
ATTEMPTS = 100  # to name a file while others write the same one
BLOCK = 1 << 20  # bytes asked for at once; a pipe or a terminal gives less
COMPRESSED: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
STDOUT = ("-", "/dev/stdout")
BROKEN = (OSError, EOFError, zlib.error, lzma.LZMAError)
UNDECODABLE = re.compile("[\udc80-\udcff]")  # what `surrogateescape` makes of a byte that fits nowhere


def reason(error: BaseException) -> str:
    """What the operating system or a decompressor had to say, without numbers and file names."""
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


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

    def __init__(self, path: str | os.PathLike[str], encoding: str = "utf-8", skipped: Skipped | None = None) -> None:
        self.path = os.fspath(path)
        self.name = "stdin" if self.path == "-" else self.path
        self.encoding = encoding
        self.skipped = skipped
        self.number = 0  # of the line handed out last
        self._drained = True  # nothing that has arrived is left to hand out
        self._stream: Any = None
        self._live = True  # somebody writes on the other side: not a file that lies there complete
        self._ahead: deque[str] = deque()
        self._decode = decoder(encoding)
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

    def error(self, message: str) -> CorpusError:
        return CorpusError(f"{self.name}:{self.number}: {message}")

    def _undecodable(self, escaped: str, column: int) -> CorpusError:
        byte = ord(escaped) - 0xDC00
        return self.error(
            f"byte 0x{byte:02X} after {column} characters is not {self.encoding}; try --encoding, or save it as utf-8"
        )

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

    def _texts(self) -> Iterator[str]:
        try:
            with open_input(self.path) as stream:
                self._live, self._stream = is_live(stream), stream
                first = True
                while True:
                    block = stream.read1(BLOCK)
                    if first and (what := disguise(block, self.encoding)):
                        raise FileError(f"{self.name}: {what}")
                    text = self._decode(block, not block)
                    yield text.removeprefix("\ufeff") if first else text
                    first = first and not text
                    if not block:
                        return
        except BROKEN as error:
            raise FileError(f"cannot read {self.name}: {reason(error)}") from error
        except UnicodeError as error:
            why = getattr(error, "reason", str(error))
            raise FileError(f"{self.name}: cannot be read as {self.encoding}: {why}; try --encoding") from error


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
    the same: what a kill at this very instant leaves there is whole, and gone with the next write."""
    descriptor = stream.fileno()
    beside = target.with_name(f".tagger-{hashlib.sha256(os.fsencode(target.name)).hexdigest()[:12]}.tmp")
    for _ in range(ATTEMPTS):
        try:
            # With `src_dir_fd`, which means nothing here, Python asks the system to follow the link.
            os.link(f"/proc/self/fd/{descriptor}", beside, src_dir_fd=descriptor)
        except FileExistsError:
            beside.unlink(missing_ok=True)
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


class Screen:
    """A terminal to write to: characters that it would obey are written out, line ends and tabs apart. Those are the
    controls, and the ones that turn the direction of writing or end a line unseen (U+061C, U+200E, U+2028, …)."""

    CONTROL = re.compile(
        rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xd8\x9c|\xe2\x80[\x8e\x8f\xa8-\xae]|\xe2\x81[\xa6-\xa9]"
    )

    def __init__(self, stream: IO[bytes]) -> None:
        self.stream = stream

    def write(self, text: bytes) -> int:
        self.stream.write(self.CONTROL.sub(lambda found: written_out(found[0]), text))
        return len(text)

    def flush(self) -> None:
        self.stream.flush()


def written_out(character: bytes) -> bytes:
    number = ord(character.decode())
    return b"\\x%02x" % number if number < 256 else b"\\u%04x" % number


def shown(stream: IO[bytes]) -> IO[bytes]:
    return cast(IO[bytes], Screen(stream)) if stream.isatty() else stream


@contextlib.contextmanager
def open_output(path: str) -> Iterator[IO[bytes]]:
    """A binary stream for results: standard output, or an atomic file, compressed as its suffix says."""
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


def exists(path: str | os.PathLike[str]) -> bool:
    """Whether there is such a file; a name that no file can have is no error either."""
    return os.path.exists(path)  # noqa: PTH110 (`Path.exists` raises on endless names)


def no_file_name(path: str | os.PathLike[str]) -> str | None:
    """What is wrong with a path that names a folder, be it there or not, or that no file can have."""
    if os.path.isdir(path):  # noqa: PTH112 (as above)
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
