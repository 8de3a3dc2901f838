"""Tag transitions of second order, smoothed by deleted interpolation (Brants 2000, section 2.2).

    P(w | u, v) = λ_3 · f(w | u, v) + λ_2 · f(w | v) + λ_1 · f(w)

where f are relative frequencies, and the number K is one more tag, before the sentence and after it. For an unseen
context (u, v) the other two terms share λ_3. The λ are found by leaving one out: each trigram votes for the frequency
that predicts it best without itself.

Trigrams are sparse, so a thousand tags are feasible:  P(w | u, v) = seen[u, v, w] + backoff[u, v] · A[v, w].
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tagger.arrays.caching import cached_property
from tagger.arrays.keyed import KeyedValues
from tagger.arrays.npz import Archive, Arrays, narrow_floats
from tagger.arrays.ragged import RaggedRows
from tagger.chain.candidates import Arcs

NO_TOKEN = -1  # of the mark before a sentence


@dataclass(frozen=True)
class Steps:
    """All trigrams (u, v, w) of tagged sentences, from the mark K before the first tag to the mark after the last."""

    K: int
    u: np.ndarray
    v: np.ndarray
    w: np.ndarray
    token: np.ndarray  # the token with the tag v, or NO_TOKEN

    @classmethod
    def of(cls, tags: np.ndarray, lengths: np.ndarray, K: int) -> Steps:
        """List the steps of `tags` (N,), of sentences of these lengths, none of them empty."""
        steps = len(tags) + len(lengths)  # each sentence has one more than tokens
        place = np.arange(len(tags)) + np.repeat(np.arange(len(lengths)), lengths)
        begins = np.cumsum(lengths + 1) - lengths - 1
        u, v, w, token = (
            np.full(steps, K, np.int64),
            np.full(steps, K, np.int64),
            np.full(steps, K, np.int64),
            np.full(steps, NO_TOKEN, np.int64),
        )
        w[place] = tags
        v[place + 1] = tags
        token[place + 1] = np.arange(len(tags))
        u[1:] = v[:-1]
        u[begins] = K
        return cls(K, u, v, w, token)

    @property
    def pairs(self) -> np.ndarray:
        """The number u · (K + 1) + v of each step."""
        return self.u * (self.K + 1) + self.v

    def without(self, open_tag: int) -> Steps:
        """Leave out the steps in which one of the three tags is `open_tag`."""
        keep = (self.u != open_tag) & (self.v != open_tag) & (self.w != open_tag)
        if keep.all():
            return self
        return replace(self, u=self.u[keep], v=self.v[keep], w=self.w[keep], token=self.token[keep])


@dataclass(frozen=True)
class Transitions:
    """P(w | u, v) of K tags and the mark K. A pair (u, v) is the number u · (K + 1) + v."""

    A: np.ndarray  # (K + 1, K + 1) P(w | v); row K is the start, column K the end
    keys: np.ndarray  # (trigrams,) ascending: (u · (K + 1) + v) · (K + 1) + w of seen trigrams
    seen: np.ndarray  # (trigrams,)
    backoff: np.ndarray  # ((K + 1)²,) 1 - the sum of `seen`
    weights: np.ndarray  # (3,) λ_1, λ_2, λ_3
    totals: np.ndarray  # ((K + 1)²,) count(u, v)

    @classmethod
    def estimate(
        cls, keys: np.ndarray, counts: np.ndarray, unigrams: np.ndarray, bigrams: np.ndarray, order: int
    ) -> Transitions:
        """Estimate from the counts of trigrams under their keys, and those of tags and bigrams.

        The last two may come from more text than the trigrams.
        """
        width = len(unigrams)
        pairs, v, w = keys // width, keys // width % width, keys % width
        totals = np.bincount(pairs, weights=counts, minlength=width**2).astype(float, copy=False)  # int without pairs
        of_v, tokens = bigrams.sum(axis=1), unigrams.sum()
        weights = interpolation_weights(counts, totals[pairs], bigrams[v, w], of_v[v], unigrams[w], tokens, order)
        prior = unigrams / tokens
        # A[v, w] = λ_2 / (λ_1 + λ_2) · f(w | v) + λ_1 / (λ_1 + λ_2) · f(w); the start has f without the end mark
        start = np.append(prior[:-1] / prior[:-1].sum(), 0.0)
        share = weights[0] / (weights[0] + weights[1])
        A = bigrams * ((1 - share) / np.maximum(of_v, 1))[:, None]
        A += share * prior
        A[of_v == 0] = prior
        A[-1] += (share if of_v[-1] else 1.0) * (start - prior)
        if order == 1:
            keys, pairs, counts = (array[:0] for array in (keys, pairs, counts))
        backoff = np.where(totals > 0, 1 - weights[2], 1.0)
        return cls(A, keys, weights[2] * counts / totals[pairs], backoff, weights, totals)

    @property
    def K(self) -> int:
        return len(self.A) - 1

    @property
    def pairs(self) -> np.ndarray:
        """The pair (u, v) of each trigram."""
        return self.keys // (self.K + 1)

    def add_expected(self, keys: np.ndarray, expected: np.ndarray) -> Transitions:
        """Add expected counts of trigrams to the counted ones.

        P'(w | u, v) = (n · P(w | u, v) + expected(u, v, w)) / (n + expected(u, v)),    n = count(u, v) + 1
        """
        width = self.K + 1
        n = self.totals + 1
        new_n = n + np.bincount(keys // width, weights=expected, minlength=width**2)
        union = np.union1d(self.keys, keys)
        values = np.zeros(len(union))
        values[np.searchsorted(union, self.keys)] += n[self.pairs] * self.seen
        values[np.searchsorted(union, keys)] += expected
        return replace(self, keys=union, seen=values / new_n[union // width], backoff=self.backoff * n / new_n)

    @cached_property
    def lookup(self) -> KeyedValues:
        """A table of `seen`, or of all P(w | u, v) if there is room."""
        width = self.K + 1
        values = KeyedValues(self.keys, self.seen, width**3)
        if values.table is not None:
            np.multiply(self.backoff.reshape(width, width, 1), self.A, out=values.table.reshape(width, width, width))
            values.table[self.keys] += self.seen
        return values

    def probabilities(self, pairs: np.ndarray, w: np.ndarray) -> np.ndarray:
        """Compute P(w | u, v) of pairs."""
        width = self.K + 1
        P = self.lookup(pairs * width + w)
        return P if self.lookup.table is not None else P + self.backoff[pairs] * self.A[pairs % width, w]

    def arrays(self) -> Arrays:
        arrays = {"pi": self.A[-1, :-1], "A": self.A[:-1, :-1], "end": self.A[:-1, -1], "interpolation": self.weights}
        rows = RaggedRows.of(self.keys, (self.K + 1) ** 2, self.K + 1)
        totals = narrow_floats(self.totals)  # of many tags most are 0
        return arrays | rows.arrays("trigrams") | {"trigrams.seen": self.seen, "trigrams.totals": totals}

    @classmethod
    def restore(cls, archive: Archive, K: int, with_zeros: bool = False) -> Transitions:
        """Read the transitions; those of a textbook HMM may have zeros in pi and A."""
        A = np.zeros((K + 1, K + 1))
        A[-1, :-1], A[:-1, :-1] = archive.take("pi", "f", K), archive.take("A", "f", K, K)
        A[:-1, -1] = archive.take("end", "f", K)
        rows = RaggedRows.restore(archive, "trigrams", (K + 1) ** 2, K + 1)
        seen = archive.take("trigrams.seen", "f", len(rows.tags))
        totals = archive.take("trigrams.totals", "f", len(rows)).astype(float, copy=False)
        weights = archive.take("interpolation", "f", 3)
        backoff = 1 - np.bincount(rows.owners, weights=seen, minlength=len(rows))
        lowest = float(A.ravel()[:-1].min())
        positive = (
            (lowest >= 0 if with_zeros else lowest > 0)
            and seen.min(initial=1) > 0
            and backoff.min() > 0
            and totals.min() >= 0
        )
        archive.check(bool(positive), "expected transition probabilities above 0")
        return cls(A, rows.owners * (K + 1) + rows.tags, seen, backoff, weights, totals)


@dataclass(frozen=True)
class PairTransitions:
    """P(w | u, v) between states that are pairs of tags, of the arcs from (u, v) to (v, w)."""

    transitions: Transitions
    pairs: np.ndarray  # (states,)
    tags: np.ndarray  # (states,) the last of each pair

    @cached_property
    def keys(self) -> np.ndarray:
        """The key of the trigram (u, v, 0) of each state."""
        return self.pairs * (self.transitions.K + 1)

    @cached_property
    def backoff(self) -> np.ndarray:
        """The weight of A[v, w] in P(w | u, v), (states,)."""
        return self.transitions.backoff[self.pairs]

    def along(self, arcs: Arcs) -> np.ndarray:
        """Compute P(w | u, v) of arcs, (arcs,)."""
        lookup = self.transitions.lookup
        P = lookup(self.keys[arcs.before] + np.repeat(self.tags[arcs.states], arcs.widths))
        if lookup.table is None:
            P += self.backoff[arcs.before] * np.repeat(self.transitions.A.ravel()[self.pairs[arcs.states]], arcs.widths)
        return P


def interpolation_weights(
    c3: np.ndarray, n3: np.ndarray, c2: np.ndarray, n2: np.ndarray, c1: np.ndarray, n1: float, order: int
) -> np.ndarray:
    """Compute λ_1, λ_2, λ_3 (3,): each trigram votes, as often as it was seen, for the frequency that predicts it best.

    The frequencies are (c_3 - 1) / (n_3 - 1), (c_2 - 1) / (n_2 - 1) and (c_1 - 1) / (n_1 - 1), where 0/0 is 0; a tie
    goes to the simpler one. Each λ gets one vote for free, so nothing becomes impossible.
    """
    frequencies = [(c - 1) / np.maximum(n - 1, 1) for c, n in ((c1, n1), (c2, n2), (c3, n3))][: order + 1]
    votes = np.bincount(np.argmax(frequencies, axis=0), weights=c3, minlength=3) + 1.0
    votes[order + 1 :] = 0.0
    return np.asarray(votes / votes.sum())
