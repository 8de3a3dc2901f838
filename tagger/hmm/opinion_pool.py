"""The log-linear opinion pool: one distribution out of several experts' (Genest & Zidek 1986).

    P(tag) ∝ exp(Σ_i a_i · s_i(tag))

where s_i(tag) is the score of expert i, a log-probability or a difference of two. The weights a maximise the likelihood
of the true tags. It is concave in a few weights, so Newton's method finds the maximum in a handful of steps. Each word
has a small matrix of scores (I, K); many of these are multiplied at once, and none is large enough to be worth a second
thread.
"""

from __future__ import annotations

import numpy as np

NEWTON_STEPS, TOLERANCE = 20, 1e-5


def pool(weights: np.ndarray, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Compute P (words, K) from scores (words, I, K), and the logarithm of its normaliser Z (words,)."""
    P = weights @ scores
    best = P.max(axis=1, keepdims=True)
    P -= best
    np.exp(P, out=P)
    Z = P.sum(axis=1, keepdims=True)
    P /= Z
    return P, (best + np.log(Z))[:, 0]


def default_weights(count: int) -> np.ndarray:
    """Return the weights (count,) that are used without data: 1 for the prior, ½ for every other expert."""
    return np.array([1.0, *[0.5] * (count - 1)])


def keep_likely_tags(scores: np.ndarray, gold: np.ndarray, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Cut scores (words, I, K) and gold (words, K) to the true and the likeliest tags of each word, `width` in all.

    Likely is judged with the default weights. The tags of a word stay in ascending order.
    """
    _, count, K = scores.shape
    likely = default_weights(count) @ scores
    likely[gold > 0] = np.inf
    tags = np.sort(np.argpartition(likely, K - width, axis=1)[:, K - width :], axis=1)
    return np.take_along_axis(scores, tags[:, None], axis=2), np.take_along_axis(gold, tags, axis=1)


def fit_weights(scores: np.ndarray, gold: np.ndarray) -> np.ndarray:
    """Find the weights a that maximise the likelihood of gold (words, K), penalised by ½ · ‖a - default‖².

    objective  = a · Σ gold · s - Σ_words log Z - ½ · ‖a - default‖²
    gradient_i = Σ (gold - P) · s_i - (a_i - default_i)
    Hessian_ij = -Σ_words Cov_P(s_i, s_j) - [i = j]

    The penalty matters only where words are few.
    """
    default = default_weights(scores.shape[1])
    observed = (scores @ gold[:, :, None]).sum(axis=(0, 2))  # Σ gold · s_i

    def objective(a: np.ndarray, log_Z: np.ndarray) -> float:
        return float(a @ observed - log_Z.sum() - (a - default) @ (a - default) / 2)

    weighted = np.empty_like(scores)
    a = default
    P, log_Z = pool(a, scores)
    now = objective(a, log_Z)
    for _ in range(NEWTON_STEPS):
        np.multiply(scores, P[:, None], out=weighted)
        mean = weighted.sum(axis=2)  # (words, I)
        gradient = observed - mean.sum(axis=0) - (a - default)
        curvature = (weighted @ scores.transpose(0, 2, 1)).sum(axis=0) - mean.T @ mean + np.eye(len(a))
        step = np.linalg.solve(curvature, gradient)
        # A step that lowers the objective is halved until it does not.
        before, now = now, -np.inf
        while now < before and np.abs(step).max() > TOLERANCE:
            P, log_Z = pool(a + step, scores)
            now = objective(a + step, log_Z)
            a, step = (a + step, step) if now >= before else (a, step / 2)
        if now - before < TOLERANCE * len(gold):
            break
    return a
