"""The layout of a second-order chain over candidate tags.

The score of a tag path y of a sentence with T tokens, with the mark K before the sentence and after it, is

    s(y) = Σ_t emissions[t, y_t] + Σ_t transitions[y_{t-2}, y_{t-1}, y_t] + transitions[y_{T-1}, y_T, K]

A *node* is a token with one of its candidates, a *pair* two neighbouring nodes, a *triple* three. The states of the
recursions are pairs, and the arcs of a step are triples. Tokens have different numbers of candidates, so all of these
are ragged: they lie in long flat arrays, the triples that lead to a pair side by side, and one `reduceat` takes the
maximum (or the sum) of every group at once, for a whole step of a pack. All scores are logarithms in float64.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from tagger.arrays.caching import cached_property
from tagger.arrays.ragged import consecutive, ranges
from tagger.chain.pack import Pack

BLOCK_TRIPLES = 1 << 20  # triples laid out at a time


class Scores(Protocol):
    """A model of second order. Pairs are u · (K + 1) + v; `places` the model's own numbers of words with tags v."""

    @property
    def K(self) -> int: ...

    def places(self, words: np.ndarray, tags: np.ndarray) -> np.ndarray:
        """Return the places of words, as the model numbers them, with tags v."""

    def arrivals(self, pairs: np.ndarray, emissions: np.ndarray, places: np.ndarray) -> np.ndarray:
        """Return emissions[t, v] where they depend on u too."""

    def onward(self, pairs: np.ndarray, w: np.ndarray, places: np.ndarray) -> np.ndarray:
        """Return transitions[u, v, w]."""


@dataclass(frozen=True)
class CandidateStep:
    """Consecutive pairs that have a token before them, and the triples that lead to each, side by side."""

    pairs: slice
    before: np.ndarray  # for each triple, the pair it comes from
    scores: np.ndarray  # for each triple, its transition
    begins: np.ndarray  # for each pair, its first triple
    widths: np.ndarray  # for each pair, the number of its triples

    def part(self, begin: int, end: int) -> CandidateStep:
        """Cut out the pairs from `begin` to `end`."""
        own = slice(begin - self.pairs.start, end - self.pairs.start)
        begins, widths = self.begins[own], self.widths[own]
        inside = slice(int(begins[0]), int(begins[-1] + widths[-1]))
        return CandidateStep(slice(begin, end), self.before[inside], self.scores[inside], begins - inside.start, widths)


@dataclass(frozen=True)
class Trellis:
    """Nodes, pairs and scores of a pack of sentences. Every row has at least one node; a score may be -inf."""

    pack: Pack
    model: Scores
    tags: np.ndarray  # (nodes,) by row
    widths: np.ndarray  # (N,) nodes of each row
    emissions: np.ndarray  # (nodes,)
    places: np.ndarray  # (nodes,) the model's number for the word with that tag

    @property
    def K(self) -> int:
        return self.model.K

    @cached_property
    def nodes(self) -> np.ndarray:
        """First node of each row, (N,)."""
        return np.cumsum(self.widths) - self.widths

    @cached_property
    def rows(self) -> np.ndarray:
        """Row of each node, (nodes,)."""
        return np.repeat(np.arange(len(self.widths)), self.widths)

    @cached_property
    def pair_widths(self) -> np.ndarray:
        """Number of pairs that end in each node, (nodes,): one per node of the row before, or one after the mark."""
        before = np.ones(len(self.widths), np.int64)
        before[self.pack.first :] = self.widths[self.pack.before]
        return before[self.rows]

    @cached_property
    def pairs(self) -> np.ndarray:
        """First pair that ends in each node, (nodes,)."""
        return np.cumsum(self.pair_widths) - self.pair_widths

    @cached_property
    def here(self) -> np.ndarray:
        """Node in which each pair ends, (pairs,)."""
        return np.repeat(np.arange(len(self.tags)), self.pair_widths)

    @cached_property
    def there(self) -> np.ndarray:
        """Node in which each pair begins, (pairs,); -1 for the mark before a sentence."""
        before = np.full(len(self.widths), -1)
        before[self.pack.first :] = self.nodes[self.pack.before]
        return before[self.rows][self.here] + ranges(self.pair_widths)

    @cached_property
    def keys(self) -> np.ndarray:
        """Tags of each pair as u · (K + 1) + v, (pairs,)."""
        return np.append(self.tags, self.K)[self.there] * (self.K + 1) + self.tags[self.here]

    @cached_property
    def arrivals(self) -> np.ndarray:
        """Emission of the node in which each pair ends, (pairs,)."""
        return self.model.arrivals(self.keys, self.emissions[self.here], self.places[self.here])

    @cached_property
    def pair_bounds(self) -> np.ndarray:
        """First pair of each row, (N + 1,)."""
        return np.append(self.pairs, len(self.here))[np.append(self.nodes, len(self.tags))]

    @cached_property
    def ends(self) -> tuple[np.ndarray, np.ndarray]:
        """Pairs that end sentences, and how many each sentence has, by rank."""
        last = self.pack.last
        widths = self.pair_bounds[last + 1] - self.pair_bounds[last]
        return consecutive(self.pair_bounds[last], widths), widths

    @cached_property
    def ending(self) -> np.ndarray:
        """transitions[u, v, K] for each pair that ends a sentence."""
        pairs = self.ends[0]
        return self.onward(pairs, np.full(len(pairs), self.K))

    @cached_property
    def starting(self) -> np.ndarray:
        """transitions[K, K, v] + emission for the pairs of the first tokens."""
        nodes = slice(0, int(self.pair_bounds[self.pack.first]))  # one pair for each node
        mark = np.full(nodes.stop, self.K * (self.K + 1) + self.K)
        return self.model.onward(mark, self.tags[nodes], np.full(nodes.stop, -1)) + self.arrivals[nodes]

    def onward(self, pairs: np.ndarray, w: np.ndarray) -> np.ndarray:
        """Return transitions[u, v, w] for these pairs (u, v) and tags w."""
        return self.model.onward(self.keys[pairs], w, self.places[self.here[pairs]])

    def triples(self, pairs: slice) -> CandidateStep:
        """Lay out the triples (u, v, w) of each pair (v, w) of the slice, which begins after the first tokens."""
        there = self.there[pairs]
        widths = self.pair_widths[there]
        before = consecutive(self.pairs[there], widths)
        scores = self.onward(before, np.repeat(self.tags[self.here[pairs]], widths))
        return CandidateStep(pairs, before, scores, np.cumsum(widths) - widths, widths)

    def steps(self, backwards: bool = False) -> Iterator[CandidateStep]:
        """Yield one step per token after the first; laid out many at a time, which is faster."""
        bounds = self.pair_bounds[np.append(self.pack.starts, len(self.widths))[1:]].tolist()  # of the steps
        for block in reversed(self.blocks) if backwards else self.blocks:
            first, last = bounds[block[0]], bounds[block[-1] + 1]
            whole = self.only_block if len(self.blocks) == 1 else self.triples(slice(first, last))
            for t in reversed(block) if backwards else block:
                yield whole.part(bounds[t], bounds[t + 1])

    @cached_property
    def only_block(self) -> CandidateStep:
        """All triples, kept for the way back where they fit one block."""
        return self.triples(slice(int(self.pair_bounds[self.pack.first]), len(self.here)))

    @cached_property
    def blocks(self) -> list[list[int]]:
        """Steps after the first, in groups of about BLOCK_TRIPLES triples."""
        starts = self.pair_bounds[self.pack.starts[1:]]
        leading = np.cumsum(self.pair_widths[self.there[starts[0] :]]) if len(starts) else np.empty(0, np.int64)
        group = np.append(0, leading)[starts - starts[:1]] // BLOCK_TRIPLES  # of the triples before each step
        return [
            block.tolist()
            for block in np.split(np.arange(len(starts)), np.flatnonzero(np.diff(group)) + 1)
            if len(block)
        ]
