"""What a model sees of a sentence: its words, and what else templates look at: columns, and places in lists of phrases.

A token of a model without such sources is a word. With them it is a tuple: the word, then the value of each source. All
that is computed per distinct word, in training and in tagging, is then computed per distinct tuple.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tagger.errors import CorpusError
from tagger.escaping import quote
from tagger.features.phrases import PhraseList
from tagger.features.syntax import LIST_PREFIX
from tagger.normalization import NFC, NormalizationForm, normalized, normalized_sentences
from tagger.sentence import Sentence, Words, columns_of, words_of

Observed = list[Any]  # sentences as lists of tokens, each a word or a tuple of a word and the values of sources


@dataclass(frozen=True)
class Observer:
    """A function from sentences to their tokens: normalized words, with the values of these sources, if any.

    A source is the name of a column, or of one of the `lists` with its prefix.
    """

    form: NormalizationForm = NFC
    sources: tuple[str, ...] = ()
    lists: Mapping[str, PhraseList] = field(default_factory=dict)

    def __call__(self, sentences: Sequence[Sentence | Words]) -> Observed:
        words = list(normalized_sentences([words_of(sentence) for sentence in sentences], self.form))
        if not self.sources:
            return words
        values = [self.values(source, sentences, words) for source in self.sources]  # by source, by sentence
        return [list(zip(*tokens, strict=True)) for tokens in zip(words, *values, strict=True)]

    def values(self, source: str, sentences: Sequence[Sentence | Words], words: Sequence[Words]) -> Sequence[Any]:
        """Return the values of a source at the tokens of each sentence."""
        if source.startswith(LIST_PREFIX):
            return self.lists[source.removeprefix(LIST_PREFIX)].places(words)
        return [self.column_values(source, sentence) for sentence in sentences]

    def column_values(self, name: str, sentence: Sentence | Words) -> Words:
        """Return the normalized values of a column of a sentence."""
        there = columns_of(sentence) or {}
        if name not in there and len(sentence):
            got = f"got {', '.join(there)}" if there else "got words only"
            raise CorpusError(f"expected sentences with a column {quote(name)} for the features, {got}")
        return normalized(there.get(name, ()), self.form)

    def words(self, observed: Observed) -> list[Words]:
        """Return the words of observed sentences."""
        return [[token[0] for token in tokens] for tokens in observed] if self.sources else observed


def split_sources(tokens: Sequence[Any], sources: tuple[str, ...]) -> dict[str | None, Sequence[Any]]:
    """Split tokens into their words, under None, and the values of each source, by name."""
    if not sources:
        return {None: tokens}
    values = zip(*tokens, strict=True) if tokens else iter([()] * (1 + len(sources)))
    return dict(zip([None, *sources], values, strict=True))
