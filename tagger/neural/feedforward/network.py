"""The network: from sentences to the probability of each tag.

    x(w) = Σ_f E[row f of word w] + r(w) R                     (d,)  the input of a word, r its vector from raw text
    u    = relu(b + Σ_o x(word at t + o) W_o)                  (H,)  offsets o from -margin to margin
    v    = relu(c + u V)                                       (H2,)
    p    = softmax(a + v U)                                    (K,)

A word beyond the sentence has x = 0. The products r(w) R are in the model, not the vectors; weights are stored in half
precision, and rounded to it when the training ends, so that the network that was scored is the one that is stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tagger.arrays.npz import Archive, Arrays
from tagger.features.word_classes import WordClasses
from tagger.neural.feedforward.word_features import WordFeatures
from tagger.words.windows import MARKS, Windows

TOKENS_TOGETHER = 1 << 12
MAX_SIZE = 1 << 12  # of a layer in a model file
MAX_WEIGHT = 1e4
NAMES = ("E", "vectors", "W", "b", "V", "c", "U", "a")
Weights = dict[str, np.ndarray]  # float32, by their letters; r(w) R for all words with a vector are `vectors`


def relu(z: np.ndarray) -> np.ndarray:
    """Replace negative numbers by 0, in place."""
    return np.asarray(np.maximum(z, 0, out=z))


@dataclass(eq=False)
class FeedForwardNetwork:
    """A trained network."""

    features: WordFeatures
    classes: WordClasses  # finds the rows of `vectors`
    weights: Weights

    @property
    def margin(self) -> int:
        """The number of words that are seen on each side."""
        return len(self.weights["W"]) // self.weights["E"].shape[1] // 2

    def inputs(self, words: Sequence[str]) -> np.ndarray:
        """Compute the inputs (words + 2, d) of words and of the two marks."""
        X = np.zeros((len(words) + MARKS, self.weights["E"].shape[1]), np.float32)
        X[:-MARKS] = self.weights["E"][self.features.rows(words)].sum(axis=1)
        rows = self.classes.find(words)
        X[:-MARKS][rows >= 0] += self.weights["vectors"][rows[rows >= 0]]
        return X

    def log_probabilities(self, sentences: Sequence[Sequence[str]], tokens: np.ndarray) -> np.ndarray:
        """Compute log p (tokens, K) of some tokens, given by their numbers in the sentences, one after the other."""
        windows, weights = Windows.of(sentences, self.margin), self.weights
        X, offsets = self.inputs(windows.words), np.arange(-self.margin, self.margin + 1)
        log_P = np.empty((len(tokens), len(weights["a"])), np.float32)
        for begin in range(0, len(tokens), TOKENS_TOGETHER):
            part = slice(begin, begin + TOKENS_TOGETHER)
            around = windows.around[windows.places[tokens[part]][:, None] + offsets]
            u = relu(X[around].reshape(len(around), -1) @ weights["W"] + weights["b"])
            v = relu(u @ weights["V"] + weights["c"])
            log_P[part] = log_softmax(v @ weights["U"] + weights["a"])
        return log_P

    def arrays(self) -> Arrays:
        """Return the arrays of a model file; the table of words belongs to the word classes."""
        weights = {f"network.{name}": self.weights[name].astype(np.float16) for name in NAMES}
        return self.features.arrays() | weights

    @classmethod
    def restore(cls, archive: Archive, classes: WordClasses, K: int) -> FeedForwardNetwork:
        """Read the arrays of a model file with these word classes and K tags."""
        features = WordFeatures.restore(archive)

        def take(name: str, *shape: int | None) -> np.ndarray:
            return archive.take(f"network.{name}", "f", *shape).astype(np.float32)

        weights = {"E": take("E", features.size, None), "W": take("W", None, None), "a": take("a", K)}
        (d, inputs), H = (weights["E"].shape[1], len(weights["W"])), weights["W"].shape[1]
        weights |= {"b": take("b", H), "V": take("V", H, None)}
        H2 = weights["V"].shape[1]
        weights |= {"c": take("c", H2), "U": take("U", H2, K), "vectors": take("vectors", len(classes), d)}
        fits = d > 0 and max(d, inputs, H, H2) <= MAX_SIZE and inputs % d == 0 and inputs // d % 2 == 1
        archive.check(fits, "expected layers of a network that fit together")
        highest = max(float(np.abs(array).max(initial=0)) for array in weights.values())
        archive.check(highest <= MAX_WEIGHT, f"expected weights of its network up to {MAX_WEIGHT:,.0f}")
        return cls(features, classes, weights)


def log_softmax(scores: np.ndarray) -> np.ndarray:
    """Compute log p of rows of scores, in place."""
    scores -= scores.max(axis=1, keepdims=True)
    scores -= np.log(np.exp(scores).sum(axis=1, keepdims=True))
    return scores
