"""Which sentences of a text were in the training corpus: a model that has seen the answers is not being tested.

A model keeps 32 bits of every training sentence, made of its words alone. Sentences of fewer than MIN_WORDS words
come back in any text (*Thank you !*) and prove nothing. Among 10,000 others, with as many in the model, 0.02 would be
taken for known by accident.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence

import numpy as np

MIN_WORDS = 5


def marks(sentences: Iterable[Sequence[str]]) -> np.ndarray:
    """The distinct marks of all sentences that are long enough, ascending."""
    found = {mark(words) for words in sentences if len(words) >= MIN_WORDS}
    return np.array(sorted(found), np.uint32)


def mark(words: Sequence[str]) -> int:
    return zlib.crc32("\n".join(words).encode("utf-8", "surrogatepass"))


def overlap(sentences: Sequence[Sequence[str]], seen: np.ndarray) -> int:
    """How many of the sentences have a mark among those seen."""
    own = np.array([mark(words) for words in sentences if len(words) >= MIN_WORDS], np.uint32)
    return int(np.isin(own, seen).sum())
