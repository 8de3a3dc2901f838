"""Data frames: tag a column of pandas or polars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tagger.errors import TaggerError
from tagger.escaping import quote
from tagger.integrations.rows import MODEL_TOKENIZER, chosen_outputs, is_nan, tag_rows
from tagger.models.predictor import Predictor
from tagger.models.store import load_model


def tag(
    frame: Any,
    column: str,
    model: str | Predictor = "english",
    tokenize: str | None = MODEL_TOKENIZER,
    outputs: Sequence[str] | None = None,
) -> Any:
    """Tag a column of a data frame.

    Parameters
    ----------
    frame : pandas.DataFrame or polars.DataFrame
    column : str
        The column with texts, or with lists of words.
    model : str or Predictor
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
    if column not in frame.columns:
        names = ", ".join(quote(str(name)) for name in frame.columns)
        raise TaggerError(f"expected a column {quote(column)}, got {names}. Name one of these.")
    values = frame[column].to_list()
    texts = any(isinstance(value, str) for value in values)
    if strange := [value for value in values if isinstance(value, int | float) and not is_nan(value)]:
        raise TaggerError(f"column {quote(column)}: expected texts or lists of words, got {strange[0]!r}.")
    wanted = chosen_outputs(outputs, texts)
    if twice := [name for name in wanted if name in frame.columns]:
        raise TaggerError(f"expected a frame without a column {quote(twice[0])}, got one. Rename it.")
    rows = tag_rows(load_model(model) if isinstance(model, str) else model, values, wanted, tokenize)
    if hasattr(frame, "with_columns"):
        from polars import Series

        return frame.with_columns([Series(name, rows[name], strict=False) for name in wanted])
    from pandas import Series as PandasSeries

    return frame.assign(**{name: PandasSeries(rows[name], index=frame.index, dtype=object) for name in wanted})
