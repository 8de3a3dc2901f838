"""The hidden Markov model: count, smooth, guess unknown words, fill a lattice.

    p(words, tags) = pi[y_1] · Π_t A[y_{t-1}, y_t] · end[y_T] · Π_t P(w_t | y_t)

`pi`, each row of `A` together with `end`, come from counts that lean on the plain tag frequencies as if those had been
seen κ times. A word's probability is turned round with Bayes' rule, P(w | t) = P(t | w) · P(w) / P(t), and P(t | w)
leans on what the spelling suggests as if that had been seen λ times:

    P(t | w) = (count(w, t) + λ · guess(t | spelling of w)) / (count(w) + λ)

So frequent words speak for themselves, unknown ones are guessed, and rare ones are between. κ and λ maximise the
likelihood of each token when it is left out of the counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tagger.archive import Archive, Arrays
from tagger.cache import WordCache
from tagger.chain import Chain
from tagger.dominance import Dominance
from tagger.guesser import Guesser, best_kappa
from tagger.lattice import ChainLattice
from tagger.lexicon import Lexicon
from tagger.model import Scorer, Tagger, Words, training_data
from tagger.overlap import marks
from tagger.pack import Pack
from tagger.windows import Windows


class HMMTagger(Tagger):
    """Settings: words seen up to `rare_count` times teach the guesser, which looks at up to `suffix_length` letters."""

    kind = "hmm"
    pi_: np.ndarray  # (K,) probabilities, as all of these
    A_: np.ndarray  # (K, K) [previous, next]
    end_: np.ndarray  # (K,); A_[i].sum() + end_[i] = 1
    prior_: np.ndarray  # (K,) P(t)
    B_: np.ndarray  # for each entry of the lexicon, P(w | t) as far as it rests on counts
    lambda_: float
    guesser_: Guesser

    def __init__(self, *, rare_count: int = 10, suffix_length: int = 6) -> None:
        self.rare_count = rare_count
        self.suffix_length = suffix_length

    def fit(
        self,
        X: Sequence[Any],
        y: Sequence[Sequence[str]] | None = None,
        X_dev: Sequence[Any] | None = None,
        y_dev: Sequence[Sequence[str]] | None = None,
    ) -> HMMTagger:
        """Learn from tagged sentences. A dev set changes nothing: counting has nothing to stop early."""
        sentences, self.classes_, tags = training_data(X, y)
        K = len(self.classes_)
        lengths = np.array([len(sentence) for sentence in sentences])
        self.count_transitions(tags, lengths, K)
        windows = Windows.of([sentence.words for sentence in sentences], margin=0)
        self.lexicon_ = Lexicon.of(windows.words, windows.at(0), tags, K)
        self.prior_ = np.bincount(tags, minlength=K) / len(tags)
        self.learn_words(K)
        self.seen_ = marks(sentence.words for sentence in sentences)
        self.summary_ = {"sentences": len(sentences), "tokens": len(tags)}
        return self

    def count_transitions(self, tags: np.ndarray, lengths: np.ndarray, K: int) -> None:
        """`pi_`, `A_` and `end_`, from one table of counts in which row K is the start and column K the end.

        P(j | i) = (count(i, j) + κ · P(j)) / (count(i) + κ)
        """
        steps = len(tags) + len(lengths)  # each sentence has one step more than tokens
        place = np.arange(len(tags)) + np.repeat(np.arange(len(lengths)), lengths)
        before, after = np.full(steps, K), np.full(steps, K)
        after[place] = tags
        before[place + 1] = tags
        counts = np.bincount(before * (K + 1) + after, minlength=(K + 1) ** 2).reshape(K + 1, K + 1).astype(float)
        total = counts.sum(axis=1, keepdims=True)  # (K + 1, 1)
        prior = np.tile(counts.sum(axis=0), (K + 1, 1))  # [previous, next]
        prior[K, K] = 0.0  # no sentence ends before it began
        prior /= prior.sum(axis=1, keepdims=True)
        i, j = np.nonzero(counts)
        kappa, _ = best_kappa(counts[i, j] - 1, total[i, 0] - 1, prior[i, j], counts[i, j])
        P = (counts + kappa * prior) / (total + kappa)
        self.pi_, self.A_, self.end_ = P[K, :K], P[:K, :K], P[:K, K]

    def learn_words(self, K: int) -> None:
        """`guesser_`, `lambda_` and `B_`."""
        lexicon = self.lexicon_
        owners, tags, counts = lexicon.rows.owners, lexicon.rows.tags, lexicon.counts.astype(float)
        total = np.bincount(owners, weights=counts)  # (words,)
        rare = np.flatnonzero(total <= max(self.rare_count, total.min()))
        entries = np.flatnonzero(np.isin(owners, rare))
        place = np.searchsorted(rare, owners[entries])
        words = [lexicon.words[i] for i in rare.tolist()]
        self.guesser_, guess = Guesser.learn(words, place, tags[entries], counts[entries], K, self.suffix_length)
        left = (counts[entries] - 1, total[owners[entries]] - 1)
        self.lambda_, _ = best_kappa(*left, guess, counts[entries])
        # count(w, t) / (count(w) + λ) · P(w) / P(t), where P(w) = count(w) / N and P(t) = count(t) / N
        of_word = total[owners]
        self.B_ = counts / (of_word + self.lambda_) * of_word / (self.prior_[tags] * total.sum())

    def word_scores(self, words: Sequence[str]) -> np.ndarray:
        """(words, K) log P(w | t); a word never seen counts as if it had been seen once."""
        lexicon = self.lexicon_
        tokens = lexicon.counts.sum()
        ids = lexicon.words.find(words)
        rows, known = np.flatnonzero(ids >= 0), ids[ids >= 0]
        entries, widths = lexicon.rows.entries(known)
        owners = np.repeat(rows, widths)
        seen = np.bincount(owners, weights=lexicon.counts[entries], minlength=len(words))
        # λ / (count(w) + λ) · guess · P(w) / P(t), plus B for the tags seen with w
        share = self.lambda_ / (seen + self.lambda_) * np.maximum(seen, 1) / tokens
        P = self.guesser_(words) * share[:, None] / self.prior_
        P[owners, lexicon.rows.tags[entries]] += self.B_[entries]
        return np.log(P)

    def scorer(self) -> Scorer:
        start, transitions, end = np.log(self.pi_), np.log(self.A_), np.log(self.end_)
        step = Dominance(transitions)
        cache = WordCache(lambda words: {"scores": self.word_scores(words)})

        def score(sentences: list[Words]) -> ChainLattice:
            sentences = self.uncapitalised(sentences)
            pack = Pack.of([len(words) for words in sentences])
            windows = Windows.of(sentences, 0, pack.tokens)
            slots = cache.find(windows.words)
            chain = Chain(pack, start, transitions, end, cache.arrays["scores"][slots[windows.at(0)]])
            return ChainLattice(chain, step)

        return score

    def uncapitalised(self, sentences: list[Words]) -> list[Words]:
        """Sentences whose first word is capitalised and unknown, but known in lower case, begin in lower case."""
        firsts = [words[0] if len(words) else "" for words in sentences]
        lows = [word.lower() if word[1:] == word[1:].lower() else word for word in firsts]
        change = ~self.lexicon_.known(firsts) & self.lexicon_.known(lows)
        return [
            [low, *words[1:]] if swap else words
            for words, low, swap in zip(sentences, lows, change.tolist(), strict=True)
        ]

    def arrays(self) -> Arrays:
        own = {"pi": self.pi_, "A": self.A_, "end": self.end_, "prior": self.prior_, "B": self.B_}
        own["lambda"] = np.array([self.lambda_])
        return own | self.lexicon_.arrays() | self.guesser_.arrays()

    def restore(self, archive: Archive) -> None:
        K = len(self.classes_)
        self.lexicon_ = Lexicon.restore(archive, K)
        self.guesser_ = Guesser.restore(archive, K)
        self.pi_, self.end_, self.prior_ = (archive.take(name, "f", K) for name in ("pi", "end", "prior"))
        self.A_ = archive.take("A", "f", K, K)
        self.B_ = archive.take("B", "f", len(self.lexicon_.counts))
        self.lambda_ = float(archive.take("lambda", "f", 1)[0])
        positive = all((p > 0).all() for p in (self.pi_, self.A_, self.end_, self.prior_)) and self.lambda_ > 0
        archive.check(positive and bool((self.B_ >= 0).all()), "its probabilities are not all positive")
