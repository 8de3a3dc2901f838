"""Confidence intervals of an accuracy, and the significance of a difference between two taggers.

Tokens of one sentence are not independent, so whole sentences are drawn. An interval comes from the bootstrap (Efron
1979): the figure is computed again and again on as many sentences drawn with replacement. A difference is tested by
approximate randomisation (Noreen 1989): if the two taggers were equally good, their results could be exchanged. So they
are swapped at random, sentence by sentence, and the p-value is the share of swaps with a difference as large.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

DRAWS = 2000  # of the bootstrap
SWAPS = 9999  # of the randomisation test
DRAWN_CELLS = 1 << 22  # random numbers drawn at a time

Interval = tuple[float, float]  # lower and upper end
Ratio = tuple[np.ndarray, np.ndarray]  # of each sentence (B,), what is summed above and below the line
Statistic = Callable[..., np.ndarray]  # of sums of terms


def interval(values: np.ndarray, lengths: np.ndarray) -> Interval | None:
    """Compute the 95 % bootstrap interval of Σ values / Σ lengths over sentences (B,); None with fewer than two."""
    return bootstrap(np.stack([values, lengths])[:, lengths > 0], np.divide)


def paired_interval(first: Ratio, second: Ratio) -> Interval | None:
    """Compute the 95 % bootstrap interval of the difference of two ratios of sums over the same sentences (B,).

    Their denominators may differ, as those of F1 do. None with fewer than two sentences.
    """
    terms = np.stack([*first, *second]).astype(float)  # (4, B)
    return bootstrap(terms[:, terms.any(axis=0)], difference_of)


def bootstrap(terms: np.ndarray, statistic: Statistic) -> Interval | None:
    """Compute the 95 % interval of a statistic of the sums of terms (n, B) over sentences, drawn with replacement."""
    B = terms.shape[1]
    if B < 2:
        return None
    random, results = np.random.default_rng(0), []
    for rows in chunk_sizes(DRAWS, B):
        drawn = random.integers(0, B, (rows, B))
        results.append(statistic(*(term[drawn].sum(axis=1) for term in terms)))
    low, high = np.quantile(np.concatenate(results), [0.025, 0.975])
    return float(low), float(high)


def p_value(differences: np.ndarray) -> float:
    """Estimate the probability of a sum of differences (B,) at least this far from 0 if their signs were random."""
    d = differences[None, differences != 0].astype(float)
    return randomized(d, abs(float(d.sum())), lambda sums: sums[:, 0])


def paired_p_value(first: Ratio, second: Ratio) -> float:
    """Estimate the probability of a difference of two ratios at least this far from 0 if sentences were exchangeable.

    With t and d the sum and the difference of a term of the two, a swap of some sentences makes its sums Σ (t ± d) / 2.
    """
    a, b = np.stack(first).astype(float), np.stack(second).astype(float)  # (2, B) above and below the line
    t, d = (a + b).sum(axis=1), a - b  # (2,), (2, B)
    observed = abs(float(difference_of(*a.sum(axis=1), *b.sum(axis=1))))
    return randomized(d[:, d.any(axis=0)], observed, lambda sums: difference_of(*(t + sums).T, *(t - sums).T))


def randomized(d: np.ndarray, observed: float, statistic: Statistic) -> float:
    """Estimate the probability of a statistic at least this far from 0 if the signs of d (n, B) were random.

    The statistic gets the sums (rows, n) of each of some assignments of signs.
    """
    random, as_far = np.random.default_rng(0), 0
    for rows in chunk_sizes(SWAPS, max(1, d.shape[1])):
        signs = random.integers(0, 2, (rows, d.shape[1]), dtype=np.int8) * 2 - 1
        as_far += int((np.abs(statistic(signs @ d.T)) >= observed - 1e-9).sum())
    return (as_far + 1) / (SWAPS + 1)  # the observed assignment is one of all


def difference_of(above: np.ndarray, below: np.ndarray, other_above: np.ndarray, other_below: np.ndarray) -> np.ndarray:
    """Compute above / below - other_above / other_below, where a ratio with nothing below is 0."""
    return np.asarray(above / np.maximum(below, 1e-9) - other_above / np.maximum(other_below, 1e-9))


def chunk_sizes(rows: int, width: int) -> Iterator[int]:
    """Cut a number of rows of this width into chunks of about DRAWN_CELLS; yield the rows of each."""
    step = max(1, DRAWN_CELLS // width)
    for begin in range(0, rows, step):
        yield min(step, rows - begin)
