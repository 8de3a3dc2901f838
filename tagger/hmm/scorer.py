"""Lattices of an HMM: emissions of each distinct word computed once, then gathered.

A model of first order fills a dense lattice. A model of second order considers only the likeliest tags of each word,
its candidates, and fills a lattice of candidates. Both keep the words they have met in a cache.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Protocol

import numpy as np

from tagger.arrays.caching import cached_property
from tagger.arrays.ragged import consecutive
from tagger.chain.candidate_kernels import TrellisScores
from tagger.chain.candidate_lattice import CandidateLattice, Candidates, best_tags
from tagger.chain.candidates import Arcs, Trellis
from tagger.chain.lattice import Lattice, Scorer, dense_scorer
from tagger.chain.pack import Pack
from tagger.hmm.lexicalized import NOT_FREQUENT, LexicalizedTransitions
from tagger.hmm.single.scores import SingleHMM, SingleSentence
from tagger.hmm.transitions import PairTransitions
from tagger.hmm.word_tags import FirstWordForms, WordForm
from tagger.models.base import Terms
from tagger.sentence import Words
from tagger.words.cache import WordCache
from tagger.words.windows import Windows

MAX_CANDIDATES = 10  # tags per word
MIN_RATIO = 3e-3  # of a candidate's probability to that of the word's best tag


class Emissions(Protocol):
    """P(x | t) of any word form x: `EmissionModel`, or that of a textbook."""

    @property
    def prior(self) -> np.ndarray:
        """P(t), (K,)."""

    def forms(self, sentences: list[Words]) -> list[Sequence[WordForm]]:
        """Return the word forms of sentences."""

    def __call__(self, forms: Sequence[WordForm]) -> tuple[np.ndarray, np.ndarray]:
        """Compute log P(x | t), (words, K), and the words' places in the lexicon."""

    def likely_tags(
        self, forms: Sequence[WordForm], width: int, ratio: float
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Find the likeliest tags of words, their scores and the words' places in the lexicon."""


CandidateRows = Callable[[Sequence[WordForm]], dict[str, np.ndarray]]


def first_order_scorer(
    emissions: Emissions,
    start: np.ndarray,
    transitions: np.ndarray,
    end: np.ndarray,
    allowed: np.ndarray | None = None,
) -> Scorer:
    """Make a scorer of dense lattices; steps that are not `allowed` (K + 1, K + 1) are forbidden."""
    cache = WordCache(lambda forms: {"scores": emissions(forms)[0]})

    def rows(sentences: list[Words], pack: Pack) -> np.ndarray:
        lines = cache.find(emissions.forms(sentences))[pack.tokens]
        return cache.arrays["scores"][lines]

    return dense_scorer(start, transitions, end, rows, allowed)


def second_order_scorer(
    emissions: Emissions, transitions: LexicalizedTransitions, allowed: np.ndarray | None = None
) -> Scorer:
    """Make a scorer of candidate lattices; steps that are not `allowed` (K + 1, K + 1) are forbidden."""
    always = None
    if allowed is not None:
        transitions, always = replace(transitions, allowed=allowed), always_candidate(allowed, emissions.prior)
    cache, find_forms = WordCache(candidates(emissions, transitions, always)), FirstWordForms(emissions.forms)
    hmm = SingleHMM.of(transitions)

    def score(sentences: list[Words]) -> Lattice:
        forms = find_forms(sentences)
        lines = cache.find(forms)
        words, scores, tags, places = (cache.arrays[name] for name in ("words", "scores", "candidates", "places"))

        def all_scores(tokens: np.ndarray) -> np.ndarray:
            flat = list(chain.from_iterable(forms))
            windows = Windows.of([[flat[i] for i in tokens.tolist()]], 0)
            return emissions(windows.words)[0][windows.at(0)]

        lengths = list(map(len, sentences))
        return candidate_lattice(lengths, transitions, lines, words, scores, tags, places, all_scores, hmm)

    return score


@dataclass(frozen=True)
class PathScores:
    """The scores of an HMM of second order for nodes, a word with a tag each; the last node is the mark."""

    model: LexicalizedTransitions
    tags: np.ndarray  # (nodes + 1,)
    emissions: np.ndarray  # (nodes + 1,) log P(x | v)
    places: np.ndarray  # (nodes + 1,) of frequent words, as the model numbers them
    order: int = 2
    hmm: SingleHMM | None = None  # for one sentence at a time

    def possible(self) -> np.ndarray:
        return ~np.isneginf(self.emissions[:-1])

    def only(self, nodes: np.ndarray) -> PathScores:
        kept = np.append(nodes, len(self.tags) - 1)
        return PathScores(self.model, self.tags[kept], self.emissions[kept], self.places[kept])

    def on(self, trellis: Trellis) -> PairScores:
        tags = self.tags[trellis.nodes]  # by slot
        u, v = tags[trellis.there], trellis.at_states(tags)
        steps = PairTransitions(self.model.transitions, u * (self.model.K + 1) + v, v)
        places = trellis.at_states(self.places[trellis.nodes])
        return PairScores(self.model, trellis, steps, u, places, self.emissions[trellis.nodes])

    def single(self) -> SingleSentence | None:
        emissions = self.emissions.tolist()
        if self.hmm is None or -np.inf in emissions:
            return None
        return SingleSentence(self.hmm, self.tags.tolist(), emissions, self.places.tolist())


@dataclass(frozen=True)
class PairScores(TrellisScores):
    """The scores of an HMM for a trellis, whose states are pairs (u, v)."""

    model: LexicalizedTransitions
    trellis: Trellis
    steps: PairTransitions
    u: np.ndarray  # (states,)
    places: np.ndarray  # (states,) of the word of v
    emissions: np.ndarray  # (slots,) log P(x | v)

    @property
    def pairs(self) -> np.ndarray:
        """The number u · (K + 1) + v of each state, (states,)."""
        return self.steps.pairs

    @cached_property
    def arrivals(self) -> np.ndarray:
        """log P(x | u, v), (states,)."""
        return self.model.arrivals(self.pairs, self.trellis.at_states(self.emissions), self.places)

    def arrival_factors(self, trellis: Trellis) -> tuple[np.ndarray, np.ndarray]:
        """Compute P(x | u, v) over the highest of each row, and the logarithm of that."""
        emissions = trellis.at_states(np.exp(self.emissions))
        P = emissions * self.model.emission_share(self.pairs, self.places)
        P += self.model.counted_emissions(self.u, self.places)
        P[emissions == 0] = 0.0
        highest = np.maximum.reduceat(P, trellis.bounds[:-1])
        with np.errstate(divide="ignore"):  # of rows that are impossible
            return P / highest[trellis.rows], np.log(highest)

    def arcs(self, arcs: Arcs) -> np.ndarray:
        with np.errstate(divide="ignore"):  # of forbidden steps
            return np.log(self.arc_factors(arcs))

    def arc_factors(self, arcs: Arcs) -> np.ndarray:
        """Compute P(w | u, v, x); all that u has no part in is computed for states, of which there are fewer."""
        before = arcs.before[arcs.begins]  # all arcs into a state have the same v and x
        w, places = self.steps.tags[arcs.states], self.places[before]
        P = self.steps.along(arcs)
        P *= np.repeat(self.model.backoff_share(places), arcs.widths)
        P += np.repeat(self.model.counted_onward(w, places), arcs.widths)
        if self.model.allowed is not None:
            P *= np.repeat(self.model.allowed[self.steps.tags[before], w], arcs.widths)
        return P


def candidate_lattice(
    lengths: Sequence[int],
    model: LexicalizedTransitions,
    lines: np.ndarray,
    words: np.ndarray,
    scores: np.ndarray,
    tags: np.ndarray,
    places: np.ndarray,
    all_scores: Callable[[np.ndarray], np.ndarray],
    hmm: SingleHMM | None = None,
) -> CandidateLattice:
    """Make the lattice of sentences whose tokens (N,) have these lines.

    A line is a distinct word: its number `words` (lines,), candidate `tags` (lines, C), -1 after the last, and the
    `scores` and `places` (lines, C) of the word with each. `all_scores` computes the scores (tokens, K) of some tokens,
    for constraints.
    """
    K = model.K

    C = tags.shape[1]

    def propose(allowed: np.ndarray | None) -> tuple[Candidates, PathScores]:
        # The candidates of a token are the first cells of its line; tokens with constraints get lines of their own.
        own, of_lines = lines, [tags, scores, places]
        if allowed is not None:
            bound = np.flatnonzero(~allowed.all(axis=1))
            possible = np.where(allowed[bound], all_scores(bound), -np.inf)
            chosen = best_tags(possible, C)
            chosen[chosen[:, 0] < 0, 0] = 0  # a token that allows nothing has one impossible node
            number = np.repeat(words[lines[bound]], C)
            others = [
                chosen,
                np.take_along_axis(possible, np.maximum(chosen, 0), axis=1),
                model.places(number, np.maximum(chosen, 0).ravel()).reshape(chosen.shape),
            ]
            of_lines = [np.concatenate(both) for both in zip(of_lines, others, strict=True)]
            own = lines.copy()
            own[bound] = len(tags) + np.arange(len(bound))
        if len(own) < len(of_lines[0]):  # few tokens: the lines of these only
            of_lines, own = [array[own] for array in of_lines], np.arange(len(own))
        widths = np.count_nonzero(of_lines[0] >= 0, axis=1)[own]
        nodes = consecutive(own * C, widths)
        tag, emission, place = (array.ravel()[nodes] for array in of_lines)
        marked = (np.append(tag, K), np.append(emission, 0.0), np.append(place, NOT_FREQUENT))
        return Candidates(tag, widths), PathScores(model, *marked, hmm=hmm)

    return CandidateLattice(np.asarray(lengths, np.int64), K, propose)


def always_candidate(allowed: np.ndarray, prior: np.ndarray) -> int:
    """Choose the most frequent tag that may be the only one of a sentence.

    As a candidate of every word it leaves a path through all sentences, whatever steps are forbidden.
    """
    alone = allowed[-1, :-1] & allowed.diagonal()[:-1] & allowed[:-1, -1]  # (K,)
    return int(np.argmax(np.where(alone, prior, 0.0)))


def candidates(emissions: Emissions, transitions: LexicalizedTransitions, always: int | None = None) -> CandidateRows:
    """Make a function from word forms to their number, scores, candidates, best first, and the candidates' places."""

    def score(forms: Sequence[WordForm]) -> dict[str, np.ndarray]:
        tags, scores, ids = emissions.likely_tags(forms, MAX_CANDIDATES, MIN_RATIO)
        if always is not None:
            lacking = np.flatnonzero((tags != always).all(axis=1))
            column = np.minimum((tags[lacking] >= 0).sum(axis=1), tags.shape[1] - 1)  # the last one makes room
            tags[lacking, column] = always
            scores[lacking, column] = emissions([forms[i] for i in lacking.tolist()])[0][:, always]
        tags[tags[:, 0] < 0, 0] = 0  # a word that is impossible with every tag has one impossible candidate
        places = transitions.places(np.repeat(ids, tags.shape[1]), np.maximum(tags, 0).ravel())
        return {"words": ids, "scores": scores, "candidates": tags, "places": places.reshape(tags.shape)}

    return score


def path_terms(words: Words, tags: list[str], emissions: Emissions, transitions: LexicalizedTransitions) -> Terms:
    """Make the function that splits the score of a path into terms (`Tagger.score_terms`)."""
    forms, *_ = emissions.forms([words])
    scores, ids = emissions(forms)
    K, T = len(tags), len(words)
    names = [*tags, "end of sentence"]

    def terms(path: Sequence[int], t: int) -> dict[str, float]:
        """Score the emissions of tokens t and t + 1, and the steps to the tag of t and to the two after it."""
        marked = np.array([K, K, *path, K])  # the tag of token i is marked[i + 2]
        pairs = marked[:-1] * (K + 1) + marked[1:]  # (u, v) with v the tag of token i at pairs[i + 1]
        places = np.append(NOT_FREQUENT, transitions.places(ids, marked[2:-1]))  # of token i at places[i + 1]
        out = {}
        for i in range(t, min(t + 2, T)):
            kind = "known word" if ids[i] >= 0 else "guess for unknown word"
            name = f"{kind} {words[i]}" if i == t else f"next word {words[i]}"
            at = slice(i + 1, i + 2)
            out[name] = float(transitions.arrivals(pairs[at], scores[i, path[i] : path[i] + 1], places[at])[0])
        for i in range(t, min(t + 3, T + 1)):
            name = ("tags before", f"next tag {names[marked[t + 3]]}", "tag after the next")[i - t]
            out[name] = float(transitions.onward(pairs[i : i + 1], marked[i + 2 : i + 3], places[i : i + 1])[0])
        return out

    return terms
