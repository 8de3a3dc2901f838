"""Learning word classes from raw text: words that have the same neighbours belong together.

1. *Count the words*, every digit as 0, and keep the frequent ones (V). Where too many different words come along, those
   seen least are forgotten from time to time, so that memory stays bounded (lossy counting, Manku & Motwani 2002).
2. *Count neighbours*: how often each of the C most frequent words stands directly left and directly right of each word.
   The ends of a sentence count as words.
3. *Weigh* the counts n(w, c):  ppmi(w, c) = max(0, log( n(w, c) · n / (n(w) · n(c)^α) ))  with n(c)^α made to sum to n.
4. *Project* the rows to D dimensions by a truncated singular value decomposition (Schütze 1995), found by
   multiplying a random matrix by it again and again (Halko, Martinsson & Tropp 2011), and give them length 1.
5. *Group* the rows by k-means, once for each number of classes.

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
from tagger.features.word_classes import DIGIT, SIZES, WordClasses, normalised
from tagger.normalization import NFC, normalized

MIN_COUNT = 2
MOST_WORDS = 200_000  # that get a class
CONTEXTS = 500
DIMENSIONS = 32
OVERSAMPLE, POWERS = 16, 4
SMOOTHING = 0.75
STRETCH = 0.5  # power of the singular values: how much stronger directions count
CELLS = 1 << 22  # of similarities computed at a time
ROUNDS = 30  # of k-means at most
REMEMBERED = 4_000_000  # different words counted at a time
BLOCK = 1 << 20  # tokens whose neighbours are counted at a time
SEED = 1

Text = Iterable[Sequence[str]]


class Learning(NamedTuple):
    """What a watcher is told: the step, how far it has come, out of how much if that is known, counted in what."""

    step: str
    unit: str
    done: int
    total: int | None


ClusteringCallback = Callable[[Learning], None]


def learn_classes(
    text: Callable[[], Text],
    sizes: Sequence[int] = SIZES,
    min_count: int = MIN_COUNT,
    watch: ClusteringCallback = lambda learning: None,
) -> WordClasses:
    """Classes of the words seen `min_count` times in a text, which is asked for twice."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1, user_api="blas"):  # sums in one order, whatever the machine
        words, tokens = frequent_words(text(), min_count, watch)
        if len(words) < 2:
            found, often = several(len(words), "word"), several(min_count, "time")
            raise TrainingError(f"no word classes: only {found} seen at least {often} in the raw text")
        counts = neighbours(text(), words, tokens, watch)
        rows = project(weigh(counts), DIMENSIONS, watch)
        classes = {size: grouped(rows, size, watch) for size in sizes}
    return WordClasses.of(words, classes)


def frequent_words(text: Text, min_count: int, watch: ClusteringCallback) -> tuple[list[str], int]:
    """The words seen often enough, the most frequent first, and the number of tokens."""
    counts: Counter[str] = Counter()
    tokens, threshold = 0, 1
    for block in blocks(text):
        counts.update(chain.from_iterable(block))
        tokens += sum(map(len, block))
        while len(counts) > REMEMBERED:
            counts = Counter({word: count for word, count in counts.items() if count > threshold})
            threshold += 1
        watch(Learning("words", " tokens", tokens, None))
    found = sorted((-count, word) for word, count in counts.items() if count >= min_count)
    return [word for _, word in found[:MOST_WORDS]], tokens


def blocks(text: Text) -> Iterator[list[Sequence[str]]]:
    """Sentences in NFC, every digit as 0, about BLOCK tokens at a time."""
    block: list[Sequence[str]] = []
    tokens = 0
    for sentence in text:
        if words := normalized(sentence, NFC):
            block.append([normalised(word) for word in words] if DIGIT.search(" ".join(words)) else words)
            tokens += len(words)
        if tokens >= BLOCK:
            yield block
            block, tokens = [], 0
    if block:
        yield block


def neighbours(text: Text, words: list[str], tokens: int, watch: ClusteringCallback) -> csr_array:
    """(V, 2 · (C + 1)) how often each of the C most frequent words, or the end of the sentence, stands left of each
    word, then right of it."""
    V, C = len(words), min(CONTEXTS, len(words))
    ids = {word: i for i, word in enumerate(words)}
    total = csr_array((V, 2 * (C + 1)), dtype=np.int64)
    done = 0
    for block in blocks(text):
        # One long line, a mark V before and after every sentence; a word that has no number is V + 1.
        sizes = np.fromiter(map(len, block), np.int64, len(block))
        line = np.full(int(sizes.sum()) + len(block) + 1, V)
        line[np.arange(sizes.sum()) + np.repeat(np.arange(len(block)) + 1, sizes)] = [
            ids.get(word, V + 1) for word in chain.from_iterable(block)
        ]
        context = np.where(line == V, C, np.where(line < C, line, -1))
        left, right = pairs(line[1:], context[:-1], V), pairs(line[:-1], context[1:], V)
        right[1] += C + 1
        total = total + counted(np.append(left, right, axis=1), total.shape)
        done += int(sizes.sum())
        watch(Learning("neighbours", " tokens", done, tokens))
    return total


def pairs(words: np.ndarray, contexts: np.ndarray, V: int) -> np.ndarray:
    """(2, pairs) the words that have a row, with the neighbours that have a column."""
    there = (words < V) & (contexts >= 0)
    return np.array([words[there], contexts[there]])


def counted(cells: np.ndarray, shape: tuple[int, int]) -> csr_array:
    return csr_array((np.ones(cells.shape[1], np.int64), (cells[0], cells[1])), shape=shape)


def weigh(counts: csr_array) -> csr_array:
    """The positive pointwise mutual information of words and neighbours, left and right apart."""
    table = counts.astype(np.float64).tocoo()
    row, column = table.row, table.col
    half = np.arange(counts.shape[1]) * 2 // counts.shape[1]  # 0 for columns of left neighbours, 1 for right ones
    columns = np.bincount(column, weights=table.data, minlength=counts.shape[1]) ** SMOOTHING
    columns /= np.bincount(half, weights=columns)[half]  # p(c) of its side
    rows = np.bincount(row, weights=table.data, minlength=counts.shape[0]) / 2
    pmi = np.log(table.data / (rows[row] * columns[column]))
    positive = pmi > 0
    return csr_array((pmi[positive].astype(np.float32), (row[positive], column[positive])), shape=counts.shape)


def project(matrix: csr_array, D: int, watch: ClusteringCallback) -> np.ndarray:
    """(V, D) the rows along the D strongest directions, each of length 1.

    Q ← orthonormal(M Ω),  Q ← orthonormal(M Mᵀ Q) again and again,  M ≈ Q (Qᵀ M) = (Q U) S Wᵀ
    """
    width = min(D + OVERSAMPLE, *matrix.shape)
    Q = np.random.default_rng(SEED).normal(size=(matrix.shape[1], width)).astype(np.float32)
    Q = np.linalg.qr(matrix @ Q)[0]
    for i in range(POWERS):
        Q = np.linalg.qr(matrix @ np.linalg.qr(matrix.T @ Q)[0])[0]
        watch(Learning("directions", "it", i + 1, POWERS))
    U, S, _ = np.linalg.svd((matrix.T @ Q).T, full_matrices=False)
    rows = (Q @ (U * S**STRETCH))[:, :D]
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12), np.float32)


def grouped(rows: np.ndarray, size: int, watch: ClusteringCallback) -> np.ndarray:
    """(V,) the classes that k-means makes of rows of length 1."""
    centres = first_centres(rows, size)
    classes = np.zeros(len(rows), np.int64)
    for i in range(ROUNDS):
        old, classes = classes, nearest(rows, centres)
        watch(Learning(f"{size} classes", "it", i + 1, ROUNDS))
        if (classes == old).all():
            break
        sums = csr_array((np.ones(len(rows), np.float32), classes, np.arange(len(rows) + 1)), shape=(len(rows), size))
        found = sums.T @ rows
        alive = np.linalg.norm(found, axis=1) > 1e-9  # a class that lost all words keeps its centre
        centres[alive] = found[alive] / np.linalg.norm(found[alive], axis=1, keepdims=True)
    return classes


def nearest(rows: np.ndarray, centres: np.ndarray) -> np.ndarray:
    step = max(1, CELLS // len(centres))
    return np.concatenate([(rows[a : a + step] @ centres.T).argmax(axis=1) for a in range(0, len(rows), step)])


def first_centres(rows: np.ndarray, size: int) -> np.ndarray:
    """Of the most frequent words, each as far as possible from the ones before, with luck in proportion to the distance
    (k-means++, Arthur & Vassilvitskii 2007)."""
    rows = rows[: 40 * size]
    random = np.random.default_rng(SEED)
    chosen = [0]
    distance = np.full(len(rows), np.inf)
    while len(chosen) < size:
        distance = np.minimum(distance, np.maximum(0, 1 - rows @ rows[chosen[-1]]))
        far = np.cumsum(distance, dtype=np.float64)
        chosen.append(min(int(np.searchsorted(far, random.random() * far[-1], side="right")), len(rows) - 1))
    return rows[chosen]
