"""The network in NumPy: from sentences to emissions, on packed steps.

A word is its own embedding, the last states of a BiLSTM over its letters (Lample et al. 2016), and its vector from
outside, side by side. A second BiLSTM reads the words of a sentence, and a linear map makes emissions of its states
(Huang, Xu & Yu 2015). Everything up to the input of the second one depends on the word alone, so it is computed once
for each distinct word, the product with the input weights included, and kept in a cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tagger.arrays.npz import Archive, Arrays
from tagger.arrays.ragged import consecutive
from tagger.chain.pack import Pack, batches
from tagger.neural.lookup import InputLookup
from tagger.neural.lstm import GATES, LSTMDirection
from tagger.words.cache import WordCache

WAYS = ("forward", "backward")
LARGEST = float(np.finfo(np.float16).max)  # of a weight, as models are stored with 16 bits


@dataclass(frozen=True)
class Sizes:
    """How wide the network is: a word's embedding, a letter's, and the states of both BiLSTMs, for each direction."""

    word: int
    letter: int
    spelling: int
    hidden: int
    layers: int

    def shapes(self, words: int, letters: int, vectors: int, tags: int) -> dict[str, tuple[int, ...]]:
        """Of all weights by name, for so many words and letters (the unknown included), and vectors of that width."""
        shapes: dict[str, tuple[int, ...]] = {"words": (words, self.word), "letters": (letters, self.letter)}
        shapes |= lstm_shapes("spelling", self.letter, self.spelling)
        wide = self.word + 2 * self.spelling + vectors
        for layer in range(self.layers):
            shapes |= lstm_shapes(f"context.{layer}", wide, self.hidden)
            wide = 2 * self.hidden
        shapes |= {"output": (wide, tags), "output.bias": (tags,)}
        return shapes | {"start": (tags,), "transitions": (tags, tags), "end": (tags,)}


def lstm_shapes(name: str, wide: int, hidden: int) -> dict[str, tuple[int, ...]]:
    parts = {"input": (wide, GATES * hidden), "recurrent": (hidden, GATES * hidden), "bias": (GATES * hidden,)}
    return {f"{name}.{way}.{part}": shape for way in WAYS for part, shape in parts.items()}


class NumpyNetwork:
    """A function from sentences to their emissions (N, K), sentence after sentence."""

    def __init__(self, lookup: InputLookup, sizes: Sizes, weights: Arrays) -> None:
        from threadpoolctl import ThreadpoolController

        self.threads = ThreadpoolController()
        self.lookup, self.sizes, self.weights = lookup, sizes, weights
        self.spelling = self.both("spelling")
        self.context = [self.both(f"context.{layer}") for layer in range(sizes.layers)]
        self.letters = [way.project(weights["letters"]) for way in self.spelling]  # (letters, 4S) each
        self.cache = WordCache(self.first_gates)

    def both(self, name: str) -> list[LSTMDirection]:
        parts = ("input", "recurrent", "bias")
        return [LSTMDirection.of(*(self.weights[f"{name}.{way}.{part}"] for part in parts)) for way in WAYS]

    def __call__(self, sentences: Sequence[Sequence[str]]) -> np.ndarray:
        lengths = np.fromiter(map(len, sentences), np.int64, len(sentences))
        begins = np.cumsum(lengths) - lengths
        E = np.empty((int(lengths.sum()), len(self.weights["output.bias"])), np.float32)
        with self.threads.limit(limits=1, user_api="blas"):  # a step's products are small: threads wait for each other
            for group in batches(lengths):  # the states of many tokens would take much room
                rows = consecutive(begins[group], lengths[group])
                E[rows] = self.emissions([sentences[i] for i in group.tolist()])
        return E

    def emissions(self, sentences: Sequence[Sequence[str]]) -> np.ndarray:
        """The same, of one pack."""
        pack = Pack.of([len(words) for words in sentences])
        rows = self.cache.find(sentences)[pack.tokens]  # (N,)
        tables = [self.cache.arrays[way] for way in WAYS]
        states = np.empty((len(rows), 0), np.float32)
        for layer, ways in enumerate(self.context):
            if layer:
                tables, rows = [way.project(states) for way in ways], np.arange(len(rows))
            found = [
                way.run(pack, table, rows, back)[0]
                for way, table, back in zip(ways, tables, (False, True), strict=True)
            ]
            states = np.concatenate(found, axis=1)  # (N, 2H)
        return pack.unpack(states @ self.weights["output"] + self.weights["output.bias"])

    def first_gates(self, words: Sequence[str]) -> Arrays:
        """For each word, what it brings to the gates of the first layer (4H), in both directions."""
        x = self.represent(words)
        return {name: way.project(x) for name, way in zip(WAYS, self.context[0], strict=True)}

    def represent(self, words: Sequence[str]) -> np.ndarray:
        """(words, D) embedding, spelling, vector from outside."""
        found = self.lookup(words)
        last = [
            way.run(found.pack, table, found.letters, back)[1]
            for way, table, back in zip(self.spelling, self.letters, (False, True), strict=True)
        ]
        spelled = np.concatenate(last, axis=1)[found.pack.rank_of]
        return np.concatenate([self.weights["words"][found.words], spelled, found.vectors], axis=1)


def restore_weights(archive: Archive, lookup: InputLookup, sizes: Sizes, tags: int) -> Arrays:
    """The weights of a network of these sizes, if the archive holds them in the shapes they must have."""
    shapes = sizes.shapes(len(lookup.words) + 1, len(lookup.alphabet), lookup.vectors.size, tags)
    weights = {name: archive.take(f"net.{name}", "f", *shape) for name, shape in shapes.items()}
    bounded = all(np.abs(array).max(initial=0.0) <= LARGEST for array in weights.values())
    archive.check(bounded, f"its network has weights beyond {LARGEST:,.0f}")
    return {name: array.astype(np.float32) for name, array in weights.items()}
