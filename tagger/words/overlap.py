"""Which sentences of a text were in the training corpus: a model that has seen the answers is not being tested.

A model keeps 32 bits of every training sentence, made of its words alone: the upper half of

    Σ_t hash(w_t) · P^t  mod 2^64

Sentences of fewer than MIN_WORDS words come back in any text (*Thank you !*) and prove nothing. Among 10,000 others,
with as many in the model, 0.02 would be taken for known by accident.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tagger.arrays.keyed import count_keys
from tagger.arrays.ragged import ranges
from tagger.arrays.string_spans import ByteStrings, P, powers
from tagger.normalization import NFC, Form, normalized_sentences
from tagger.words.windows import Windows

MIN_WORDS = 5


def marks(words: ByteStrings, ids: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """The distinct marks, ascending, of those sentences that are long enough. A text is given as its words, the place
    of each token (N,) among them, and the lengths of its sentences."""
    return count_keys(all_marks(words, ids, lengths), 1 << 32)[0]  # `np.unique` alone would load numpy.ma, in 8 ms


def all_marks(words: ByteStrings, ids: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """The mark of each sentence that is long enough."""
    terms = words.hashes[ids] * powers(P, int(lengths.max(initial=0)))[ranges(lengths)]
    sums = np.concatenate([[np.uint64(0)], np.cumsum(terms)])
    ends = np.cumsum(lengths)
    long = lengths >= MIN_WORDS
    return ((sums[ends[long]] - sums[(ends - lengths)[long]]) >> np.uint64(32)).astype(np.uint32)


def overlap(sentences: Sequence[Sequence[str]], seen: np.ndarray, form: Form = NFC) -> int:
    """How many of the sentences, in a normalisation form, have a mark among those seen."""
    windows = Windows.of(normalized_sentences(sentences, form), 0)
    lengths = np.fromiter(map(len, sentences), np.int64, len(sentences))
    return int(np.isin(all_marks(windows.written, windows.at(0), lengths), seen).sum())
