"""The encoded corpus, and the layout of the parameter vector that is learned from it.

A chain has as many transitions as pairs of tags, most of which never occur: only those seen get a weight. Order 0 is no
chain: it has weights of features only.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from tagger.arrays.ragged import consecutive, ranges
from tagger.corpus.partial import OPEN, Choices
from tagger.crf.candidates.proposal import Proposal
from tagger.features.encoder import Features
from tagger.features.keys import token_keys, word_keys
from tagger.features.tag_parts import TagParts
from tagger.features.token_values import TokenValues, Triples
from tagger.features.valued import ALL, Selection
from tagger.words.windows import Windows

NO_KEYS = np.empty(0, np.int64)


@dataclass(frozen=True)
class EncodedCorpus:
    """A tagged corpus as numbers: N tokens, K tags."""

    features: Features
    values: dict[str, np.ndarray]  # of each feature function, the ids of its values at the distinct words
    windows: Windows
    lengths: np.ndarray  # (sentences,)
    tags: np.ndarray  # (N,) gold, OPEN where a choice is left
    choices: Choices
    K: int
    tag_parts: TagParts
    proposal: Proposal | None = None  # the candidates, with the right tags among them; None if all tags are
    is_right: np.ndarray | None = None  # (nodes,) whether a node of the proposal is on an allowed path
    cross_fitted: Proposal | None = None  # the proposal without the right tags
    allowed: np.ndarray | None = None  # (K + 1, K + 1) the steps that a span scheme allows; None: all
    valued: TokenValues | None = None  # numbers and dicts, for templates that look at any

    def templates_at(self, offset: int | None) -> list[int]:
        """List the templates of one word at this offset; with None, those of several words.

        Templates of steps and of features with values are none of them.
        """
        templates = enumerate(self.features.templates)
        return [t for t, own in templates if own.offset == offset and not own.of_steps and not own.valued]

    def word_features(self, t: int, words: np.ndarray | slice = slice(None)) -> np.ndarray:
        """Find the feature of distinct words and marks (words,) by template t, -1 for none."""
        keys = word_keys(self.features.templates[t], self.values, self.features.radix)
        return self.features.ids(t, keys[words])

    def token_features(self, t: int) -> np.ndarray:
        """Find the feature of each token (N,) by template t, -1 for none."""
        keys = token_keys(self.features.templates[t], self.values, self.windows, self.features.radix)
        return self.features.ids(t, keys)

    def step_features(self) -> list[np.ndarray]:
        """Find the features of the step to each token (N,), by template; those of first tokens do not count."""
        return [self.token_features(t) for t in self.features.step_templates]

    def triples(self) -> Triples:
        """Find the features with values of each token (N,), ordered by token."""
        return self.features.triples(self.values, self.windows, self.valued)

    def at(self, tokens: np.ndarray) -> EncodedCorpus:
        """Return the corpus with the windows of these tokens."""
        windows = Windows(self.windows.words, self.windows.places[tokens], self.windows.around)
        return replace(self, windows=windows, valued=self.valued and self.valued.at(tokens))


class ChainWeights(NamedTuple):
    """All weights of a CRF: of its features, of its chain, and of the HMM's log-probability."""

    features: np.ndarray  # (P,)
    start: np.ndarray  # (K,)
    transitions: np.ndarray  # (K, K)
    end: np.ndarray  # (K,)
    trigrams: np.ndarray  # one for each tag trigram seen; empty for order 1
    posterior: np.ndarray  # (1,); empty without candidates


class ParameterLayout:
    """The order of the weights: features, tag bigrams seen, K starts, K ends, tag trigrams seen, the posterior's.

    With order 0 there are those of features only.
    """

    def __init__(
        self,
        corpus: EncodedCorpus,
        feature_counts: np.ndarray,
        also_seen: np.ndarray | None = None,
        order: int = 1,
        trigrams: np.ndarray | None = None,
    ) -> None:
        self.K, self.features_end, self.order = corpus.K, len(feature_counts), order
        self.steps_begin = corpus.features.steps_begin  # of the features, those of steps come last
        self.allowed = corpus.allowed if order else None
        _, pairs = step_events(corpus.lengths, corpus.tags, corpus.choices, corpus.K)
        bigrams, occurrences = np.unique(pairs if order else NO_KEYS, return_counts=True)
        self.seen = bigrams if also_seen is None else np.union1d(bigrams, also_seen)  # previous · K + next
        bigram_counts = np.zeros(len(self.seen))
        bigram_counts[np.searchsorted(self.seen, bigrams)] = occurrences
        ends = np.cumsum(corpus.lengths)
        firsts, lasts = corpus.tags[ends - corpus.lengths], corpus.tags[ends - 1]
        edge_counts = [np.bincount(tags[tags != OPEN], minlength=self.K) for tags in (firsts, lasts)]
        edge_counts = edge_counts if order else [NO_KEYS, NO_KEYS]
        keys, trigram_counts = tag_trigrams(corpus) if order == 2 else (NO_KEYS, np.empty(0))
        self.trigrams = keys if trigrams is None else np.union1d(keys, trigrams)  # (u · (K + 1) + v) · (K + 1) + w
        all_counts = np.zeros(len(self.trigrams))
        all_counts[np.searchsorted(self.trigrams, keys)] = trigram_counts
        nodes = np.array([] if corpus.proposal is None else [len(corpus.proposal.log_posterior)])
        counts: list[np.ndarray] = [feature_counts, bigram_counts, *edge_counts, all_counts, nodes]
        self.counts = np.concatenate(counts).astype(np.float64)  # in the corpus
        self.bounds = np.cumsum([len(part) for part in counts])[:-1]
        self.size = len(self.counts)
        self.centre = np.zeros(self.size)  # the L2 penalty is the distance from here

    def kept(self, selection: Selection) -> np.ndarray | None:
        """Return which parameters (P,) are learned; the others stay zero. None for all."""
        if selection == ALL:
            return None
        kept, (steps, starts, _, trigrams, _) = np.ones(self.size, bool), self.bounds.tolist()
        kept[steps:starts] = self.counts[steps:starts] >= (selection.min_value or 0)
        kept[starts:trigrams] = selection.edges
        return kept

    def join(self, weights: ChainWeights) -> np.ndarray:
        """Join all weights to one vector; the inverse of `split`."""
        w, start, transitions, end, trigrams, posterior = weights
        edges = [start, end] if self.order else []
        parts = [w, transitions.ravel()[self.seen], *edges, trigrams, posterior]
        return np.concatenate(parts).astype(np.float64)

    def split(self, weights: np.ndarray) -> ChainWeights:
        """Split the vector into its parts."""
        w, steps, start, end, trigrams, posterior = np.split(weights, self.bounds)
        transitions = np.zeros(self.K * self.K)
        transitions[self.seen] = steps
        if not self.order:
            start = end = np.zeros(self.K)
        return ChainWeights(w, start, transitions.reshape(self.K, self.K), end, trigrams, posterior)


def tag_trigrams(corpus: EncodedCorpus) -> tuple[np.ndarray, np.ndarray]:
    """Count the tag trigrams, with the mark K before and after sentences; open tags have none."""
    width, T = corpus.K + 1, corpus.lengths[corpus.lengths > 0]
    marked = np.full(len(corpus.tags) + 3 * len(T), corpus.K, np.int64)  # two marks before each sentence, one after
    marked[consecutive(np.cumsum(T + 3) - T - 1, T)] = corpus.tags
    u, v, w = marked[:-2], marked[1:-1], marked[2:]
    inside = (v != corpus.K) | (u == corpus.K)  # a mark after a tag ends a sentence
    inside &= (w != corpus.K) | (v != corpus.K)
    inside &= np.minimum(np.minimum(u, v), w) != OPEN
    keys, counts = np.unique(((u * width + v) * width + w)[inside], return_counts=True)
    return keys, counts


def step_events(lengths: np.ndarray, all_tags: np.ndarray, choices: Choices, K: int) -> tuple[np.ndarray, np.ndarray]:
    """List all pairs of tags that two neighbouring tokens can have: the second token, and previous · K + next.

    The sentences of these lengths have the tags (N,); open tokens have none.
    """
    tokens, tags = choices.events(all_tags)
    begins = np.searchsorted(tokens, np.arange(len(all_tags) + 1))  # token t has the events begins[t] : begins[t + 1]
    widths = np.diff(begins)
    before = np.delete(np.arange(len(all_tags)), np.cumsum(lengths) - 1)  # all but the last tokens
    # Tokens t, t + 1 with m and n events make m · n pairs, numbered i · n + j: divmod by n gives the events i and j.
    pairs = widths[before] * widths[before + 1]
    first, second = np.divmod(ranges(pairs), np.repeat(widths[before + 1], pairs))
    first += np.repeat(begins[before], pairs)
    second += np.repeat(begins[before + 1], pairs)
    return np.repeat(before + 1, pairs), np.asarray(tags[first] * K + tags[second])
