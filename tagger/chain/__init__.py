"""The linear chain as functions on arrays: sequence score, log Z, likelihood, marginals, decoding.

The scores may come from any model. They are padded batches, as in other libraries: `emissions` (B, T, K), of which the
first `lengths[b]` rows of sentence b count and the rest is ignored; without `lengths` all T count. A single sentence
(T, K) gives results without the first axis; its tags are (T,), its length is an integer. `start` and `end` (K,) default
to zeros. A score of -inf forbids a tag or a step. `padded` removes the padding and puts it back, as 0 or, for tags, as
-1.

The work is done on packed steps. Read in this order:

- `pack`: sentences sorted by length, laid out step by step;
- `scores`: the scores of a chain of first order, and of one path;
- `kernels`, `recursion`: one step over the states of a chain, and the two recursions made of such steps;
- `viterbi`, `forward_backward`, `nbest`: the best path, posterior probabilities, the n best paths;
- `pruning`, `scaled`: faster steps for the maximum and for the sum;
- `candidates`, `candidate_kernels`: chains of first and second order over the candidate tags of each token;
- `lattice`, `candidate_lattice`: the interface between models and all of this, in its two forms.

>>> tags, scores = decode(emissions, transitions, lengths)
>>> values, gradient = log_likelihood_gradient(emissions, gold, transitions, lengths)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tagger.chain import forward_backward, nbest, viterbi
from tagger.chain.kernels import DenseMax
from tagger.chain.padded import Array, Ends, Lengths, PaddedBatch
from tagger.chain.scores import path_scores

NO_TAG = -1  # after the end of a sentence


@dataclass(frozen=True)
class Gradient:
    """The gradient of a batch's log-likelihood, summed over its sentences."""

    emissions: np.ndarray  # (B, T, K)
    transitions: np.ndarray  # (K, K)
    start: np.ndarray  # (K,)
    end: np.ndarray  # (K,)


def sequence_score(
    emissions: Array, tags: Array, transitions: Array, lengths: Lengths = None, start: Ends = None, end: Ends = None
) -> np.ndarray:
    """Compute the score of one path per sentence.

    Parameters
    ----------
    emissions : ndarray (B, T, K) or (T, K)
        The score of each tag at each token.
    tags : ndarray of int (B, T) or (T,)
        The path of each sentence; tags after its end are ignored.
    transitions : ndarray (K, K)
        The score of each step, [previous, next].
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
    return batch.squeeze(path_scores(batch.chain, batch.rows_of(tags))[batch.pack.rank_of])


def log_norm(
    emissions: Array, transitions: Array, lengths: Lengths = None, start: Ends = None, end: Ends = None
) -> np.ndarray:
    """Compute log Z, the log of the sum of exp(score) over all paths (the forward algorithm).

    Parameters
    ----------
    emissions : ndarray (B, T, K) or (T, K)
        The score of each tag at each token.
    transitions : ndarray (K, K)
        The score of each step, [previous, next].
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


def log_likelihood(
    emissions: Array, tags: Array, transitions: Array, lengths: Lengths = None, start: Ends = None, end: Ends = None
) -> np.ndarray:
    """Compute log p(tags | emissions), the sequence score less log Z.

    Parameters
    ----------
    emissions : ndarray (B, T, K) or (T, K)
        The score of each tag at each token.
    tags : ndarray of int (B, T) or (T,)
        The path of each sentence; tags after its end are ignored.
    transitions : ndarray (K, K)
        The score of each step, [previous, next].
    lengths : sequence of int (B,), optional
        The number of tokens of each sentence; default T.
    start, end : ndarray (K,), optional
        The score of each tag at the first and at the last token; default 0.

    Returns
    -------
    ndarray (B,) or float
    """
    return log_likelihood_gradient(emissions, tags, transitions, lengths, start, end)[0]


def log_likelihood_gradient(
    emissions: Array, tags: Array, transitions: Array, lengths: Lengths = None, start: Ends = None, end: Ends = None
) -> tuple[np.ndarray, Gradient]:
    """Compute log p(tags | emissions) and the gradient of its sum: observed less expected counts.

    ::

        ∂/∂emissions[t, k]   = [y_t = k] - p(y_t = k)
        ∂/∂transitions[i, j] = Σ_t [y_{t-1} = i, y_t = j] - p(y_{t-1} = i, y_t = j)

    Parameters
    ----------
    emissions : ndarray (B, T, K) or (T, K)
        The score of each tag at each token.
    tags : ndarray of int (B, T) or (T,)
        The path of each sentence; tags after its end are ignored.
    transitions : ndarray (K, K)
        The score of each step, [previous, next].
    lengths : sequence of int (B,), optional
        The number of tokens of each sentence; default T.
    start, end : ndarray (K,), optional
        The score of each tag at the first and at the last token; default 0.

    Returns
    -------
    values : ndarray (B,) or float
    gradient : Gradient
        For `emissions`, `transitions`, `start` and `end`.
    """
    batch = PaddedBatch(emissions, transitions, lengths, start, end)
    pack, path = batch.chain.pack, batch.rows_of(tags)
    posterior, first = batch.posterior(), pack.first
    rows = -posterior.states.astype(np.float64)  # (N, K)
    rows[np.arange(len(path)), path] += 1.0
    steps = -posterior.transitions
    np.add.at(steps, (path[pack.before], path[first:]), 1.0)
    ends = (rows[:first].sum(axis=0), rows[pack.last].sum(axis=0))
    values = (path_scores(batch.chain, path) - posterior.log_z)[pack.rank_of]
    return batch.squeeze(values), Gradient(batch.padded(rows, 0.0), steps, *ends)


def marginals(
    emissions: Array, transitions: Array, lengths: Lengths = None, start: Ends = None, end: Ends = None
) -> np.ndarray:
    """Compute the probability of each tag at each token (forward–backward).

    Parameters
    ----------
    emissions : ndarray (B, T, K) or (T, K)
        The score of each tag at each token.
    transitions : ndarray (K, K)
        The score of each step, [previous, next].
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


def decode(
    emissions: Array, transitions: Array, lengths: Lengths = None, start: Ends = None, end: Ends = None
) -> tuple[np.ndarray, np.ndarray]:
    """Find the best path of each sentence (Viterbi).

    Parameters
    ----------
    emissions : ndarray (B, T, K) or (T, K)
        The score of each tag at each token.
    transitions : ndarray (K, K)
        The score of each step, [previous, next].
    lengths : sequence of int (B,), optional
        The number of tokens of each sentence; default T.
    start, end : ndarray (K,), optional
        The score of each tag at the first and at the last token; default 0.

    Returns
    -------
    tags : ndarray of int (B, T) or (T,)
        -1 after the end of a sentence.
    scores : ndarray (B,) or float
        -inf where no path is allowed.
    """
    batch = PaddedBatch(emissions, transitions, lengths, start, end)
    tags = viterbi.viterbi(DenseMax(batch.chain))
    scores = path_scores(batch.chain, tags)
    return batch.padded(tags, NO_TAG), batch.squeeze(scores[batch.pack.rank_of])


def n_best(
    emissions: Array, transitions: Array, n: int, lengths: Lengths = None, start: Ends = None, end: Ends = None
) -> list[Any]:
    """Find the n best paths of each sentence.

    Parameters
    ----------
    emissions : ndarray (B, T, K) or (T, K)
        The score of each tag at each token.
    transitions : ndarray (K, K)
        The score of each step, [previous, next].
    n : int
        The number of paths; a sentence that has fewer gets fewer.
    lengths : sequence of int (B,), optional
        The number of tokens of each sentence; default T.
    start, end : ndarray (K,), optional
        The score of each tag at the first and at the last token; default 0.

    Returns
    -------
    list of list of (float, ndarray)
        Per sentence pairs of score and tags (T,), best first; for a single sentence its list only.
    """
    batch = PaddedBatch(emissions, transitions, lengths, start, end)
    exact = replace(batch.chain, emissions=batch.chain.emissions.astype(np.float64))
    by_rank = nbest.n_best(DenseMax(exact), n)
    return batch.squeeze([by_rank[rank] for rank in batch.pack.rank_of.tolist()])
