"""Kernels of second order over candidate tags: states are pairs (v, w), the arcs into a pair are triples (u, v, w).

    delta[t, v, w] = max_u (delta[t-1, u, v] + transitions[u, v, w]) + emissions[t, w]

and alpha alike with log Σ exp in the place of max: `group_max` and `group_log_sum` are the two reductions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from tagger.chain.candidates import CandidateStep, Trellis
from tagger.chain.kernels import finite

Reduction = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]  # of groups: values, first of each, widths


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


class Candidates:
    """Forward steps over the pairs of a trellis, with the maximum or the sum."""

    def __init__(self, trellis: Trellis, reduce: Reduction) -> None:
        self.trellis, self.pack, self.reduce = trellis, trellis.pack, reduce

    def begin(self) -> np.ndarray:
        scores = np.empty(len(self.trellis.here))
        scores[: len(self.trellis.starting)] = self.trellis.starting
        return scores

    def steps(self, backwards: bool = False) -> Iterator[CandidateStep]:
        return self.trellis.steps(backwards)

    def into(self, scores: np.ndarray, step: CandidateStep) -> None:
        scores[step.pairs] = self.reduce(scores[step.before] + step.scores, step.begins, step.widths)
        scores[step.pairs] += self.trellis.arrivals[step.pairs]

    def end_groups(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the pairs that end sentences, the first of each sentence among them, and how many each has."""
        pairs, widths = self.trellis.ends
        return pairs, np.cumsum(widths) - widths, widths


class CandidateMax(Candidates):
    """Best paths over candidate tags."""

    def __init__(self, trellis: Trellis) -> None:
        super().__init__(trellis, group_max)

    def best_last(self, delta: np.ndarray) -> np.ndarray:
        pairs, begins, widths = self.end_groups()
        return pairs[group_argmax(delta[pairs] + self.trellis.ending, begins, widths)] if len(widths) else pairs

    def best_before(self, delta: np.ndarray, step: CandidateStep, states: np.ndarray) -> np.ndarray:
        """Choose for each pair (v, w) the pair (u, v) with the best delta[u, v] + transitions[u, v, w]."""
        pairs = states - step.pairs.start
        widths = step.widths[pairs][:, None]
        triples = step.begins[pairs][:, None] + np.minimum(np.arange(widths.max(initial=1)), widths - 1)
        before = step.before[triples]
        values = delta[before] + step.scores[triples]
        return np.asarray(before[np.arange(len(pairs)), values.argmax(axis=1)])

    def last_states(self, rank: int) -> tuple[np.ndarray, np.ndarray]:
        pairs, begins, widths = self.end_groups()
        own = slice(int(begins[rank]), int(begins[rank] + widths[rank]))
        return pairs[own], self.trellis.ending[own]

    def states_before(self, state: int, score: float) -> tuple[np.ndarray, np.ndarray]:
        trellis = self.trellis
        node, before = int(trellis.here[state]), int(trellis.there[state])
        first = int(trellis.pairs[before])
        pairs = np.arange(first, first + int(trellis.pair_widths[before]))
        arcs = trellis.onward(pairs, np.full(len(pairs), trellis.tags[node]))
        return pairs, arcs + (trellis.arrivals[state] + score)

    def tags(self, states: np.ndarray) -> np.ndarray:
        return self.trellis.tags[self.trellis.here[states]]

    def path_scores(self, delta: np.ndarray, states: np.ndarray) -> np.ndarray:
        last = states[self.pack.last]
        scores = np.zeros(len(self.pack.order))
        scores[: len(last)] = delta[last] + self.trellis.onward(last, np.full(len(last), self.trellis.K))
        return scores


class CandidateSum(Candidates):
    """Posteriors over candidate tags, in logarithms.

    beta[t-1, u, v] = log Σ_w exp (transitions[u, v, w] + emissions[t, w] + beta[t, v, w])
    """

    def __init__(self, trellis: Trellis) -> None:
        super().__init__(trellis, group_log_sum)

    def log_z(self, alpha: np.ndarray) -> np.ndarray:
        pairs, begins, widths = self.end_groups()
        z = np.zeros(len(self.pack.order))
        if len(widths):
            z[: len(widths)] = group_log_sum(alpha[pairs] + self.trellis.ending, begins, widths)
        return z

    def end(self, alpha: np.ndarray) -> np.ndarray:
        beta = np.full(len(alpha), -np.inf)
        beta[self.trellis.ends[0]] = self.trellis.ending
        return beta

    def back(self, beta: np.ndarray, step: CandidateStep) -> np.ndarray:
        """Fill in beta before the step; return what its logarithm sums up, for each triple."""
        here = self.trellis.arrivals[step.pairs] + beta[step.pairs]
        onward = np.repeat(here, step.widths) + step.scores
        # The triples that leave one pair are not side by side: sum them by index, relative to each pair's maximum.
        first = int(step.before.min())
        place = step.before - first
        top = np.full(int(place.max()) + 1, -np.inf)
        np.maximum.at(top, place, onward)
        safe = np.where(np.isneginf(top), 0.0, top)
        sums = np.bincount(place, weights=np.exp(onward - safe[place]), minlength=len(top))
        left = np.bincount(place, minlength=len(top)) > 0
        with np.errstate(divide="ignore"):
            beta[first : first + len(top)][left] = (np.log(sums) + safe)[left]
        return onward

    def arc_probabilities(
        self, alpha: np.ndarray, arcs: np.ndarray, step: CandidateStep, log_z: np.ndarray
    ) -> np.ndarray:
        return np.asarray(np.exp(alpha[step.before] + arcs - finite(log_z)[self.ranks(step.before)]))

    def probabilities(self, alpha: np.ndarray, beta: np.ndarray, log_z: np.ndarray) -> np.ndarray:
        return np.asarray(np.exp(alpha + beta - finite(log_z)[self.ranks(slice(None))]))

    def expected_transitions(self, alpha: np.ndarray, beta: np.ndarray, log_z: np.ndarray) -> np.ndarray:
        """Return nothing (0, 0): the expected triples are too many to keep; see `arc_probabilities`."""
        return np.zeros((0, 0))

    def ranks(self, pairs: np.ndarray | slice) -> np.ndarray:
        """Return the rank of the sentence that each of these pairs belongs to."""
        trellis = self.trellis
        return self.pack.ranks[trellis.rows[trellis.here[pairs]]]
