"""Kernels over candidate tags, of first or second order: the maximum, and the sum in logarithms or scaled.

    delta[j] = max_i (delta[i] + arcs[i, j]) + states[j]

over the arcs from state i to state j, and alpha alike with log Σ exp in the place of max. A model gives the scores of
arriving in each state and of each arc (`TrellisScores`). The scaled kernel works like `scaled`: with the sum c of the
states of a piece at a step, and f = exp(arcs) over the largest of all,

    alpha[j] = Σ_i alpha[i] · f[i, j] · e[j],      e[j] = exp(states[j] - shift) / c
    beta[i]  = Σ_j f[i, j] · e[j] · beta[j],       P(state j) = alpha[j] · beta[j]

It is exact while all scores are finite and span less than float64 does (`scaled.SPAN`). A model that multiplies
probabilities gives these exponentials without a logarithm on the way.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from tagger.arrays.caching import cached_property
from tagger.chain.candidates import Arcs, Trellis, steps_of
from tagger.chain.kernels import SumKernel, finite
from tagger.chain.scaled import SPAN

SCORED_STATES = 1 << 12  # states whose arcs are scored at a time, few enough to stay in the processor's cache

Reduction = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]  # of groups: values, first of each, widths


class TrellisScores(ABC):
    """A model's scores for the states and arcs of a trellis."""

    arrivals: np.ndarray  # (states,) the score of arriving in each state; those of the first states do not count

    @abstractmethod
    def arcs(self, arcs: Arcs) -> np.ndarray:
        """Return the score of each arc, (arcs,)."""

    def arrival_factors(self, trellis: Trellis) -> tuple[np.ndarray, np.ndarray]:
        """Return exp(arrivals - shift), (states,), and the shift, (rows,), the highest score of each row."""
        shift = np.maximum.reduceat(self.arrivals, trellis.bounds[:-1])
        return np.exp(self.arrivals - shift[trellis.rows]), shift

    def arc_factors(self, arcs: Arcs) -> np.ndarray:
        """Return the exponential of the score of each arc, (arcs,)."""
        return np.asarray(np.exp(self.arcs(arcs)))


@dataclass(frozen=True)
class Step:
    """The arcs of one step, and their scores (or, for scaled sums, the exponentials of these)."""

    arcs: Arcs
    values: np.ndarray  # (arcs,)


def group_max(values: np.ndarray, begins: np.ndarray, widths: np.ndarray) -> np.ndarray:
    """Take the maximum of each group."""
    return np.asarray(np.maximum.reduceat(values, begins))


def group_log_sum(values: np.ndarray, begins: np.ndarray, widths: np.ndarray) -> np.ndarray:
    """Compute log Σ exp of each group, none of them empty; nothing but -inf gives -inf."""
    top = np.maximum.reduceat(values, begins)
    top[np.isneginf(top)] = 0.0
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.add.reduceat(np.exp(values - np.repeat(top, widths)), begins)) + top)


def group_argmax(values: np.ndarray, begins: np.ndarray, widths: np.ndarray) -> np.ndarray:
    """Find the place of the first maximum of each group."""
    hits = np.flatnonzero(values == np.repeat(np.maximum.reduceat(values, begins), widths))
    return hits[np.searchsorted(hits, begins)]


class CandidateKernel:
    """Forward steps over the states of a trellis, with the maximum or the sum of logarithms."""

    def __init__(self, trellis: Trellis, scores: TrellisScores, reduce: Reduction) -> None:
        self.trellis, self.pack, self.scores, self.reduce = trellis, trellis.pack, scores, reduce
        self.only_block: Step | None = None  # kept for the way back

    @cached_property
    def arrivals(self) -> np.ndarray:
        """The score of arriving in each state, (states,), 0 for the first ones."""
        arrivals = np.array(self.scores.arrivals, np.float64)
        arrivals[: self.trellis.first] = 0.0
        return arrivals

    def begin(self) -> np.ndarray:
        scores = np.empty(self.trellis.bounds[-1])
        scores[: self.trellis.first] = 0.0
        return scores

    def steps(self, backwards: bool = False) -> Iterator[Step]:
        """Yield one step per row after the first; laid out many at a time, which is faster."""
        blocks = self.trellis.blocks
        for block in reversed(blocks) if backwards else blocks:
            whole = self.only_block or self.lay_out(block)
            self.only_block = whole if len(blocks) == 1 else None
            for begin, end in steps_of(self.trellis, block, backwards):
                arcs, inside = whole.arcs.part(begin, end)
                yield Step(arcs, whole.values[inside])

    def lay_out(self, block: list[int]) -> Step:
        """Lay out and score the arcs of a block of steps."""
        arcs = self.trellis.block_arcs(block)
        values = np.empty(len(arcs.before))
        for begin in range(arcs.states.start, arcs.states.stop, SCORED_STATES):
            part, inside = arcs.part(begin, min(begin + SCORED_STATES, arcs.states.stop))
            values[inside] = self.arc_values(part)
        return Step(arcs, values)

    def arc_values(self, arcs: Arcs) -> np.ndarray:
        """Compute the `values` of a step."""
        return self.scores.arcs(arcs)

    def into(self, scores: np.ndarray, step: Step) -> None:
        arcs, states = step.arcs, step.arcs.states
        scores[states] = self.reduce(scores[arcs.before] + step.values, arcs.begins, arcs.widths)
        scores[states] += self.arrivals[states]

    def end_groups(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the states that end pieces, the first of each piece among them, and how many each has."""
        states, widths = self.trellis.ends
        return states, np.cumsum(widths) - widths, widths


class CandidateMax(CandidateKernel):
    """Best paths over candidate tags. The tags it returns are nodes."""

    def __init__(self, trellis: Trellis, scores: TrellisScores) -> None:
        super().__init__(trellis, scores, group_max)

    def best_last(self, delta: np.ndarray) -> np.ndarray:
        states, begins, widths = self.end_groups()
        return states[group_argmax(delta[states], begins, widths)] if len(widths) else states

    def best_before(self, delta: np.ndarray, step: Step, states: np.ndarray) -> np.ndarray:
        """Choose for each state j the state i with the best delta[i] + arcs[i, j]."""
        arcs, place = step.arcs, states - step.arcs.states.start
        widths = arcs.widths[place][:, None]
        own = arcs.begins[place][:, None] + np.minimum(np.arange(widths.max(initial=1)), widths - 1)
        before = arcs.before[own]
        values = delta[before] + step.values[own]
        return np.asarray(before[np.arange(len(place)), values.argmax(axis=1)])

    def pointers(self, delta: np.ndarray, step: Step) -> np.ndarray:
        arcs = step.arcs
        return arcs.before[group_argmax(delta[arcs.before] + step.values, arcs.begins, arcs.widths)]

    def last_states(self, rank: int) -> tuple[np.ndarray, np.ndarray]:
        states, begins, widths = self.end_groups()
        own = states[begins[rank] : begins[rank] + widths[rank]]
        return own, np.zeros(len(own))

    def states_before(self, state: int, score: float) -> tuple[np.ndarray, np.ndarray]:
        arcs = self.trellis.arcs(slice(state, state + 1))
        return arcs.before, self.scores.arcs(arcs) + (self.arrivals[state] + score)

    def tags(self, states: np.ndarray) -> np.ndarray:
        return self.trellis.nodes[self.trellis.here[states]]


class CandidateLogSum(CandidateKernel):
    """Posteriors over candidate tags, in logarithms, for any scores at all.

    beta[i] = log Σ_j exp (arcs[i, j] + states[j] + beta[j])
    """

    def __init__(self, trellis: Trellis, scores: TrellisScores) -> None:
        super().__init__(trellis, scores, group_log_sum)

    def log_z(self, alpha: np.ndarray) -> np.ndarray:
        states, begins, widths = self.end_groups()
        return group_log_sum(alpha[states], begins, widths) if len(widths) else np.zeros(0)

    def end(self, alpha: np.ndarray) -> np.ndarray:
        beta = np.full(len(alpha), -np.inf)
        beta[self.trellis.ends[0]] = 0.0
        return beta

    def back(self, beta: np.ndarray, step: Step) -> np.ndarray:
        """Fill in beta before the step; return what its logarithm sums up, for each arc."""
        arcs, states = step.arcs, step.arcs.states
        onward = np.repeat(self.arrivals[states] + beta[states], arcs.widths) + step.values
        # The arcs that leave one state are not side by side: sum them by index, relative to each state's maximum.
        first = int(arcs.before[0])
        place = arcs.before - first
        top = np.full(int(place.max()) + 1, -np.inf)
        np.maximum.at(top, place, onward)
        safe = np.where(np.isneginf(top), 0.0, top)
        sums = np.bincount(place, weights=np.exp(onward - safe[place]), minlength=len(top))
        with np.errstate(divide="ignore"):
            beta[first : first + len(top)] = np.log(sums) + safe
        return onward

    def arc_probabilities(self, alpha: np.ndarray, arcs: np.ndarray, step: Step, log_z: np.ndarray) -> np.ndarray:
        before = step.arcs.before
        return np.asarray(np.exp(alpha[before] + arcs - finite(log_z)[self.pack.ranks[self.trellis.rows[before]]]))

    def probabilities(self, alpha: np.ndarray, beta: np.ndarray, log_z: np.ndarray) -> np.ndarray:
        return np.asarray(np.exp(alpha + beta - finite(log_z)[self.pack.ranks[self.trellis.rows]]))

    def expected_transitions(self, alpha: np.ndarray, beta: np.ndarray, log_z: np.ndarray) -> np.ndarray:
        """Return nothing (0, 0): the expected arcs are too many to keep; see `arc_probabilities`."""
        return np.zeros((0, 0))


class CandidateScaledSum(CandidateLogSum):
    """Posteriors over candidate tags, in scaled probabilities."""

    def __init__(self, trellis: Trellis, scores: TrellisScores) -> None:
        super().__init__(trellis, scores)
        if not trellis.blocks:
            self.e, self.shift = np.ones(trellis.first), np.zeros(trellis.first)
        else:
            self.e, self.shift = scores.arrival_factors(trellis)
            self.e[: trellis.first], self.shift[: trellis.first] = 1.0, 0.0
        self.c = np.ones(len(self.shift))  # (rows,)
        self.top = 0.0  # the highest score of an arc

    def begin(self) -> np.ndarray:
        alpha = np.empty(len(self.e))
        alpha[: self.trellis.first] = 1.0
        return alpha

    def arc_values(self, arcs: Arcs) -> np.ndarray:
        return self.scores.arc_factors(arcs)

    def is_exact(self) -> bool:
        """Check that nothing that matters can underflow, and lay out the arcs if so.

        A state of order n is reached from any state n steps before, so alpha spans at most n times what the scores of
        one step do.
        """
        if not self.trellis.blocks:
            return True
        if len(self.trellis.blocks) > 1 or not self.e.min() > 0:
            return False
        step = self.lay_out(self.trellis.blocks[0])
        highest, lowest = step.values.max(), step.values.min()
        if not (lowest > 0 and np.isfinite(highest)):
            return False
        self.top = float(np.log(highest))
        span = self.top - np.log(lowest) - np.log(self.e.min())
        if not self.trellis.order * span < SPAN[np.dtype(np.float64)]:
            return False
        np.divide(step.values, highest, out=step.values)
        self.only_block = step
        return True

    def into(self, alpha: np.ndarray, step: Step) -> None:
        states = step.arcs.states
        rows = self.trellis.rows[states]
        own = slice(int(rows[0]), int(rows[-1]) + 1)
        now = np.add.reduceat(alpha[step.arcs.before] * step.values, step.arcs.begins)
        now *= self.e[states]
        self.c[own] = np.add.reduceat(now, self.trellis.bounds[own] - states.start)
        scale = 1 / self.c[rows]
        self.e[states] *= scale
        np.multiply(now, scale, out=alpha[states])

    def log_z(self, alpha: np.ndarray) -> np.ndarray:
        """Compute log Z = Σ_rows log c + all that was subtracted, but for the first rows."""
        logs = np.log(self.c) + self.shift + self.top
        logs[: self.trellis.first] = 0.0
        return self.pack.sums(logs)

    def end(self, alpha: np.ndarray) -> np.ndarray:
        beta = np.zeros(len(alpha))
        beta[self.trellis.ends[0]] = 1.0
        return beta

    def back(self, beta: np.ndarray, step: Step) -> np.ndarray:
        """Fill in beta before the step; return its terms, for each arc."""
        arcs, states = step.arcs, step.arcs.states
        onward = np.repeat(self.e[states] * beta[states], arcs.widths) * step.values
        first = int(arcs.before[0])
        sums = np.bincount(arcs.before - first, weights=onward)
        beta[first : first + len(sums)] = sums
        return onward

    def arc_probabilities(self, alpha: np.ndarray, arcs: np.ndarray, step: Step, log_z: np.ndarray) -> np.ndarray:
        return np.asarray(alpha[step.arcs.before] * arcs)

    def probabilities(self, alpha: np.ndarray, beta: np.ndarray, log_z: np.ndarray) -> np.ndarray:
        return alpha * beta


def candidate_sum(trellis: Trellis, scores: TrellisScores) -> SumKernel:
    """Choose the fastest arithmetic that is exact for these scores."""
    with np.errstate(invalid="ignore", over="ignore"):  # -inf - -inf, exp(1000): scores that only logarithms can add
        kernel = CandidateScaledSum(trellis, scores)
        return kernel if kernel.is_exact() else CandidateLogSum(trellis, scores)
