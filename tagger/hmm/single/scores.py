"""The scores of one sentence by an HMM of second order, for the recursions on lists (`chain.single.candidates`)."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tagger.chain.single.candidates import SMALL_TAG_SET, ContextRows, Row, factor_rows
from tagger.hmm.lexicalized import NO_ENTRY, NOT_FREQUENT, LexicalizedTransitions

PLACES = 2  # negative places, NO_ENTRY and NOT_FREQUENT
MAX_ARRIVALS = 1 << 18  # numbers that are kept


class SingleHMM:
    """Rows of P(w | u, v, x), and P(x | u, v) of frequent words, computed when first needed, for all sentences."""

    def __init__(self, model: LexicalizedTransitions, transitions: np.ndarray, after_seen: np.ndarray) -> None:
        self.model, self.width, self.places = model, model.K + 1, len(model.entries) + PLACES
        self.transitions = transitions.reshape(-1, self.width)  # by pair and next tag
        self.after_seen = after_seen.reshape(-1, self.width)  # by place, of which the last is for none, and next tag
        self.after_backoff = model.after_backoff[:, None]
        self.steps, self.factors = ContextRows(self.onward, self.width), factor_rows(self.onward, self.width)
        self.counted: dict[int, Row] = {}  # log P(x | u, v) of frequent words for all u, by place
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

    def onward(self, contexts: np.ndarray) -> np.ndarray:
        """Compute log P(w | u, v, x) (n, K + 1) for all w and contexts (n,), each pair · places + place + PLACES."""
        pair, place = np.divmod(contexts, self.places)
        place = np.maximum(place - PLACES, NO_ENTRY)  # the last
        P = self.after_backoff[place] * self.transitions[pair] + self.after_seen[place]
        with np.errstate(divide="ignore"):  # no sentence is empty, so the end has no probability at the start
            return np.log(P)

    def arrivals(self, before: Sequence[int], v: int, emission: float, place: int) -> list[float]:
        """Return log P(x | u, v) of a frequent word, for each tag u before it."""
        row = self.counted.get(place)
        if row is None:
            u = np.arange(self.width)
            same = np.ones_like(u)
            scores = self.model.arrivals(u * self.width + v, emission * same, place * same)
            if len(self.counted) >= MAX_ARRIVALS // self.width:
                self.counted.clear()
            self.counted[place] = row = array("d", scores.tobytes())
        return [row[u] for u in before]


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
