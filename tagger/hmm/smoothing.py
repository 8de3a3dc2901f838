"""How much a count should lean on a vaguer guess: as if that had been seen κ times.

    P(tag) = (count(tag) + κ · guess(tag)) / (count + κ)

A small κ trusts the counts, a large one the guess. The best κ makes each thing that was counted most likely when it is
itself left out of the counts; nothing is tuned by hand.
"""

from __future__ import annotations

import numpy as np

GRID = np.exp(np.arange(-3.0, 9.0, 0.5))  # candidates for κ
COARSE, HALVES = 4, (2, 1)
ENOUGH_TO_TELL = 20_000


def enough(n: int) -> slice:
    """Some of n things, from everywhere, that tell as much as all."""
    return slice(None, None, 1 + n // ENOUGH_TO_TELL)


def leaning(of_tag: np.ndarray, of_all: np.ndarray, guess: np.ndarray, kappa: float) -> np.ndarray:
    """The formula above; differences of sums may be a little below 0."""
    return np.asarray((np.maximum(of_tag, 0.0) + kappa * guess) / (np.maximum(of_all, 0.0) + kappa))


def best_kappa(of_tag: np.ndarray, of_all: np.ndarray, guess: np.ndarray, weights: np.ndarray) -> float:
    """The κ that makes things of these weights most likely, whose counts are those of all the others.

    Every fourth candidate is tried, then those halfway to the neighbours of the best; of many numbers some are enough.
    """
    some = enough(len(of_tag))
    part, whole, low, weight = np.maximum(of_tag[some], 0.0), np.maximum(of_all[some], 0.0), guess[some], weights[some]

    def fit(i: int) -> float:
        return float((weight * np.log((part + GRID[i] * low) / (whole + GRID[i]))).sum())

    fits = {i: fit(i) for i in range(COARSE // 2, len(GRID), COARSE)}
    for step in HALVES:
        best = max(fits, key=fits.__getitem__)
        fits |= {i: fit(i) for i in (best - step, best + step) if 0 <= i < len(GRID)}
    return float(GRID[max(fits, key=fits.__getitem__)])
