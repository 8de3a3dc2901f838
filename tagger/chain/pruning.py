"""One step of Viterbi over only the tags that can matter, with exactly the scores of the full step.

Coming from tag i is never better than coming from the row's best tag a, whatever the next tag j, if

    delta[a] - delta[i]  >  max_j (A[i, j] - A[a, j])  =: reach[a, i]

In text that holds for nearly all tags: of 49 tags, 1.3 a token are left. So a step costs a few passes over K numbers
instead of K². `reach` is widened by more than rounding can amount to, so rounding cannot change an answer. Large tag
sets use a wider reach that costs no K³ to compute, max_j A[i, j] - min_j A[a, j].
"""

from __future__ import annotations

import numpy as np

LARGE_TAG_SET = 200  # from here on the exact table costs more than it saves


class PrunedStep:
    """now[j] = max_i (previous[i] + A[i, j]) - max_i previous[i], for `previous` and `now` (B, K)."""

    def __init__(self, A: np.ndarray) -> None:
        self.A = A
        finite = np.abs(A[np.isfinite(A)]).max(initial=0.0)
        reach = self.wide() if len(A) > LARGE_TAG_SET else self.exact()
        reach += 16 * np.finfo(A.dtype).eps * (1 + 2 * finite)
        np.fill_diagonal(reach, -np.inf)  # the best tag itself is never pruned
        self.reach = reach.astype(A.dtype)  # (K, K) [best, other]

    def exact(self) -> np.ndarray:
        """Compute max_j (A[i, j] - A[a, j])."""
        reach = np.full(self.A.shape, -np.inf)
        with np.errstate(invalid="ignore"):  # -inf - -inf: neither tag leads there
            for column in self.A.T:
                np.fmax(reach, column - column[:, None], out=reach)
        return reach

    def wide(self) -> np.ndarray:
        """Compute the bound max_j A[i, j] - min_j A[a, j]."""
        with np.errstate(invalid="ignore"):
            reach = self.A.max(axis=1) - self.A.min(axis=1)[:, None].astype(np.float64)
        return np.where(np.isnan(reach), np.inf, reach)

    def __call__(self, previous: np.ndarray, now: np.ndarray) -> None:
        K = len(self.A)
        best = previous.argmax(axis=1)
        top = previous.reshape(-1)[np.arange(0, previous.size, K) + best]
        np.take(self.A, best, axis=0, out=now, mode="clip")
        with np.errstate(invalid="ignore"):  # rows in which no tag is possible
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
