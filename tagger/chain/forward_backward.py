"""Everything exact about a linear chain: path score, forward, backward, log Z, marginals, expected counts.

The score of a tag path y of a sentence with T tokens is

    s(y) = start[y_1] + Σ_t emissions[t, y_t] + Σ_{t>1} transitions[y_{t-1}, y_t] + end[y_T]

and log Z = log Σ_y exp s(y). A sentence without tokens has the one empty path: score 0, log Z 0.

The recursions run in probability space with every row rescaled, because then a step is a matrix product. That is
exact only while nothing that matters can underflow: no transition is -inf, and the scores around a token span less
than the number format does. `SPAN` states that bound; a pack that does not keep it in float32 is done in float64, and
one that does not keep it there either in log space. The answer never depends on luck.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tagger.chain.pack import Pack

SPAN: dict[np.dtype, float] = {
    np.dtype(np.float32): 80.0,
    np.dtype(np.float64): 650.0,
}  # in nats: about log of the largest number
LOG_CELLS = 1 << 22  # cells of the (rows, K, K) arrays in log space


@dataclass(frozen=True)
class Chain:
    """The scores of a pack of sentences, any of which may be -inf: forbidden."""

    pack: Pack
    start: np.ndarray  # (K,)
    transitions: np.ndarray  # (K, K) [previous, next]
    end: np.ndarray  # (K,)
    emissions: np.ndarray  # (N, K) rows as in the pack


@dataclass(frozen=True)
class Posterior:
    """What forward and backward know together. Sentences by rank, rows as in the pack."""

    log_z: np.ndarray  # (B,)
    marginals: np.ndarray  # (N, K) p(tag k at the token)
    transitions: np.ndarray  # (K, K) expected number of steps from tag to tag


def path_scores(chain: Chain, tags: np.ndarray) -> np.ndarray:
    """(B,) the score s(y) of the path through each sentence; `tags` (N,) by row."""
    pack = chain.pack
    scores = pack.sums(chain.emissions[np.arange(len(tags)), tags])
    first = pack.first
    steps = chain.transitions[tags[pack.before], tags[first:]]
    scores += pack.sums(np.concatenate([np.zeros(first), steps]))
    scores[:first] += chain.start[tags[:first]]
    scores[:first] += chain.end[tags[pack.last]]
    return scores


def forward_backward(chain: Chain) -> Posterior:
    """log Z, marginals and expected transitions, in the fastest arithmetic that is exact for this pack."""
    for dtype, span in SPAN.items():
        if chain.emissions.dtype.itemsize <= dtype.itemsize:
            shift = shift_within(chain, span)
            if shift is not None:
                return scaled(chain, shift, dtype)
    return in_log_space(chain)


def shift_within(chain: Chain, span: float) -> np.ndarray | None:
    """What to subtract from the emissions, for all (1, 1) or by row (N, 1), so that scaled probabilities are exact.

    None if that cannot be promised: see the essay above.
    """
    if not np.isfinite(chain.transitions).all():
        return None
    E = chain.emissions
    left = span - sum(finite_range(scores) for scores in (chain.start, chain.transitions, chain.end))
    free_ends = np.isfinite(chain.start).all() and np.isfinite(chain.end).all()
    lowest, highest = E.min(initial=0.0), E.max(initial=0.0)
    if free_ends and highest - lowest < left:  # the widest token cannot be wider than the whole pack
        return np.full((1, 1), highest)
    if not all_tokens_reachable(chain):
        return None
    by_row = E.max(axis=1, keepdims=True)
    widths = by_row - np.min(E, axis=1, keepdims=True, initial=np.inf, where=np.isfinite(E))
    return by_row if np.max(widths, initial=0.0) < left else None


def all_tokens_reachable(chain: Chain) -> bool:
    """Every token allows some tag, at the ends of sentences too: then, with finite transitions, a path exists."""
    E, pack = chain.emissions, chain.pack
    inner = np.isfinite(E)
    inner[: pack.first] &= np.isfinite(chain.start)
    inner[pack.last] &= np.isfinite(chain.end)
    return bool(inner.any(axis=1).all())


def finite_range(scores: np.ndarray) -> float:
    finite = scores[np.isfinite(scores)]
    return float(finite.max() - finite.min()) if finite.size else 0.0


def scaled(chain: Chain, shift: np.ndarray, dtype: np.dtype) -> Posterior:
    """Rescaled forward–backward (after Rabiner 1989, section V.A), all sentences of the pack at once.

    With A = exp(transitions) and e[t] = exp(emissions[t] - shift) / c[t], where c[t] is the sum of alpha[t-1]:

        alpha[t] = (alpha[t-1] @ A) * e[t]               q[t] = e[t] * beta[t]
        beta[t-1] = A @ q[t]                             beta[T] = exp(end) / (alpha[T] · exp(end))
        marginals[t] = alpha[t] * beta[t]                expected = A * Σ_t outer(alpha[t-1], q[t])

    Dividing a step by the sum of the step before keeps all numbers near 1, and serves both directions.
    """
    pack = chain.pack
    N, K = chain.emissions.shape
    first = pack.first
    e = np.subtract(chain.emissions, shift, dtype=dtype)  # (N, K)
    np.exp(e, out=e)
    top = float(chain.transitions.max(initial=-np.inf))
    A = np.exp(np.subtract(chain.transitions, top, dtype=dtype))  # (K, K)
    start, end = (np.exp(np.subtract(scores, scores.max(), dtype=dtype)) for scores in (chain.start, chain.end))
    ones = np.ones(K, dtype)

    alpha = np.empty((N, K), dtype)
    c = np.ones(N, dtype)
    np.multiply(start, e[:first], out=alpha[:first])
    for before, here in pack.steps():
        np.matmul(alpha[before], ones, out=c[here])  # row sums, by the quickest way there is
        e[here] /= c[here, None]
        np.matmul(alpha[before], A, out=alpha[here])
        alpha[here] *= e[here]
    ends = alpha[pack.last] @ end  # (first,)

    beta = np.empty((N, K), dtype)
    beta[pack.last] = end / ends[:, None]
    for before, here in reversed(list(pack.steps())):
        e[here] *= beta[here]  # from here on this row of e is q
        np.matmul(e[here], A.T, out=beta[before])

    # log Z = Σ_t log c[t] + log(alpha[T] · exp(end)) + all that was subtracted
    z = pack.sums(np.log(c, dtype=np.float64) + shift[:, 0])
    z[:first] += np.log(ends, dtype=np.float64) + chain.start.max() + chain.end.max()
    z[:first] += top * (pack.lengths[:first] - 1)
    expected = A * (alpha[pack.before].T @ e[first:]).astype(np.float64)
    alpha *= beta
    return Posterior(z, alpha, expected)


def in_log_space(chain: Chain) -> Posterior:
    """The same in logarithms, for any scores at all; a sentence that allows no path has log Z = -inf, marginals 0."""
    pack = chain.pack
    E = chain.emissions.astype(np.float64)
    A = chain.transitions.astype(np.float64)
    first = pack.first
    alpha, beta = np.empty_like(E), np.empty_like(E)
    alpha[:first] = chain.start + E[:first]
    for before, here in pack.steps():
        alpha[here] = log_product(alpha[before], A) + E[here]
    beta[pack.last] = chain.end
    for before, here in reversed(list(pack.steps())):
        beta[before] = log_product(E[here] + beta[here], A.T)

    z = np.zeros(len(pack.order))
    z[:first] = log_sum(alpha[pack.last] + chain.end)
    safe = np.where(np.isfinite(z), z, np.inf)  # exp(-inf - inf) = 0
    marginals = np.exp(alpha + beta - safe[pack.ranks][:, None])
    expected = np.zeros_like(A)
    future = E[first:] + beta[first:] - safe[pack.ranks[first:]][:, None]
    for rows in chunks(len(future), A.size):
        expected += np.exp(alpha[pack.before[rows], :, None] + A + future[rows, None, :]).sum(axis=0)
    return Posterior(z, marginals, expected)


def log_product(rows: np.ndarray, A: np.ndarray) -> np.ndarray:
    """log(exp(rows) @ exp(A)), (rows, K)."""
    out = np.empty_like(rows)
    for part in chunks(len(rows), A.size):
        out[part] = log_sum(np.swapaxes(rows[part, :, None] + A, 1, 2))
    return out


def log_sum(x: np.ndarray) -> np.ndarray:
    """log Σ exp over the last axis; all -inf gives -inf."""
    highest = x.max(axis=-1, keepdims=True, initial=-np.inf)
    highest[~np.isfinite(highest)] = 0.0
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.exp(x - highest).sum(axis=-1)) + highest[..., 0])


def chunks(rows: int, cells: int) -> list[slice]:
    size = max(1, LOG_CELLS // max(1, cells))
    return [slice(i, i + size) for i in range(0, rows, size)]
