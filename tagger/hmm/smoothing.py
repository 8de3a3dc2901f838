"""Dirichlet smoothing: the back-off estimate counts as κ observations.

    P(tag) = (count(tag) + κ · backoff(tag)) / (count + κ)

A small κ trusts the counts, a large one the back-off. The best κ maximises the leave-one-out likelihood, in which each
observation is predicted from the counts of all others; nothing is tuned by hand.
"""

from __future__ import annotations

import numpy as np

GRID = np.exp(np.arange(-3.0, 9.0, 0.5))  # candidates for κ
COARSE_STEP, FINE_STEPS = 4, (2, 1)  # steps of the search through the grid
SAMPLE_SIZE = 20_000  # observations that determine a κ well enough


def subsample(n: int) -> slice:
    """Return a slice that takes about SAMPLE_SIZE of n observations, evenly spaced."""
    return slice(None, None, 1 + n // SAMPLE_SIZE)


def smooth(counts: np.ndarray, totals: np.ndarray, backoff: np.ndarray, kappa: float) -> np.ndarray:
    """Compute the formula above; counts that are differences of sums may be a little below 0."""
    return np.asarray((np.maximum(counts, 0.0) + kappa * backoff) / (np.maximum(totals, 0.0) + kappa))


def best_kappa(counts: np.ndarray, totals: np.ndarray, backoff: np.ndarray, weights: np.ndarray) -> float:
    """Find the κ of GRID with the highest leave-one-out likelihood, Σ weight · log P.

    `counts` and `totals` are without the observation itself. The search tries every fourth κ, then the ones halfway to
    the neighbours of the best.
    """
    sample = subsample(len(counts))
    count, total = np.maximum(counts[sample], 0.0), np.maximum(totals[sample], 0.0)
    low, weight = backoff[sample], weights[sample]

    def likelihood(i: int) -> float:
        return float((weight * np.log((count + GRID[i] * low) / (total + GRID[i]))).sum())

    tried = {i: likelihood(i) for i in range(COARSE_STEP // 2, len(GRID), COARSE_STEP)}
    for step in FINE_STEPS:
        best = max(tried, key=tried.__getitem__)
        tried |= {i: likelihood(i) for i in (best - step, best + step) if 0 <= i < len(GRID)}
    return float(GRID[max(tried, key=tried.__getitem__)])
