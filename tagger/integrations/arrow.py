"""Arrow: tag record batches, and files of Parquet and Arrow IPC.

`tag_batches` goes from record batches to record batches, the form in which pyarrow.dataset, Dask, Spark (`mapInArrow`)
and Ray hand data to Python. A model given by its path is loaded once per process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import PurePath
from typing import Any

from tagger.errors import FileError, TaggerError
from tagger.escaping import quote
from tagger.files.reading import open_seekable, reason
from tagger.files.writing import open_stream
from tagger.integrations.rows import MODEL_TOKENIZER, chosen_outputs, tag_rows
from tagger.models.predictor import Predictor
from tagger.models.store import load_model
from tagger.tagging.workers import in_order

SUFFIXES = (".parquet", ".arrow", ".feather")
ROWS_READ = 1 << 10  # of a Parquet file at once: texts of 30 words are then a block of the usual size
GROUP_ROWS = 1 << 16  # of a row group of a Parquet file that is written


def need_pyarrow() -> Any:
    """Return the module pyarrow, or raise an error that says how to install it."""
    try:
        import pyarrow
    except ImportError:
        advice = "Install it with: pip install 'hmm-crf-tagger[arrow]'"
        raise FileError(f"Parquet and Arrow files need pyarrow. {advice}") from None
    return pyarrow


@lru_cache(maxsize=4)
def loaded(paths: str | tuple[str, ...]) -> Predictor:
    """Load a model, or several as one, once per process."""
    return load_model(paths)


@dataclass(frozen=True)
class BatchTagger:
    """Makes the function from a record batch to one with further columns; can be pickled.

    Parameters
    ----------
    model : str, tuple of str, or Predictor
        The model, or its path, or the paths of several.
    text_column, word_column : str, optional
        The column with texts, or the one with lists of words: one of the two.
    tokenize : str, optional
        How texts are split: `model`, `english`, `chinese`, or None for lines and spaces.
    outputs : sequence of str, optional
        New columns: some of words, tags, probabilities, starts, ends, sentences.
    """

    model: str | tuple[str, ...] | Predictor
    text_column: str | None = None
    word_column: str | None = None
    tokenize: str | None = MODEL_TOKENIZER
    outputs: Sequence[str] | None = None

    def __post_init__(self) -> None:
        if (self.text_column is None) == (self.word_column is None):
            raise TaggerError("text_column, word_column: expected one of the two. Name the column to tag.")
        object.__setattr__(self, "outputs", chosen_outputs(self.outputs, texts=self.text_column is not None))

    @property
    def column(self) -> str:
        return self.text_column if self.text_column is not None else self.word_column or ""

    def fields(self) -> list[Any]:
        """Return the new columns with their types."""
        pa = need_pyarrow()
        types = {"probabilities": pa.float64()} | dict.fromkeys(("starts", "ends", "sentences"), pa.int32())
        return [pa.field(name, pa.list_(types.get(name, pa.string()))) for name in self.outputs or ()]

    def schema(self, schema: Any) -> Any:
        """Return the schema of the result for that of the input; refuse a missing column, and one that is there."""
        if self.column not in schema.names:
            names = ", ".join(map(quote, schema.names))
            raise TaggerError(f"expected a column {quote(self.column)}, got {names}. Name one of these.")
        self.check_type(schema.field(self.column).type)
        if twice := [name for name in self.outputs or () if name in schema.names]:
            raise TaggerError(f"expected a table without a column {quote(twice[0])}, got one. Rename it.")
        for field in self.fields():
            schema = schema.append(field)
        return schema

    def check_type(self, column: Any) -> None:
        """Refuse a column that has no texts, or no lists of words."""
        types = need_pyarrow().types
        texts = types.is_string(column) or types.is_large_string(column)
        lists = types.is_list(column) or types.is_large_list(column)
        strings = lists and (types.is_string(column.value_type) or types.is_large_string(column.value_type))
        if not (texts if self.text_column is not None else strings):
            expected = "texts" if self.text_column is not None else "lists of words"
            raise TaggerError(f"column {quote(self.column)}: expected {expected}, got the type {column}.")

    def __call__(self) -> Callable[[Any], Any]:
        pa = need_pyarrow()

        def work(batch: Any) -> Any:
            schema = self.schema(batch.schema)
            tagger = loaded(self.model) if isinstance(self.model, str | tuple) else self.model
            rows = tag_rows(tagger, batch.column(self.column).to_pylist(), self.outputs or (), self.tokenize)
            new = [pa.array(rows[field.name], type=field.type) for field in self.fields()]
            return pa.RecordBatch.from_arrays([*batch.columns, *new], schema=schema)

        return work

    def tag_table(self, table: Any) -> Any:
        """Tag a table in memory."""
        batches = list(map(self(), table.to_batches()))
        return need_pyarrow().Table.from_batches(batches, self.schema(table.schema))


def tag_batches(
    batches: Iterable[Any],
    model: str | Predictor | tuple[str, ...],
    text_column: str | None = None,
    word_column: str | None = None,
    tokenize: str | None = MODEL_TOKENIZER,
    outputs: Sequence[str] | None = None,
) -> Iterator[Any]:
    """Tag record batches.

    Parameters
    ----------
    batches : iterable of pyarrow.RecordBatch
    model : str, Predictor or tuple of str
        A model, or its path, which is loaded once per process, or several paths.
    text_column, word_column : str, optional
        The column with texts, or the one with lists of words: one of the two.
    tokenize : str, optional
        How texts are split: `model` (as the model has stored it), `english`, `chinese`, or None for lines and spaces.
    outputs : sequence of str, optional
        New columns: some of `words`, `tags`, `probabilities`, `starts`, `ends` (of the words in the text) and
        `sentences` (the number of each word's sentence). By default words and tags of texts, tags of words.

    Yields
    ------
    pyarrow.RecordBatch
        The batch with the new columns, a list per row.
    """
    return map(BatchTagger(model, text_column, word_column, tokenize, outputs)(), batches)


@dataclass(frozen=True)
class TableJob:
    """Tags files of Parquet and Arrow IPC; the twin of `TextJob`."""

    tagger: BatchTagger

    def tag_file(
        self, source: str, target: str, jobs: int = 1, advance: Callable[[int], Any] = lambda tokens: None
    ) -> int:
        """Tag one file, atomically; return its number of tokens."""
        tokens = 0
        with open_table(source) as (schema, batches), write_table(target, self.tagger.schema(schema)) as write:
            for batch in in_order(self.tagger, ((batch, False) for batch in batches), jobs):
                write(batch)
                count = len(batch.column((self.tagger.outputs or ())[-1]).flatten())
                advance(count)
                tokens += count
        return tokens


def is_table(path: str) -> bool:
    """Return whether a path has the suffix of a table."""
    return PurePath(path).suffix in SUFFIXES


@contextmanager
def open_table(path: str) -> Iterator[tuple[Any, Iterator[Any]]]:
    """Open a file of Parquet or Arrow IPC; yield its schema and its record batches."""
    pa = need_pyarrow()
    with ExitStack() as stack:
        try:
            stream = stack.enter_context(open_seekable(path))
            if PurePath(path).suffix == ".parquet":
                from pyarrow import parquet

                table = parquet.ParquetFile(stream)
                schema, batches = table.schema_arrow, table.iter_batches(ROWS_READ)
            else:
                table = pa.ipc.open_file(stream)
                schema, batches = table.schema, map(table.get_batch, range(table.num_record_batches))
        except (OSError, pa.ArrowException) as error:
            raise FileError(f"cannot read {path}: {reason(error)}") from error
        yield schema, checked(batches, path)


def checked(batches: Iterator[Any], path: str) -> Iterator[Any]:
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

    def flush() -> None:
        if waiting:
            writer.write_table(pa.Table.from_batches(waiting, schema))
            waiting.clear()

    def write(batch: Any) -> None:
        waiting.append(batch)
        if sum(map(len, waiting)) >= GROUP_ROWS:
            flush()

    with open_stream(path) as stream:
        if PurePath(path).suffix == ".parquet":
            from pyarrow import parquet

            opened: Any = parquet.ParquetWriter(stream, schema)
        else:
            opened = pa.ipc.new_file(stream, schema)
        with opened as writer:
            yield write
            flush()
