"""Sentences as ids of their distinct words, laid out so that the word at any offset is one array lookup away.

A text has far fewer distinct words than tokens. Values that depend on one word are computed once per distinct word, and
gathered by the ids of the words around each token.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from tagger.arrays.caching import cached_property
from tagger.arrays.string_spans import ByteStrings
from tagger.words.vocabulary import Vocabulary, word_ids

MARKS = 2  # boundary marks, before and after a sentence; their ids follow those of the words


@dataclass(frozen=True)
class Windows:
    """Word ids of sentences with a margin of boundary marks around each: `around[places + offset]` is a neighbour."""

    words: Sequence[str]  # V distinct words by id; empty if another object holds them
    places: np.ndarray  # (N,) index of each token in `around`
    around: np.ndarray  # ids of words and boundary marks

    @cached_property
    def encoded(self) -> ByteStrings:
        """The distinct words, encoded as UTF-8 (V)."""
        return ByteStrings.of(self.words)

    @classmethod
    def of(cls, sentences: Sequence[Sequence[Hashable]], margin: int) -> Windows:
        """Number the words of sentences; `margin` is the largest offset that will be asked for."""
        vocabulary = Vocabulary()
        tokens = word_ids(sentences, vocabulary)
        lengths = np.fromiter(map(len, sentences), np.int64, len(sentences))
        return cls.laid_out(list(vocabulary), tokens, lengths, margin)

    @classmethod
    def laid_out(cls, words: Sequence[str], tokens: np.ndarray, lengths: np.ndarray, margin: int) -> Windows:
        """Lay out tokens (N,) given as word ids, with the boundary marks V before a sentence and V + 1 after it."""
        return cls(words, *laid_out(tokens, lengths, margin, (len(words), len(words) + 1)))

    def only(self, kept: np.ndarray, lengths: np.ndarray, margin: int) -> Windows:
        """Keep the tokens where `kept` (N,) is True; `lengths` are those of the sentences that result."""
        return self if kept.all() else Windows.laid_out(self.words, self.at(0)[kept], lengths, margin)

    def at(self, offset: int) -> np.ndarray:
        """Return the id of the word at an offset from each token (N,)."""
        return self.around[self.places + offset]


def laid_out(
    tokens: np.ndarray, lengths: np.ndarray, margin: int, marks: tuple[int, int]
) -> tuple[np.ndarray, np.ndarray]:
    """Compute `places` and `around` (see `Windows`) of tokens (N,), sentence after sentence."""
    before, after = marks
    # Sentence s takes margin + length + margin cells, so its tokens are shifted by margin · (2s + 1).
    places = np.arange(len(tokens)) + margin * (2 * np.repeat(np.arange(len(lengths)), lengths) + 1)
    around = np.full(len(tokens) + 2 * margin * len(lengths), after, np.int32)
    starts = np.cumsum(lengths + 2 * margin) - lengths - 2 * margin
    around[(starts[:, None] + np.arange(margin)).ravel()] = before
    around[places] = tokens
    return places, around
