"""Tag the rows of a table: a column of texts or of word lists in, columns of lists out.

A row stays a row. A text may have several sentences; the lists of its row hold the words of all of them, and
`sentences` numbers the sentences. A row without a text has no lists.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any

from tagger.corpus.tokenizers.tokenize import tokenize
from tagger.errors import TaggerError
from tagger.escaping import quote
from tagger.models.predictor import Predictor
from tagger.sentence import Sentence
from tagger.tagging.blocks import blocks, weight
from tagger.tagging.inputs import MAX_SENTENCE_LENGTH

Rows = dict[str, list[list[Any] | None]]  # for each output a list with a list per row
MODEL_TOKENIZER = "model"  # as the model has stored it
OUTPUTS: dict[
    str, Callable[[int, Sentence], Iterable[Any]]
] = {  # from a sentence and its number to values of its words
    "words": lambda number, sentence: sentence.words,
    "tags": lambda number, sentence: sentence.tags or (),
    "probabilities": lambda number, sentence: sentence.probabilities or (),
    "starts": lambda number, sentence: [start for start, _ in sentence.offsets or ()],
    "ends": lambda number, sentence: [end for _, end in sentence.offsets or ()],
    "sentences": lambda number, sentence: [number] * len(sentence),
}
OF_TEXTS = ("starts", "ends")  # outputs that words without a text do not have


def chosen_outputs(outputs: Sequence[str] | None, texts: bool) -> tuple[str, ...]:
    """Return the outputs to make, by default words and tags of texts, tags of words; refuse unknown ones."""
    if outputs is None:
        return ("words", "tags") if texts else ("tags",)
    allowed = [name for name in OUTPUTS if texts or name not in OF_TEXTS]
    for name in outputs:
        if name not in allowed:
            raise TaggerError(f"outputs: expected some of {', '.join(allowed)}, got {quote(str(name))}.")
    if len(set(outputs)) < len(outputs):
        raise TaggerError(f"outputs: expected each once, got {', '.join(outputs)}.")
    return tuple(outputs)


def tag_rows(
    model: Predictor, values: Iterable[Any], outputs: Sequence[str], tokenizer: str | None = MODEL_TOKENIZER
) -> Rows:
    """Tag the values of a column.

    Parameters
    ----------
    model : Predictor
    values : iterable of str, of lists of str, or of None
        Texts, or the words of sentences.
    outputs : sequence of str
        Names of `OUTPUTS`.
    tokenizer : str, optional
        How texts are split: `model`, `english`, `chinese`, or None for lines and spaces.

    Returns
    -------
    dict
        For each output a list with a list per row, None where the value is None.
    """
    tagged = list(tag_blocks(model, values, outputs, tokenizer))
    return {name: list(chain.from_iterable(rows[name] for rows in tagged)) for name in outputs}


def tag_blocks(
    model: Predictor, values: Iterable[Any], outputs: Sequence[str], tokenizer: str | None
) -> Iterator[Rows]:
    """Tag the values of a column in blocks of the usual size, so that no more sentences are in memory at once."""
    language = model.tokenizer_ if tokenizer == MODEL_TOKENIZER else tokenizer
    empty = True
    for block, _ in blocks(values, weigh_value):
        yield tag_block(model, [sentences_of(value, language) for value in block], outputs)
        empty = False
    if empty:
        yield {name: [] for name in outputs}


def tag_block(model: Predictor, rows: Sequence[list[Sentence] | None], outputs: Sequence[str]) -> Rows:
    """Tag the sentences of some rows."""
    plain = list(chain.from_iterable(row for row in rows if row is not None))
    if (longest := max(map(len, plain), default=0)) > MAX_SENTENCE_LENGTH:
        raise TaggerError(f"expected at most {MAX_SENTENCE_LENGTH:,} tokens in a sentence, got {longest:,}")
    tagged = iter(model.tag_sents(plain, probabilities="probabilities" in outputs))
    of_row = [None if row is None else list(enumerate(islice(tagged, len(row)))) for row in rows]
    return {
        name: [
            None if row is None else list(chain.from_iterable(OUTPUTS[name](i, sentence) for i, sentence in row))
            for row in of_row
        ]
        for name in outputs
    }


def weigh_value(value: Any) -> int:
    """Estimate the tokens of a value."""
    if isinstance(value, str):
        return weight(value.count(" "), len(value))
    return len(value) if hasattr(value, "__len__") else 0


def sentences_of(value: Any, language: str | None) -> list[Sentence] | None:
    """Return the sentences of a value; None for a missing one."""
    if is_missing(value):
        return None
    return tokenize(value, language) if isinstance(value, str) else [Sentence(value)]


def is_missing(value: Any) -> bool:
    """Return whether a value is missing, which pandas may write as NaN, NA or NaT."""
    return value is None or type(value).__name__ in ("NAType", "NaTType") or is_nan(value)


def is_nan(value: Any) -> bool:
    """Return whether a value is the number NaN."""
    return isinstance(value, float) and math.isnan(value)
