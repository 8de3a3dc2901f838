"""Explanations by occlusion (Zeiler & Fergus 2014): the effect on the emissions of hiding each word of a sentence.

A network's score is no sum of terms, so these terms are not exact as those of the HMM and the CRF are. A hidden word
has no characters and the embedding of unknown words. The term of a word is the change that hiding it makes; one more
term, of interactions and distant words, makes up the difference, so that all terms add up to the emission.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tagger.neural.numpy_network import NumpyNetwork

HIDDEN_WORD = ""  # unknown, and without characters
MAX_DISTANCE = 10  # tokens; words farther away get no term of their own
SENTENCES_AT_ONCE = 64  # copies of the sentence with one word hidden
REMAINDER = "all words together"


def occlusion_terms(network: NumpyNetwork, words: Sequence[str]) -> list[dict[str, np.ndarray]]:
    """Compute for each token the terms (K,) of its emissions, by name."""
    T = len(words)
    E = network([words])  # (T, K)
    terms: list[dict[str, np.ndarray]] = [{} for _ in words]
    for begin in range(0, T, SENTENCES_AT_ONCE):
        hidden = range(begin, min(T, begin + SENTENCES_AT_ONCE))
        copies = [[*words[:i], HIDDEN_WORD, *words[i + 1 :]] for i in hidden]
        without = network(copies).reshape(len(hidden), T, -1)  # emissions with word i hidden
        for i in hidden:
            for t in range(max(0, i - MAX_DISTANCE), min(T, i + MAX_DISTANCE + 1)):
                offset = f"{i - t:+d}" if i != t else "0"
                terms[t][f"word[{offset}]={words[i]}"] = E[t] - without[i - begin, t]
    for t in range(T):
        terms[t][REMAINDER] = E[t] - sum(terms[t].values())
    return terms
