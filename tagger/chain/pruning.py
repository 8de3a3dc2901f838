"""One step of Viterbi that looks only at the tags that can matter, and still finds exactly the same scores.

Coming from tag i is never better than coming from the row's best tag a, whatever the next tag j, if

    delta[a] - delta[i]  >  max_j (A[i, j] - A[a, j])  =: reach[a, i]

In text that is true of nearly all tags: with 49 of them, 1.3 a token are left. So a step costs a few passes over K
numbers instead of K². Rounding cannot change an answer, as `reach` is widened by more than it can amount to. Large tag
sets make do with a wider reach that costs no K³ to find, max_j A[i, j] - min_j A[a, j].
"""

from __future__ import annotations

import numpy as np

LARGE = 200  # tags; from here on the exact table costs more than it saves


class Dominance:
    """now[j] = max_i (previous[i] + A[i, j]) - max_i previous[i], for `previous` and `now` (B, K)."""

    def __init__(self, A: np.ndarray) -> None:
        self.A = A
        finite = np.abs(A[np.isfinite(A)]).max(initial=0.0)
        reach = self.wide() if len(A) > LARGE else self.exact()
        reach += 16 * np.finfo(A.dtype).eps * (1 + 2 * finite)
        np.fill_diagonal(reach, -np.inf)  # the best one itself is always looked at
        self.reach = reach.astype(A.dtype)  # (K, K) [best, other]

    def exact(self) -> np.ndarray:
        reach = np.full(self.A.shape, -np.inf)
        with np.errstate(invalid="ignore"):  # -inf - -inf: neither way leads there
            for column in self.A.T:
                np.fmax(reach, column - column[:, None], out=reach)
        return reach

    def wide(self) -> np.ndarray:
        with np.errstate(invalid="ignore"):
            reach = self.A.max(axis=1) - self.A.min(axis=1)[:, None].astype(np.float64)
        return np.where(np.isnan(reach), np.inf, reach)

    def __call__(self, previous: np.ndarray, now: np.ndarray) -> None:
        K = len(self.A)
        best = previous.argmax(axis=1)
        top = previous.reshape(-1)[np.arange(0, previous.size, K) + best]
        np.take(self.A, best, axis=0, out=now, mode="clip")
        with np.errstate(invalid="ignore"):  # rows in which nothing is possible
            below = top[:, None] - previous
        left = np.flatnonzero(below <= np.take(self.reach, best, axis=0))
        if left.size:
            rows, others = np.divmod(left, K)
            candidates = np.take(self.A, others, axis=0)
            candidates -= below.reshape(-1)[left][:, None]
            first = np.flatnonzero(np.append(True, rows[1:] != rows[:-1]))
            at = rows[first]
            now[at] = np.maximum(now[at], np.maximum.reduceat(candidates, first, axis=0))
        now[np.isneginf(top)] = -np.inf
