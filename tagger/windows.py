"""Sentences as the ids of their distinct words, with a neighbour one addition away.

A text has far fewer distinct words than tokens. Whatever depends on one word is computed once for each of them; a token
then only knows the ids of the words around it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from tagger.vocab import Vocabulary

MARKS = 2  # the places before and after a sentence, numbered behind all words


@dataclass(frozen=True)
class Windows:
    """Sentences as ids of their distinct words, with room around each, so that a neighbour is one addition away."""

    words: list[str]  # V distinct words
    places: np.ndarray  # (N,) where each token stands in `around`
    around: np.ndarray  # word ids; V before a sentence, V + 1 after it

    @classmethod
    def of(cls, sentences: Sequence[Sequence[str]], margin: int, order: np.ndarray | None = None) -> Windows:
        """`order` (N,) rearranges the tokens, into the rows of a pack say."""
        ids = Vocabulary()
        lengths = np.fromiter(map(len, sentences), np.int64, len(sentences))
        tokens = np.fromiter(map(ids.__getitem__, chain.from_iterable(sentences)), np.int32, int(lengths.sum()))
        places = np.arange(len(tokens)) + margin * (2 * np.repeat(np.arange(len(lengths)), lengths) + 1)
        around = np.full(len(tokens) + 2 * margin * len(lengths), len(ids) + 1, np.int32)
        begins = np.cumsum(lengths + 2 * margin) - lengths - 2 * margin
        around[(begins[:, None] + np.arange(margin)).ravel()] = len(ids)
        around[places] = tokens
        return cls(list(ids), places if order is None else places[order], around)

    def at(self, offset: int) -> np.ndarray:
        """(N,) the id of the word at that offset from each token."""
        return self.around[self.places + offset]
