"""The two recursions behind every answer, over the states of a kernel.

With ⊕ the maximum (Viterbi) or log Σ exp (forward–backward), `arcs` the scores of steps and `arrival` the emission of
a state,

    forward[t, j] = ⊕_i (forward[t-1, i] + arcs[i, j]) + arrival[t, j]
    backward[t-1, i] = ⊕_j (arcs[i, j] + arrival[t, j] + backward[t, j])

A kernel (`kernels`) says what the states are, all tags of a token or pairs of candidate tags, and does one step for a
whole pack of sentences. The order of the steps is here, once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tagger.chain.kernels import Kernel, SumKernel

ArcObserver = Callable[[Any, np.ndarray], None]  # a step of the kernel, and the probability of each of its arcs


def forward(kernel: Kernel) -> np.ndarray:
    """Compute the forward scores of all states, first token to last."""
    scores = kernel.begin()
    for step in kernel.steps():
        kernel.into(scores, step)
    return scores


def backward(kernel: SumKernel, alpha: np.ndarray, log_z: np.ndarray, observe: ArcObserver | None = None) -> np.ndarray:
    """Compute the backward scores of all states, last token to first; `observe` gets the arcs of every step."""
    beta = kernel.end(alpha)
    for step in kernel.steps(backwards=True):
        arcs = kernel.back(beta, step)
        if observe is not None:
            observe(step, kernel.arc_probabilities(alpha, arcs, step, log_z))
    return beta
