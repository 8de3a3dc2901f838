"""The training of the network: epochs of shuffled batches, by Adam (Kingma & Ba 2015).

A feature with n tokens counts as rare with probability RARE / (RARE + n), so that the rows of rare values are learned
(word dropout: Kiperwasser & Goldberg 2016). The weights at the ends of the last epochs are averaged. All random numbers
come from one seed, and sums run in one thread: the same corpus gives the same network.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from tagger.arrays.ragged import consecutive
from tagger.errors import TrainingError
from tagger.features.word_classes import WordClasses
from tagger.neural.feedforward.gradient import Batch, Dropout, loss_and_gradient
from tagger.neural.feedforward.network import MAX_WEIGHT, FeedForwardNetwork, Weights
from tagger.neural.feedforward.word_features import MIN_COUNT, NOTHING, WordFeatures
from tagger.words.windows import laid_out

MARGIN = 3  # words that are seen on each side
OFFSETS = np.arange(-MARGIN, MARGIN + 1)
SIZE, HIDDEN, HIDDEN_2 = 64, 256, 128  # d, H, H2
BATCH = 128  # tokens
RATE, LAST_RATE = 2e-3, 0.05  # the learning rate at the beginning, and the share of it that is left at the end
MOMENTUM, SCALE_MEMORY, EPSILON = 0.9, 0.99, 1e-8  # of Adam
DROPOUT, RARE = 0.2, 0.25
AVERAGED = 3  # epochs at the end
VECTOR_LENGTH = 4.0
SEED = 1


class Adam:
    """The moments of one array of weights."""

    def __init__(self, weights: np.ndarray) -> None:
        self.mean, self.square = np.zeros_like(weights), np.zeros_like(weights)

    def step(self, weights: np.ndarray, gradient: np.ndarray, rate: float, t: int, rows: np.ndarray | None) -> None:
        """Move the weights, or some rows of them, against their gradient."""
        part = slice(None) if rows is None else rows
        mean = MOMENTUM * self.mean[part] + (1 - MOMENTUM) * gradient
        square = SCALE_MEMORY * self.square[part] + (1 - SCALE_MEMORY) * gradient * gradient
        self.mean[part], self.square[part] = mean, square
        scale = np.sqrt(square / (1 - SCALE_MEMORY**t))
        scale += EPSILON
        weights[part] -= rate / (1 - MOMENTUM**t) * mean / scale


@dataclass(eq=False)
class NetworkTraining:
    """A network in training: its corpus of W distinct words and N tokens, and its weights."""

    words: Sequence[str]  # W
    numbers: np.ndarray  # (N,) of the words of tokens
    tags: np.ndarray  # (N,) below 0: not trained on
    lengths: np.ndarray  # of the sentences
    classes: WordClasses  # with vectors
    K: int
    weights: Weights = field(init=False)

    def __post_init__(self) -> None:
        mark = len(self.words)
        places, around = laid_out(self.numbers, self.lengths, MARGIN, (mark, mark))
        self.around = around[places[:, None] + OFFSETS]  # (N, offsets)
        counts = self.token_counts(np.arange(len(self.lengths)))
        self.features = WordFeatures.learn(self.words, counts)
        self.rows = self.features.rows(self.words)  # (W, F)
        assert self.classes.vectors is not None
        found = self.classes.find(self.words)
        vectors = np.append(self.known_vectors(), np.zeros((1, self.classes.vectors.shape[1] + 1), np.float32), axis=0)
        self.vectors = vectors[found]  # (W, D + 1); a word without one has zeros
        self.restart()

    def restart(self) -> None:
        """Draw new weights, the same each time."""
        self.random = np.random.default_rng(SEED)
        self.weights = self.first_weights()
        self.seen = np.zeros(self.features.size, bool)  # rows that have been trained

    def known_vectors(self) -> np.ndarray:
        """Return the vectors (V, D + 1) of all words that have one; the last number is 1."""
        assert self.classes.vectors is not None
        scaled = np.float32(VECTOR_LENGTH) * self.classes.vectors.astype(np.float32)
        return np.append(scaled, np.ones((len(scaled), 1), np.float32), axis=1)

    def first_weights(self) -> Weights:
        """Draw weights."""

        def normal(rows: int, columns: int, scale: float) -> np.ndarray:
            return (scale * self.random.normal(size=(rows, columns))).astype(np.float32)

        inputs = len(OFFSETS) * SIZE
        weights = {
            "E": normal(self.features.size, SIZE, 0.1),
            "R": normal(self.vectors.shape[1], SIZE, 0.1),
            "W": normal(inputs, HIDDEN, inputs**-0.5),
            "b": np.zeros(HIDDEN, np.float32),
            "V": normal(HIDDEN, HIDDEN_2, (2 / HIDDEN) ** 0.5),
            "c": np.zeros(HIDDEN_2, np.float32),
            "U": normal(HIDDEN_2, self.K, 0.5 * HIDDEN_2**-0.5),
            "a": np.zeros(self.K, np.float32),
        }
        weights["E"][NOTHING] = 0
        return weights

    def token_counts(self, sentences: np.ndarray) -> np.ndarray:
        """Count the tokens of each word (W,) in some sentences."""
        return np.bincount(self.numbers[self.tokens_of(sentences)], minlength=len(self.words))

    def tokens_of(self, sentences: np.ndarray) -> np.ndarray:
        """List the tokens of sentences."""
        begins = np.cumsum(self.lengths) - self.lengths
        return consecutive(begins[sentences], self.lengths[sentences])

    def run(self, sentences: np.ndarray, epochs: int, rate: float) -> None:
        """Train on some sentences; features that these lack count as rare, and later begin as such."""
        counts = np.bincount(self.rows.ravel(), np.repeat(self.token_counts(sentences), self.rows.shape[1]))
        counts = np.append(counts, np.zeros(self.features.size - len(counts)))  # (R,)
        has_row = counts >= MIN_COUNT
        has_row[self.features.rare_rows] = True
        new = has_row & ~self.seen
        if self.seen.any():
            self.weights["E"][new] = self.weights["E"][self.features.rare_rows[new]]
        self.seen |= has_row
        moments = {name: Adam(array) for name, array in self.weights.items()}
        rare = np.where(self.features.rare_rows == np.arange(len(counts)), 0, RARE / (RARE + counts))  # probabilities
        rare[~has_row] = 1
        batches = epochs * max(1, -(-int(self.lengths[sentences].sum()) // BATCH))
        total: Weights = {}
        step = 0
        for epoch in range(epochs):
            for tokens in self.batches(sentences):
                step += 1
                share = 1 - (step - 1) / batches
                self.step(tokens, rare, moments, rate * max(LAST_RATE, share), step)
            if epoch >= epochs - AVERAGED:
                total = {name: array + total.get(name, 0) for name, array in self.weights.items()}
        last = min(epochs, AVERAGED)
        self.weights = {name: (array / np.float32(last)).astype(np.float32) for name, array in total.items()}

    def batches(self, sentences: np.ndarray) -> list[np.ndarray]:
        """Shuffle sentences and cut their tokens with a tag into batches."""
        tokens = self.tokens_of(self.random.permutation(sentences))
        tokens = tokens[self.tags[tokens] >= 0]
        return np.split(tokens, np.arange(BATCH, len(tokens), BATCH)) if len(tokens) else []

    def step(self, tokens: np.ndarray, rare: np.ndarray, moments: dict[str, Adam], rate: float, t: int) -> None:
        """Move the weights by a batch of tokens."""
        words, places = np.unique(self.around[tokens], return_inverse=True)
        if words[-1] == len(self.words):  # the marks come last
            words = words[:-1]
        rows = self.rows[words]
        dropped = self.random.random(rows.shape, np.float32) < rare[rows]
        rows = np.where(dropped, self.features.rare_rows[rows], rows)
        batch = Batch(rows, self.vectors[words], places.reshape(len(tokens), -1), self.tags[tokens])
        _, gradient, (used, dE) = loss_and_gradient(self.weights, batch, Dropout(DROPOUT, self.random))
        dE[used == NOTHING] = 0
        moments["E"].step(self.weights["E"], dE, rate, t, used)
        for name, values in gradient.items():
            moments[name].step(self.weights[name], values, rate, t, None)

    def network(self) -> FeedForwardNetwork:
        """Return the network as it is stored, in half precision; features that were not seen count as rare."""
        weights = {name: array for name, array in self.weights.items() if name not in ("E", "R")}
        E = np.where(self.seen[:, None], self.weights["E"], self.weights["E"][self.features.rare_rows])
        weights |= {"E": E, "vectors": self.known_vectors() @ self.weights["R"]}
        highest = max(float(np.abs(array).max(initial=0)) for array in weights.values())
        if not highest <= MAX_WEIGHT:
            raise TrainingError(f"expected weights of the network up to {MAX_WEIGHT:,.0f}, got {highest:.3g}")
        rounded = {name: array.astype(np.float16).astype(np.float32) for name, array in weights.items()}
        return FeedForwardNetwork(self.features, self.classes, rounded)
