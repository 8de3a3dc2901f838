"""Sums over all tags in scaled probabilities: the arithmetic that makes a step a matrix product.

Rescaled forward–backward (after Rabiner 1989, section V.A). With A = exp(transitions) and
e[t] = exp(emissions[t] - shift) / c[t], where c[t] is the sum of alpha[t-1]:

    alpha[t] = (alpha[t-1] @ A) * e[t]               q[t] = e[t] * beta[t]
    beta[t-1] = A @ q[t]                             beta[T] = exp(end) / (alpha[T] · exp(end))
    P(tag at t) = alpha[t] * beta[t]                 expected = A * Σ_t outer(alpha[t-1], q[t])

Dividing a step by the sum of the step before keeps all numbers near 1, and serves both directions.

Where each step has transitions of its own, A is that of the step, and a step is a stack of small products.

That is exact only while nothing that matters can underflow: the scores around a token span less than the number format
does. `SPAN` states that bound. A pack outside it in float32 is done in float64, and one outside it there in log space
(`kernels.LogSum`), so that no answer depends on luck.

Some transitions may be -inf, as those that a span scheme forbids, if any tag still leads to any other in n steps
(`mixing_steps`). Then each entry of alpha is reached from the largest one n steps before, over at most K^(n-1) paths,
so that alpha spans n times what the scores of one step do, and (n - 1) · log K more; beta alike.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tagger.chain.scores import Chain, StepTransitions

SPAN: dict[np.dtype, float] = {
    np.dtype(np.float32): 80.0,
    np.dtype(np.float64): 650.0,
}  # in nats: about log of the largest number
MIXING_STEPS = 3  # a span of the scheme bioes after one of another type: B-X, E-X, B-Y, I-Y


def scaled_kernel(chain: Chain) -> ScaledSum | None:
    """Make the kernel in float32, else float64; None if neither is exact for this chain."""
    for dtype, span in SPAN.items():
        if chain.emissions.dtype.itemsize <= dtype.itemsize:
            shift = shift_within(chain, span)
            if shift is not None:
                return ScaledSum(chain, shift, dtype)
    return None


def shift_within(chain: Chain, span: float) -> np.ndarray | None:
    """Find what to subtract from the emissions, for all (1, 1) or by row (N, 1), so that scaled sums are exact.

    None if that cannot be promised.
    """
    n = mixing_steps(chain.transitions)
    if n is None:
        return None
    E = chain.emissions
    ends = finite_range(chain.start) + finite_range(chain.end)
    left = (span - ends - (n - 1) * np.log(len(chain.start))) / n - finite_range(chain.transitions)
    free = n == 1 and np.isfinite(chain.start).all() and np.isfinite(chain.end).all()
    lowest, highest = E.min(initial=0.0), E.max(initial=0.0)
    if not (free and highest - lowest < left) and not all_have_paths(chain, n):
        return None
    if highest - lowest < left:  # the widest token cannot be wider than the whole pack
        return np.full((1, 1), highest)
    by_row = E.max(axis=1, keepdims=True)
    widths = by_row - np.min(E, axis=1, keepdims=True, initial=np.inf, where=np.isfinite(E))
    return by_row if np.max(widths, initial=0.0) < left else None


def mixing_steps(transitions: np.ndarray | StepTransitions) -> int | None:
    """Find the smallest n with which any tag leads to any tag in n steps, and so in more; None above MIXING_STEPS."""
    step = possible_steps(transitions).astype(np.float32)
    reach = step
    for n in range(1, MIXING_STEPS + 1):
        if reach.all():
            return n
        reach = np.minimum(reach @ step, 1.0)
    return None


def possible_steps(transitions: np.ndarray | StepTransitions) -> np.ndarray:
    """Return whether each tag may follow each, (K, K); if steps have their own transitions, whether it always may."""
    return np.isfinite(transitions) if isinstance(transitions, np.ndarray) else transitions.bounds[0]


def all_have_paths(chain: Chain, n: int) -> bool:
    """Check that every sentence has a path, where any tag leads to any tag in n steps.

    With n = 1 tokens may have impossible tags; else only the ends of a sentence may.
    """
    if n == 1:
        return all_tokens_reachable(chain)
    if not np.isfinite(chain.emissions).all():
        return False
    step, lengths = possible_steps(chain.transitions), set(chain.pack.lengths[: chain.pack.first].tolist())
    reach, end = np.isfinite(chain.start), np.isfinite(chain.end)  # the tags that token t may have
    for t in range(1, n + 1):  # a longer sentence has n steps between its ends
        if t in lengths and not (reach & end).any():
            return False
        reach = reach @ step
    return bool(reach.any() and end.any())


def all_tokens_reachable(chain: Chain) -> bool:
    """Check that every token allows some tag, first and last ones too: with finite transitions a path exists then."""
    E, pack = chain.emissions, chain.pack
    inner = np.isfinite(E)
    inner[: pack.first] &= np.isfinite(chain.start)
    inner[pack.last] &= np.isfinite(chain.end)
    return bool(inner.any(axis=1).all())


def finite_range(scores: np.ndarray | StepTransitions) -> float:
    """Return the largest finite score less the smallest."""
    if isinstance(scores, StepTransitions):
        _, lowest, highest = scores.bounds
        return highest - lowest
    finite = scores[np.isfinite(scores)]
    return float(finite.max() - finite.min()) if finite.size else 0.0


class ScaledSum:
    """The formulas above for a whole pack; `e` becomes q on the way back."""

    def __init__(self, chain: Chain, shift: np.ndarray, dtype: np.dtype) -> None:
        self.chain, self.pack, self.shift, self.by_row = chain, chain.pack, shift, chain.by_row
        self.e = np.subtract(chain.emissions, shift, dtype=dtype)  # (N, K)
        np.exp(self.e, out=self.e)
        if isinstance(chain.transitions, np.ndarray):
            self.top = float(chain.transitions.max()) if chain.transitions.size else 0.0  # no tags, no tokens
            self.A: np.ndarray | StepTransitions = np.exp(np.subtract(chain.transitions, self.top, dtype=dtype))
        else:
            self.top = chain.transitions.bounds[2]
            self.A = chain.transitions.changed(lambda own: np.exp(np.subtract(own, self.top, dtype=dtype)))
        self.exp_start, self.exp_end = (
            np.exp(np.subtract(scores, scores.max(), dtype=dtype)) for scores in (chain.start, chain.end)
        )
        self.c = np.ones(len(self.e), dtype)
        self.ones = np.ones(self.e.shape[1], dtype)

    def begin(self) -> np.ndarray:
        alpha, first = np.empty_like(self.e), self.pack.first
        np.multiply(self.exp_start, self.e[:first], out=alpha[:first])
        return alpha

    def steps(self, backwards: bool = False) -> Iterator[tuple[slice, slice]]:
        steps = self.pack.steps()
        return reversed(list(steps)) if backwards else steps

    def into(self, alpha: np.ndarray, step: tuple[slice, slice]) -> None:
        before, here = step
        np.matmul(alpha[before], self.ones, out=self.c[here])  # row sums; the fastest way in NumPy
        self.e[here] /= self.c[here, None]
        if isinstance(self.A, np.ndarray):
            np.matmul(alpha[before], self.A, out=alpha[here])
        else:
            np.matmul(alpha[before][:, None], self.steps_to(here), out=alpha[here][:, None])
        alpha[here] *= self.e[here]

    def steps_to(self, rows: slice) -> np.ndarray:
        """Return A of the steps to these rows, (K, K), or (rows, K, K) where each has its own."""
        if isinstance(self.A, np.ndarray):
            return self.A
        return self.A[rows.start - self.pack.first : rows.stop - self.pack.first]

    def log_z(self, alpha: np.ndarray) -> np.ndarray:
        """Compute log Z = Σ_t log c[t] + log(alpha[T] · exp(end)) + all that was subtracted."""
        pack, first = self.pack, self.pack.first
        z = pack.sums(np.log(self.c, dtype=np.float64) + self.shift[:, 0])
        ends = alpha[pack.last] @ self.exp_end  # (first,)
        z[:first] += np.log(ends, dtype=np.float64) + self.chain.start.max() + self.chain.end.max()
        z[:first] += self.top * (pack.lengths[:first] - 1)
        return z

    def end(self, alpha: np.ndarray) -> np.ndarray:
        beta, last = np.empty_like(alpha), self.pack.last
        beta[last] = self.exp_end / (alpha[last] @ self.exp_end)[:, None]
        return beta

    def back(self, beta: np.ndarray, step: tuple[slice, slice]) -> np.ndarray:
        before, here = step
        q = self.e[here]
        q *= beta[here]
        if isinstance(self.A, np.ndarray):
            np.matmul(q, self.A.T, out=beta[before])
        else:
            np.matmul(self.steps_to(here), q[:, :, None], out=beta[before][:, :, None])
        return q

    def arc_probabilities(
        self, alpha: np.ndarray, arcs: np.ndarray, step: tuple[slice, slice], log_z: np.ndarray
    ) -> np.ndarray:
        """Compute p(previous tag i, tag j), (B, K, K)."""
        return np.asarray(alpha[step[0]][:, :, None] * self.steps_to(step[1]) * arcs[:, None, :])

    def probabilities(self, alpha: np.ndarray, beta: np.ndarray, log_z: np.ndarray) -> np.ndarray:
        if self.by_row:
            return alpha * beta  # `row_transitions` still needs alpha
        alpha *= beta  # in place: the array is large
        return alpha

    def expected_transitions(self, alpha: np.ndarray, beta: np.ndarray, log_z: np.ndarray) -> np.ndarray:
        if not isinstance(self.A, np.ndarray):
            return np.empty((0, 0))
        before, q = alpha[self.pack.before], self.e[self.pack.first :]
        return np.asarray(self.A * (before.T @ q).astype(np.float64))

    def row_transitions(self, alpha: np.ndarray, beta: np.ndarray, log_z: np.ndarray, rows: slice) -> np.ndarray:
        """Compute the probability of each step into these rows, (rows, K, K), counted without the first ones."""
        before, q = alpha[self.pack.before[rows]], self.e[self.pack.first :][rows]
        return np.asarray(before[:, :, None] * self.A[rows] * q[:, None, :])
