"""Step kernels: what the states of a chain are, and one step of a recursion over them.

`Kernel` is what `recursion` needs; `MaxKernel` adds what the best paths need, `SumKernel` what posteriors need. The
dense kernels are here: a state is a token with one of K tags, scores are (N, K) arrays, and a step is a function from
the scores (B, K) of the tokens before to those of the tokens here. Which function makes the difference between the
maximum (`max_step`, or `pruning.PrunedStep`) and the sum (`log_sum_step`). `scaled` has the sum in probabilities
instead of logarithms, `candidate_kernels` the kernels over candidate tags.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from tagger.chain.pack import Pack
from tagger.chain.scores import Chain, StepTransitions

LOG_CELLS = 1 << 22  # cells of the (rows, K, K) arrays in log space

StepFunction = Callable[[np.ndarray, np.ndarray], None]  # from the scores (B, K) of the tokens before to those here


class Kernel(Protocol):
    """States of a pack of sentences, and the forward step over them."""

    pack: Pack

    def begin(self) -> np.ndarray:
        """Make the array of all states' scores, filled in for the first tokens."""

    def steps(self, backwards: bool = False) -> Iterator[Any]:
        """Yield one step for each token after the first, of all sentences that have it."""

    def into(self, scores: np.ndarray, step: Any) -> None:
        """Fill in the scores of a step's states from those before it."""


class MaxKernel(Kernel, Protocol):
    """Adds the walk back along best paths."""

    def best_last(self, delta: np.ndarray) -> np.ndarray:
        """Choose the best state of each sentence's last token."""

    def best_before(self, delta: np.ndarray, step: Any, states: np.ndarray) -> np.ndarray:
        """Choose the best state before each of these states of the step."""

    def pointers(self, delta: np.ndarray, step: Any) -> np.ndarray:
        """Choose the best state before every state of the step: its back-pointer."""

    def last_states(self, rank: int) -> tuple[np.ndarray, np.ndarray]:
        """List the states of a sentence's last token as flat indices, and the score of ending in each."""

    def states_before(self, state: int, score: float) -> tuple[np.ndarray, np.ndarray]:
        """List the states before a state, and for each the score of going on there, `score` being what follows."""

    def tags(self, states: np.ndarray) -> np.ndarray:
        """Return the tags of states, or their nodes."""


class SumKernel(Kernel, Protocol):
    """Adds the backward step and what posteriors are made of."""

    def log_z(self, alpha: np.ndarray) -> np.ndarray:
        """Compute log Z (B,) by rank."""

    def end(self, alpha: np.ndarray) -> np.ndarray:
        """Make the array of all states' backward scores, filled in for the last tokens."""

    def back(self, beta: np.ndarray, step: Any) -> Any:
        """Fill in the backward scores before a step; return what `arc_probabilities` needs."""

    def arc_probabilities(self, alpha: np.ndarray, arcs: Any, step: Any, log_z: np.ndarray) -> np.ndarray:
        """Compute the probability of every arc of a step."""

    def probabilities(self, alpha: np.ndarray, beta: np.ndarray, log_z: np.ndarray) -> np.ndarray:
        """Compute the probability of every state."""

    def expected_transitions(self, alpha: np.ndarray, beta: np.ndarray, log_z: np.ndarray) -> np.ndarray:
        """Compute the expected number of steps from tag to tag, (K, K); (0, 0) if each row has its own transitions."""


class Dense:
    """All K tags at every token; `step` does ⊕_i (scores[i] + transitions[i, j])."""

    def __init__(
        self, chain: Chain, make_step: Callable[[np.ndarray], StepFunction], step: StepFunction | None = None
    ) -> None:
        self.chain, self.pack, self.make_step, self.by_row = chain, chain.pack, make_step, chain.by_row
        self.step = step or (make_step(chain.transitions) if isinstance(chain.transitions, np.ndarray) else None)

    def begin(self) -> np.ndarray:
        E, first = self.chain.emissions, self.pack.first
        scores = np.empty_like(E)
        np.add(self.chain.start, E[:first], out=scores[:first], casting="same_kind")
        return scores

    def steps(self, backwards: bool = False) -> Iterator[tuple[slice, slice]]:
        """Yield the rows of the tokens before and of the tokens here."""
        steps = self.pack.steps()
        return reversed(list(steps)) if backwards else steps

    def into(self, scores: np.ndarray, step: tuple[slice, slice]) -> None:
        before, here = step
        now = scores[here]
        step_here = self.step or self.make_step(self.chain.into(here))
        step_here(scores[before], now)
        now += self.chain.emissions[here]


class DenseMax(Dense):
    """Best paths over all tags.

    Each row of delta leaves out the best score of the row before, so that the last token of a long sentence is decided
    as exactly as the first; a path's score is added up afterwards, in float64.
    """

    def __init__(self, chain: Chain, step: StepFunction | None = None) -> None:
        super().__init__(chain, lambda A: max_step(A.astype(chain.emissions.dtype)), step)
        self.K = chain.emissions.shape[1]
        A = chain.transitions
        self.by_next = np.ascontiguousarray(A.T) if isinstance(A, np.ndarray) else None  # (K, K) [next, previous]

    def best_last(self, delta: np.ndarray) -> np.ndarray:
        return np.asarray(np.argmax(delta[self.pack.last] + self.chain.end, axis=1))

    def best_before(self, delta: np.ndarray, step: tuple[slice, slice], states: np.ndarray) -> np.ndarray:
        before, here = step
        if self.by_next is not None:
            rows = self.by_next[states]
        else:
            rows = self.chain.into(here)[np.arange(len(states)), :, states]
        return np.asarray(np.argmax(delta[before] + rows, axis=1))

    def pointers(self, delta: np.ndarray, step: tuple[slice, slice]) -> np.ndarray:
        before, here = step
        return np.asarray(np.argmax(delta[before][:, :, None] + self.chain.into(here), axis=1))

    def last_states(self, rank: int) -> tuple[np.ndarray, np.ndarray]:
        return self.states_of(int(self.pack.last[rank])), self.chain.end

    def states_before(self, state: int, score: float) -> tuple[np.ndarray, np.ndarray]:
        row, k = divmod(state, self.K)
        into = self.chain.into(slice(row, row + 1)).reshape(self.K, self.K)
        scores = into[:, k] + self.chain.emissions[row, k] + score
        return self.states_of(int(self.pack.before[row - self.pack.first])), scores

    def states_of(self, row: int) -> np.ndarray:
        return np.arange(row * self.K, (row + 1) * self.K, dtype=np.int64)

    def tags(self, states: np.ndarray) -> np.ndarray:
        return states % self.K

    def unshifted(self, delta: np.ndarray) -> np.ndarray:
        """Add again what each row leaves out; return delta (N, K) in float64."""
        top = delta.max(axis=1, initial=-np.inf).astype(np.float64)
        top[np.isneginf(top)] = 0.0
        left_out = np.zeros(len(delta))
        for before, here in self.pack.steps():
            left_out[here] = left_out[before] + top[before]
        return np.asarray(delta + left_out[:, None])


class LogSum(Dense):
    """Sums over all tags in logarithms and float64, for any scores at all."""

    def __init__(self, chain: Chain) -> None:
        exact = replace(chain, emissions=chain.emissions.astype(np.float64), transitions=in_float64(chain.transitions))
        super().__init__(exact, log_sum_step)

    def log_z(self, alpha: np.ndarray) -> np.ndarray:
        z = np.zeros(len(self.pack.order))
        z[: self.pack.first] = log_sum(alpha[self.pack.last] + self.chain.end)
        return z

    def end(self, alpha: np.ndarray) -> np.ndarray:
        beta = np.empty_like(alpha)
        beta[self.pack.last] = self.chain.end
        return beta

    def back(self, beta: np.ndarray, step: tuple[slice, slice]) -> np.ndarray:
        before, here = step
        onward = self.chain.emissions[here] + beta[here]
        beta[before] = log_product(onward, np.swapaxes(self.chain.into(here), -1, -2))
        return onward

    def arc_probabilities(
        self, alpha: np.ndarray, arcs: np.ndarray, step: tuple[slice, slice], log_z: np.ndarray
    ) -> np.ndarray:
        """Compute p(previous tag i, tag j), (B, K, K)."""
        before, here = step
        onward = arcs - finite(log_z)[self.pack.ranks[here]][:, None]
        return np.asarray(np.exp(alpha[before][:, :, None] + self.chain.into(here) + onward[:, None, :]))

    def probabilities(self, alpha: np.ndarray, beta: np.ndarray, log_z: np.ndarray) -> np.ndarray:
        return np.asarray(np.exp(alpha + beta - finite(log_z)[self.pack.ranks][:, None]))

    def expected_transitions(self, alpha: np.ndarray, beta: np.ndarray, log_z: np.ndarray) -> np.ndarray:
        A = self.chain.transitions
        if not isinstance(A, np.ndarray):
            return np.empty((0, 0))
        expected = np.zeros_like(A)
        for rows in chunks(len(self.pack.before), A.size):
            expected += self.row_transitions(alpha, beta, log_z, rows).sum(axis=0)
        return expected

    def row_transitions(self, alpha: np.ndarray, beta: np.ndarray, log_z: np.ndarray, rows: slice) -> np.ndarray:
        """Compute the probability of each step into these rows, (rows, K, K), counted without the first ones."""
        pack = self.pack
        here = slice(pack.first + rows.start, min(pack.first + rows.stop, len(beta)))
        onward = self.chain.emissions[here] + beta[here] - finite(log_z)[pack.ranks[here]][:, None]
        before = alpha[pack.before[rows], :, None]
        return np.asarray(np.exp(before + self.chain.into(here) + onward[:, None, :]))


def in_float64(transitions: np.ndarray | StepTransitions) -> np.ndarray | StepTransitions:
    """Convert transitions to float64."""
    if isinstance(transitions, np.ndarray):
        return transitions.astype(np.float64)
    return transitions.changed(lambda A: A.astype(np.float64))


def max_step(A: np.ndarray) -> StepFunction:
    """Make the step now[j] = max_i (previous[i] - max previous + A[i, j]), one tag i after the other."""

    def step(previous: np.ndarray, now: np.ndarray) -> None:
        top = previous.max(axis=1, keepdims=True)
        top[np.isneginf(top)] = 0.0  # no tag is possible there
        below, candidate = previous - top, np.empty_like(now)
        np.add(below[:, :1], A[..., 0, :], out=now)
        for i in range(1, A.shape[-1]):
            np.add(below[:, i : i + 1], A[..., i, :], out=candidate)
            np.maximum(now, candidate, out=now)

    return step


def log_sum_step(A: np.ndarray) -> StepFunction:
    """Make the step now[j] = log Σ_i exp (previous[i] + A[i, j])."""

    def step(previous: np.ndarray, now: np.ndarray) -> None:
        now[:] = log_product(previous, A)

    return step


def log_product(rows: np.ndarray, A: np.ndarray) -> np.ndarray:
    """Compute log(exp(rows) @ exp(A)), (rows, K), for A (K, K) or (rows, K, K)."""
    out = np.empty_like(rows)
    for part in chunks(len(rows), A.shape[-1] ** 2):
        own = A if A.ndim == 2 else A[part]
        out[part] = log_sum(np.swapaxes(rows[part, :, None] + own, 1, 2))
    return out


def log_sum(x: np.ndarray) -> np.ndarray:
    """Compute log Σ exp over the last axis; nothing but -inf gives -inf."""
    highest = x.max(axis=-1, keepdims=True, initial=-np.inf)
    highest[~np.isfinite(highest)] = 0.0
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.exp(x - highest).sum(axis=-1)) + highest[..., 0])


def finite(log_z: np.ndarray) -> np.ndarray:
    """Replace -inf, of sentences without a path, by inf: exp(-inf - inf) = 0."""
    return np.where(np.isfinite(log_z), log_z, np.inf)


def chunks(rows: int, cells: int) -> list[slice]:
    """Cut rows into slices of about LOG_CELLS cells."""
    size = max(1, LOG_CELLS // max(1, cells))
    return [slice(i, i + size) for i in range(0, rows, size)]
