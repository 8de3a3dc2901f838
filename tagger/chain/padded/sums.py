"""Sums over all paths: forward and backward scores, log Z, the probabilities of tags and of pairs of tags.

    alpha[1, j]   = start[j] + emissions[1, j]
    alpha[t, j]   = log Σ_i exp (alpha[t-1, i] + transitions[i, j]) + emissions[t, j]
    beta[T, i]    = end[i]
    beta[t-1, i]  = log Σ_j exp (transitions[i, j] + emissions[t, j] + beta[t, j])
    log Z         = log Σ_j exp (alpha[T, j] + end[j])
    P(y_t = j)    = exp(alpha[t, j] + beta[t, j] - log Z)
    P(y_{t-1} = i, y_t = j) = exp(alpha[t-1, i] + transitions[i, j] + emissions[t, j] + beta[t, j] - log Z)

`forward` and `backward` are in log space and float64. The others use scaled probabilities where these are exact.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tagger.chain import forward_backward, recursion
from tagger.chain.kernels import LogSum
from tagger.chain.padded.batch import Array, Lengths, PaddedBatch, Scores


def forward(
    emissions: Scores, transitions: Array, lengths: Lengths = None, start: Scores = None, end: Scores = None
) -> np.ndarray:
    """Compute the forward scores alpha[t, j]: log Σ exp over all paths up to token t that have tag j there.

    The score of the end does not count; `log_norm` adds it.

    Parameters
    ----------
    emissions : ndarray (B, T, K) or (T, K), or None
        The score of each tag at each token; None for 0, where transitions are given for each step.
    transitions : ndarray (K, K), (T - 1, K, K) or (B, T - 1, K, K)
        The score of each step, [previous, next]: for all steps, for each step, or for each step of each sentence.
    lengths : sequence of int (B,), optional
        The number of tokens of each sentence; default T.
    start, end : ndarray (K,), optional
        The score of each tag at the first and at the last token; default 0.

    Returns
    -------
    ndarray (B, T, K) or (T, K)
        -inf after the end of a sentence.
    """
    batch = PaddedBatch(emissions, transitions, lengths, start, end)
    return batch.padded(recursion.forward(LogSum(batch.chain)), -np.inf)


def backward(
    emissions: Scores, transitions: Array, lengths: Lengths = None, start: Scores = None, end: Scores = None
) -> np.ndarray:
    """Compute the backward scores beta[t, i]: log Σ exp over all ways on from tag i at token t.

    The emission of token t does not count, nor the score of the start.

    Parameters
    ----------
    emissions : ndarray (B, T, K) or (T, K), or None
        The score of each tag at each token; None for 0, where transitions are given for each step.
    transitions : ndarray (K, K), (T - 1, K, K) or (B, T - 1, K, K)
        The score of each step, [previous, next]: for all steps, for each step, or for each step of each sentence.
    lengths : sequence of int (B,), optional
        The number of tokens of each sentence; default T.
    start, end : ndarray (K,), optional
        The score of each tag at the first and at the last token; default 0.

    Returns
    -------
    ndarray (B, T, K) or (T, K)
        -inf after the end of a sentence.
    """
    batch = PaddedBatch(emissions, transitions, lengths, start, end)
    kernel = LogSum(batch.chain)
    alpha = recursion.forward(kernel)
    return batch.padded(recursion.backward(kernel, alpha, kernel.log_z(alpha)), -np.inf)


def log_norm(
    emissions: Scores, transitions: Array, lengths: Lengths = None, start: Scores = None, end: Scores = None
) -> np.ndarray:
    """Compute log Z, the log of the sum of exp(score) over all paths (the forward algorithm).

    Parameters
    ----------
    emissions : ndarray (B, T, K) or (T, K), or None
        The score of each tag at each token; None for 0, where transitions are given for each step.
    transitions : ndarray (K, K), (T - 1, K, K) or (B, T - 1, K, K)
        The score of each step, [previous, next]: for all steps, for each step, or for each step of each sentence.
    lengths : sequence of int (B,), optional
        The number of tokens of each sentence; default T.
    start, end : ndarray (K,), optional
        The score of each tag at the first and at the last token; default 0.

    Returns
    -------
    ndarray (B,) or float
        0 for a sentence without tokens.
    """
    batch = PaddedBatch(emissions, transitions, lengths, start, end)
    return batch.squeeze(forward_backward.log_norm(forward_backward.sum_kernel(batch.chain))[batch.pack.rank_of])


def marginals(
    emissions: Scores, transitions: Array, lengths: Lengths = None, start: Scores = None, end: Scores = None
) -> np.ndarray:
    """Compute the probability of each tag at each token (forward–backward).

    Parameters
    ----------
    emissions : ndarray (B, T, K) or (T, K), or None
        The score of each tag at each token; None for 0, where transitions are given for each step.
    transitions : ndarray (K, K), (T - 1, K, K) or (B, T - 1, K, K)
        The score of each step, [previous, next]: for all steps, for each step, or for each step of each sentence.
    lengths : sequence of int (B,), optional
        The number of tokens of each sentence; default T.
    start, end : ndarray (K,), optional
        The score of each tag at the first and at the last token; default 0.

    Returns
    -------
    ndarray (B, T, K) or (T, K)
        0 after the end of a sentence.
    """
    batch = PaddedBatch(emissions, transitions, lengths, start, end)
    return batch.padded(batch.posterior().states, 0.0)


def pair_marginals(
    emissions: Scores, transitions: Array, lengths: Lengths = None, start: Scores = None, end: Scores = None
) -> np.ndarray:
    """Compute the probability of each pair of tags at neighbouring tokens.

    Parameters
    ----------
    emissions : ndarray (B, T, K) or (T, K), or None
        The score of each tag at each token; None for 0, where transitions are given for each step.
    transitions : ndarray (K, K), (T - 1, K, K) or (B, T - 1, K, K)
        The score of each step, [previous, next]: for all steps, for each step, or for each step of each sentence.
    lengths : sequence of int (B,), optional
        The number of tokens of each sentence; default T.
    start, end : ndarray (K,), optional
        The score of each tag at the first and at the last token; default 0.

    Returns
    -------
    ndarray (B, T - 1, K, K) or (T - 1, K, K)
        Of tag i at token t and tag j at token t + 1, [t, i, j]; 0 after the end of a sentence.
    """
    batch = PaddedBatch(emissions, transitions, lengths, start, end)
    B, T, K = batch.shape
    first = batch.pack.first
    rows = np.zeros((len(batch.pack.before), K, K))

    def keep(step: tuple[slice, slice], probabilities: Any) -> None:
        rows[step[1].start - first : step[1].stop - first] = probabilities

    forward_backward.forward_backward(forward_backward.sum_kernel(batch.chain), keep)
    sentence, token = (cells[first:] for cells in batch.cells)
    out = np.zeros((B, max(T - 1, 0), K, K))
    out[sentence, token - 1] = rows
    return np.asarray(batch.squeeze(out))
