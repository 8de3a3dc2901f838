"""The hidden Markov model: count, smooth, guess unknown words, fill a lattice.

    p(words, tags) = Π_t P(y_t | y_{t-2}, y_{t-1}) · P(w_t | y_t) · P(end | y_{T-1}, y_T)

`transitions` says how tags follow each other, `neighbours` what frequent words change in that, `wordmodel` how likely a
word is under a tag. A model of first order knows one tag before instead of two, and nothing of neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tagger.archive import Archive, Arrays
from tagger.cache import WordCache
from tagger.chain import Chain
from tagger.dominance import Dominance
from tagger.lattice import ChainLattice, Lattice
from tagger.lexicon import Lexicon
from tagger.model import Scorer, Tagger, Words, training_data
from tagger.neighbours import Neighbours
from tagger.pack import Pack
from tagger.transitions import Steps, Transitions
from tagger.trigram import TrigramLattice, best_tags
from tagger.windows import Windows
from tagger.wordmodel import WordModel

CANDIDATES, SLIGHT = 10, 1e-3  # tags considered for a word, unless so many times less likely than its best


class HMMTagger(Tagger):
    """Settings: words seen up to `rare_count` times teach the guesser, which looks at up to `suffix_length` letters."""

    kind = "hmm"
    neighbours_: Neighbours
    words_: WordModel

    def __init__(self, *, order: int = 2, rare_count: int = 10, suffix_length: int = 6) -> None:
        self.order = order
        self.rare_count = rare_count
        self.suffix_length = suffix_length

    @property
    def transitions_(self) -> Transitions:
        return self.neighbours_.transitions

    @property
    def pi_(self) -> np.ndarray:
        """(K,) P(first tag)"""
        return self.transitions_.A[-1, :-1]

    @property
    def A_(self) -> np.ndarray:
        """(K, K) P(next | previous); A_[i].sum() + end_[i] = 1"""
        return self.transitions_.A[:-1, :-1]

    @property
    def end_(self) -> np.ndarray:
        """(K,) P(end | last tag)"""
        return self.transitions_.A[:-1, -1]

    def fit(
        self,
        X: Sequence[Any],
        y: Sequence[Sequence[str]] | None = None,
        X_dev: Sequence[Any] | None = None,
        y_dev: Sequence[Sequence[str]] | None = None,
    ) -> HMMTagger:
        """Learn from tagged sentences. A dev set changes nothing: counting has nothing to stop early."""
        from threadpoolctl import threadpool_limits

        with threadpool_limits(limits=1, user_api="blas"):  # the matrices are small, and threads only get in the way
            return self.learn(X, y)

    def learn(self, X: Sequence[Any], y: Sequence[Sequence[str]] | None) -> HMMTagger:
        sentences, self.classes_, tags = training_data(X, y)
        K = len(self.classes_)
        lengths = np.array([len(sentence) for sentence in sentences])
        windows = Windows.of([sentence.words for sentence in sentences], margin=0)
        ids = windows.at(0)
        self.lexicon_ = Lexicon.of(windows.words, ids, tags, K)
        place = self.lexicon_.words.find(windows.words)
        words = place[ids]  # (N,) as the lexicon numbers them
        self.learn_words([windows.words[i] for i in np.argsort(place).tolist()], words, lengths, tags)
        self.count_neighbours(Steps.of(tags, lengths, K), words)
        self.summary_ = {"sentences": len(sentences), "tokens": len(tags)}
        return self

    def learn_words(self, strings: list[str], words: np.ndarray, lengths: np.ndarray, tags: np.ndarray) -> None:
        """`words_`, from the lexicon's strings, and the text as words (N,) of the lexicon."""
        inside = np.ones(len(words), bool)
        inside[np.cumsum(lengths) - lengths] = False
        elsewhere = np.bincount(words[inside], minlength=len(strings)) > 0
        prior = np.bincount(tags, minlength=len(self.classes_)) / len(tags)
        self.words_ = WordModel.learn(
            self.lexicon_, strings, elsewhere, prior, self.rare_count, self.suffix_length
        )

    def count_neighbours(self, steps: Steps, words: np.ndarray) -> None:
        """`neighbours_`, from the steps and the lexicon's words (N,)."""
        K, width = steps.K, steps.K + 1
        bigrams = np.bincount(steps.v * width + steps.w, minlength=width**2).reshape(width, width)
        transitions = Transitions.count(steps, np.bincount(steps.w, minlength=width), bigrams, self.order)
        rows = self.lexicon_.rows
        often = np.flatnonzero(np.bincount(words) > self.rare_count)
        if self.order == 1 or not len(often):
            self.neighbours_ = Neighbours.none(transitions)
            return
        entries, widths = rows.entries(often)
        scores, _ = self.words_([self.lexicon_.words[i] for i in often.tolist()])
        P = np.exp(scores[np.repeat(np.arange(len(often)), widths), rows.tags[entries]])
        cells = rows.owners[entries] * K + rows.tags[entries]
        self.neighbours_ = Neighbours.count(transitions, steps, words, cells, P)

    def word_scores(self, words: Sequence[str]) -> np.ndarray:
        """(words, K) log P(w | t)"""
        return self.words_(words)[0]

    def scorer(self) -> Scorer:
        return self.first_order() if self.order == 1 else self.second_order()

    def first_order(self) -> Scorer:
        start, transitions, end = np.log(self.pi_), np.log(self.A_), np.log(self.end_)
        step = Dominance(transitions)
        cache = WordCache(lambda words: {"scores": self.word_scores(words)})

        def score(sentences: list[Words]) -> Lattice:
            sentences = self.marked(sentences)
            pack = Pack.of([len(words) for words in sentences])
            windows = Windows.of(sentences, 0, pack.tokens)
            slots = cache.find(windows.words)
            chain = Chain(pack, start, transitions, end, cache.arrays["scores"][slots[windows.at(0)]])
            return ChainLattice(chain, step)

        return score

    def second_order(self) -> Scorer:
        cache = WordCache(self.candidates)

        def score(sentences: list[Words]) -> Lattice:
            sentences = self.marked(sentences)
            pack = Pack.of([len(words) for words in sentences])
            windows = Windows.of(sentences, 0, pack.tokens)
            lines = cache.find(windows.words)[windows.at(0)]
            known = cache.arrays
            return TrigramLattice(pack, self.neighbours_, lines, known["words"], known["scores"], known["candidates"])

        return score

    def candidates(self, words: Sequence[str]) -> dict[str, np.ndarray]:
        """For each word its number, its scores and its candidates, best first."""
        scores, ids = self.words_(words)
        likely = scores + np.log(self.words_.prior)  # P(t | w), but for a factor
        likely[likely < likely.max(axis=1, keepdims=True) + np.log(SLIGHT)] = -np.inf
        return {"words": ids, "scores": scores, "candidates": best_tags(likely, CANDIDATES)}

    def marked(self, sentences: list[Words]) -> list[Words]:
        """Sentences whose first word is capitalised and unknown begin with that word under a mark."""
        firsts = [words[0] if len(words) else "" for words in sentences]
        marked = self.words_.initial(firsts)
        return [
            words if first == new else [new, *words[1:]]
            for words, first, new in zip(sentences, firsts, marked, strict=True)
        ]

    def arrays(self) -> Arrays:
        return self.transitions_.arrays() | self.neighbours_.arrays() | self.words_.arrays()

    def restore(self, archive: Archive) -> None:
        K = len(self.classes_)
        archive.check(self.order in (1, 2) and isinstance(self.rare_count, int), "its settings are not those of an HMM")
        self.words_ = WordModel.restore(archive, K, self.rare_count)
        self.lexicon_ = self.words_.lexicon
        transitions = Transitions.restore(archive, K)
        self.neighbours_ = Neighbours.restore(archive, transitions, len(self.lexicon_.words))
