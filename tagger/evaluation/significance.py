"""Confidence intervals of an accuracy, and the significance of a difference between two taggers.

Tokens of one sentence are not independent, so whole sentences are drawn. An interval comes from the bootstrap (Efron
1979): the figure is computed again and again on as many sentences drawn with replacement. A difference is tested by
approximate randomisation (Noreen 1989): if the two taggers were equally good, their results could be exchanged. So they
are swapped at random, sentence by sentence, and the p-value is the share of swaps with a difference as large.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

DRAWS = 2000  # of the bootstrap
SWAPS = 9999  # of the randomisation test
DRAWN_CELLS = 1 << 22  # random numbers drawn at a time

Interval = tuple[float, float]  # lower and upper end
Ratio = tuple[np.ndarray, np.ndarray]  # of each sentence (B,), what is summed above and below the line


def interval(values: np.ndarray, lengths: np.ndarray) -> Interval | None:
    """Compute the 95 % bootstrap interval of Σ values / Σ lengths over sentences (B,); None with fewer than two."""
    filled = lengths > 0
    values, lengths = values[filled], lengths[filled]
    if len(lengths) < 2:
        return None
    random = np.random.default_rng(0)
    rates = []
    for rows in chunk_sizes(DRAWS, len(lengths)):
        drawn = random.integers(0, len(lengths), (rows, len(lengths)))
        rates.append(values[drawn].sum(axis=1) / lengths[drawn].sum(axis=1))
    low, high = np.quantile(np.concatenate(rates), [0.025, 0.975])
    return float(low), float(high)


def p_value(differences: np.ndarray) -> float:
    """Estimate the probability of a sum of differences (B,) at least this far from 0 if their signs were random."""
    nonzero = differences[differences != 0].astype(float)
    observed = abs(nonzero.sum())
    random = np.random.default_rng(0)
    as_far = 0
    for rows in chunk_sizes(SWAPS, max(1, len(nonzero))):
        signs = random.integers(0, 2, (rows, len(nonzero)), dtype=np.int8) * 2 - 1
        as_far += int((np.abs(signs @ nonzero) >= observed - 1e-9).sum())
    return (as_far + 1) / (SWAPS + 1)  # the observed assignment is one of all


def paired_interval(first: Ratio, second: Ratio) -> Interval | None:
    """Compute the 95 % bootstrap interval of the difference of two ratios of sums over the same sentences (B,).

    Their denominators may differ, as those of F1 do. None with fewer than two sentences.
    """
    terms = np.stack([*first, *second]).astype(float)  # (4, B)
    terms = terms[:, terms.any(axis=0)]
    if terms.shape[1] < 2:
        return None
    random = np.random.default_rng(0)
    differences = []
    for rows in chunk_sizes(DRAWS, terms.shape[1]):
        drawn = random.integers(0, terms.shape[1], (rows, terms.shape[1]))
        differences.append(difference_of(*(term[drawn].sum(axis=1) for term in terms)))
    low, high = np.quantile(np.concatenate(differences), [0.025, 0.975])
    return float(low), float(high)


def paired_p_value(first: Ratio, second: Ratio) -> float:
    """Estimate the probability of a difference of two ratios at least this far from 0 if sentences were exchangeable.

    With t and d the sum and the difference of a term of the two, a swap of some sentences makes its sums Σ (t ± d) / 2.
    """
    a, b = np.stack(first).astype(float), np.stack(second).astype(float)  # (2, B) above and below the line
    t, d = (a + b).sum(axis=1), a - b  # (2,), (2, B)
    d = d[:, d.any(axis=0)]
    observed = abs(float(difference_of(*a.sum(axis=1), *b.sum(axis=1))))
    random = np.random.default_rng(0)
    as_far = 0
    for rows in chunk_sizes(SWAPS, max(1, d.shape[1])):
        signs = random.integers(0, 2, (rows, d.shape[1]), dtype=np.int8) * 2 - 1
        swapped = signs @ d.T  # (rows, 2)
        as_far += int((np.abs(difference_of(*(t + swapped).T, *(t - swapped).T)) >= observed - 1e-9).sum())
    return (as_far + 1) / (SWAPS + 1)  # the observed assignment is one of all


def difference_of(above: np.ndarray, below: np.ndarray, other_above: np.ndarray, other_below: np.ndarray) -> np.ndarray:
    """Compute above / below - other_above / other_below, where a ratio with nothing below is 0."""
    return np.asarray(above / np.maximum(below, 1e-9) - other_above / np.maximum(other_below, 1e-9))


def chunk_sizes(rows: int, width: int) -> Iterator[int]:
    """Cut a number of rows of this width into chunks of about DRAWN_CELLS; yield the rows of each."""
    step = max(1, DRAWN_CELLS // width)
    for begin in range(0, rows, step):
        yield min(step, rows - begin)
