"""The best path (Viterbi 1967): the forward recursion with the maximum, then one walk back.

    delta[t, j] = max_i (delta[t-1, i] + arcs[i, j]) + arrival[t, j]

No back-pointers are kept: the walk back recomputes one argmax per token from delta, which is cheaper than storing one
for every state. `viterbi_table` computes all of them, for people who want to see the recursion.
"""

from __future__ import annotations

import numpy as np

from tagger.chain.kernels import MaxKernel
from tagger.chain.recursion import forward


def viterbi(kernel: MaxKernel) -> np.ndarray:
    """Find the best tag of each row (N,)."""
    pack = kernel.pack
    delta = forward(kernel)
    states = np.zeros(len(pack.tokens), np.int64)  # the state of each row on the best path
    states[pack.last] = kernel.best_last(delta)
    rows = reversed(list(pack.steps()))
    for step, (before, here) in zip(kernel.steps(backwards=True), rows, strict=True):
        states[before] = kernel.best_before(delta, step, states[here])
    return kernel.tags(states)


def viterbi_table(kernel: MaxKernel) -> tuple[np.ndarray, list[np.ndarray]]:
    """Compute delta, and the back-pointers of each step's states: the best state before."""
    delta = forward(kernel)
    return delta, [kernel.pointers(delta, step) for step in kernel.steps()]
