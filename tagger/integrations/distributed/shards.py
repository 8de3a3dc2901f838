"""The shards of a corpus: its files, where large ones are cut between sentences.

Where a file is cut depends on its bytes only, never on the number of workers.
"""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tagger.corpus import read_sentences
from tagger.corpus.column_names import DEFAULT_NAMES, ColumnNames
from tagger.corpus.formats import SENTENCE_PER_LINE, recognize_format
from tagger.errors import FileError
from tagger.files.reading import COMPRESSED, LOOK_AHEAD, READ_ERRORS, Lines, open_input, reason
from tagger.files.remote import has_scheme
from tagger.sentence import Sentence

SHARD_BYTES = {"slash": 1 << 21, "pku": 1 << 21, "jsonl": 1 << 22, "conllu": 1 << 24}  # about 200,000 tokens
SENTENCE_END = {True: re.compile(rb"\n"), False: re.compile(rb"\n\r?\n")}  # by whether a sentence is a line
BLOCK = 1 << 20
WIDE = ("utf-16", "utf-32", "utf-7")  # encodings in which the byte 10 may be a part of another letter


@dataclass(frozen=True)
class ReadOptions:
    """How to read the files of a corpus."""

    format: str | None = None
    encoding: str = "utf-8"
    columns: ColumnNames = DEFAULT_NAMES
    tagged: bool = True


@dataclass(frozen=True)
class Shard:
    """A file, or a stretch of its decompressed bytes."""

    number: int
    path: str
    format: str
    begin: int = 0
    end: int | None = None  # None for the end of the file
    first_line: int = 0  # lines before it
    size: int = 1  # in bytes, about

    def sentences(self, options: ReadOptions) -> Iterator[Sentence]:
        """Yield the sentences that have words."""
        with ExitStack() as stack:
            try:
                stream = stack.enter_context(open_input(self.path))
                skip(stream, self.begin)
            except READ_ERRORS as error:
                raise FileError(f"cannot read {self.path}: {reason(error)}") from error
            part: Any = stream if self.end is None else Stretch(stream, self.end - self.begin)
            lines = Lines("-", options.encoding, None, part)
            lines.name, lines.number = self.path, self.first_line
            for sentence in read_sentences(lines, self.format, options.tagged, options.columns):
                if sentence.words:
                    yield sentence


class Stretch(io.RawIOBase):
    """The next bytes of a stream, up to a number of them."""

    def __init__(self, stream: Any, size: int) -> None:
        self.stream, self.left = stream, size

    def read1(self, size: int) -> bytes:
        """Read some bytes."""
        block: bytes = self.stream.read1(min(size, self.left)) if self.left else b""
        self.left -= len(block)
        return block


def skip(stream: Any, size: int) -> None:
    """Move forward by a number of bytes."""
    if stream.seekable():
        stream.seek(size)
        return
    while size > 0:
        size -= len(stream.read1(min(BLOCK, size))) or size


def cut(paths: Sequence[str], options: ReadOptions) -> list[Shard]:
    """List the shards of files, in order."""
    shards: list[Shard] = []
    for path in paths:
        lines = Lines(path, options.encoding)
        format = options.format or recognize_format(lines.head(LOOK_AHEAD), options.columns)
        lines.close()
        size, known = SHARD_BYTES.get(format), file_size(path)
        whole = size is None or codecs.lookup(options.encoding).name.startswith(WIDE)
        if size is None or whole or (known is not None and known <= size):
            shards.append(Shard(len(shards), path, format, size=known or 1))
            continue
        begin = first_line = 0
        for part in parts(path, size, SENTENCE_END[format in SENTENCE_PER_LINE]):
            end = begin + len(part)
            shards.append(Shard(len(shards), path, format, begin, end, first_line, len(part)))
            begin, first_line = end, first_line + part.count(b"\n")
    return shards


def file_size(path: str) -> int | None:
    """Return the size of a local file that is not compressed, else None."""
    if has_scheme(path) or Path(path).suffix in COMPRESSED or not Path(path).is_file():
        return None
    return Path(path).stat().st_size


def parts(path: str, size: int, sentence_end: re.Pattern[bytes]) -> Iterator[bytes]:
    """Cut a file after the first sentence that ends beyond `size` bytes, and so on."""
    buffer, searched = bytearray(), size
    try:
        with open_input(path) as stream:
            while block := stream.read1(BLOCK):
                buffer += block
                while len(buffer) > searched:
                    match = sentence_end.search(buffer, searched - len(b"\n\r\n"))
                    searched = size if match else len(buffer)
                    if match:
                        yield bytes(buffer[: match.end()])
                        del buffer[: match.end()]
    except READ_ERRORS as error:
        raise FileError(f"cannot read {path}: {reason(error)}") from error
    if buffer:
        yield bytes(buffer)
