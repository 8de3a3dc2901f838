"""Data frames: tag a column of pandas or polars."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from tagger.errors import TaggerError
from tagger.escaping import quote
from tagger.integrations.rows import MODEL_TOKENIZER, chosen_outputs, is_missing, tag_rows
from tagger.models.predictor import Predictor
from tagger.models.store import as_model
from tagger.sentence import contents, described, strings

TEXT_TYPES = ("str", "large_string", "categor", "enum")  # beginnings of the names of types of texts


def tag(
    frame: Any,
    column: str,
    model: str | os.PathLike[str] | Predictor = "english",
    tokenize: str | None = MODEL_TOKENIZER,
    outputs: Sequence[str] | None = None,
) -> Any:
    """Tag a column of a data frame.

    Parameters
    ----------
    frame : pandas.DataFrame or polars.DataFrame
    column : str
        The column with texts, or with lists of words.
    model : path or Predictor
        A model, or its path or name.
    tokenize : str, optional
        How texts are split: `model` (as the model has stored it), `english`, `chinese`, or None for lines and spaces.
    outputs : sequence of str, optional
        New columns: some of `words`, `tags`, `probabilities`, `starts`, `ends` (of the words in the text) and
        `sentences` (the number of each word's sentence). By default words and tags of texts, tags of words.

    Returns
    -------
    pandas.DataFrame or polars.DataFrame
        A frame with the new columns, a list per row.

    Examples
    --------
    >>> import pandas as pd
    >>> from tagger.integrations import frames
    >>> frames.tag(pd.DataFrame({"text": ["She left. Why?"]}), "text").tags[0]
    ['PRP', 'VBD', '.', 'WRB', '.']
    """
    values = column_values(frame, column)
    lists = any(not isinstance(value, str) and not is_missing(value) for value in values)
    texts = any(isinstance(value, str) for value in values) or str(frame[column].dtype).lower().startswith(TEXT_TYPES)
    wanted = chosen_outputs(outputs, texts if outputs is None else not lists)
    if twice := [name for name in wanted if name in frame.columns]:
        raise TaggerError(f"expected a frame without a column {quote(twice[0])}, got one. Rename it.")
    rows = tag_rows(as_model(model), values, wanted, tokenize)
    if hasattr(frame, "with_columns"):
        import polars as pl

        # The types are named, since a column without any value would otherwise have another one.
        types = {"words": pl.String, "tags": pl.String, "probabilities": pl.Float64}
        return frame.with_columns([pl.Series(name, rows[name], pl.List(types.get(name, pl.Int64))) for name in wanted])
    from pandas import Series as PandasSeries

    return frame.assign(**{name: PandasSeries(rows[name], index=frame.index, dtype=object) for name in wanted})


def column_values(frame: Any, column: str) -> list[Any]:
    """List the values of a column of a frame: texts, lists of words and missing ones."""
    if not (hasattr(frame, "shape") and hasattr(frame, "columns")):  # a lazy frame has no shape
        raise TypeError(f"frame: expected a data frame of pandas or polars, got {described(frame)}.")
    names = list(frame.columns)
    if (count := names.count(column)) != 1:
        if count:
            raise TaggerError(f"expected one column {quote(column)}, got several. Rename the others.")
        got = ", ".join(quote(str(name)) for name in names) or "none"
        raise TaggerError(f"expected a column {quote(str(column))}, got {got}. Name one of these.")
    values: list[Any] = frame[column].to_list()
    for row, value in enumerate(values):
        if not isinstance(value, str) and not is_missing(value):
            place = f"column {quote(column)}[{row}]"
            try:
                strings(contents(value, place, "a text or a list of words"), place, "word")
            except TypeError as error:
                raise TaggerError(str(error)) from None
    return values
