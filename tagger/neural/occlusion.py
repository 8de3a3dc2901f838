"""What each word of a sentence does to the emissions: the sentence is read again with that word hidden.

The score of a network is no sum of parts, so nothing here is exact in the way of the other models. A hidden word is one
without letters and without an embedding of its own. The difference it makes is called its part; what the differences
leave over, of words working together or far away, is one part more, and so all of them add up to the emission.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tagger.neural.network import Network
from tagger.pack import Pack, batches

HIDDEN = ""  # as a word: unknown, and without letters
FAR = 10  # tokens; what hides further away is not named
REST = "all words together"


def occluded(network: Network, words: Sequence[str]) -> list[dict[str, np.ndarray]]:
    """For each token the parts (K,) of its emissions, by name."""
    T = len(words)
    E = emissions(network, [words])[0]  # (T, K)
    near = [range(max(0, t - FAR), min(T, t + FAR + 1)) for t in range(T)]
    parts: list[dict[str, np.ndarray]] = [{} for _ in words]
    for group in batches([T] * T):
        hidden = [[*words[:i], HIDDEN, *words[i + 1 :]] for i in group.tolist()]
        for i, without in zip(group.tolist(), emissions(network, hidden), strict=True):
            for t in near[i]:
                parts[t][f"word[{i - t:+d}]={words[i]}" if i != t else f"word[0]={words[i]}"] = E[t] - without[t]
    for t in range(T):
        parts[t][REST] = E[t] - sum(parts[t].values())
    return parts


def emissions(network: Network, sentences: Sequence[Sequence[str]]) -> list[np.ndarray]:
    """(T, K) for each sentence."""
    lengths = [len(words) for words in sentences]
    pack = Pack.of(lengths)
    return np.split(pack.unpack(network(sentences, pack)), np.cumsum(lengths)[:-1])
