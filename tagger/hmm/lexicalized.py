"""Lexicalised transitions and emissions for frequent words.

*to* is followed by other tags than the rest of its tag, *'s* comes after other tags. So for frequent words both kinds
of probabilities of an HMM get one more condition. With x the word of tag v, u the tag before and w the tag after:

    P(x | u, v)    = (count(u, v, x) + κ · P(x | v)) / (count(u, v) + κ)            the word, given the tag before too
    P(w | u, v, x) = (count(v, x, w) + κ' · P(w | u, v)) / (count(v, x) + κ')       the next tag, given the word too

All other words are one class in the first formula, and share its probability in proportion to P(x | v); the second
formula is P(w | u, v) for them. κ and κ' maximise the leave-one-out likelihood. (Lexicalised HMMs: Lee, Tsujii & Rim
2000; Pla & Molina 2004. Emissions given two tags: Thede & Harper 1999; HunPos, Halácsy et al. 2007.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tagger.arrays.caching import cached_property
from tagger.arrays.keyed import KeyedValues, find_keys
from tagger.arrays.npz import MAX_COUNT, Archive, Arrays, narrow
from tagger.arrays.ragged import RaggedRows
from tagger.hmm.smoothing import best_kappa
from tagger.hmm.transitions import Transitions

if TYPE_CHECKING:
    from tagger.hmm.counting.counts import HMMCounts
    from tagger.hmm.counting.frequent import CountEntries, EntryCounts

# Places that are not entries of a frequent word. Both are negative, and only `arrivals` distinguishes them.
NO_ENTRY = -1  # a frequent word with a tag never seen with it
NOT_FREQUENT = -2  # any other word


@dataclass(frozen=True)
class LexicalizedTransitions:
    """The scores of a second-order HMM (`chain.candidates.Scores`).

    An *entry* is a frequent word with one of the tags it was seen with; a *place* is the index of an entry, NO_ENTRY or
    NOT_FREQUENT. A *pair* (u, v) is the number u · (K + 1) + v.
    """

    transitions: Transitions
    entries: np.ndarray  # (E,) ascending: word · K + tag, words as in the lexicon
    before: RaggedRows  # for each entry the tags u seen before it
    before_counts: np.ndarray
    after: RaggedRows  # for each entry the tags w seen after it
    after_counts: np.ndarray
    others: np.ndarray  # (K,) P(a word that is not frequent | v)
    kappas: np.ndarray  # (2,) κ and κ'
    allowed: np.ndarray | None = None  # (K + 1, K + 1) the steps (v, w) that are possible; None: all

    @classmethod
    def unlexicalized(cls, transitions: Transitions) -> LexicalizedTransitions:
        """Make a model without frequent words."""
        nothing, rows = np.empty(0, np.int64), RaggedRows(np.empty(0, np.int64), np.empty(0, np.int64))
        return cls(transitions, nothing, rows, nothing, rows, nothing, np.ones(transitions.K), np.ones(2))

    @classmethod
    def estimate(
        cls, transitions: Transitions, entries: np.ndarray, P: np.ndarray, counts: EntryCounts
    ) -> LexicalizedTransitions:
        """Estimate from the counts of entries; P (E,) is P(x | v) of each."""
        K, width = transitions.K, transitions.K + 1
        cells, before = counts.before.keys, counts.before.counts
        E, of_pair = cells // width, cells % width * width + entries[cells // width] % K
        of_tag = transitions.totals.reshape(width, width).sum(axis=0)[:K]  # tokens of each v
        frequent = np.bincount(entries[E] % K, weights=before, minlength=K)
        others = (of_tag - frequent + 0.5) / (of_tag + 1)

        # κ: for each (u, entry) and, as one more word, each (u, v) of all other words, count(u, v, x) of count(u, v)
        rest = transitions.totals - np.bincount(of_pair, weights=before, minlength=width**2)
        rest[width - 1 :: width] = 0  # v is the mark, which is no token
        other_pairs = np.flatnonzero(rest)
        seen, total = np.append(before, rest[other_pairs]), transitions.totals[np.append(of_pair, other_pairs)]
        kappa = best_kappa(seen - 1, total - 1, np.append(P[E], others[other_pairs % width]), seen)

        # κ': for each token of an entry, count(v, x, w) of count(v, x)
        after_cells, after, sample = counts.after.keys, counts.after.counts, counts.sample
        seen_after = after[np.searchsorted(after_cells, sample.entry * width + sample.w)]
        of_entry = np.bincount(after_cells // width, weights=after, minlength=len(entries))[sample.entry]
        backoff = transitions.probabilities(sample.u * width + entries[sample.entry] % K, sample.w)
        kappa_after = best_kappa(seen_after - 1, of_entry - 1, backoff, np.ones(len(seen_after)))

        rows, after_rows = (RaggedRows.of(of, len(entries), width) for of in (cells, after_cells))
        return cls(transitions, entries, rows, before, after_rows, after, others, np.array([kappa, kappa_after]))

    @property
    def K(self) -> int:
        return self.transitions.K

    @cached_property
    def frequent(self) -> np.ndarray:
        """The frequent words, ascending."""
        return np.flatnonzero(np.bincount(self.entries // self.K))

    @cached_property
    def before_backoff(self) -> np.ndarray:
        """κ / (count(u, v) + κ) of each pair, ((K + 1)²,): the weight of P(x | v)."""
        return np.asarray(self.kappas[0] / (self.transitions.totals + self.kappas[0]))

    @cached_property
    def before_seen(self) -> KeyedValues:
        """count(u, v, x) / (count(u, v) + κ), under entry · (K + 1) + u; 0 for no entry, which is the last."""
        owners, width = self.before.owners, self.K + 1
        total = self.transitions.totals[self.before.tags * width + self.entries[owners] % self.K]
        values = self.before_counts / (total + self.kappas[0])
        return KeyedValues(owners * width + self.before.tags, values, (len(self.entries) + 1) * width)

    @cached_property
    def other_share(self) -> np.ndarray:
        """P(x | u, v) / P(x | v) of all words that are not frequent, for each pair, ((K + 1)²,)."""
        width = self.K + 1
        of_pair = self.before.tags * width + self.entries[self.before.owners] % self.K
        rest = self.transitions.totals - np.bincount(of_pair, weights=self.before_counts, minlength=width**2)
        P = np.tile(np.append(self.others, 1.0), width)
        return np.asarray((rest / P + self.kappas[0]) / (self.transitions.totals + self.kappas[0]))

    @cached_property
    def after_seen(self) -> KeyedValues:
        """count(v, x, w) / (count(v, x) + κ'), under entry · (K + 1) + w; 0 for no entry, which is the last."""
        owners, width = self.after.owners, self.K + 1
        total = np.bincount(owners, weights=self.after_counts, minlength=len(self.entries))
        values = self.after_counts / (total[owners] + self.kappas[1])
        return KeyedValues(owners * width + self.after.tags, values, (len(self.entries) + 1) * width)

    @cached_property
    def after_backoff(self) -> np.ndarray:
        """κ' / (count(v, x) + κ') of each entry, (E + 1,): the weight of P(w | u, v). The last is 1, for no entry."""
        total = np.bincount(self.after.owners, weights=self.after_counts, minlength=len(self.entries))
        return np.append(self.kappas[1] / (total + self.kappas[1]), 1.0)

    def places(self, words: np.ndarray, tags: np.ndarray) -> np.ndarray:
        """Return the place of each word, -1 if it is unknown, with a tag."""
        entry = find_keys(self.entries, words * self.K + tags)  # NO_ENTRY where it is missing
        return np.where(find_keys(self.frequent, words) < 0, NOT_FREQUENT, entry)

    def arrivals(self, pairs: np.ndarray, emissions: np.ndarray, places: np.ndarray) -> np.ndarray:
        """Compute log P(x | u, v), where `emissions` are log P(x | v)."""
        scores = emissions + np.log(self.emission_share(pairs, places))
        counted = np.flatnonzero((places >= 0) & ~np.isneginf(emissions))
        seen = self.counted_emissions(pairs[counted] // (self.K + 1), places[counted])
        scores[counted] = np.log(np.exp(scores[counted]) + seen)
        return scores

    def emission_share(self, pairs: np.ndarray, places: np.ndarray) -> np.ndarray:
        """Return the weight of P(x | v) in P(x | u, v)."""
        return np.where(places == NOT_FREQUENT, self.other_share[pairs], self.before_backoff[pairs])

    def counted_emissions(self, u: np.ndarray, places: np.ndarray) -> np.ndarray:
        """Compute the term of P(x | u, v) that is counted."""
        return self.before_seen(self.entry_or_none(places) * (self.K + 1) + u)

    def entry_or_none(self, places: np.ndarray) -> np.ndarray:
        """Return the entry of each place, and one more, of no counts, where there is none."""
        return np.where(places < 0, len(self.entries), places)

    def onward(self, pairs: np.ndarray, w: np.ndarray, places: np.ndarray) -> np.ndarray:
        """Compute log P(w | u, v, x)."""
        return np.asarray(np.log(self.backoff_onward(pairs, w, places) + self.counted_onward(w, places)))

    def backoff_onward(self, pairs: np.ndarray, w: np.ndarray, places: np.ndarray) -> np.ndarray:
        """Compute the term of P(w | u, v, x) that is a multiple of P(w | u, v)."""
        return self.backoff_share(places) * self.transitions.probabilities(pairs, w)

    def backoff_share(self, places: np.ndarray) -> np.ndarray:
        """Return the weight of P(w | u, v) in P(w | u, v, x)."""
        return np.asarray(self.after_backoff[np.maximum(places, NO_ENTRY)])  # the last, of index -1, is for no entry

    def counted_onward(self, w: np.ndarray, places: np.ndarray) -> np.ndarray:
        """Compute the term of P(w | u, v, x) that is counted."""
        return self.after_seen(self.entry_or_none(places) * (self.K + 1) + w)

    def arrays(self) -> Arrays:
        arrays = {"frequent": narrow(self.entries), "frequent.others": self.others, "frequent.kappas": self.kappas}
        arrays |= {"before.counts": narrow(self.before_counts), "after.counts": narrow(self.after_counts)}
        return arrays | self.before.arrays("before") | self.after.arrays("after")

    @classmethod
    def restore(cls, archive: Archive, transitions: Transitions, words: int) -> LexicalizedTransitions:
        K = transitions.K
        entries = archive.take("frequent", "u", None).astype(np.int64)
        fits = entries.max(initial=0) < max(1, words * K) and bool((np.diff(entries) > 0).all())
        archive.check(bool(fits) and entries.min(initial=0) >= 0, "expected its frequent words in ascending order")
        others, kappas = archive.take("frequent.others", "f", K), archive.take("frequent.kappas", "f", 2)
        archive.check(bool((others > 0).all() and (kappas > 0).all()), "expected positive shares of its other words")
        before, after = (counted_rows(archive, name, len(entries), K + 1) for name in ("before", "after"))
        model = cls(transitions, entries, *before, *after, others, kappas)
        archive.check(bool((model.other_share > 0).all()), "expected no more tags before its words than pairs of tags")
        return model


def counted_rows(archive: Archive, name: str, count: int, width: int) -> tuple[RaggedRows, np.ndarray]:
    """Read rows of tags and their counts."""
    rows = RaggedRows.restore(archive, name, count, width)
    counts = archive.take(f"{name}.counts", "u", len(rows.tags))
    archive.check(int(counts.max(initial=0)) < MAX_COUNT, f"expected the counts {name!r} below {MAX_COUNT:,}")
    return rows, counts.astype(np.int64)


def learn_transitions(
    counts: HMMCounts,
    strings: Sequence[str],
    count_entries: CountEntries,
    emissions: Callable[[Sequence[str]], tuple[np.ndarray, np.ndarray]],
    order: int,
    rare_count: int,
    lexicalize: bool = True,
) -> LexicalizedTransitions:
    """Learn from the counts of a text, the `strings` of its lexicon, and a function that counts its entries.

    Words seen more than `rare_count` times are frequent, unless `lexicalize` is False or the model is of first order.
    """
    trigrams, lexicon = counts.trigrams, counts.lexicon
    transitions = Transitions.estimate(trigrams.keys, trigrams.counts, counts.unigrams, counts.bigrams, order)
    frequent = np.flatnonzero(counts.frequency > rare_count)
    if order == 1 or not lexicalize or not len(frequent):
        return LexicalizedTransitions.unlexicalized(transitions)
    entries, widths = lexicon.rows.entries(frequent)
    scores, _ = emissions([strings[i] for i in frequent.tolist()])
    P = np.exp(scores[np.repeat(np.arange(len(frequent)), widths), lexicon.rows.tags[entries]])
    cells = lexicon.rows.owners[entries] * counts.K + lexicon.rows.tags[entries]
    return LexicalizedTransitions.estimate(transitions, cells, P, count_entries(cells))
