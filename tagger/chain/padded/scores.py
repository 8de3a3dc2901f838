"""The score of a given path, s(y), and its two parts.

s(y)   = unary + binary
unary  = start[y_1] + Σ_t emissions[t, y_t] + end[y_T]
binary = Σ_{t>1} transitions[y_{t-1}, y_t]
"""

from __future__ import annotations

import numpy as np

from tagger.chain.padded.batch import Array, Lengths, PaddedBatch, Scores
from tagger.chain.scores import path_scores


def sequence_score(
    emissions: Scores,
    tags: Array,
    transitions: Array,
    lengths: Lengths = None,
    start: Scores = None,
    end: Scores = None,
) -> np.ndarray:
    """Compute the score of one path per sentence.

    Parameters
    ----------
    emissions : ndarray (B, T, K) or (T, K), or None
        The score of each tag at each token; None for 0, where transitions are given for each step.
    tags : ndarray of int (B, T) or (T,)
        The path of each sentence; tags after its end are ignored.
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
    return batch.squeeze(path_scores(batch.chain, batch.rows_of(tags))[batch.pack.rank_of])


def unary_score(
    emissions: Array, tags: Array, lengths: Lengths = None, start: Scores = None, end: Scores = None
) -> np.ndarray:
    """Compute the part of a path's score that depends on single tags: emissions, start and end.

    Parameters
    ----------
    emissions : ndarray (B, T, K) or (T, K)
        The score of each tag at each token.
    tags : ndarray of int (B, T) or (T,)
        The path of each sentence; tags after its end are ignored.
    lengths : sequence of int (B,), optional
        The number of tokens of each sentence; default T.
    start, end : ndarray (K,), optional
        The score of each tag at the first and at the last token; default 0.

    Returns
    -------
    ndarray (B,) or float
        0 for a sentence without tokens.
    """
    K = np.shape(emissions)[-1]
    return sequence_score(emissions, tags, np.zeros((K, K)), lengths, start, end)


def binary_score(tags: Array, transitions: Array, lengths: Lengths = None) -> np.ndarray:
    """Compute the part of a path's score that depends on pairs of tags: the transitions.

    Parameters
    ----------
    tags : ndarray of int (B, T) or (T,)
        The path of each sentence; tags after its end are ignored.
    transitions : ndarray (K, K), (T - 1, K, K) or (B, T - 1, K, K)
        The score of each step, [previous, next]: for all steps, for each step, or for each step of each sentence.
    lengths : sequence of int (B,), optional
        The number of tokens of each sentence; default T.

    Returns
    -------
    ndarray (B,) or float
        0 for a sentence of one token or none.
    """
    K = np.shape(transitions)[-1]
    return sequence_score(np.zeros((*np.shape(tags), K)), tags, transitions, lengths)
