"""One sentence of second order over candidate tags, in Python lists.

The packed recursions (`candidate_kernels`) lay out all states and arcs of many sentences in arrays. One sentence has a
hundred states and a few hundred arcs; to lay them out costs more than to add them up. Here the states of a token are
lists: by candidate v, then by candidate u of the token before. A model gives the scores of all next tags of a context
(u, v) as one row, kept for the next time (`ContextRows`), so an arc costs one addition:

    delta[w][v] = max_u (delta[v][u] + steps[u, v][w]) + arrivals[w][v]

and, with sums for maxima and factors for scores, the forward and backward probabilities, scaled to sum to 1 at each
token. (`zip` without `strict`, which doubles its cost, is allowed in this module only.)
"""

# ruff: noqa: B905
from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, product
from operator import add, itemgetter, mul
from typing import Protocol

import numpy as np

SMALL_TAG_SET = 200  # tags; the rows of larger ones would cost more than they save
ROW_CELLS = 1 << 19  # numbers in the rows that are kept
SPAN = 300.0  # scores of one token, and of one row, that differ by more are left to the packed recursions

Row = Sequence[float]
States = list[list[float]]  # by candidate, by candidate of the token before
# The contexts (u, v) of a step are start[u] + key[v]; None for a step that all paths share.
StepContexts = tuple[list[int], list[int]] | None
StepRows = list[list[Row]] | None  # by v, by u
Arcs = list[list[Row]]  # factors by v, by u, by w
KeptStep = tuple[States, Arcs, States]  # alpha; arcs; scaled weights of arrivals by w, v


class ContextRows(dict[int, Row]):
    """The rows (K + 1,) of contexts; those that are missing in a sentence are computed together."""

    def __init__(self, compute: Callable[[np.ndarray], np.ndarray], width: int) -> None:
        self.compute, self.most = compute, ROW_CELLS // width  # from contexts (n,) to their rows (n, K + 1)

    def along(self, contexts: Sequence[StepContexts]) -> list[StepRows]:
        """Return the rows of the contexts of each step."""
        try:
            return self.look_up(contexts)
        except KeyError:
            self.add({start + key for step in contexts if step for start, key in product(*step)})
            return self.look_up(contexts)

    def look_up(self, contexts: Sequence[StepContexts]) -> list[StepRows]:
        """Return the rows of contexts that are there, else raise KeyError."""
        return [step and [[self[start + key] for start in step[0]] for key in step[1]] for step in contexts]

    def add(self, contexts: set[int]) -> None:
        """Compute the rows that are missing; if they would be too many, drop all others first."""
        missing = [key for key in contexts if key not in self]
        if len(self) + len(missing) > self.most:
            self.clear()
            missing = list(contexts)
        rows = self.compute(np.array(missing, np.int64))
        flat, width = array("d", rows.tobytes()), rows.shape[1]
        self.update((key, flat[i * width : (i + 1) * width]) for i, key in enumerate(missing))


def factor_rows(steps: Callable[[np.ndarray], np.ndarray], width: int) -> ContextRows:
    """Make rows of factors, exp(score); a row that spans too much is nan, which shows in every sum."""

    def factors(contexts: np.ndarray) -> np.ndarray:
        rows = steps(contexts)
        span = np.abs(np.where(np.isfinite(rows), rows, 0.0)).max(axis=1, keepdims=True)
        return np.exp(np.where(span < SPAN, rows, np.nan))

    return ContextRows(factors, width)


class SentenceScores(Protocol):
    """A model's scores for one sentence, all finite: nodes, token after token, and the mark as the last node."""

    @property
    def tags(self) -> Sequence[int]:
        """The tags of nodes; K of the mark."""

    @property
    def keys(self) -> Sequence[int]:
        """The keys of nodes: the context (u, v) has the row u · stride + key."""

    @property
    def stride(self) -> int:
        """See `keys`."""

    @property
    def steps(self) -> ContextRows:
        """The scores of next tags, by context."""

    @property
    def factors(self) -> ContextRows:
        """The exponentials of the scores."""

    def arrivals(self, node: int, before: Sequence[int]) -> list[float]:
        """Return the score of arriving in a node from each of the tags before."""


def best_nodes(widths: Sequence[int], scores: SentenceScores) -> list[int]:
    """Find the nodes (T,) of the best path of a sentence whose tokens have `widths` candidates."""
    tags = scores.tags
    mark = len(tags) - 1
    tokens = [*node_lists(widths), [mark]]
    here = [tags[mark]]  # tags
    delta: States = [[0.0]]
    kept: list[tuple[States, list[list[Row]]] | None] = []  # of each step: delta, and its rows by v, by u
    for nodes, rows in zip(tokens, scores.steps.along(step_contexts(tokens, scores))):
        before, here = here, [tags[node] for node in nodes]
        if rows is None:
            delta = [[0.0]]
            kept.append(None)
            continue
        kept.append((delta, rows))
        now = [best_ways(d, own, here) for d, own in zip(delta, rows)]  # by v, by w
        arrivals = [scores.arrivals(node, before) for node in nodes]
        delta = [list(map(add, column, own)) for column, own in zip(zip(*now), arrivals)]
    w, v, path = tags[mark], delta[0].index(max(delta[0])), []
    for step, nodes in zip(reversed(kept[1:]), reversed(tokens[:-1])):
        node = nodes[v]
        path.append(node)
        v, w = 0 if step is None else best_before(*step, v, w), tags[node]
    return path[::-1]


def best_before(delta: States, rows: list[list[Row]], v: int, w: int) -> int:
    """Choose the candidate u with the best delta[v][u] + steps[u, v][w]."""
    ways = [x + row[w] for x, row in zip(delta[v], rows[v])]
    return ways.index(max(ways))


def best_ways(delta: list[float], rows: list[Row], next_tags: list[int]) -> Iterable[float]:
    """Compute max_u (delta[u] + steps[u, v][w]) for each next tag w."""
    if len(rows) == 1:
        x, row = delta[0], rows[0]
        return [x + row[w] for w in next_tags]
    if len(next_tags) == 1:
        w = next_tags[0]
        return [max([x + row[w] for x, row in zip(delta, rows)])]
    return map(max, *[[x + row[w] for w in next_tags] for x, row in zip(delta, rows)])


def step_contexts(tokens: Sequence[Sequence[int]], scores: SentenceScores) -> list[StepContexts]:
    """List the contexts of the step to each token, given as nodes, and to the mark."""
    tags, keys, stride = scores.tags, scores.keys, scores.stride
    before, here = [tags[-1]], tokens[-1]  # tags of the token before, nodes of this one
    contexts: list[StepContexts] = []
    for nodes in tokens:
        if len(before) == len(here) == len(nodes) == 1:
            contexts.append(None)
        else:
            contexts.append(([u * stride for u in before], [keys[node] for node in here]))
        before, here = [tags[node] for node in here], nodes
    return contexts


def node_lists(widths: Sequence[int]) -> list[list[int]]:
    """List the nodes of each token."""
    ends = list(accumulate(widths))
    return [list(range(end - width, end)) for width, end in zip(widths, ends)]


def node_probabilities(widths: Sequence[int], scores: SentenceScores) -> list[float] | None:
    """Compute the probability of each node; None if the scores differ by too much for this arithmetic."""
    tags = scores.tags
    mark = len(tags) - 1
    tokens = [*node_lists(widths), [mark]]
    here = [tags[mark]]  # tags
    alpha: States = [[1.0]]
    kept: list[KeptStep | None] = []
    for nodes, rows in zip(tokens, scores.factors.along(step_contexts(tokens, scores))):
        before, here = here, [tags[node] for node in nodes]
        if rows is None:
            alpha = [[1.0]]
            kept.append(None)
            continue
        arcs = arc_factors(rows, here)
        weights = arrival_weights([scores.arrivals(node, before) for node in nodes])
        sums = [weighted_sum(a, own) for a, own in zip(alpha, arcs)]  # by v, by w
        alpha, before_alpha = [list(map(mul, column, own)) for column, own in zip(zip(*sums), weights)], alpha
        total = sum(map(sum, alpha))
        if not 0.0 < total < math.inf:
            return None
        scale = 1.0 / total
        alpha = [[x * scale for x in own] for own in alpha]
        kept.append((before_alpha, arcs, [[x * scale for x in own] for own in weights]))
    return backward_probabilities(kept)


def backward_probabilities(kept: list[KeptStep | None]) -> list[float]:
    """Run backwards: beta[v][u] = Σ_w factors[u, v][w] · weights[w][v] · beta[w][v]; P(v) = Σ_u alpha · beta."""
    beta: States = [[1.0] * (len(kept[-1][2][0]) if kept[-1] else 1)]
    by_token: list[list[float]] = []
    for step in reversed(kept[1:]):
        if step is None:
            beta = [[1.0]]
            by_token.append([1.0])
            continue
        alpha, arcs, weights = step
        onward = list(zip(*[map(mul, own, b) for own, b in zip(weights, beta)]))  # by v, by w
        beta = [[sum(map(mul, row, ways)) for row in own] for own, ways in zip(arcs, onward)]
        by_token.append([sum(map(mul, a, b)) for a, b in zip(alpha, beta)])
    return [p for token in reversed(by_token) for p in token]


def arc_factors(rows: list[list[Row]], next_tags: list[int]) -> Arcs:
    """Take the factors of the next tags from each row."""
    if len(next_tags) == 1:
        w = next_tags[0]
        return [[(row[w],) for row in own] for own in rows]
    take = itemgetter(*next_tags)
    return [list(map(take, own)) for own in rows]


def weighted_sum(alpha: list[float], arcs: list[Row]) -> Iterable[float]:
    """Compute Σ_u alpha[u] · factors[u, v][w] for each next tag w."""
    if len(arcs) == 1:
        a = alpha[0]
        return [a * x for x in arcs[0]]
    return [sum(map(mul, alpha, column)) for column in zip(*arcs)]


def arrival_weights(arrivals: States) -> States:
    """Compute exp(arrival - the highest of the token); nan, which shows in every sum, if they differ by too much."""
    top = max(map(max, arrivals))
    if not top - min(map(min, arrivals)) < SPAN:  # also without any possible state
        return [[math.nan] * len(own) for own in arrivals]
    exp = math.exp
    return [[exp(a - top) for a in own] for own in arrivals]
