"""A trained network for `tagger inspect`: its size, nearest neighbours among the word embeddings, transitions."""

from __future__ import annotations

import numpy as np

from tagger.arrays.npz import Arrays
from tagger.models.summary import FormattedNumber, Section, extreme_steps
from tagger.neural.lookup import InputLookup
from tagger.words.lexicon import Lexicon

WORDS_SHOWN = 20
NEIGHBOURS_SHOWN = 4  # for each word
MIN_COUNT = 3  # occurrences in training, of words whose embeddings are compared


def network_summary(classes: list[str], lookup: InputLookup, weights: Arrays, lexicon: Lexicon) -> list[Section]:
    """Describe a network in four tables."""
    neighbours = nearest_neighbours(lookup, weights["words"], lexicon)
    return [weight_counts(weights), neighbours, *extreme_steps(classes, weights["transitions"], weights["start"])]


def weight_counts(weights: Arrays) -> Section:
    """List the shape and size of every weight array."""
    rows = [[name, " × ".join(map(str, array.shape)), array.size] for name, array in weights.items()]
    total = sum(array.size for array in weights.values())
    return Section("network", [*rows, ["all", "", total]], ["part", "shape", "weights"])


def nearest_neighbours(lookup: InputLookup, embeddings: np.ndarray, lexicon: Lexicon) -> Section:
    """List for the most frequent words those whose embeddings have the highest cosine with theirs."""
    forms = lookup.words.strings()
    counts = np.zeros(len(forms), np.int64)
    words = lexicon.words.strings()
    np.add.at(counts, lookup.words.find([word.lower() for word in words]), lexicon.frequency(words))
    order = np.argsort(-counts, kind="stable")  # rows of the embeddings, most frequent first
    order = order[counts[order] >= MIN_COUNT]
    unit = embeddings[order] / np.maximum(np.linalg.norm(embeddings[order], axis=1, keepdims=True), 1e-9)
    cosine = unit[:WORDS_SHOWN] @ unit.T  # (WORDS_SHOWN, words)
    nearest = np.argsort(-cosine, axis=1, kind="stable")[:, : NEIGHBOURS_SHOWN + 1]  # the word itself among them
    rows = []
    for i, near in enumerate(nearest.tolist()):
        neighbours = [(forms[order[j]], FormattedNumber(cosine[i, j], ".2f")) for j in near if j != i]
        rows.append([forms[order[i]], neighbours[:NEIGHBOURS_SHOWN]])
    return Section("words with similar embeddings", rows)
