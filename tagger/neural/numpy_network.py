"""The network in NumPy: from sentences to emissions, over packed sentences.

The input for a word is its embedding, the final states of a BiLSTM over its characters (Lample et al. 2016) and its
pretrained vector, concatenated. A second BiLSTM reads the words of a sentence, and a linear map turns its states into
emissions (Huang, Xu & Yu 2015). Everything up to the input of the second BiLSTM depends on the word alone. It is
computed once for each distinct word, the product with the input weights included, and cached.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tagger.arrays.npz import Archive, Arrays
from tagger.arrays.ragged import consecutive
from tagger.chain.pack import Pack, batches
from tagger.neural.lookup import EncodedWords, InputLookup
from tagger.neural.lstm import GATES, LSTMDirection
from tagger.words.cache import WordCache

DIRECTIONS = ("forward", "backward")
MAX_WEIGHT = float(np.finfo(np.float16).max)  # models are stored in float16


@dataclass(frozen=True)
class Sizes:
    """The sizes of word and character embeddings, of the states of either BiLSTM per direction, and the layers.

    A network without letters has `letter` and `spelling` 0.
    """

    word: int
    letter: int
    spelling: int
    hidden: int
    layers: int

    def shapes(self, words: int, letters: int, vectors: int, tags: int) -> dict[str, tuple[int, ...]]:
        """Return the shapes of all weights by name.

        `words` and `letters` count the embeddings, those of unknown ones included; `vectors` is the dimension of the
        pretrained vectors.
        """
        shapes: dict[str, tuple[int, ...]] = {"words": (words, self.word)}
        if self.spelling:
            shapes |= {"letters": (letters, self.letter)} | lstm_shapes("spelling", self.letter, self.spelling)
        width = self.word + 2 * self.spelling + vectors
        for layer in range(self.layers):
            shapes |= lstm_shapes(f"context.{layer}", width, self.hidden)
            width = 2 * self.hidden
        shapes |= {"output": (width, tags), "output.bias": (tags,)}
        return shapes | {"start": (tags,), "transitions": (tags, tags), "end": (tags,)}


def lstm_shapes(name: str, width: int, hidden: int) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the weights of a BiLSTM."""
    shapes = {"input": (width, GATES * hidden), "recurrent": (hidden, GATES * hidden), "bias": (GATES * hidden,)}
    return {f"{name}.{direction}.{part}": shape for direction in DIRECTIONS for part, shape in shapes.items()}


class NumpyNetwork:
    """The forward pass: call it on sentences for their emissions (N, K), sentence after sentence."""

    def __init__(self, lookup: InputLookup, sizes: Sizes, weights: Arrays) -> None:
        from threadpoolctl import ThreadpoolController

        self.threads = ThreadpoolController()
        self.lookup, self.sizes, self.weights = lookup, sizes, weights
        self.spelling = self.directions("spelling") if sizes.spelling else []
        self.context = [self.directions(f"context.{layer}") for layer in range(sizes.layers)]
        self.letters = [lstm.project(weights["letters"]) for lstm in self.spelling]  # (letters, 4S) each
        self.cache = WordCache(self.first_gates)

    def directions(self, name: str) -> list[LSTMDirection]:
        """Prepare the two directions of a BiLSTM."""
        parts = ("input", "recurrent", "bias")
        names = ([f"{name}.{direction}.{part}" for part in parts] for direction in DIRECTIONS)
        return [LSTMDirection.of(*map(self.weights.__getitem__, own)) for own in names]

    def __call__(self, sentences: Sequence[Sequence[str]]) -> np.ndarray:
        """Compute the emissions of sentences, in batches: the states of many tokens take much memory."""
        lengths = np.fromiter(map(len, sentences), np.int64, len(sentences))
        begins = np.cumsum(lengths) - lengths
        E = np.empty((int(lengths.sum()), len(self.weights["output.bias"])), np.float32)
        with self.threads.limit(limits=1, user_api="blas"):  # a step's products are small: threads wait for each other
            for group in batches(lengths):
                rows = consecutive(begins[group], lengths[group])
                E[rows] = self.emissions([sentences[i] for i in group.tolist()])
        return E

    def emissions(self, sentences: Sequence[Sequence[str]]) -> np.ndarray:
        """Compute the emissions of one batch."""
        pack = Pack.of([len(words) for words in sentences])
        rows = self.cache.find(sentences)[pack.tokens]  # (N,)
        tables = [self.cache.arrays[direction] for direction in DIRECTIONS]  # (words, 4H) each
        states = np.empty((len(rows), 0), np.float32)
        for layer, lstms in enumerate(self.context):
            if layer:
                tables, rows = [lstm.project(states) for lstm in lstms], np.arange(len(rows))
            outputs = [
                lstm.run(pack, table, rows, backwards)[0]
                for lstm, table, backwards in zip(lstms, tables, (False, True), strict=True)
            ]
            states = np.concatenate(outputs, axis=1)  # (N, 2H)
        return pack.unpack(states @ self.weights["output"] + self.weights["output.bias"])

    def first_gates(self, words: Sequence[str]) -> Arrays:
        """Compute the contribution (words, 4H) of words to the gates of the first layer, for each direction."""
        x = self.represent(words)
        return {name: lstm.project(x) for name, lstm in zip(DIRECTIONS, self.context[0], strict=True)}

    def represent(self, words: Sequence[str]) -> np.ndarray:
        """Compute the representations (words, D) of words: embedding, final character states, pretrained vector."""
        encoded = self.lookup(words)
        parts = [self.weights["words"][encoded.words], self.read_letters(encoded), encoded.vectors]
        return np.concatenate(parts, axis=1)

    def read_letters(self, words: EncodedWords) -> np.ndarray:
        """Compute the final states (words, 2S) of both directions over the characters of each word."""
        final = [
            lstm.run(words.pack, table, words.letters, lstm is self.spelling[-1])[1]
            for lstm, table in zip(self.spelling, self.letters, strict=True)
        ]
        nothing = np.empty((len(words.words), 0), np.float32)
        return np.concatenate([nothing, *final], axis=1)[words.pack.rank_of]


def restore_weights(archive: Archive, lookup: InputLookup, sizes: Sizes, tags: int) -> Arrays:
    """Read the weights of a network of these sizes from a stored model; check shapes and values."""
    shapes = sizes.shapes(len(lookup.words) + 1, len(lookup.alphabet), lookup.vectors.size, tags)
    weights = {name: archive.take(f"net.{name}", "f", *shape) for name, shape in shapes.items()}
    bounded = all(np.abs(array).max(initial=0.0) <= MAX_WEIGHT for array in weights.values())
    archive.check(bounded, f"its network has weights beyond {MAX_WEIGHT:,.0f}")
    return {name: array.astype(np.float32) for name, array in weights.items()}
