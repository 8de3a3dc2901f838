"""What the neighbours of a token know of it: transitions, and the company that frequent words keep.

*to* is followed by other words than the rest of its tag, *'s* comes after other tags. So for frequent words the two
kinds of probabilities of an HMM look one step further. With x the word of tag v, u the tag before and w the tag after:

    P(x | u, v)    = (count(u, v, x) + κ · P(x | v)) / (count(u, v) + κ)            the word, given the tag before too
    P(w | u, v, x) = (count(v, x, w) + κ' · P(w | u, v)) / (count(v, x) + κ')       the next tag, given the word too

All other words are one class in the first formula, and share its probability as they share it without u; in the second
they know nothing beyond their tag. κ and κ' maximise the likelihood of each token left out. (Lexicalised HMMs: Lee,
Tsujii & Rim 2000; Pla & Molina 2004. Emissions given two tags: Thede & Harper 1999; HunPos, Halácsy et al. 2007.)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tagger.arrays.caching import cached_property
from tagger.arrays.keyed import KeyedValues, count_keys, find_keys
from tagger.arrays.npz import MAX_COUNT, Archive, Arrays, narrow
from tagger.arrays.ragged import RaggedRows
from tagger.hmm.smoothing import best_kappa, enough
from tagger.hmm.transitions import Steps, Transitions


@dataclass(frozen=True)
class LexicalizedTransitions:
    """The scores of a second-order HMM. An *entry* is a frequent word with one of the tags it was seen with."""

    transitions: Transitions
    entries: np.ndarray  # (E,) ascending: word · K + tag, words as in the lexicon
    before: RaggedRows  # for each entry the tags u seen before it
    before_counts: np.ndarray
    after: RaggedRows  # for each entry the tags w seen after it
    after_counts: np.ndarray
    others: np.ndarray  # (K,) P(a word that is not frequent | v)
    kappas: np.ndarray  # (2,) κ and κ'

    @classmethod
    def none(cls, transitions: Transitions) -> LexicalizedTransitions:
        """No word is frequent."""
        nothing, rows = np.empty(0, np.int64), RaggedRows(np.empty(0, np.int64), np.empty(0, np.int64))
        return cls(transitions, nothing, rows, nothing, rows, nothing, np.ones(transitions.K), np.ones(2))

    @classmethod
    def count(
        cls, transitions: Transitions, steps: Steps, words: np.ndarray, entries: np.ndarray, P: np.ndarray
    ) -> LexicalizedTransitions:
        """From the steps of a text with the lexicon's `words` (N,); P (E,) is P(x | v) of each entry."""
        K, width = transitions.K, transitions.K + 1
        tagged = np.flatnonzero(steps.token >= 0)
        u, v, w = steps.u[tagged], steps.v[tagged], steps.w[tagged]
        number = KeyedValues(entries, np.arange(1.0, len(entries) + 1), (int(words.max()) + 1) * K)
        place = number(words[steps.token[tagged]] * K + v).astype(np.int64) - 1  # the entry of each token, or -1
        there = place >= 0
        pairs, place = u * width + v, place[there]
        frequent = np.bincount(v[there], minlength=K)
        others = (np.bincount(v, minlength=K) - frequent + 0.5) / (np.bincount(v, minlength=K) + 1)

        cells, before = count_keys(place * width + u[there], len(entries) * width)
        E, of_pair = cells // width, cells % width * width + entries[cells // width] % K
        some, rest = count_keys(pairs[~there], width**2)
        seen, total = np.append(before, rest), transitions.totals[np.append(of_pair, some)]
        kappa = best_kappa(seen - 1, total - 1, np.append(P[E], others[some % width]), seen)

        keys = place * width + w[there]
        after_cells, after = count_keys(keys, len(entries) * width)
        few = enough(len(keys))
        alike = after[np.searchsorted(after_cells, keys[few])]
        of_entry = np.bincount(place, minlength=len(entries))[place[few]]
        chance = transitions.probabilities(pairs[there][few], w[there][few])
        kappa_after = best_kappa(alike - 1, of_entry - 1, chance, np.ones(len(alike)))
        rows = (
            RaggedRows.of(cells, len(entries), width),
            before,
            RaggedRows.of(after_cells, len(entries), width),
            after,
        )
        return cls(transitions, entries, *rows, others, np.array([kappa, kappa_after]))

    @property
    def K(self) -> int:
        return self.transitions.K

    @cached_property
    def frequent(self) -> np.ndarray:
        """The words that are, ascending."""
        return np.flatnonzero(np.bincount(self.entries // self.K))

    @cached_property
    def before_rest(self) -> np.ndarray:
        """((K + 1)²,) κ / (count(u, v) + κ)"""
        return np.asarray(self.kappas[0] / (self.transitions.totals + self.kappas[0]))

    @cached_property
    def before_seen(self) -> KeyedValues:
        """count(u, v, x) / (count(u, v) + κ), under entry · (K + 1) + u"""
        owners, width = self.before.owners, self.K + 1
        total = self.transitions.totals[self.before.tags * width + self.entries[owners] % self.K]
        values = self.before_counts / (total + self.kappas[0])
        return KeyedValues(owners * width + self.before.tags, values, len(self.entries) * width)

    @cached_property
    def other_share(self) -> np.ndarray:
        """((K + 1)²,) P(x | u, v) / P(x | v) of all words that are not frequent."""
        width = self.K + 1
        of_pair = self.before.tags * width + self.entries[self.before.owners] % self.K
        rest = self.transitions.totals - np.bincount(of_pair, weights=self.before_counts, minlength=width**2)
        P = np.tile(np.append(self.others, 1.0), width)
        return np.asarray((rest / P + self.kappas[0]) / (self.transitions.totals + self.kappas[0]))

    @cached_property
    def after_seen(self) -> KeyedValues:
        """count(v, x, w) / (count(v, x) + κ'), under entry · (K + 1) + w"""
        owners, width = self.after.owners, self.K + 1
        total = np.bincount(owners, weights=self.after_counts, minlength=len(self.entries))
        values = self.after_counts / (total[owners] + self.kappas[1])
        return KeyedValues(owners * width + self.after.tags, values, len(self.entries) * width)

    @cached_property
    def after_rest(self) -> np.ndarray:
        """(E + 1,) κ' / (count(v, x) + κ'); 1 for what is no entry."""
        total = np.bincount(self.after.owners, weights=self.after_counts, minlength=len(self.entries))
        return np.append(self.kappas[1] / (total + self.kappas[1]), 1.0)

    def places(self, words: np.ndarray, tags: np.ndarray) -> np.ndarray:
        """The entry of each word with a tag: -1 if there is none, -2 if the word is not frequent (or is -1)."""
        place = find_keys(self.entries, words * self.K + tags)
        return np.where(find_keys(self.frequent, words) < 0, -2, place)

    def arrivals(self, pairs: np.ndarray, emissions: np.ndarray, places: np.ndarray) -> np.ndarray:
        """log P(x | u, v), where `emissions` are log P(x | v)."""
        scores = emissions + np.log(np.where(places == -2, self.other_share[pairs], self.before_rest[pairs]))
        there = np.flatnonzero((places >= 0) & ~np.isneginf(emissions))
        seen = self.before_seen(places[there] * (self.K + 1) + pairs[there] // (self.K + 1))
        scores[there] = np.log(np.exp(scores[there]) + seen)
        return scores

    def onward(self, pairs: np.ndarray, w: np.ndarray, places: np.ndarray) -> np.ndarray:
        """log P(w | u, v, x)"""
        P = self.transitions.probabilities(pairs, w)
        there = np.flatnonzero(places >= 0)
        own = places[there]
        P[there] = self.after_rest[own] * P[there] + self.after_seen(own * (self.K + 1) + w[there])
        return np.log(P)

    def arrays(self) -> Arrays:
        own = {"frequent": narrow(self.entries), "frequent.others": self.others, "frequent.kappas": self.kappas}
        own |= {"before.counts": narrow(self.before_counts), "after.counts": narrow(self.after_counts)}
        return own | self.before.arrays("before") | self.after.arrays("after")

    @classmethod
    def restore(cls, archive: Archive, transitions: Transitions, words: int) -> LexicalizedTransitions:
        K = transitions.K
        entries = archive.take("frequent", "u", None).astype(np.int64)
        fits = entries.max(initial=0) < max(1, words * K) and bool((np.diff(entries) > 0).all())
        archive.check(bool(fits) and entries.min(initial=0) >= 0, "its frequent words are not in ascending order")
        others, kappas = archive.take("frequent.others", "f", K), archive.take("frequent.kappas", "f", 2)
        archive.check(bool((others > 0).all() and (kappas > 0).all()), "the shares of its other words are not positive")
        before, before_counts = counted_rows(archive, "before", len(entries), K + 1)
        after, after_counts = counted_rows(archive, "after", len(entries), K + 1)
        neighbours = cls(transitions, entries, before, before_counts, after, after_counts, others, kappas)
        archive.check(bool((neighbours.other_share > 0).all()), "its words have more neighbours than its tags")
        return neighbours


def counted_rows(archive: Archive, name: str, count: int, width: int) -> tuple[RaggedRows, np.ndarray]:
    rows = RaggedRows.restore(archive, name, count, width)
    counts = archive.take(f"{name}.counts", "u", len(rows.tags))
    archive.check(int(counts.max(initial=0)) < MAX_COUNT, f"the counts {name!r} are out of all bounds")
    return rows, counts.astype(np.int64)
