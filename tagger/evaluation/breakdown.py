"""The numbers behind the pictures of an evaluation: tokens sorted into groups, and how many of each group are right.

Four questions, one answer. Are long sentences harder, rare words, doubtful decisions? And when the model says 90 %, is
it right 9 times in 10 (calibration)? Each takes a number that every token has, cuts its range at some edges and counts.
The interval beside a share is Wilson's (1927): it stays between 0 and 1 and means something for a handful of tokens;
it takes tokens for independent, so it is a little narrow.

How sure a token is: the probability of the tag that was guessed. Where tags have been renamed, by `--map`, that is the
probability of all tags of the same new name together.
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

FREQUENCIES = (0, 1, 2, 5, 10, 100)  # a group begins at each of these
LENGTHS = (1, 6, 11, 21, 31, 41)
PERCENTS = (0, 50, 70, 80, 90, 95, 99)
BINS = 10  # of the calibration, equally wide
GRID = 14  # tags in the heat map


@dataclass(frozen=True)
class Group:
    """Tokens that have something in common."""

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
class ConfidenceGroup(Group):
    """Tokens of which the model is about equally sure."""

    confidence: float  # the mean of them, 0 if there are none


@dataclass(frozen=True)
class ConfusionGrid:
    """How often each tag of gold (row) was given each tag (column).

    The last row and column may be all other tags together; where they cross stand only their errors among themselves.
    """

    tags: list[str]
    others: bool  # whether there is a last row and column for them
    counts: list[list[int]]


def wilson(right: int, tokens: int) -> Interval:
    """Where a share lies with 95 % probability: (p + z²/2n ± z √(p(1−p)/n + z²/4n²)) / (1 + z²/n)."""
    if not tokens:
        return 0.0, 1.0
    z = 1.96
    p, half = right / tokens, z * z / (2 * tokens)
    spread = z * math.sqrt(p * (1 - p) / tokens + (half / z) ** 2)
    return max(0.0, (p + half - spread) / (1 + 2 * half)), min(1.0, (p + half + spread) / (1 + 2 * half))


def correct_tokens(gold: Sequence[Sentence], guesses: Sequence[Sequence[str]]) -> np.ndarray:
    """(N,) of all tokens one after the other, as all arrays here."""
    found = [a == b for sentence, tags in pairs(gold, guesses) for _, a, b in triples(sentence, tags)]
    return np.array(found, bool)


def by_frequency(gold: Sequence[Sentence], right: np.ndarray, lexicon: Lexicon) -> list[Group]:
    """By how often the word was seen in training."""
    values = lexicon.frequency([word for sentence in gold for word in sentence.words])
    return groups(values, right, FREQUENCIES)


def by_length(gold: Sequence[Sentence], right: np.ndarray) -> list[Group]:
    """By the number of tokens in the sentence."""
    return groups(np.array([len(sentence) for sentence in gold for _ in sentence.words]), right, LENGTHS)


def by_confidence(sure: np.ndarray, right: np.ndarray) -> list[Group]:
    """By how sure the model is, in percent."""
    ends = [*PERCENTS[1:], 100]
    labels = [f"{begin}–{end}" for begin, end in zip(PERCENTS, ends, strict=True)]
    return counted(100 * sure, right, PERCENTS, labels)


def groups(values: np.ndarray, right: np.ndarray, begins: Sequence[int]) -> list[Group]:
    """Of whole numbers: from each of these up to the next."""
    lasts = [begin - 1 for begin in begins[1:]]
    labels = [str(a) if a == b else f"{a}–{b}" for a, b in zip(begins, lasts, strict=False)]
    return counted(values, right, begins, [*labels, f"{begins[-1]}+"])


def counted(values: np.ndarray, right: np.ndarray, begins: Sequence[float], labels: Sequence[str]) -> list[Group]:
    place = np.searchsorted(begins, values, side="right") - 1  # (N,)
    tokens = np.bincount(place, minlength=len(labels)).tolist()
    good = np.bincount(place[right], minlength=len(labels)).tolist()
    return [Group(*row) for row in zip(labels, tokens, good, strict=True)]


def calibration(sure: np.ndarray, right: np.ndarray) -> list[ConfidenceGroup]:
    """In bins of equal width; a probability at an edge belongs to the bin above, 1 to the last."""
    edges = np.arange(BINS) / BINS
    labels = [f"{100 * i // BINS}–{100 * (i + 1) // BINS} %" for i in range(BINS)]
    place = np.searchsorted(edges, sure, side="right") - 1
    total = np.bincount(place, weights=sure, minlength=BINS).tolist()
    rows = zip(counted(sure, right, edges.tolist(), labels), total, strict=True)
    return [ConfidenceGroup(row.label, row.tokens, row.right, sums / max(1, row.tokens)) for row, sums in rows]


def calibration_error(bins: Sequence[ConfidenceGroup]) -> Rate:
    """By how much what the model says differs from how often it is right, in the mean over tokens."""
    tokens = sum(row.tokens for row in bins)
    return sum(abs(row.right - row.confidence * row.tokens) for row in bins) / tokens if tokens else None


def confusion_grid(found: Evaluation) -> ConfusionGrid:
    """The tags that take part in most errors, in the order of their frequency."""
    errors: Counter[str] = Counter()
    for c in found.confusions:
        errors[c.gold] += c.count
        errors[c.guess] += c.count
    often = sorted((row for row in found.tags if errors[row.tag]), key=lambda row: -errors[row.tag])
    chosen = {row.tag for row in often[:GRID]}
    tags = [row.tag for row in found.tags if row.tag in chosen]
    place = {tag: i for i, tag in enumerate(tags)}
    size = len(tags) + (len(found.tags) > len(tags))
    counts = [[0] * size for _ in range(size)]
    missed: Counter[str] = Counter()
    for c in found.confusions:
        missed[c.gold] += c.count
        counts[place.get(c.gold, -1)][place.get(c.guess, -1)] += c.count
    for row in found.tags:
        if row.tag in place:
            i = place[row.tag]
            counts[i][i] = row.support - missed[row.tag]
    return ConfusionGrid(tags, size > len(tags), counts)
