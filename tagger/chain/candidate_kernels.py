"""Answers from a second-order chain: the best path, the n best, log Z, marginals and expected counts.

With delta over pairs (v, w) of candidates of neighbouring tokens, and maximum over u,

    delta[t, v, w] = max_u (delta[t-1, u, v] + transitions[u, v, w]) + emissions[t, w]

and alpha the same with log Σ exp for max. As in `viterbi` no back-pointers are kept: the way back decides again, once
for each token.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from itertools import count
from typing import Any, TypeAlias

import numpy as np

from tagger.chain.candidates import Step, Trellis

Path: TypeAlias = "tuple[int, Any] | None"  # a node and the path after it; unfinished paths share their ends


@dataclass(frozen=True)
class Posterior:
    """What forward and backward know together. Sentences by rank."""

    log_z: np.ndarray  # (B,)
    nodes: np.ndarray  # (nodes,) the probability of each
    pairs: np.ndarray  # (pairs,) alike
    ends: np.ndarray  # (pairs that end sentences,) alike


def forward(trellis: Trellis, reduce: Any) -> np.ndarray:
    """(pairs,) the best score (or the sum) of all paths to each pair; `reduce` does it for groups of triples."""
    delta = np.empty(len(trellis.here))
    delta[: len(trellis.starting)] = trellis.starting
    for step in trellis.steps():
        delta[step.pairs] = reduce(delta[step.before] + step.scores, step)
        delta[step.pairs] += trellis.arrivals[step.pairs]
    return delta


def highest(values: np.ndarray, step: Step) -> np.ndarray:
    """The maximum of the triples of each pair."""
    return np.maximum.reduceat(values, step.begins)


def log_sum(values: np.ndarray, step: Step) -> np.ndarray:
    """log Σ exp of the triples of each pair."""
    return log_sums(values, step.begins, step.widths)


def log_sums(values: np.ndarray, begins: np.ndarray, widths: np.ndarray) -> np.ndarray:
    """log Σ exp of groups side by side, none of them empty; of nothing but -inf it is -inf."""
    top = np.maximum.reduceat(values, begins)
    top[np.isneginf(top)] = 0.0
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.add.reduceat(np.exp(values - np.repeat(top, widths)), begins)) + top)


def best(trellis: Trellis) -> tuple[np.ndarray, np.ndarray]:
    """The best tag of each row (N,), and the score of each sentence's path (B,); -inf where there is no path."""
    delta = forward(trellis, highest)
    pack = trellis.pack
    scores = np.zeros(len(pack.order))
    chosen = np.zeros(len(trellis.widths), np.int64)  # the pair of each row on the best path
    pairs, widths = trellis.ends
    if len(widths):
        values = delta[pairs] + trellis.ending
        at = argmax(values, np.cumsum(widths) - widths, widths)
        chosen[pack.last] = pairs[at]
        scores[: len(at)] = values[at]
    for step, (before, here) in zip(trellis.steps(backwards=True), reversed(list(pack.steps())), strict=True):
        chosen[before] = best_before(step, delta, chosen[here] - step.pairs.start)
    return trellis.tags[trellis.here[chosen]], scores


def best_before(step: Step, delta: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """For some pairs (v, w) of the step, the pair (u, v) with the best delta[u, v] + transitions[u, v, w]."""
    widths = step.widths[pairs][:, None]
    triples = step.begins[pairs][:, None] + np.minimum(np.arange(widths.max(initial=1)), widths - 1)
    before = step.before[triples]
    values = delta[before] + step.scores[triples]
    return np.asarray(before[np.arange(len(pairs)), values.argmax(axis=1)])


def argmax(values: np.ndarray, begins: np.ndarray, widths: np.ndarray) -> np.ndarray:
    """The place of the first maximum of each group."""
    hits = np.flatnonzero(values == np.repeat(np.maximum.reduceat(values, begins), widths))
    return hits[np.searchsorted(hits, begins)]


def n_best(trellis: Trellis, n: int) -> list[list[tuple[float, np.ndarray]]]:
    """For each sentence by rank, up to n paths as (score, tags (T,)), best first, each path once."""
    delta = forward(trellis, highest)
    pairs, widths = trellis.ends
    stops = np.cumsum(widths)
    found = [
        search(trellis, delta, pairs[stop - width : stop], trellis.ending[stop - width : stop], n)
        for stop, width in zip(stops.tolist(), widths.tolist(), strict=True)
    ]
    empty = [[(0.0, np.empty(0, np.int64))][:n]] * (len(trellis.pack.order) - len(found))
    return found + empty


def search(
    trellis: Trellis, delta: np.ndarray, ends: np.ndarray, ending: np.ndarray, n: int
) -> list[tuple[float, np.ndarray]]:
    """The n best paths of one sentence, which ends in one of the pairs `ends`: tree-trellis search as in `viterbi`."""
    found: list[tuple[float, np.ndarray]] = []
    heap: list[tuple[float, int, int, Path, float]] = []  # (loss, pair, tie, nodes after it, their score)
    tie = count()

    def push(pairs: np.ndarray, scores: np.ndarray, path: Path, loss: float) -> None:
        """Put each of the pairs in front of the path; `scores` is what follows delta. Earlier pairs come first."""
        bounds = delta[pairs] + scores
        top = bounds.max()
        for i in np.flatnonzero(bounds > -np.inf).tolist():
            heapq.heappush(heap, (loss + float(top - bounds[i]), int(pairs[i]), next(tie), path, float(scores[i])))

    push(ends, ending, None, 0.0)
    while heap and len(found) < n:
        loss, pair, _, path, score = heapq.heappop(heap)
        node = int(trellis.here[pair])
        before = int(trellis.there[pair])
        path = (node, path)
        if before < 0:
            best = found[0][0] if found else float(delta[pair]) + score
            found.append((best - loss, trellis.tags[unlinked(path)]))
        else:
            first = int(trellis.pairs[before])
            pairs = np.arange(first, first + int(trellis.pair_widths[before]))
            steps = trellis.onward(pairs, np.full(len(pairs), trellis.tags[node]))
            push(pairs, steps + (trellis.arrivals[pair] + score), path, loss)
    return found


def unlinked(path: Path) -> list[int]:
    nodes = []
    while path is not None:
        node, path = path
        nodes.append(node)
    return nodes


def log_z(trellis: Trellis) -> np.ndarray:
    """(B,) log Σ_y exp s(y)."""
    return sum_ends(trellis, forward(trellis, log_sum))


def sum_ends(trellis: Trellis, alpha: np.ndarray) -> np.ndarray:
    pairs, widths = trellis.ends
    z = np.zeros(len(trellis.pack.order))
    if len(widths):
        z[: len(widths)] = log_sums(alpha[pairs] + trellis.ending, np.cumsum(widths) - widths, widths)
    return z


def forward_backward(trellis: Trellis, see: Any = None) -> Posterior:
    """The probabilities of nodes and pairs; those of triples are shown to `see(step, probabilities)`, step by step.

        beta[t-1, u, v] = log Σ_w exp (transitions[u, v, w] + emissions[t, w] + beta[t, v, w])

    A sentence that allows no path has log Z = -inf and probabilities 0.
    """
    alpha = forward(trellis, log_sum)
    z = sum_ends(trellis, alpha)
    safe = np.where(np.isfinite(z), z, np.inf)  # exp(-inf - inf) = 0
    rank = trellis.pack.ranks[trellis.rows][trellis.here]  # (pairs,)
    ends, _ = trellis.ends
    beta = np.full(len(alpha), -np.inf)
    beta[ends] = trellis.ending
    for step in trellis.steps(backwards=True):
        onward = np.repeat(trellis.arrivals[step.pairs] + beta[step.pairs], step.widths) + step.scores
        beta_before(beta, step, onward)
        if see is not None:
            see(step, np.exp(alpha[step.before] + onward - safe[rank[step.before]]))
    P = np.exp(alpha + beta - safe[rank])
    nodes = np.add.reduceat(P, trellis.pairs) if len(P) else P
    return Posterior(z, nodes, P, P[ends])


def beta_before(beta: np.ndarray, step: Step, onward: np.ndarray) -> None:
    """log Σ exp of `onward` for each pair that the triples come from."""
    first = int(step.before.min())
    place = step.before - first
    top = np.full(int(place.max()) + 1, -np.inf)
    np.maximum.at(top, place, onward)
    safe = np.where(np.isneginf(top), 0.0, top)
    sums = np.bincount(place, weights=np.exp(onward - safe[place]), minlength=len(top))
    there = np.bincount(place, minlength=len(top)) > 0
    with np.errstate(divide="ignore"):
        beta[first : first + len(top)][there] = (np.log(sums) + safe)[there]
