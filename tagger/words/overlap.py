"""Count the sentences of a test set that were in the training corpus, on which accuracy is too high.

A model stores a fingerprint of every training sentence, 32 bits of its words: the upper half of

    Σ_t hash(w_t) · P^t  mod 2^64

Sentences of fewer than MIN_WORDS words recur in any text (*Thank you !*) and are ignored. Of 10,000 longer sentences,
0.02 are expected to match one of 10,000 in the model by chance.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tagger.arrays.keyed import count_keys
from tagger.arrays.ragged import ranges
from tagger.arrays.string_spans import ByteStrings, P, powers
from tagger.normalization import NFC, NormalizationForm, normalized_sentences
from tagger.words.windows import Windows

MIN_WORDS = 5


def fingerprints(words: ByteStrings, ids: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Return the distinct fingerprints of the longer sentences, ascending.

    A text is given as distinct words, the word id of each token (N,), and the lengths of its sentences.
    """
    return count_keys(all_fingerprints(words, ids, lengths), 1 << 32)[0]  # `np.unique` would import numpy.ma, 8 ms


def all_fingerprints(words: ByteStrings, ids: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Compute the fingerprint of each sentence of at least MIN_WORDS words."""
    # The sum over a sentence is a difference of two cumulative sums, modulo 2^64.
    terms = words.hashes[ids] * powers(P, int(lengths.max(initial=0)))[ranges(lengths)]
    sums = np.concatenate([[np.uint64(0)], np.cumsum(terms)])
    ends = np.cumsum(lengths)
    longer = lengths >= MIN_WORDS
    return ((sums[ends[longer]] - sums[(ends - lengths)[longer]]) >> np.uint64(32)).astype(np.uint32)


def overlap(sentences: Sequence[Sequence[str]], seen: np.ndarray, form: NormalizationForm = NFC) -> int:
    """Count the sentences whose fingerprint is among those of the training corpus, `seen`."""
    windows = Windows.of(normalized_sentences(sentences, form), 0)
    lengths = np.fromiter(map(len, sentences), np.int64, len(sentences))
    return int(np.isin(all_fingerprints(windows.encoded, windows.at(0), lengths), seen).sum())
