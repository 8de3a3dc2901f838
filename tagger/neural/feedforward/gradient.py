"""The loss of a batch of tokens and its gradient, with dropout.

The letters are those of `network`; X are the inputs of the distinct words of the batch, C (B, offsets · d) those around
each token. The loss is the mean of -log p(right tag), and backwards from the scores s:

    ds = (p - [right tag]) / B        dU = vᵀ ds        dv = (ds Uᵀ) · [v > 0]
    dV = uᵀ dv                        du = (dv Vᵀ) · [u > 0]
    dW = Cᵀ du                        dC = du Wᵀ
    dx(w) = Σ dC over the places of w in windows        dE[row] = Σ dx over words with the row        dR = rᵀ dx
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from tagger.neural.feedforward.network import Weights, log_softmax, relu


@dataclass
class Batch:
    """Some tokens, and the distinct words around them."""

    rows: np.ndarray  # (words, F) in E
    vectors: np.ndarray  # (words, D) r, float32
    places: np.ndarray  # (B, offsets) numbers of words; the number after the last word stands for a mark
    tags: np.ndarray  # (B,)


class Dropout:
    """Sets a share of numbers to 0, and scales the others so that the expected sum stays."""

    def __init__(self, rate: float, random: np.random.Generator) -> None:
        self.rate, self.random = rate, random

    def __call__(self, array: np.ndarray) -> np.ndarray:
        """Drop numbers in place; return the factor of each."""
        kept = self.random.random(array.shape, np.float32) >= self.rate
        factors = kept * np.float32(1 / (1 - self.rate))
        array *= factors
        return np.asarray(factors)


def loss_and_gradient(
    weights: Weights, batch: Batch, dropout: Dropout
) -> tuple[float, Weights, tuple[np.ndarray, np.ndarray]]:
    """Compute the loss, the gradient of all weights but E, and the rows of E that have one, with theirs."""
    B = len(batch.tags)
    d = weights["E"].shape[1]
    X = np.zeros((len(batch.rows) + 1, d), weights["E"].dtype)
    X[:-1] = weights["E"][batch.rows].sum(axis=1) + batch.vectors @ weights["R"]
    C = X[batch.places].reshape(B, -1)
    kept_C = dropout(C)
    u = relu(C @ weights["W"] + weights["b"])
    kept_u = dropout(u)
    v = relu(u @ weights["V"] + weights["c"])
    kept_v = dropout(v)
    log_P = log_softmax(v @ weights["U"] + weights["a"])
    every = np.arange(B)
    loss = -float(log_P[every, batch.tags].mean())

    ds = np.exp(log_P)
    ds[every, batch.tags] -= 1
    ds /= B
    dv = ds @ weights["U"].T
    dv *= kept_v * (v > 0)
    du = dv @ weights["V"].T
    du *= kept_u * (u > 0)
    dC = du @ weights["W"].T
    dC *= kept_C
    dX = summed(batch.places.ravel(), dC.reshape(-1, d), len(X))[:-1]
    gradient = {"W": C.T @ du, "b": du.sum(0), "V": u.T @ dv, "c": dv.sum(0), "U": v.T @ ds, "a": ds.sum(0)}
    rows, places = np.unique(batch.rows, return_inverse=True)
    owners = np.repeat(np.arange(len(batch.rows)), batch.rows.shape[1])
    dE = summed(places.ravel(), dX[owners], len(rows))
    return loss, gradient | {"R": batch.vectors.T @ dX}, (rows, dE)


def summed(places: np.ndarray, values: np.ndarray, size: int) -> np.ndarray:
    """Sum the rows of values by their places: (size, columns)."""
    ones, bounds = np.ones(len(places), values.dtype), np.arange(len(places) + 1)
    return np.asarray(csr_array((ones, places, bounds), shape=(len(places), size)).T @ values)
