"""Which tag follows which two: counted, and smoothed by deleted interpolation (Brants 2000, section 2.2).

    P(w | u, v) = λ_3 · f(w | u, v) + λ_2 · f(w | v) + λ_1 · f(w)

where f are relative frequencies and one more tag, the mark K, stands before the sentence and after it. A context (u, v)
never seen leaves λ_3 to the other two. The λ are found by leaving one trigram out at a time: it votes for the
frequency that would have foretold it best.

Trigrams are kept sparse, so that a thousand tags are no trouble:  P(w | u, v) = seen[u, v, w] + rest[u, v] · A[v, w].
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tagger.arrays.caching import cached_property
from tagger.arrays.keyed import KeyedValues, count_keys
from tagger.arrays.npz import Archive, Arrays
from tagger.arrays.ragged import RaggedRows


@dataclass(frozen=True)
class Steps:
    """Every step of some tagged sentences, from the mark before the first tag to the mark after the last."""

    K: int
    u: np.ndarray
    v: np.ndarray
    w: np.ndarray
    token: np.ndarray  # the token that v belongs to; -1 for the mark before a sentence

    @classmethod
    def of(cls, tags: np.ndarray, lengths: np.ndarray, K: int) -> Steps:
        """`tags` (N,) of sentences of these lengths, none of them empty."""
        steps = len(tags) + len(lengths)  # each sentence has one more than tokens
        place = np.arange(len(tags)) + np.repeat(np.arange(len(lengths)), lengths)
        begins = np.cumsum(lengths + 1) - lengths - 1
        u, v, w, token = np.full(steps, K), np.full(steps, K), np.full(steps, K), np.full(steps, -1)
        w[place] = tags
        v[place + 1] = tags
        token[place + 1] = np.arange(len(tags))
        u[1:] = v[:-1]
        u[begins] = K
        return cls(K, u, v, w, token)

    @property
    def pairs(self) -> np.ndarray:
        return self.u * (self.K + 1) + self.v

    def known(self, open_tag: int) -> Steps:
        """Those of which all three tags are known."""
        keep = (self.u != open_tag) & (self.v != open_tag) & (self.w != open_tag)
        if keep.all():
            return self
        return replace(self, u=self.u[keep], v=self.v[keep], w=self.w[keep], token=self.token[keep])


@dataclass(frozen=True)
class Transitions:
    """P(w | u, v) of K tags and the mark."""

    A: np.ndarray  # (K + 1, K + 1) P(w | v); row K is the start, column K the end
    keys: np.ndarray  # (trigrams,) ascending: (u · (K + 1) + v) · (K + 1) + w of those that were seen
    seen: np.ndarray  # (trigrams,)
    rest: np.ndarray  # ((K + 1)²,) 1 - the sum of `seen`
    weights: np.ndarray  # (3,) λ_1, λ_2, λ_3
    totals: np.ndarray  # ((K + 1)²,) how often each pair was seen

    @classmethod
    def count(cls, steps: Steps, unigrams: np.ndarray, bigrams: np.ndarray, order: int) -> Transitions:
        """From trigrams, and the counts of tags and bigrams (which may rest on more text than the trigrams)."""
        width = steps.K + 1
        keys, counts = count_keys(steps.pairs * width + steps.w, width**3)
        pairs, v, w = keys // width, keys // width % width, keys % width
        totals = np.bincount(pairs, weights=counts, minlength=width**2).astype(float, copy=False)  # of no pairs: whole
        of_v = bigrams.sum(axis=1)
        weights = votes(counts, totals[pairs], bigrams[v, w], of_v[v], unigrams[w], unigrams.sum(), order)
        prior = unigrams / unigrams.sum()
        start = np.append(prior[:-1] / prior[:-1].sum(), 0.0)  # no sentence ends before it began
        lean = weights[0] / (weights[0] + weights[1])
        A = bigrams * ((1 - lean) / np.maximum(of_v, 1))[:, None]
        A += lean * prior
        A[of_v == 0] = prior
        A[-1] += (lean if of_v[-1] else 1.0) * (start - prior)
        if order == 1:
            keys, pairs, counts = (array[:0] for array in (keys, pairs, counts))
        rest = np.where(totals > 0, 1 - weights[2], 1.0)
        return cls(A, keys, weights[2] * counts / totals[pairs], rest, weights, totals)

    @property
    def K(self) -> int:
        return len(self.A) - 1

    @property
    def pairs(self) -> np.ndarray:
        """(trigrams,) u · (K + 1) + v"""
        return self.keys // (self.K + 1)

    def learn(self, keys: np.ndarray, expected: np.ndarray) -> Transitions:
        """After trigrams were seen so often beyond those that were counted.

        P'(w | u, v) = (n · P(w | u, v) + expected(u, v, w)) / (n + expected(u, v)),    n = count(u, v) + 1
        """
        width = self.K + 1
        n = self.totals + 1
        more = np.bincount(keys // width, weights=expected, minlength=width**2)
        every = np.union1d(self.keys, keys)
        values = np.zeros(len(every))
        values[np.searchsorted(every, self.keys)] += n[self.pairs] * self.seen
        values[np.searchsorted(every, keys)] += expected
        return replace(self, keys=every, seen=values / (n + more)[every // width], rest=self.rest * n / (n + more))

    @cached_property
    def lookup(self) -> KeyedValues:
        """`seen`, or if there is room for all the whole of P."""
        width = self.K + 1
        found = KeyedValues(self.keys, self.seen, width**3)
        if found.table is not None:
            np.multiply(self.rest.reshape(width, width, 1), self.A, out=found.table.reshape(width, width, width))
            found.table[self.keys] += self.seen
        return found

    def probabilities(self, pairs: np.ndarray, w: np.ndarray) -> np.ndarray:
        """P(w | u, v) for pairs u · (K + 1) + v."""
        width = self.K + 1
        P = self.lookup(pairs * width + w)
        return P if self.lookup.table is not None else P + self.rest[pairs] * self.A[pairs % width, w]

    def arrays(self) -> Arrays:
        own = {"pi": self.A[-1, :-1], "A": self.A[:-1, :-1], "end": self.A[:-1, -1], "interpolation": self.weights}
        rows = RaggedRows.of(self.keys, (self.K + 1) ** 2, self.K + 1)
        return own | rows.arrays("trigrams") | {"trigrams.seen": self.seen, "trigrams.totals": self.totals}

    @classmethod
    def restore(cls, archive: Archive, K: int) -> Transitions:
        pi, within, end = archive.take("pi", "f", K), archive.take("A", "f", K, K), archive.take("end", "f", K)
        A = np.zeros((K + 1, K + 1))
        A[-1, :-1], A[:-1, :-1], A[:-1, -1] = pi, within, end
        rows = RaggedRows.restore(archive, "trigrams", (K + 1) ** 2, K + 1)
        seen, totals = (
            archive.take("trigrams.seen", "f", len(rows.tags)),
            archive.take("trigrams.totals", "f", len(rows)),
        )
        weights = archive.take("interpolation", "f", 3)
        rest = 1 - np.bincount(rows.owners, weights=seen, minlength=len(rows))
        positive = A.ravel()[:-1].min() > 0 and seen.min(initial=1) > 0 and rest.min() > 0 and totals.min() >= 0
        archive.check(bool(positive), "its transitions are not all probabilities above 0")
        return cls(A, rows.owners * (K + 1) + rows.tags, seen, rest, weights, totals)


def votes(
    c3: np.ndarray, n3: np.ndarray, c2: np.ndarray, n2: np.ndarray, c1: np.ndarray, n1: float, order: int
) -> np.ndarray:
    """(3,) λ_1, λ_2, λ_3: each trigram votes, as often as it was seen, for the frequency that foretells it best.

    (c_3 - 1) / (n_3 - 1), (c_2 - 1) / (n_2 - 1) and (c_1 - 1) / (n_1 - 1), where 0/0 is 0; the simpler one wins a tie.
    Each λ has one vote more than it earned, so that nothing becomes impossible.
    """
    chances = [(c - 1) / np.maximum(n - 1, 1) for c, n in ((c1, n1), (c2, n2), (c3, n3))][: order + 1]
    earned = np.bincount(np.argmax(chances, axis=0), weights=c3, minlength=3) + 1.0
    earned[order + 1 :] = 0.0
    return np.asarray(earned / earned.sum())
