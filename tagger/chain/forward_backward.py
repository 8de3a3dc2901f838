"""Posterior probabilities (Rabiner 1989): forward and backward recursion with the sum.

    log Z = log Σ_y exp s(y)        P(state at t) = exp(alpha[t] + beta[t] - log Z)

The arithmetic is the kernel's business: scaled probabilities where they are exact (`scaled`), logarithms elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tagger.chain.kernels import LogSum, SumKernel
from tagger.chain.recursion import Observer, backward, forward
from tagger.chain.scaled import scaled_kernel
from tagger.chain.scores import Chain


@dataclass(frozen=True)
class Posterior:
    """Probabilities of the states of a kernel, and log Z of each sentence by rank."""

    log_z: np.ndarray  # (B,)
    states: np.ndarray  # (N, K) for all tags of a token, (pairs,) for candidates of second order
    transitions: np.ndarray  # (K, K) expected number of steps, or by row as in the chain; (0, 0) for candidates


def forward_backward(kernel: SumKernel, observe: Observer | None = None) -> Posterior:
    """Compute log Z and the probability of every state.

    A sentence that allows no path has log Z = -inf and probabilities 0. `observe(step, probabilities)` gets the
    probabilities of the arcs, step by step.
    """
    alpha = forward(kernel)
    log_z = kernel.log_z(alpha)
    beta = backward(kernel, alpha, log_z, observe)
    transitions = kernel.expected_transitions(alpha, beta, log_z)
    return Posterior(log_z, kernel.probabilities(alpha, beta, log_z), transitions)


def log_norm(kernel: SumKernel) -> np.ndarray:
    """Compute log Z (B,) by rank."""
    return kernel.log_z(forward(kernel))


def sum_kernel(chain: Chain) -> SumKernel:
    """Choose the fastest arithmetic that is exact for this chain."""
    return scaled_kernel(chain) or LogSum(chain)
