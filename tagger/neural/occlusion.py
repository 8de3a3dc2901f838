"""What each word of a sentence does to the emissions: the sentence is read again with that word hidden.

The score of a network is no sum of parts, so nothing here is exact in the way of the other models. A hidden word is one
without letters and without an embedding of its own. The difference it makes is called its part; what the differences
leave over, of words working together or far away, is one part more, and so all of them add up to the emission.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tagger.neural.numpy_network import NumpyNetwork

HIDDEN = ""  # as a word: unknown, and without letters
FAR = 10  # tokens; what hides further away is not named
TOGETHER = 64  # sentences with a hidden word that are read at a time
REST = "all words together"


def occluded(network: NumpyNetwork, words: Sequence[str]) -> list[dict[str, np.ndarray]]:
    """For each token the parts (K,) of its emissions, by name."""
    T = len(words)
    E = network([words])  # (T, K)
    parts: list[dict[str, np.ndarray]] = [{} for _ in words]
    for begin in range(0, T, TOGETHER):
        hidden = range(begin, min(T, begin + TOGETHER))
        without = network([[*words[:i], HIDDEN, *words[i + 1 :]] for i in hidden]).reshape(len(hidden), T, -1)
        for i in hidden:
            for t in range(max(0, i - FAR), min(T, i + FAR + 1)):
                place = f"{i - t:+d}" if i != t else "0"
                parts[t][f"word[{place}]={words[i]}"] = E[t] - without[i - begin, t]
    for t in range(T):
        parts[t][REST] = E[t] - sum(parts[t].values())
    return parts
