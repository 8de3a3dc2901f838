"""Remove final punctuation from some training sentences, so that models can tag titles, captions and chat lines.

In most corpora every sentence ends in a punctuation mark. A CRF or a network then learns, from end weights and features
of the sentence end, that the last token is a mark whatever its word. No training sentence contradicts that. So at least
SHARE of the training sentences should end in a word: if fewer do, as many as are missing, spread evenly over the
corpus, lose the marks at their end. Rare endings are kept, because they may be the only example of a mark or of its
tag. An HMM needs none of this: its emissions outweigh P(end | tag).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from tagger.sentence import Words

SHARE = 0.2  # of the training sentences
GOLDEN = (5**0.5 - 1) / 2  # its multiples modulo 1 are spread evenly, and have no period


def trained_lengths(sentences: Sequence[Words]) -> np.ndarray:
    """Return the number of tokens of each sentence (B,) to train on: all, or all but the marks at its end."""
    lengths = np.fromiter(map(len, sentences), np.int64, len(sentences))
    bare = np.fromiter(map(bare_length, sentences), np.int64, len(sentences))
    endings = [tuple(words[n:]) for words, n in zip(sentences, bare.tolist(), strict=True)]
    counts = Counter(endings)
    common = np.array([counts[ending] * SHARE >= 1 for ending in endings], bool)
    marked = np.flatnonzero(common & (bare > 0) & (bare < lengths))
    missing = int(SHARE * len(lengths)) - int((bare == lengths).sum())
    # The n smallest multiples of the golden ratio modulo 1 choose n marked sentences.
    order = np.argsort(np.arange(len(marked)) * GOLDEN % 1.0, kind="stable")
    chosen = marked[order[: max(0, missing)]]
    lengths[chosen] = bare[chosen]
    return lengths


def bare_length(words: Words) -> int:
    """Return the length of a sentence without the tokens at its end that have no letter or digit."""
    length = len(words)
    while length and not any(map(str.isalnum, words[length - 1])):
        length -= 1
    return length
