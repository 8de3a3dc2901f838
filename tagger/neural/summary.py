"""What a network has learned, told to a person: how large its parts are, which words have become alike, transitions."""

from __future__ import annotations

import numpy as np

from tagger.arrays.npz import Arrays
from tagger.models.summary import FormattedNumber, Section, steps
from tagger.neural.lookup import InputLookup
from tagger.words.lexicon import Lexicon

SHOWN = 20  # words
ALIKE = 4  # words beside each
OFTEN = 3  # times seen, at least, of a word whose embedding has been learned


def network_summary(classes: list[str], lookup: InputLookup, weights: Arrays, lexicon: Lexicon) -> list[Section]:
    transitions, start = weights["transitions"], weights["start"]
    return [
        parts(weights),
        alike(lookup, weights["words"], lexicon),
        steps("transitions that are liked most", classes, transitions, start, best=True),
        steps("transitions that are liked least", classes, transitions, start, best=False),
    ]


def parts(weights: Arrays) -> Section:
    """How many weights each part has."""
    rows = [[name, " × ".join(map(str, array.shape)), array.size] for name, array in weights.items()]
    total = sum(array.size for array in weights.values())
    return Section("network", [*rows, ["all", "", total]], ["part", "shape", "weights"])


def alike(lookup: InputLookup, embeddings: np.ndarray, lexicon: Lexicon) -> Section:
    """Beside frequent words, those whose embeddings point the same way: the cosine."""
    forms = lookup.words.strings()
    counts = np.zeros(len(forms), np.int64)
    words = lexicon.words.strings()
    np.add.at(counts, lookup.words.find([word.lower() for word in words]), lexicon.frequency(words))
    order = np.argsort(-counts, kind="stable")
    order = order[counts[order] >= OFTEN]
    unit = embeddings[order] / np.maximum(np.linalg.norm(embeddings[order], axis=1, keepdims=True), 1e-9)
    cosine = unit[:SHOWN] @ unit.T  # (SHOWN, words)
    rows = []
    for i, near in enumerate(np.argsort(-cosine, axis=1, kind="stable")[:, : ALIKE + 1].tolist()):
        told = [(forms[order[j]], FormattedNumber(cosine[i, j], ".2f")) for j in near if j != i][:ALIKE]
        rows.append([forms[order[i]], told])
    return Section("words that have become alike", rows)
