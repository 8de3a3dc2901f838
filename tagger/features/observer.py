"""What a model sees of a sentence: its words, and what else templates look at: columns, and places in lists of phrases.

A token of a model without such sources is a word. With them it is a tuple: the word, then the value of each source. All
that is computed per distinct word, in training and in tagging, is then computed per distinct tuple. Numbers and dicts
of features, which differ from token to token, stay outside the tuples (`token_values`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from tagger.errors import CorpusError, several
from tagger.escaping import quote
from tagger.normalization import NFC, NormalizationForm, normalized, normalized_sentences
from tagger.sentence import Sentence, Words, columns_of, only_strings, words_of

if TYPE_CHECKING:
    from tagger.features.phrases import PhraseList

FeatureFunction = Callable[[Sentence], Sequence[Any]]  # from a sentence to a dict, or list of strings, for each token
Observed = list[Any]  # sentences as lists of tokens, each a word or a tuple of a word and the values of sources


@dataclass(frozen=True)
class Observer:
    """A function from sentences to their tokens: normalized words, with the values of these sources, if any.

    A source is the name of a column, or of one of the `lists` with its prefix. The `valued` sources are columns of
    numbers or of dicts, with their prefix.
    """

    form: NormalizationForm = NFC
    sources: tuple[str, ...] = ()
    lists: Mapping[str, PhraseList] = field(default_factory=dict)
    valued: tuple[str, ...] = ()
    function: FeatureFunction | str | None = None  # makes the dicts of features; a loaded model has its name only

    def __call__(self, sentences: Sequence[Sentence | Words]) -> Observed:
        words = list(normalized_sentences([words_of(sentence) for sentence in sentences], self.form))
        tokens: list[Any] = words
        if self.sources:
            values = [self.values(source, sentences, words) for source in self.sources]  # by source, by sentence
            tokens = [list(zip(*parts, strict=True)) for parts in zip(words, *values, strict=True)]
        if not self.valued:
            return tokens
        from tagger.features.token_values import ObservedSentence

        return [
            ObservedSentence(own, self.all_values(sentence), line(sentence))
            for own, sentence in zip(tokens, sentences, strict=True)
        ]

    def values(self, source: str, sentences: Sequence[Sentence | Words], words: Sequence[Words]) -> Sequence[Any]:
        """Return the values of a source at the tokens of each sentence."""
        from tagger.features.syntax import LIST_PREFIX

        if source.startswith(LIST_PREFIX):
            return self.lists[source.removeprefix(LIST_PREFIX)].places(words)
        return [self.column_values(source, sentence) for sentence in sentences]

    def column_values(self, name: str, sentence: Sentence | Words) -> Words:
        """Return the normalized values of a column of a sentence."""
        values = self.column(name, sentence)
        if not only_strings([values]):
            for t, value in enumerate(values, 1):
                if not isinstance(value, str):
                    expected = f"token {t}: column {quote(name)}: expected a string for the features"
                    raise CorpusError(f"{expected}, got {value!r}. Name a column of numbers with number: only.")
        return normalized(values, self.form)

    def column(self, name: str, sentence: Sentence | Words) -> Sequence[Any]:
        """Return a column of a sentence."""
        there = columns_of(sentence) or {}
        if name not in there and len(sentence):
            got = f"got {', '.join(there)}" if there else "got words only"
            raise CorpusError(f"expected sentences with a column {quote(name)} for the features, {got}")
        return there.get(name, ())

    def all_values(self, sentence: Sentence | Words) -> dict[str, Any]:
        """Return the values of all numbers and dicts of a sentence, by source."""
        return {source: self.token_values(source, sentence) for source in self.valued}

    def token_values(self, source: str, sentence: Sentence | Words) -> Any:
        """Return the values of a column of numbers, as an array (T,), or of dicts."""
        from tagger.features.syntax import NUMBER_PREFIX

        name = source.split(":", 1)[1]
        if source.startswith(NUMBER_PREFIX):
            return read_numbers(self.column(name, sentence), name, sentence)
        if name in (columns_of(sentence) or {}) or not len(sentence):
            return self.column(name, sentence)
        if callable(self.function):
            return made_features(self.function, sentence)
        expected = "expected a dict of features for each token, as in training, got words"
        if self.function is not None:
            expected += f". The {self.function} made them, which the model file does not hold: set features again"
        raise CorpusError(expected)

    def words(self, observed: Observed) -> list[Words]:
        """Return the words of observed sentences."""
        return [[token[0] for token in tokens] for tokens in observed] if self.sources else observed


def split_sources(tokens: Sequence[Any], sources: tuple[str, ...]) -> dict[str | None, Sequence[Any]]:
    """Split tokens into their words, under None, and the values of each source, by name."""
    if not sources:
        return {None: tokens}
    values = zip(*tokens, strict=True) if tokens else iter([()] * (1 + len(sources)))
    return dict(zip([None, *sources], values, strict=True))


def line(sentence: Sentence | Words) -> int | None:
    """Return the number of a sentence, or of its first line, for messages."""
    return sentence.line if isinstance(sentence, Sentence) else None


def read_numbers(column: Sequence[Any], name: str, sentence: Sentence | Words) -> np.ndarray:
    """Read a column of numbers (T,); an error has the place of the first value that is none."""
    from tagger.corpus.formats import line_of
    from tagger.features.token_values import MAX_VALUE, finite

    numbers = np.empty(len(column), np.float32)
    for t, value in enumerate(column):
        try:
            numbers[t] = finite(value)
        except (TypeError, ValueError, OverflowError) as error:
            at = line_of(sentence, t) if isinstance(sentence, Sentence) else None
            place = f"token {t + 1}" if at is None else f"line {at}"
            large = isinstance(error, OverflowError)
            kind, advice = (f"number up to {MAX_VALUE:g}", ". Scale the column.") if large else ("finite number", "")
            expected = f"{place}: column {quote(name)}: expected a {kind} for the features"
            raise CorpusError(f"{expected}, got {quote(str(value))}{advice}") from None
    return numbers


def made_features(function: FeatureFunction, sentence: Sentence | Words) -> Sequence[Any]:
    """Call a function that makes the features of a sentence, without its tags."""
    untagged = Sentence(words_of(sentence), columns=columns_of(sentence))
    features = list(function(untagged))
    if len(features) != len(untagged):
        expected = f"expected dicts of features for {several(len(untagged), 'token')}"
        raise CorpusError(f"features: {expected}, got {len(features):,} from the function")
    return features
