"""Accuracy by group of tokens: by word frequency, sentence length and confidence; the confusion grid.

Each breakdown takes a number that every token has, cuts its range into groups and counts the correct tokens of each.
The interval of a group's accuracy is Wilson's (1927): it stays between 0 and 1 and holds for a handful of tokens; it
assumes independent tokens, so it is a little narrow.

The confidence of a token is the probability of its predicted tag. Where tags are mapped to a coarser tag set, it is the
sum over all tags with the same new name.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tagger.evaluation.metrics import Evaluation, Rate, pairs, rate, triples
from tagger.evaluation.significance import Interval
from tagger.sentence import Sentence
from tagger.words.lexicon import Lexicon

FREQUENCIES = (0, 1, 2, 5, 10, 100)  # a group begins at each of these, as below
LENGTHS = (1, 6, 11, 21, 31, 41)
PERCENTS = (0, 50, 70, 80, 90, 95, 99)
GRID_TAGS = 14  # in the confusion grid


@dataclass(frozen=True)
class Group:
    """A group of tokens: how many, and how many of them have the correct tag."""

    label: str
    tokens: int
    right: int

    @property
    def accuracy(self) -> Rate:
        return rate(self.right, self.tokens)

    @property
    def interval(self) -> Interval:
        return wilson(self.right, self.tokens)


@dataclass(frozen=True)
class ConfusionGrid:
    """A confusion matrix of the tags with most errors: counts by gold tag (row) and predicted tag (column).

    The last row and column can hold all other tags together; the cell where they cross counts only errors.
    """

    tags: list[str]
    others: bool  # there is a last row and column for all other tags
    counts: list[list[int]]


def wilson(right: int, tokens: int) -> Interval:
    """Compute the 95 % interval of a share p = right / n: (p + z²/2n ± z √(p(1−p)/n + z²/4n²)) / (1 + z²/n)."""
    if not tokens:
        return 0.0, 1.0
    z = 1.96
    p, half = right / tokens, z * z / (2 * tokens)
    spread = z * math.sqrt(p * (1 - p) / tokens + (half / z) ** 2)
    return max(0.0, (p + half - spread) / (1 + 2 * half)), min(1.0, (p + half + spread) / (1 + 2 * half))


def correct_tokens(gold: Sequence[Sentence], guesses: Sequence[Sequence[str]]) -> np.ndarray:
    """Return whether each token (N,) has its gold tag, sentence after sentence."""
    return np.array([a == b for sentence, tags in pairs(gold, guesses) for _, a, b in triples(sentence, tags)], bool)


def by_frequency(gold: Sequence[Sentence], right: np.ndarray, lexicon: Lexicon) -> list[Group]:
    """Group tokens by the frequency of the word in training."""
    values = lexicon.frequency([word for sentence in gold for word in sentence.words])
    return groups(values, right, FREQUENCIES)


def by_length(gold: Sequence[Sentence], right: np.ndarray) -> list[Group]:
    """Group tokens by the length of the sentence."""
    return groups(np.array([len(sentence) for sentence in gold for _ in sentence.words]), right, LENGTHS)


def by_confidence(confidence: np.ndarray, right: np.ndarray) -> list[Group]:
    """Group tokens by confidence, in percent."""
    ends = [*PERCENTS[1:], 100]
    labels = [f"{begin}–{end}" for begin, end in zip(PERCENTS, ends, strict=True)]
    return count_groups(100 * confidence, right, PERCENTS, labels)


def groups(values: np.ndarray, right: np.ndarray, begins: Sequence[int]) -> list[Group]:
    """Group tokens by a whole number, from each of `begins` up to the next."""
    lasts = [begin - 1 for begin in begins[1:]]
    labels = [str(a) if a == b else f"{a}–{b}" for a, b in zip(begins, lasts, strict=False)]
    return count_groups(values, right, begins, [*labels, f"{begins[-1]}+"])


def count_groups(values: np.ndarray, right: np.ndarray, begins: Sequence[float], labels: Sequence[str]) -> list[Group]:
    """Count tokens, and those with the correct tag, in the groups of values that begin at `begins`."""
    place = np.searchsorted(begins, values, side="right") - 1  # (N,)
    tokens = np.bincount(place, minlength=len(labels)).tolist()
    correct = np.bincount(place[right], minlength=len(labels)).tolist()
    return [Group(*row) for row in zip(labels, tokens, correct, strict=True)]


def confusion_grid(evaluation: Evaluation) -> ConfusionGrid:
    """Build the grid of the GRID_TAGS tags with most errors, gold or predicted, in the order of their frequency."""
    errors: Counter[str] = Counter()
    for c in evaluation.confusions:
        errors[c.gold] += c.count
        errors[c.guess] += c.count
    worst = sorted((row for row in evaluation.tags if errors[row.tag]), key=lambda row: -errors[row.tag])
    chosen = {row.tag for row in worst[:GRID_TAGS]}
    tags = [row.tag for row in evaluation.tags if row.tag in chosen]
    place = {tag: i for i, tag in enumerate(tags)}
    size = len(tags) + (len(evaluation.tags) > len(tags))
    counts = [[0] * size for _ in range(size)]
    for c in evaluation.confusions:
        counts[place.get(c.gold, -1)][place.get(c.guess, -1)] += c.count
    for row in evaluation.tags:
        if row.tag in place:
            i = place[row.tag]
            counts[i][i] = row.support - sum(counts[i])
    return ConfusionGrid(tags, size > len(tags), counts)
