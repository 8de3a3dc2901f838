"""Training sentences without the marks at their end, because titles, captions and chat lines have none.

In most corpora every sentence ends in a punctuation mark. A CRF or a network then learns that the last token is a mark,
whatever it is: from the end weights and from what sees the end of the sentence. Words cannot outvote what no training
sentence contradicts. So at least SHARE of the sentences end in a word: where fewer do, as many as are missing, spread
evenly over the corpus, are learned from without the marks at their end. Rare endings stay, because they may be the only
example of a mark or of its tag. An HMM needs none of this: its words outweigh P(end | tag).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from tagger.sentence import Words

SHARE = 0.2  # of the training sentences
GOLDEN = (5**0.5 - 1) / 2  # multiples of it modulo 1 are spread evenly, and in step with no other choice of sentences


def trained_lengths(sentences: Sequence[Words]) -> np.ndarray:
    """(B,) how many tokens of each sentence to learn from: all, or all but the marks at its end."""
    lengths = np.fromiter(map(len, sentences), np.int64, len(sentences))
    bare = np.fromiter(map(bare_length, sentences), np.int64, len(sentences))
    endings = [tuple(words[n:]) for words, n in zip(sentences, bare.tolist(), strict=True)]
    counts = Counter(endings)
    common = np.array([counts[ending] * SHARE >= 1 for ending in endings], bool)
    marked = np.flatnonzero(common & (bare > 0) & (bare < lengths))
    missing = int(SHARE * len(lengths)) - int((bare == lengths).sum())
    order = np.argsort(np.arange(len(marked)) * GOLDEN % 1.0, kind="stable")
    chosen = marked[order[: max(0, missing)]]
    lengths[chosen] = bare[chosen]
    return lengths


def bare_length(words: Words) -> int:
    """The length of a sentence without the tokens at its end that have neither letter nor digit."""
    length = len(words)
    while length and not any(map(str.isalnum, words[length - 1])):
        length -= 1
    return length
