"""What a model sees of a sentence: its words, or its words with the columns that templates look at.

A token of a model without columns is a word. With columns it is a tuple: the word, then the value of each column. All
that is computed per distinct word, in training and in tagging, is then computed per distinct tuple.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tagger.errors import CorpusError
from tagger.escaping import quote
from tagger.normalization import NFC, NormalizationForm, normalized, normalized_sentences
from tagger.sentence import Sentence, Words, columns_of, words_of

Observed = list[Any]  # sentences as lists of tokens, each a word or a tuple of a word and its columns


@dataclass(frozen=True)
class Observer:
    """A function from sentences to their tokens: normalized words, with the values of these columns, if any."""

    form: NormalizationForm = NFC
    columns: tuple[str, ...] = ()

    def __call__(self, sentences: Sequence[Sentence | Words]) -> Observed:
        words = list(normalized_sentences([words_of(sentence) for sentence in sentences], self.form))
        if not self.columns:
            return words
        values = [self.column_values(sentence) for sentence in sentences]
        return [list(zip(own, *others, strict=True)) for own, others in zip(words, values, strict=True)]

    def column_values(self, sentence: Sentence | Words) -> list[Words]:
        """Return the normalized values of each column of a sentence."""
        there = columns_of(sentence) or {}
        for name in self.columns:
            if name not in there and len(sentence):
                got = f"got {', '.join(there)}" if there else "got words only"
                raise CorpusError(f"expected sentences with a column {quote(name)} for the features, {got}")
        return [normalized(there.get(name, ()), self.form) for name in self.columns]

    def words(self, observed: Observed) -> list[Words]:
        """Return the words of observed sentences."""
        return [[token[0] for token in tokens] for tokens in observed] if self.columns else observed


def by_column(tokens: Sequence[Any], columns: tuple[str, ...]) -> dict[str | None, Sequence[str]]:
    """Split tokens into their words, under None, and the values of each column, by name."""
    if not columns:
        return {None: tokens}
    values = zip(*tokens, strict=True) if tokens else iter([()] * (1 + len(columns)))
    return dict(zip([None, *columns], values, strict=True))
