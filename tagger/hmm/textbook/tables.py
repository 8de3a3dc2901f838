"""Tables of transitions from counts: relative frequencies, with or without add-k smoothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tagger.hmm.lexicalized import LexicalizedTransitions
from tagger.hmm.transitions import Transitions


def relative_frequencies(counts: np.ndarray, k: float = 0.0) -> np.ndarray:
    """Divide each row (R, C) by its sum, after adding k to every count; a row of zeros stays zero if k is 0.

    P[i, j] = (count[i, j] + k) / (Σ_j count[i, j] + k · C)
    """
    counts = counts + k
    totals = counts.sum(axis=1, keepdims=True)
    return np.asarray(counts / np.where(totals > 0, totals, 1.0))


def textbook_transitions(counts: np.ndarray, k: float) -> LexicalizedTransitions:
    """Make the transitions of first order from the counts of tag bigrams (K + 1, K + 1).

    The last row counts the first tags of sentences, the last column the last tags. The end has no probability of its
    own: its factor is 1.
    """
    A = np.zeros(counts.shape)
    A[-1:, :-1] = relative_frequencies(counts[-1:, :-1], k)
    A[:-1, :-1] = relative_frequencies(counts[:-1, :-1], k)
    A[:-1, -1] = 1.0
    nothing, totals = np.empty(0, np.int64), counts.ravel().astype(float)
    weights = np.array([0.0, 1.0, 0.0])  # the tag before decides
    chain = Transitions(A, nothing, np.empty(0), np.ones(len(totals)), weights, totals)
    return LexicalizedTransitions.unlexicalized(chain)


def with_floor(model: LexicalizedTransitions, floor: float) -> LexicalizedTransitions:
    """Return the transitions with `floor` in place of every zero of pi and A."""
    A = model.transitions.A
    return replace(model, transitions=replace(model.transitions, A=np.where(A > 0, A, floor)))


def without_end(model: LexicalizedTransitions) -> LexicalizedTransitions:
    """Return the transitions with 0 for the end of a sentence, which has no probability here, for tables to show."""
    A = model.transitions.A.copy()
    A[:, -1] = 0.0
    return replace(model, transitions=replace(model.transitions, A=A))
