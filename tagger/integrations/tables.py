"""Tables in files: Parquet, and Arrow IPC in both its forms, the file and the stream.

A Parquet file is read by pieces: neighbouring row groups of a megabyte or more together. No batch crosses the border of
a piece, and the writer sees batches only, so a file that is tagged by pieces, wherever, has the bytes of one that is
tagged as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import PurePath
from typing import IO, Any

from tagger.corpus.tokenizers.records import TEXT_COLUMN
from tagger.errors import FileError, TaggerError
from tagger.files.reading import exists, open_seekable, reason
from tagger.files.writing import open_stream
from tagger.integrations.arrow import BatchTagger, need_pyarrow
from tagger.integrations.rows import MODEL_TOKENIZER
from tagger.models.predictor import Predictor
from tagger.tagging.workers import in_order

ROWS_READ = 1 << 10  # of a Parquet file at once: texts of 30 words are then a block of the usual size
GROUP_ROWS = 1 << 16  # of a row group of a Parquet file that is written
GROUP_BYTES = 1 << 27  # likewise, if the rows are long
PIECE_BYTES = 1 << 20  # of row groups that are a piece, before compression: about a second's work
FILE_MAGIC = b"ARROW1"  # begins the file form of Arrow IPC; the stream form begins with its first message
FEATHER_1 = b"FEA1"


@dataclass(frozen=True)
class TableJob:
    """Tags files of Parquet and Arrow IPC; the twin of `TextJob`."""

    tagger: BatchTagger

    def tag_file(
        self,
        source: str,
        target: str,
        jobs: int = 1,
        advance: Callable[[int], Any] = lambda tokens: None,
        piece: range | None = None,
    ) -> int:
        """Tag one file, or some of its row groups, atomically; return the number of tokens."""
        tokens = 0
        with self.opened(source, target, piece) as (batches, write):
            for batch in in_order(self.tagger, ((batch, False) for batch in batches), jobs):
                write(batch)
                count = self.count(batch)
                advance(count)
                tokens += count
        return tokens

    def pieces(self, source: str) -> list[range]:
        """Return the pieces of a Parquet file, each a range of row groups; none of other and of damaged files."""
        if PurePath(source).suffix != ".parquet":
            return []
        try:
            with open_parquet(source) as table:
                return row_group_pieces(table.metadata)
        except FileError:  # the one who tags the file will say it
            return []

    def join(self, pieces: Sequence[tuple[range, str]], source: str, target: str) -> int:
        """Write a file from its tagged pieces; tag those that are missing. Return the number of tokens."""
        tokens = 0
        with self.opened(source, target, range(0)) as (_, write):
            for batch in chain.from_iterable(self.tagged_batches(source, *piece) for piece in pieces):
                write(batch)
                tokens += self.count(batch)
        return tokens

    @contextmanager
    def opened(
        self, source: str, target: str, piece: range | None
    ) -> Iterator[tuple[Iterator[Any], Callable[[Any], None]]]:
        """Open input and output; yield the batches, and the function that writes them. Errors name the input."""
        with (
            named(source),
            open_table(source, piece) as (schema, batches),
            write_table(target, self.tagger.schema(schema)) as write,
        ):
            yield batches, write

    def tagged_batches(self, source: str, piece: range, place: str) -> Iterator[Any]:
        """Yield the tagged batches of a piece from the file where they are, or else tag them."""
        there = exists(place)
        with open_table(place) if there else open_table(source, piece) as (_, batches):
            yield from batches if there else map(self.tagger(), batches)

    def count(self, batch: Any) -> int:
        """Return the number of tokens of a tagged batch."""
        return len(batch.column((self.tagger.outputs or ())[-1]).flatten())


def table_job(
    model: Predictor, text_column: str | None, word_column: str | None, tokenize: str | None, probabilities: bool
) -> TableJob:
    """Make the job that adds words and tags to a column of texts, or tags to a column of word lists."""
    text = text_column or (None if word_column else TEXT_COLUMN)
    outputs = [*(["words"] if text else []), "tags", *(["probabilities"] if probabilities else [])]
    return TableJob(BatchTagger(model, text, word_column, tokenize or MODEL_TOKENIZER, outputs))


@contextmanager
def named(path: str) -> Iterator[None]:
    """Begin errors about the content of a file with its name."""
    try:
        yield
    except FileError:
        raise
    except TaggerError as error:
        raise TaggerError(f"{path}: {error}") from error


@contextmanager
def open_table(path: str, piece: range | None = None) -> Iterator[tuple[Any, Iterator[Any]]]:
    """Open a file of Parquet or Arrow IPC; yield its schema and its record batches, or those of a piece."""
    batches: Iterator[Any]
    with ExitStack() as stack:
        if PurePath(path).suffix == ".parquet":
            table = stack.enter_context(open_parquet(path))
            pieces = row_group_pieces(table.metadata) if piece is None else [piece]
            read = (table.iter_batches(ROWS_READ, row_groups=list(groups)) for groups in pieces if groups)
            schema, batches = table.schema_arrow, chain.from_iterable(read)
        else:
            schema, batches = stack.enter_context(open_ipc(path))
        yield schema, checked(batches, path)


@contextmanager
def open_parquet(path: str) -> Iterator[Any]:
    """Open a Parquet file."""
    pa = need_pyarrow()
    from pyarrow import parquet

    with ExitStack() as stack:
        try:
            table = parquet.ParquetFile(stack.enter_context(open_seekable(path)))
        except (OSError, pa.ArrowException) as error:
            raise FileError(f"cannot read {path}: {reason(error)}") from error
        yield table


@contextmanager
def open_ipc(path: str) -> Iterator[tuple[Any, Iterator[Any]]]:
    """Open a file of Arrow IPC, whichever of its forms it has."""
    pa = need_pyarrow()
    with ExitStack() as stack:
        try:
            stream = stack.enter_context(open_seekable(path))
            magic = stream.read(len(FILE_MAGIC))
            if magic.startswith(FEATHER_1):
                raise FileError(f"cannot read {path}: expected Feather of version 2, got version 1. Write it anew.")
            is_file = magic == FILE_MAGIC
            stream.seek(0)
            table = (pa.ipc.open_file if is_file else pa.ipc.open_stream)(stream)
        except (OSError, pa.ArrowException) as error:
            raise FileError(f"cannot read {path}: {reason(error)}") from error
        yield table.schema, map(table.get_batch, range(table.num_record_batches)) if is_file else iter(table)


def row_group_pieces(metadata: Any) -> list[range]:
    """Cut the row groups of a Parquet file into pieces of `PIECE_BYTES` or more; the last may have less."""
    pieces, first, size = [], 0, 0
    for group in range(metadata.num_row_groups):
        size += metadata.row_group(group).total_byte_size
        if size >= PIECE_BYTES or group + 1 == metadata.num_row_groups:
            pieces.append(range(first, group + 1))
            first, size = group + 1, 0
    return pieces


def checked(batches: Iterable[Any], path: str) -> Iterator[Any]:
    """Yield the batches of a file; errors of a damaged file name it."""
    try:
        yield from batches
    except (OSError, need_pyarrow().ArrowException) as error:
        raise FileError(f"cannot read {path}: {reason(error)}") from error


@contextmanager
def write_table(path: str, schema: Any) -> Iterator[Callable[[Any], None]]:
    """Open a file of Parquet or Arrow IPC; yield the function that writes a record batch."""
    pa = need_pyarrow()
    waiting: list[Any] = []
    with open_stream(path) as stream, ExitStack() as stack:

        def flush() -> None:
            try:
                if waiting:
                    write_batches(waiting)
            except pa.ArrowException as error:
                raise FileError(f"cannot write {path}: {reason(error)}") from error
            waiting.clear()

        def write(batch: Any) -> None:
            waiting.append(batch)
            # The size as it would be sent: that of a batch that was sent before is the same.
            if sum(map(len, waiting)) >= GROUP_ROWS or sum(map(pa.ipc.get_record_batch_size, waiting)) >= GROUP_BYTES:
                flush()

        try:
            write_batches = stack.enter_context(batch_writer(stream, PurePath(path).suffix, schema))
        except pa.ArrowException as error:
            raise FileError(f"cannot write {path}: {reason(error)}") from error
        yield write
        flush()


@contextmanager
def batch_writer(stream: IO[bytes], suffix: str, schema: Any) -> Iterator[Callable[[list[Any]], None]]:
    """Begin a table of the form that a suffix names; yield the function that writes batches, as one row group."""
    pa = need_pyarrow()
    writer: Any
    before: list[Any] = []  # a batch without rows that has all values of dictionaries so far
    if suffix == ".parquet":
        from pyarrow import parquet

        writer = parquet.ParquetWriter(stream, schema)
    elif suffix == ".arrows":
        writer = pa.ipc.new_stream(stream, schema)
    else:
        # A file of Arrow IPC has one dictionary for a column, which may only grow.
        options = pa.ipc.IpcWriteOptions(emit_dictionary_deltas=True)
        writer = pa.ipc.new_file(stream, schema, options=options)

    def write(batches: list[Any]) -> None:
        table = pa.Table.from_batches([*before, *batches], schema)
        if isinstance(writer, pa.ipc.RecordBatchFileWriter):
            table = table.unify_dictionaries()
            before[:] = [batch.slice(0, 0) for batch in table.to_batches()[-1:]]
        writer.write_table(table)

    with writer:
        yield write
