"""Assign ids to words, in the order of their first occurrence.

A `Vocabulary` grows with every new word. A fitted model holds its words in an immutable `arrays.string_table` instead.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from itertools import chain, count
from typing import Any

import numpy as np


class Vocabulary(dict[Any, int]):
    """A dictionary from words, or any hashable keys, to ids; looking up a new key adds it with the next free id."""

    def __missing__(self, key: Hashable) -> int:
        self[key] = new_id = len(self)
        return new_id

    @classmethod
    def of(cls, keys: Iterable[Hashable]) -> Vocabulary:
        """Number distinct keys in the given order."""
        return cls(zip(keys, count(), strict=False))


def word_ids(sentences: Sequence[Sequence[Hashable]], vocabulary: Vocabulary) -> np.ndarray:
    """Return the id of each token (N,); new words are added to the vocabulary."""
    tokens = sum(map(len, sentences))
    return np.fromiter(map(vocabulary.__getitem__, chain.from_iterable(sentences)), np.int64, tokens)
