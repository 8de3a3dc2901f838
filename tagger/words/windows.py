"""Sentences as the ids of their distinct words, with a neighbour one addition away.

A text has far fewer distinct words than tokens. Whatever depends on one word is computed once for each of them; a token
then only knows the ids of the words around it.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from tagger.arrays.caching import cached_property
from tagger.arrays.string_spans import ByteStrings
from tagger.words.vocabulary import Vocabulary, numbers

MARKS = 2  # the places before and after a sentence, numbered behind all words


@dataclass(frozen=True)
class Windows:
    """Sentences as ids of their words, with room around each, so that a neighbour is one addition away."""

    words: Sequence[str]  # V distinct words by id, unless somebody else numbers them
    places: np.ndarray  # (N,) where each token stands in `around`
    around: np.ndarray  # ids of words and marks

    @cached_property
    def written(self) -> ByteStrings:
        return ByteStrings.of(self.words)

    @classmethod
    def of(cls, sentences: Sequence[Sequence[Hashable]], margin: int) -> Windows:
        """With the marks V before a sentence and V + 1 after it."""
        words = Vocabulary()
        tokens = numbers(sentences, words)
        lengths = np.fromiter(map(len, sentences), np.int64, len(sentences))
        return cls.laid_out(list(words), tokens, lengths, margin)

    @classmethod
    def laid_out(cls, words: Sequence[str], tokens: np.ndarray, lengths: np.ndarray, margin: int) -> Windows:
        """Of tokens (N,) that are places among the words, in sentences of these lengths."""
        return cls(words, *laid_out(tokens, lengths, margin, (len(words), len(words) + 1)))

    def only(self, kept: np.ndarray, lengths: np.ndarray, margin: int) -> Windows:
        """The tokens that are True in `kept` (N,), in sentences of these lengths."""
        return self if kept.all() else Windows.laid_out(self.words, self.at(0)[kept], lengths, margin)

    def at(self, offset: int) -> np.ndarray:
        """(N,) the id of the word at that offset from each token."""
        return self.around[self.places + offset]


def laid_out(
    tokens: np.ndarray, lengths: np.ndarray, margin: int, marks: tuple[int, int]
) -> tuple[np.ndarray, np.ndarray]:
    """`places` and `around` of tokens (N,), sentence after sentence."""
    before, after = marks
    places = np.arange(len(tokens)) + margin * (2 * np.repeat(np.arange(len(lengths)), lengths) + 1)
    around = np.full(len(tokens) + 2 * margin * len(lengths), after, np.int32)
    begins = np.cumsum(lengths + 2 * margin) - lengths - 2 * margin
    around[(begins[:, None] + np.arange(margin)).ravel()] = before
    around[places] = tokens
    return places, around
