"""Posterior probabilities (Rabiner 1989): forward and backward recursion with the sum.

    log Z = log Σ_y exp s(y)        P(state at t) = exp(alpha[t] + beta[t] - log Z)

The arithmetic is the kernel's business: scaled probabilities where they are exact (`scaled`), logarithms elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from tagger.chain.kernels import LogSum, SumKernel
from tagger.chain.recursion import ArcObserver, backward, forward
from tagger.chain.scaled import ScaledSum, scaled_kernel
from tagger.chain.scores import Chain


@dataclass(frozen=True)
class Posterior:
    """Probabilities of the states of a kernel, and log Z of each sentence by rank."""

    log_z: np.ndarray  # (B,)
    states: np.ndarray  # (N, K) for all tags of a token, (pairs,) for candidates of second order
    transitions: np.ndarray  # (K, K) expected number of steps; (0, 0) for candidates, or if rows have transitions
    row_transitions: Callable[[slice], np.ndarray] | None = None  # the probabilities of steps, if rows have transitions


def forward_backward(kernel: SumKernel, observe: ArcObserver | None = None) -> Posterior:
    """Compute log Z and the probability of every state.

    A sentence that allows no path has log Z = -inf and probabilities 0. `observe(step, probabilities)` gets the
    probabilities of the arcs, step by step.
    """
    alpha = forward(kernel)
    log_z = kernel.log_z(alpha)
    beta = backward(kernel, alpha, log_z, observe)
    transitions = kernel.expected_transitions(alpha, beta, log_z)
    states = kernel.probabilities(alpha, beta, log_z)
    by_row = None
    if isinstance(kernel, LogSum | ScaledSum) and kernel.by_row:
        by_row = partial(kernel.row_transitions, alpha, beta, log_z)
    return Posterior(log_z, states, transitions, by_row)


def log_norm(kernel: SumKernel) -> np.ndarray:
    """Compute log Z (B,) by rank."""
    return kernel.log_z(forward(kernel))


def sum_kernel(chain: Chain) -> SumKernel:
    """Choose the fastest arithmetic that is exact for this chain."""
    return scaled_kernel(chain) or LogSum(chain)
