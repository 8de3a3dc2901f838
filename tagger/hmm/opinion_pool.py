"""One opinion out of several: their logarithms are added up, each with a weight (Genest & Zidek 1986).

    P(tag) ∝ exp(Σ_i a_i · o_i(tag))

The weights a make the true tags most likely. The likelihood is concave in them and has few of them, so that Newton's
method finds the best in a handful of steps. Each word has a small matrix of opinions; many of those are multiplied at
once, and none is large enough to be worth a second thread.
"""

from __future__ import annotations

import numpy as np

NEWTON_STEPS, ENOUGH = 20, 1e-5


def pooled(weights: np.ndarray, opinions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(words, K) P of words with opinions (words, I, K), and (words,) the logarithm of what it was divided by."""
    P = weights @ opinions
    best = P.max(axis=1, keepdims=True)
    P -= best
    np.exp(P, out=P)
    Z = P.sum(axis=1, keepdims=True)
    P /= Z
    return P, (best + np.log(Z))[:, 0]


def usual(count: int) -> np.ndarray:
    """(count,) the weights one would give without knowing more."""
    return np.array([1.0, *[0.5] * (count - 1)])


def narrowed(opinions: np.ndarray, gold: np.ndarray, width: int) -> tuple[np.ndarray, np.ndarray]:
    """(words, I, width) and (words, width): of each word the true tags and those that seem likeliest, by rising tag."""
    _, count, K = opinions.shape
    likely = usual(count) @ opinions
    likely[gold > 0] = np.inf
    tags = np.sort(np.argpartition(likely, K - width, axis=1)[:, K - width :], axis=1)
    return np.take_along_axis(opinions, tags[:, None], axis=2), np.take_along_axis(gold, tags, axis=1)


def pool_weights(opinions: np.ndarray, gold: np.ndarray) -> np.ndarray:
    """The weights a under which gold (words, K) is most likely, less ½ · ‖a - usual‖², which matters for few words.

    objective  = a · Σ gold · o - Σ_words log Z - ½ · ‖a - usual‖²
    gradient_i = Σ (gold - P) · o_i - (a_i - usual_i)
    Hessian_ij = -Σ_words Cov_P(o_i, o_j) - [i = j]
    """
    expected = usual(opinions.shape[1])
    favour = (opinions @ gold[:, :, None]).sum(axis=(0, 2))  # Σ gold · o_i

    def objective(a: np.ndarray, log_Z: np.ndarray) -> float:
        return float(a @ favour - log_Z.sum() - (a - expected) @ (a - expected) / 2)

    weighted = np.empty_like(opinions)
    a = expected
    P, log_Z = pooled(a, opinions)
    now = objective(a, log_Z)
    for _ in range(NEWTON_STEPS):
        np.multiply(opinions, P[:, None], out=weighted)
        mean = weighted.sum(axis=2)  # (words, I)
        gradient = favour - mean.sum(axis=0) - (a - expected)
        curvature = (weighted @ opinions.transpose(0, 2, 1)).sum(axis=0) - mean.T @ mean + np.eye(len(a))
        step = np.linalg.solve(curvature, gradient)
        before, now = now, -np.inf
        while now < before and np.abs(step).max() > ENOUGH:
            P, log_Z = pooled(a + step, opinions)
            now = objective(a + step, log_Z)
            a, step = (a + step, step) if now >= before else (a, step / 2)
        if now - before < ENOUGH * len(gold):
            break
    return a
