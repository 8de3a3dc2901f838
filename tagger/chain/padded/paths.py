"""Best paths: the table of the Viterbi algorithm, the best path and the n best.

    delta[1, j]   = start[j] + emissions[1, j]
    delta[t, j]   = max_i (delta[t-1, i] + transitions[i, j]) + emissions[t, j]
    pointer[t, j] = argmax_i (delta[t-1, i] + transitions[i, j])
    y_T = argmax_j (delta[T, j] + end[j]),    y_{t-1} = pointer[t, y_t]

Of equal scores the first tag counts.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tagger.chain import nbest, viterbi
from tagger.chain.kernels import DenseMax
from tagger.chain.padded.batch import Array, Lengths, PaddedBatch, Scores
from tagger.chain.scores import Chain, path_scores

NO_TAG = -1  # after the end of a sentence, and before its first token


def viterbi_table(
    emissions: Scores, transitions: Array, lengths: Lengths = None, start: Scores = None, end: Scores = None
) -> tuple[np.ndarray, np.ndarray]:
    """Compute the scores of the best paths up to each tag of each token, and the back-pointers (Viterbi).

    The score of the end does not count: the best last tag is that of the highest `delta[T - 1] + end`.

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
    delta : ndarray (B, T, K) or (T, K)
        -inf after the end of a sentence.
    pointers : ndarray of int (B, T, K) or (T, K)
        The tag before on the best path to each tag; -1 for the first token and after the end of a sentence.
    """
    batch = PaddedBatch(emissions, transitions, lengths, start, end)
    kernel = DenseMax(in_float64(batch.chain))
    delta, pointers = viterbi.viterbi_table(kernel)
    first = np.full((batch.pack.first, batch.shape[2]), NO_TAG)
    return batch.padded(kernel.unshifted(delta), -np.inf), batch.padded(np.concatenate([first, *pointers]), NO_TAG)


def decode(
    emissions: Scores, transitions: Array, lengths: Lengths = None, start: Scores = None, end: Scores = None
) -> tuple[np.ndarray, np.ndarray]:
    """Find the best path of each sentence (Viterbi).

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
    emissions: Scores, transitions: Array, n: int, lengths: Lengths = None, start: Scores = None, end: Scores = None
) -> list[Any]:
    """Find the n best paths of each sentence.

    Parameters
    ----------
    emissions : ndarray (B, T, K) or (T, K), or None
        The score of each tag at each token; None for 0, where transitions are given for each step.
    transitions : ndarray (K, K), (T - 1, K, K) or (B, T - 1, K, K)
        The score of each step, [previous, next]: for all steps, for each step, or for each step of each sentence.
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
    by_rank = nbest.n_best(DenseMax(in_float64(batch.chain)), n)
    return batch.squeeze([by_rank[rank] for rank in batch.pack.rank_of.tolist()])


def in_float64(chain: Chain) -> Chain:
    """Return the chain with emissions in float64, which sums over paths of any length need."""
    return replace(chain, emissions=chain.emissions.astype(np.float64))
