"""The weights of a log-linear opinion pool, and the coverage of candidates, learned on sentences left out of training.

    p(k | t) ∝ Π_m p_m(k | t)^w_m        over the candidates k of token t

The weights w maximise the likelihood of the right tags (Heskes 1998; Smith, Cohn & Osborne 2005). Their sum is a
temperature: members that are too sure of themselves get weights that sum to less than one. So the weights also
calibrate the probabilities. The likelihood is concave in a few weights, and Newton's method finds its maximum.

The right tag is missing among the candidates of some tokens. Its share among tokens with n candidates is known from
HMMs that have not seen the token:

    coverage[n] = P(the right tag is a candidate | n candidates)
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tagger.chain.candidate_lattice import Candidates

NEWTON_STEPS, TOLERANCE = 30, 1e-6
PRIOR_TOKENS = 10.0  # the weight of the prior, in tokens: it matters only for small corpora
MAX_WIDTH = 8  # tokens with more candidates are counted with those that have this number
MAX_WEIGHT = 2.0
MIN_PROBABILITY = 1e-6  # of a candidate: no member can veto it


def fit_weights(log_P: np.ndarray, widths: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Find the weights (M,) as `maximize` does, but none below zero: such members are left out."""
    w = maximize(log_P, widths, right)
    useful = w > 0
    if useful.all() or not useful.any():
        return np.clip(w, 0.0, MAX_WEIGHT)
    w[~useful] = 0.0
    w[useful] = fit_weights(log_P[useful], widths, right)
    return w


def maximize(log_P: np.ndarray, widths: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Find the weights (M,) of M members, given their log-probabilities (M, nodes) and the `right` nodes (tokens,).

    objective  = Σ_t log p(right tag | t) - ½ · PRIOR_TOKENS · ‖w - 1/M‖²
    gradient_m = Σ_t (s_m(right) - E_p[s_m]) - PRIOR_TOKENS · (w_m - 1/M)        with s_m = log p_m
    Hessian_mn = -Σ_t Cov_p(s_m, s_n) - PRIOR_TOKENS · [m = n]
    """
    M = len(log_P)
    default = np.full(M, 1 / M)
    begins = np.cumsum(widths) - widths
    observed = log_P[:, right].sum(axis=1)

    def evaluate(w: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the objective and p (nodes,)."""
        S = w @ log_P
        best = np.repeat(np.maximum.reduceat(S, begins), widths)
        E = np.exp(S - best)
        Z = np.add.reduceat(E, begins)
        log_Z = best[begins] + np.log(Z)
        prior = PRIOR_TOKENS / 2 * float((w - default) @ (w - default))
        return float(w @ observed - log_Z.sum()) - prior, E / np.repeat(Z, widths)

    w = default
    if not len(widths):
        return w
    value, p = evaluate(w)
    for _ in range(NEWTON_STEPS):
        weighted = p * log_P  # (M, nodes)
        mean = np.add.reduceat(weighted, begins, axis=1)  # (M, tokens)
        gradient = observed - mean.sum(axis=1) - PRIOR_TOKENS * (w - default)
        curvature = weighted @ log_P.T - mean @ mean.T + PRIOR_TOKENS * np.eye(M)
        step = np.linalg.solve(curvature, gradient)
        # A step that lowers the objective is halved until it does not.
        while np.abs(step).max() > TOLERANCE:
            trial, trial_p = evaluate(w + step)
            if trial >= value:
                w, value, p = w + step, trial, trial_p
                break
            step /= 2
        else:
            break
    return w


class OpinionSample:
    """Tokens whose right tag is one of several candidates, with the log-probabilities of all members."""

    def __init__(self, members: int) -> None:
        self.log_P = [np.empty((members, 0))]  # (M, nodes) each
        self.widths, self.right = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        self.nodes = 0

    def add(self, candidates: Candidates, tags: np.ndarray, P: Sequence[np.ndarray]) -> None:
        """Add the tokens with these right tags (N,), given each member's probabilities of the candidates (nodes,)."""
        right = candidates.nodes_of(tags)
        chosen = (right >= 0) & (candidates.widths > 1)
        nodes = np.flatnonzero(chosen[candidates.tokens])
        self.log_P.append(np.log(np.maximum(np.stack(P)[:, nodes], MIN_PROBABILITY)))
        self.widths.append(candidates.widths[chosen])
        self.right.append(self.nodes + np.searchsorted(nodes, right[chosen]))
        self.nodes += len(nodes)

    def extend(self, other: OpinionSample) -> None:
        """Add the tokens of another sample."""
        self.log_P += other.log_P
        self.widths += other.widths
        self.right += [self.nodes + right for right in other.right]
        self.nodes += other.nodes

    def weights(self) -> np.ndarray:
        """Find the weights of the members, (M,)."""
        log_P, widths, right = np.concatenate(self.log_P, axis=1), np.concatenate(self.widths), self.right
        return fit_weights(log_P, widths, np.concatenate(right))


def fit_coverage(candidates: Candidates, tags: np.ndarray) -> np.ndarray:
    """Estimate the coverage of tokens with 1 … MAX_WIDTH candidates, from the right tags (N,) of tokens."""
    return estimate_coverage(count_coverage(candidates, tags))


def count_coverage(candidates: Candidates, tags: np.ndarray) -> np.ndarray:
    """Count the tokens with 1 … MAX_WIDTH candidates, and those of them whose right tag is one, (2, MAX_WIDTH)."""
    has_right = candidates.nodes_of(tags) >= 0
    group = np.minimum(candidates.widths, MAX_WIDTH) - 1
    return np.stack([np.bincount(group, weights=w, minlength=MAX_WIDTH) for w in (None, has_right)])


def estimate_coverage(counts: np.ndarray) -> np.ndarray:
    """Estimate the coverage from counts (2, MAX_WIDTH).

    A share is that of all tokens, as if PRIOR_TOKENS of them had been seen, plus what was counted.
    """
    total, hits = counts
    overall = (hits.sum() + 1) / (total.sum() + 1)
    return np.asarray((hits + PRIOR_TOKENS * overall) / (total + PRIOR_TOKENS))
