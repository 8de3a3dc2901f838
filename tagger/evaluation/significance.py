"""How sure an accuracy is, and whether a difference between two taggers means anything.

Tokens of one sentence stand or fall together, so what is drawn is always whole sentences. An interval comes from the
bootstrap (Efron 1979): how the figure varies when as many sentences are drawn again, with replacement. A difference is
tested by approximate randomisation (Noreen 1989): if the two taggers were equally good, it would be chance which of
them each result belongs to, so they are swapped at random, sentence by sentence, and the differences that come out are
compared with the one that was seen.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

DRAWS = 2000  # of the bootstrap
SWAPS = 9999  # of the randomisation test
AT_ONCE = 1 << 22  # numbers drawn together

Interval = tuple[float, float]


def interval(values: np.ndarray, lengths: np.ndarray) -> Interval | None:
    """Where Σ values / Σ lengths lies with 95 % probability, for sentences with these values and lengths (B,)."""
    filled = lengths > 0
    values, lengths = values[filled], lengths[filled]
    if len(lengths) < 2:
        return None
    random = np.random.default_rng(0)
    found = []
    for rows in parts(DRAWS, len(lengths)):
        drawn = random.integers(0, len(lengths), (rows, len(lengths)))
        found.append(values[drawn].sum(axis=1) / lengths[drawn].sum(axis=1))
    low, high = np.quantile(np.concatenate(found), [0.025, 0.975])
    return float(low), float(high)


def chance(differences: np.ndarray) -> float:
    """The probability of a sum of differences (B,) this far from 0, if every sign were chance."""
    matter = differences[differences != 0].astype(float)
    seen = abs(matter.sum())
    random = np.random.default_rng(0)
    as_far = 0
    for rows in parts(SWAPS, max(1, len(matter))):
        signs = random.integers(0, 2, (rows, len(matter)), dtype=np.int8) * 2 - 1
        as_far += int((np.abs(signs @ matter) >= seen - 1e-9).sum())
    return (as_far + 1) / (SWAPS + 1)


def parts(rows: int, width: int) -> Iterator[int]:
    """So many rows of that width, in parts that fit into memory."""
    step = max(1, AT_ONCE // width)
    for begin in range(0, rows, step):
        yield min(step, rows - begin)
