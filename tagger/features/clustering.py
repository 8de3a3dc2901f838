"""Word classes from raw text by distributional clustering: words with the same neighbours get the same class.

1. *Count the words*, every digit as 0, and keep the V frequent ones. When there are too many different words, the
   rarest are dropped, so that memory stays bounded (lossy counting, Manku & Motwani 2002).
2. *Count neighbours*: how often each of the C most frequent words is directly left and directly right of each word. The
   ends of a sentence count as words.
3. *Weigh* the counts n(w, c):  ppmi(w, c) = max(0, log( n(w, c) · n / (n(w) · n(c)^α) ))  with n(c)^α made to sum to n.
4. *Project* the rows to D dimensions by a truncated singular value decomposition (Schütze 1995), computed by
   randomised subspace iteration (Halko, Martinsson & Tropp 2011), and scale them to length 1.
5. *Cluster* the rows by k-means, once for each number of classes.

Text is read twice and never kept. The seed is fixed and every sum has its order: the same text gives the same classes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from tagger.errors import TrainingError, several
from tagger.features.word_classes import DIGIT, SIZES, WordClasses, digits_as_zero
from tagger.normalization import NFC, normalized

MIN_COUNT = 2
MAX_CLASSED_WORDS = 200_000
CONTEXTS = 500  # C
DIMENSIONS = 32  # D
VECTOR_DIMENSIONS = 200  # of vectors for networks
OVERSAMPLE, POWER_ITERATIONS = 16, 4  # of the decomposition
CONTEXT_SMOOTHING = 0.75  # α
SINGULAR_VALUE_POWER = 0.5  # the weight of stronger directions
SIMILARITY_CELLS = 1 << 22  # computed at a time
KMEANS_ROUNDS = 30  # at most
MAX_COUNTED_WORDS = 4_000_000  # different words held at a time
BLOCK_TOKENS = 1 << 20  # tokens counted at a time
SEED = 1

Text = Iterable[Sequence[str]]


class ClusteringProgress(NamedTuple):
    """The progress of clustering: `done` of `total` units of a step."""

    step: str
    unit: str
    done: int
    total: int | None  # None if it is not known yet


ClusteringCallback = Callable[[ClusteringProgress], None]


class WordCounts(NamedTuple):
    """The words of a block, or of several."""

    words: Counter[str]
    tokens: int


class NeighbourCounts(NamedTuple):
    """The neighbours of words in a block, or in several."""

    table: csr_array  # (V, 2 · (C + 1))
    tokens: int


def learn_classes(
    text: Callable[[], Text],
    sizes: Sequence[int] = SIZES,
    min_count: int = MIN_COUNT,
    watch: ClusteringCallback = lambda progress: None,
    vectors: bool = False,
) -> WordClasses:
    """Learn classes of the words that occur `min_count` times in a text, once for each number of classes in `sizes`.

    `text` is called twice and returns sentences as lists of words. With `vectors`, the words get vectors, too.
    """
    return learn_from_counts(
        map(count_words, blocks(text())),
        lambda words: map(NeighbourCounter(words), blocks(text())),
        sizes,
        min_count,
        watch,
        vectors,
    )


def learn_from_counts(
    counted: Iterable[WordCounts],
    count_neighbours: Callable[[list[str]], Iterable[NeighbourCounts]],
    sizes: Sequence[int],
    min_count: int,
    watch: ClusteringCallback,
    vectors: bool = False,
) -> WordClasses:
    """Learn classes from the words of the blocks of a text, and a function that counts the neighbours of words in them.

    Blocks may be counted anywhere; their counts are added here, in order.
    """
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1, user_api="blas"):  # sums in one order, whatever the machine
        words, tokens = frequent_words(counted, min_count, watch)
        if len(words) < 2:
            limit = f"at least {several(min_count, 'time')}, got {len(words)}. Add text, or choose a smaller min_count"
            raise TrainingError(f"raw text: expected 2 different words seen {limit}")
        counts = neighbour_counts(count_neighbours(words), tokens, watch)
        matrix = ppmi(counts)
        rows = project(matrix, DIMENSIONS, watch)
        classes = {size: k_means(rows, size, watch) for size in sizes}
        wider = project(matrix, VECTOR_DIMENSIONS, watch).astype(np.float16) if vectors else None
    return WordClasses.of(words, classes, wider)


def count_words(block: Sequence[Sequence[str]]) -> WordCounts:
    """Count the words of sentences."""
    return WordCounts(Counter(chain.from_iterable(block)), sum(map(len, block)))


def frequent_words(counted: Iterable[WordCounts], min_count: int, watch: ClusteringCallback) -> tuple[list[str], int]:
    """List the words that occur `min_count` times, the most frequent first; and count the tokens."""
    counts: Counter[str] = Counter()
    tokens, threshold = 0, 1
    for block in counted:
        counts.update(block.words)
        tokens += block.tokens
        while len(counts) > MAX_COUNTED_WORDS:
            counts = Counter({word: count for word, count in counts.items() if count > threshold})
            threshold += 1
        watch(ClusteringProgress("words", " tokens", tokens, None))
    by_count = sorted((-count, word) for word, count in counts.items() if count >= min_count)
    return [word for _, word in by_count[:MAX_CLASSED_WORDS]], tokens


def blocks(text: Text) -> Iterator[list[Sequence[str]]]:
    """Yield sentences in NFC, every digit as 0, about BLOCK_TOKENS tokens at a time."""
    block: list[Sequence[str]] = []
    tokens = 0
    for sentence in text:
        if words := normalized(sentence, NFC):
            block.append([digits_as_zero(word) for word in words] if DIGIT.search(" ".join(words)) else words)
            tokens += len(words)
        if tokens >= BLOCK_TOKENS:
            yield block
            block, tokens = [], 0
    if block:
        yield block


class NeighbourCounter:
    """Counts the neighbours (V, 2 · (C + 1)) of V words in sentences: each of the C most frequent words, or the end of
    the sentence, left of each word, then right of it."""

    def __init__(self, words: list[str]) -> None:
        self.ids = {word: i for i, word in enumerate(words)}

    def __call__(self, block: Sequence[Sequence[str]]) -> NeighbourCounts:
        V, C = len(self.ids), min(CONTEXTS, len(self.ids))
        # One long line of word ids, with the mark V before and after every sentence; a word without an id is V + 1.
        # Word i of the block, in sentence b, is at place i + b + 1, because b + 1 marks come before it.
        sizes = np.fromiter(map(len, block), np.int64, len(block))
        line = np.full(int(sizes.sum()) + len(block) + 1, V, np.int64)
        line[np.arange(sizes.sum()) + np.repeat(np.arange(len(block)) + 1, sizes)] = [
            self.ids.get(word, V + 1) for word in chain.from_iterable(block)
        ]
        context = np.where(line == V, C, np.where(line < C, line, -1))  # the column of each neighbour, -1 for none
        left, right = cells_of(line[1:], context[:-1], V), cells_of(line[:-1], context[1:], V)
        right[1] += C + 1
        cells = np.append(left, right, axis=1)
        return NeighbourCounts(count_cells(cells, (V, 2 * (C + 1))), int(sizes.sum()))


def neighbour_counts(counted: Iterable[NeighbourCounts], tokens: int, watch: ClusteringCallback) -> csr_array:
    """Add the neighbours of the blocks of a text."""
    total, done = None, 0
    for block in counted:
        total = block.table if total is None else total + block.table
        done += block.tokens
        watch(ClusteringProgress("neighbours", " tokens", done, tokens))
    assert total is not None  # there are words
    return total


def cells_of(words: np.ndarray, contexts: np.ndarray, V: int) -> np.ndarray:
    """List the cells (2, pairs) of the words that have a row with the neighbours that have a column."""
    there = (words < V) & (contexts >= 0)
    return np.array([words[there], contexts[there]])


def count_cells(cells: np.ndarray, shape: tuple[int, int]) -> csr_array:
    """Count how often each cell (row, column) occurs in `cells` (2, n)."""
    return csr_array((np.ones(cells.shape[1], np.int64), (cells[0], cells[1])), shape=shape)


def ppmi(counts: csr_array) -> csr_array:
    """Compute the positive pointwise mutual information of words and neighbours, left and right apart."""
    table = counts.astype(np.float64).tocoo()
    row, column = table.row, table.col
    half = np.arange(counts.shape[1]) * 2 // counts.shape[1]  # 0 for columns of left neighbours, 1 for right ones
    columns = np.bincount(column, weights=table.data, minlength=counts.shape[1]) ** CONTEXT_SMOOTHING
    columns /= np.bincount(half, weights=columns)[half]  # p(c) of its side
    rows = np.bincount(row, weights=table.data, minlength=counts.shape[0]) / 2
    pmi = np.log(table.data / (rows[row] * columns[column]))
    positive = pmi > 0
    return csr_array((pmi[positive].astype(np.float32), (row[positive], column[positive])), shape=counts.shape)


def project(matrix: csr_array, D: int, watch: ClusteringCallback) -> np.ndarray:
    """Project the rows to their D strongest directions, each row of length 1: (V, D).

    Q ← orthonormal(M Ω),  Q ← orthonormal(M Mᵀ Q) several times,  M ≈ Q (Qᵀ M) = (Q U) S Wᵀ
    """
    width = min(D + OVERSAMPLE, *matrix.shape)
    Q = np.random.default_rng(SEED).normal(size=(matrix.shape[1], width)).astype(np.float32)
    Q = np.linalg.qr(matrix @ Q)[0]
    for i in range(POWER_ITERATIONS):
        Q = np.linalg.qr(matrix @ np.linalg.qr(matrix.T @ Q)[0])[0]
        watch(ClusteringProgress("directions", "it", i + 1, POWER_ITERATIONS))
    U, S, _ = np.linalg.svd((matrix.T @ Q).T, full_matrices=False)
    rows = (Q @ (U * S**SINGULAR_VALUE_POWER))[:, :D]
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12), np.float32)


def k_means(rows: np.ndarray, size: int, watch: ClusteringCallback) -> np.ndarray:
    """Cluster rows of length 1 into classes (V,) by spherical k-means."""
    centres = first_centres(rows, size)
    classes = np.zeros(len(rows), np.int64)
    for i in range(KMEANS_ROUNDS):
        old, classes = classes, nearest(rows, centres)
        watch(ClusteringProgress(f"{size} classes", "it", i + 1, KMEANS_ROUNDS))
        if (classes == old).all():
            break
        # The sparse matrix (V, size) has a 1 for each word in its class; its transpose sums the rows of each class.
        ones, bounds = np.ones(len(rows), np.float32), np.arange(len(rows) + 1)
        sums = csr_array((ones, classes, bounds), shape=(len(rows), size)).T @ rows
        alive = np.linalg.norm(sums, axis=1) > 1e-9  # a class that lost all words keeps its centre
        centres[alive] = sums[alive] / np.linalg.norm(sums[alive], axis=1, keepdims=True)
    return classes


def nearest(rows: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """Find the centre most similar to each row."""
    step = max(1, SIMILARITY_CELLS // len(centres))
    return np.concatenate([(rows[a : a + step] @ centres.T).argmax(axis=1) for a in range(0, len(rows), step)])


def first_centres(rows: np.ndarray, size: int) -> np.ndarray:
    """Choose rows of frequent words as first centres, each drawn with a probability in proportion to its distance from
    those before (k-means++, Arthur & Vassilvitskii 2007)."""
    rows = rows[: 40 * size]
    random = np.random.default_rng(SEED)
    chosen = [0]
    distance = np.full(len(rows), np.inf)
    while len(chosen) < size:
        distance = np.minimum(distance, np.maximum(0, 1 - rows @ rows[chosen[-1]]))
        sums = np.cumsum(distance, dtype=np.float64)
        chosen.append(min(int(np.searchsorted(sums, random.random() * sums[-1], side="right")), len(rows) - 1))
    return rows[chosen]
