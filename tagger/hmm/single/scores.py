"""The scores of one sentence by an HMM of second order, for the recursions on lists (`chain.single.candidates`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tagger.chain.single.candidates import SMALL_TAG_SET, ContextRows, factor_rows
from tagger.hmm.lexicalized import NOT_FREQUENT, LexicalizedTransitions

PLACES = 2  # negative places, NO_ENTRY and NOT_FREQUENT
MAX_ARRIVALS = 1 << 16  # that are kept


class SingleHMM:
    """Rows of P(w | u, v, x), and P(x | u, v) of frequent words, computed when first needed, for all sentences."""

    def __init__(self, model: LexicalizedTransitions, transitions: np.ndarray, after_seen: np.ndarray) -> None:
        self.model, self.width, self.places = model, model.K + 1, len(model.entries) + PLACES
        self.transitions, self.after_seen = transitions, after_seen  # of all pairs, and of all places, by next tag
        self.after_backoff = model.after_backoff
        self.steps, self.factors = ContextRows(self.onward, self.width), factor_rows(self.onward, self.width)
        self.counted: dict[int, float] = {}  # log P(x | u, v) of frequent words, under place · (K + 1) + u
        # log P(x | u, v) - log P(x | v) of other words, and of frequent ones with a tag never seen, by pair
        self.other_share: list[float] = np.log(model.other_share).tolist()
        self.backoff_share: list[float] = np.log(model.before_backoff).tolist()

    @classmethod
    def of(cls, model: LexicalizedTransitions) -> SingleHMM | None:
        """Make one for a small tag set without impossible steps, if its tables have room for all contexts."""
        if model.K > SMALL_TAG_SET or model.allowed is not None:
            return None
        transitions, after_seen = model.transitions.lookup.table, model.after_seen.table
        if transitions is None or after_seen is None:
            return None
        P, K = transitions.reshape(model.K + 1, model.K + 1, model.K + 1), model.K
        lowest = min(P[:, :K].min(), P[K, K, :K].min(), model.other_share.min(), model.before_backoff.min())
        return cls(model, transitions, after_seen) if lowest > 0 else None

    def onward(self, key: int) -> np.ndarray:
        """Compute log P(w | u, v, x) for all w (K + 1,), of the context pair · places + place + PLACES."""
        pair, place = divmod(key, self.places)
        place -= PLACES
        row = slice(pair * self.width, (pair + 1) * self.width)
        if place < 0:
            P = self.transitions[row]
        else:
            counted = self.after_seen[place * self.width : (place + 1) * self.width]
            P = self.after_backoff[place] * self.transitions[row] + counted
        with np.errstate(divide="ignore"):  # no sentence is empty, so the end has no probability at the start
            return np.log(P)

    def arrivals(self, before: Sequence[int], v: int, emission: float, place: int) -> list[float]:
        """Return log P(x | u, v) of a frequent word, for each tag u before it."""
        counted, first = self.counted, place * self.width
        try:
            return [counted[first + u] for u in before]
        except KeyError:
            u = np.array(before)
            same = np.ones_like(u)
            scores = self.model.arrivals(u * self.width + v, emission * same, place * same).tolist()
            if len(counted) >= MAX_ARRIVALS:
                counted.clear()
            counted.update(zip((first + u).tolist(), scores, strict=True))
            return scores


@dataclass(frozen=True)
class SingleSentence:
    """The scores of one sentence (`SentenceScores`), by node; the last node is the mark."""

    hmm: SingleHMM
    tags: list[int]
    emissions: list[float]
    places: list[int]

    @property
    def stride(self) -> int:
        return self.hmm.width * self.hmm.places

    @property
    def keys(self) -> list[int]:
        count = self.hmm.places
        return [tag * count + place + PLACES for tag, place in zip(self.tags, self.places, strict=True)]

    @property
    def steps(self) -> ContextRows:
        return self.hmm.steps

    @property
    def factors(self) -> ContextRows:
        return self.hmm.factors

    def arrivals(self, node: int, before: Sequence[int]) -> list[float]:
        """Compute log P(x | u, v) of a node with the word x and the tag v, for each tag u before it."""
        v, emission, place, width = self.tags[node], self.emissions[node], self.places[node], self.hmm.width
        if place >= 0:
            return self.hmm.arrivals(before, v, emission, place)
        share = self.hmm.other_share if place == NOT_FREQUENT else self.hmm.backoff_share
        return [emission + share[u * width + v] for u in before]
