"""Lattices of an HMM: emissions of each distinct word computed once, then gathered.

A model of first order fills a dense lattice. A model of second order considers only the likeliest tags of each word,
its candidates, and fills a lattice of candidates. Both keep the words they have met in a cache.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tagger.chain.candidate_lattice import CandidateLattice, best_tags
from tagger.chain.lattice import Lattice, Scorer, dense_scorer
from tagger.chain.pack import Pack
from tagger.hmm.emissions import EmissionModel
from tagger.hmm.lexicalized import NOT_FREQUENT, LexicalizedTransitions
from tagger.hmm.word_tags import WordForm
from tagger.models.base import Terms
from tagger.sentence import Words
from tagger.words.cache import WordCache

MAX_CANDIDATES = 10  # tags per word
MIN_RATIO = 3e-3  # of a candidate's probability to that of the word's best tag

Candidates = Callable[[Sequence[WordForm]], dict[str, np.ndarray]]


def first_order_scorer(emissions: EmissionModel, start: np.ndarray, transitions: np.ndarray, end: np.ndarray) -> Scorer:
    """Make a scorer of dense lattices."""
    cache = WordCache(lambda forms: {"scores": emissions(forms)[0]})

    def rows(sentences: list[Words], pack: Pack) -> np.ndarray:
        lines = cache.find(emissions.forms(sentences))[pack.tokens]
        return cache.arrays["scores"][lines]

    return dense_scorer(start, transitions, end, rows)


def second_order_scorer(emissions: EmissionModel, transitions: LexicalizedTransitions) -> Scorer:
    """Make a scorer of candidate lattices."""
    cache = WordCache(candidates(emissions, transitions))

    def score(sentences: list[Words]) -> Lattice:
        pack = Pack.of([len(words) for words in sentences])
        lines = cache.find(emissions.forms(sentences))[pack.tokens]
        arrays = (cache.arrays[name] for name in ("words", "scores", "candidates", "places"))
        return CandidateLattice(pack, transitions, lines, *arrays)

    return score


def candidates(emissions: EmissionModel, transitions: LexicalizedTransitions) -> Candidates:
    """Make a function from word forms to their number, scores, candidates, best first, and the candidates' places."""

    def score(forms: Sequence[WordForm]) -> dict[str, np.ndarray]:
        scores, ids = emissions(forms)
        likely = scores + np.log(emissions.prior)  # log P(t | x) up to a constant
        likely[likely < likely.max(axis=1, keepdims=True) + np.log(MIN_RATIO)] = -np.inf
        tags = best_tags(likely, MAX_CANDIDATES)
        places = transitions.places(np.repeat(ids, tags.shape[1]), np.maximum(tags, 0).ravel())
        return {"words": ids, "scores": scores, "candidates": tags, "places": places.reshape(tags.shape)}

    return score


def path_terms(words: Words, tags: list[str], emissions: EmissionModel, transitions: LexicalizedTransitions) -> Terms:
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
