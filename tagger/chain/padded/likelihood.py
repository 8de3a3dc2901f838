"""The log-likelihood of given paths, its gradient, and a check of gradients by central differences.

    log p(y | x) = s(y) - log Z
    ∂/∂emissions[t, k]   = [y_t = k] - P(y_t = k)
    ∂/∂transitions[i, j] = Σ_t [y_{t-1} = i, y_t = j] - P(y_{t-1} = i, y_t = j)

The gradient of log Z is the probabilities of forward–backward, so that of the log-likelihood is observed less expected
counts. For transitions that are logarithms, log ψ, the gradient for ψ is that for log ψ divided by ψ.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from tagger.chain import forward_backward
from tagger.chain.padded.batch import Array, Lengths, PaddedBatch, Scores
from tagger.chain.scores import path_scores


@dataclass(frozen=True)
class Gradient:
    """The gradient of a batch's log-likelihood, summed over its sentences, in the shapes of the scores given."""

    emissions: np.ndarray  # (B, T, K) or (T, K)
    transitions: np.ndarray  # (K, K), (T - 1, K, K) or (B, T - 1, K, K)
    start: np.ndarray  # (K,)
    end: np.ndarray  # (K,)


def log_likelihood(
    emissions: Scores,
    tags: Array,
    transitions: Array,
    lengths: Lengths = None,
    start: Scores = None,
    end: Scores = None,
) -> np.ndarray:
    """Compute log p(tags | emissions), the sequence score less log Z.

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
    log_z = forward_backward.log_norm(forward_backward.sum_kernel(batch.chain))
    return batch.squeeze((path_scores(batch.chain, batch.rows_of(tags)) - log_z)[batch.pack.rank_of])


def log_likelihood_gradient(
    emissions: Scores,
    tags: Array,
    transitions: Array,
    lengths: Lengths = None,
    start: Scores = None,
    end: Scores = None,
) -> tuple[np.ndarray, Gradient]:
    """Compute log p(tags | emissions) and the gradient of its sum: observed less expected counts.

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
    values : ndarray (B,) or float
    gradient : Gradient
        For `emissions`, `transitions`, `start` and `end`, each in its shape.
    """
    batch = PaddedBatch(emissions, transitions, lengths, start, end)
    pack, path = batch.pack, batch.rows_of(tags)
    posterior = batch.posterior()
    rows = -posterior.states.astype(np.float64)  # (N, K)
    rows[np.arange(len(path)), path] += 1.0
    steps = -batch.expected_steps(posterior)
    before, here = path[pack.before], path[pack.first :]
    np.add.at(steps, (np.arange(len(here)), before, here) if steps.ndim == 3 else (before, here), 1.0)
    ends = (rows[: pack.first].sum(axis=0), rows[pack.last].sum(axis=0))
    values = (path_scores(batch.chain, path) - posterior.log_z)[pack.rank_of]
    return batch.squeeze(values), Gradient(batch.padded(rows, 0.0), batch.as_given(steps), *ends)


def check_gradient(
    emissions: Scores,
    tags: Array,
    transitions: Array,
    lengths: Lengths = None,
    start: Scores = None,
    end: Scores = None,
    gradient: Gradient | None = None,
    step: float = 1e-5,
) -> float:
    """Compare a gradient of the log-likelihood with central differences, one score after the other.

    ::

        ∂f/∂w ≈ (f(w + step) - f(w - step)) / (2 · step)

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
    gradient : Gradient, optional
        The gradient to check, e.g. one of your own code; default that of `log_likelihood_gradient`.
    step : float
        How far a score is moved to either side.

    Returns
    -------
    float
        The largest difference; about 1e-9 for a right gradient.
    """
    batch = PaddedBatch(emissions, transitions, lengths, start, end)
    B, T, K = batch.shape
    scores = {"emissions": np.zeros((T, K) if batch.single else (B, T, K)), "start": np.zeros(K), "end": np.zeros(K)}
    given = {"emissions": emissions, "transitions": transitions, "start": start, "end": end}
    scores |= {name: np.array(values, np.float64) for name, values in given.items() if values is not None}
    checked = asdict(gradient or log_likelihood_gradient(tags=tags, lengths=lengths, **scores)[1])
    difference = 0.0
    for name, values in scores.items():
        for cell in np.ndindex(values.shape):
            slope = central_difference(values, cell, step, {"tags": tags, "lengths": lengths} | scores)
            difference = max(difference, abs(slope - float(checked[name][cell])))
    return difference


def central_difference(values: Array, cell: tuple[int, ...], step: float, arguments: dict[str, Any]) -> float:
    """Compute how the log-likelihood changes with one of the values, which are among the arguments."""
    middle, ends = values[cell], []
    for moved in (middle + step, middle - step):
        values[cell] = moved
        ends.append(float(np.sum(log_likelihood(**arguments))))
    values[cell] = middle
    return (ends[0] - ends[1]) / (2 * step)
