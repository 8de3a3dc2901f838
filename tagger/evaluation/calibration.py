"""Calibration: is a model correct in 9 of 10 cases where its confidence is 0.9?

The confidence of a token is the probability of its predicted tag. Tokens are grouped by confidence into ten bins of
equal width, and the accuracy of each bin is compared with its mean confidence: a reliability table. The expected
calibration error (Naeini, Cooper & Hauskrecht 2015) is the mean difference of the two:

    ECE = Σ_b n_b |accuracy_b - confidence_b| / Σ_b n_b
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tagger.evaluation.breakdown import Group, count_groups
from tagger.evaluation.metrics import Rate

BINS = 10  # of equal width
TOLERANCE = 0.01  # of the difference between accuracy and confidence; smaller ones do not matter


@dataclass(frozen=True)
class ConfidenceGroup(Group):
    """A group of tokens of similar confidence."""

    confidence: float  # mean, 0 if there are no tokens

    @property
    def is_calibrated(self) -> bool:
        """Whether the mean confidence is within TOLERANCE of the accuracy, or in its 95 % interval."""
        low, high = self.interval
        return low <= self.confidence <= high or abs((self.accuracy or 0.0) - self.confidence) <= TOLERANCE


def reliability(confidence: np.ndarray, right: np.ndarray) -> list[ConfidenceGroup]:
    """Group tokens by confidence in bins of equal width; one at an edge belongs to the bin above, 1 to the last."""
    edges = np.arange(BINS) / BINS
    labels = [f"{100 * i // BINS}–{100 * (i + 1) // BINS} %" for i in range(BINS)]
    place = np.searchsorted(edges, confidence, side="right") - 1
    sums = np.bincount(place, weights=confidence, minlength=BINS).tolist()
    rows = zip(count_groups(confidence, right, edges.tolist(), labels), sums, strict=True)
    return [ConfidenceGroup(row.label, row.tokens, row.right, total / max(1, row.tokens)) for row, total in rows]


def calibration_error(bins: Sequence[ConfidenceGroup]) -> Rate:
    """Compute the expected calibration error; None without tokens."""
    tokens = sum(row.tokens for row in bins)
    return sum(abs(row.right - row.confidence * row.tokens) for row in bins) / tokens if tokens else None
