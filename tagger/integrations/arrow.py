"""Arrow: tag record batches.

`tag_batches` goes from record batches to record batches, the form in which pyarrow.dataset, Dask, Spark (`mapInArrow`)
and Ray hand data to Python. A model given by its path is loaded once per process.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

from tagger.errors import FileError, TaggerError
from tagger.escaping import quote
from tagger.integrations.rows import MODEL_TOKENIZER, chosen_outputs, tag_blocks
from tagger.models.predictor import Predictor
from tagger.models.store import load_model

Path = str | os.PathLike[str]
LISTS = ("list", "large_list", "fixed_size_list", "list_view", "large_list_view")
Model = Path | Sequence[Path] | Predictor


def need_pyarrow() -> Any:
    """Return the module pyarrow, or raise an error that says how to install it."""
    try:
        import pyarrow
    except ImportError:
        advice = "Install it with: pip install 'hmm-crf-tagger[arrow]'"
        raise FileError(f"Parquet and Arrow files need pyarrow. {advice}") from None
    return pyarrow


def has_type(column: Any, *names: str) -> bool:
    """Return whether a type is one of those named, e.g. `large_string`; older versions of pyarrow lack some."""
    types = need_pyarrow().types
    return any(getattr(types, f"is_{name}")(column) for name in names if hasattr(types, f"is_{name}"))


def is_text(column: Any) -> bool:
    """Return whether a type is that of strings, plain or encoded, or of nulls only."""
    plain = column.value_type if has_type(column, "dictionary", "run_end_encoded") else column
    return has_type(plain, "string", "large_string", "string_view", "null")


@lru_cache(maxsize=4)
def loaded(paths: str | tuple[str, ...]) -> Predictor:
    """Load a model, or several as one, once per process."""
    return load_model(paths)


@dataclass(frozen=True)
class BatchTagger:
    """Makes the function from a record batch to one with further columns; can be pickled.

    Parameters
    ----------
    model : path, sequence of paths, or Predictor
        The model, or its path, or the paths of several.
    text_column, word_column : str, optional
        The column with texts, or the one with lists of words: one of the two.
    tokenize : str, optional
        How texts are split: `model`, `english`, `chinese`, or None for lines and spaces.
    outputs : sequence of str, optional
        New columns: some of words, tags, probabilities, starts, ends, sentences.
    """

    model: Model
    text_column: str | None = None
    word_column: str | None = None
    tokenize: str | None = MODEL_TOKENIZER
    outputs: Sequence[str] | None = None

    def __post_init__(self) -> None:
        if (self.text_column is None) == (self.word_column is None):
            raise TaggerError("text_column, word_column: expected one of the two. Name the column to tag.")
        if isinstance(self.model, list | tuple):
            object.__setattr__(self, "model", tuple(map(os.fspath, self.model)))
        elif isinstance(self.model, os.PathLike):
            object.__setattr__(self, "model", os.fspath(self.model))
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
            names = ", ".join(map(quote, schema.names)) or "none"
            raise TaggerError(f"expected a column {quote(self.column)}, got {names}. Name one of these.")
        if (count := schema.names.count(self.column)) > 1:
            raise TaggerError(f"expected one column {quote(self.column)}, got {count}. Rename the others.")
        self.check_type(schema.field(self.column).type)
        if twice := [name for name in self.outputs or () if name in schema.names]:
            raise TaggerError(f"expected a table without a column {quote(twice[0])}, got one. Rename it.")
        for field in self.fields():
            schema = schema.append(field)
        return schema

    def check_type(self, column: Any) -> None:
        """Refuse a column that has no texts, or no lists of words. One that has only nulls is allowed."""
        if self.text_column is not None:
            expected, right = "texts", is_text(column)
        else:
            expected, right = "lists of words", has_type(column, *LISTS) and is_text(column.value_type)
        if not right and not has_type(column, "null"):
            raise TaggerError(f"column {quote(self.column)}: expected {expected}, got the type {column}.")

    def __call__(self) -> Callable[[Any], Any]:
        pa = need_pyarrow()

        def work(batch: Any) -> Any:
            schema = self.schema(batch.schema)
            tagger = cast(Predictor, loaded(self.model) if isinstance(self.model, str | tuple) else self.model)
            values = self.values(batch)
            blocks = list(map(self.arrays, tag_blocks(tagger, values, self.outputs or (), self.tokenize)))
            new = [pa.concat_arrays(arrays) for arrays in zip(*blocks, strict=True)]
            return pa.RecordBatch.from_arrays([*batch.columns, *new], schema=schema)

        return work

    def values(self, batch: Any) -> list[Any]:
        """Return the values of the column to tag; refuse texts that are not UTF-8, and lists with nulls in them."""
        try:
            values: list[Any] = batch.column(self.column).to_pylist()
        except UnicodeDecodeError as error:
            raise TaggerError(
                f"column {quote(self.column)}: expected UTF-8, got other bytes ({error.reason})."
            ) from None
        for words in values if self.word_column is not None else ():
            if words is not None and None in words:
                raise TaggerError(f"column {quote(self.column)}: expected lists of words, got a null among them.")
        return values

    def arrays(self, rows: dict[str, list[Any]]) -> list[Any]:
        """Make the new columns of some rows."""
        return [need_pyarrow().array(rows[field.name], type=field.type) for field in self.fields()]

    def tag_table(self, table: Any) -> Any:
        """Tag a table in memory."""
        batches = list(map(self(), table.to_batches()))
        return need_pyarrow().Table.from_batches(batches, self.schema(table.schema))


def tag_batches(
    batches: Iterable[Any],
    model: Model,
    text_column: str | None = None,
    word_column: str | None = None,
    tokenize: str | None = MODEL_TOKENIZER,
    outputs: Sequence[str] | None = None,
) -> Iterator[Any]:
    """Tag record batches.

    Parameters
    ----------
    batches : iterable of pyarrow.RecordBatch
    model : path, sequence of paths, or Predictor
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
