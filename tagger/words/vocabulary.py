"""Strings ↔ ids while a model is being fitted."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from itertools import chain, count
from typing import Any

import numpy as np


class Vocabulary(dict[Any, int]):
    """A dictionary that gives each new key, a string or whatever stands for a word, the next free number."""

    def __missing__(self, key: Hashable) -> int:
        self[key] = number = len(self)
        return number

    @classmethod
    def of(cls, keys: Iterable[Hashable]) -> Vocabulary:
        return cls(zip(keys, count(), strict=False))


def numbers(sentences: Sequence[Sequence[Hashable]], words: Vocabulary) -> np.ndarray:
    """(N,) the number of each word of these sentences; words that are new get the next ones."""
    tokens = sum(map(len, sentences))
    return np.fromiter(map(words.__getitem__, chain.from_iterable(sentences)), np.int64, tokens)
