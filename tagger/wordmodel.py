"""How likely a word is under each tag: counted if it is known, guessed from its spelling if not, and both if it is rare.

Bayes' rule turns the question round, P(x | t) = P(t | x) · P(x) / P(t), and P(t | x) leans on what the spelling suggests
as if that had been seen λ times:

    P(t | x) = (count(x, t) + λ · guess(t | spelling of x)) / (count(x) + λ)

So frequent words speak for themselves, unknown ones are guessed, and rare ones are between. λ maximises the likelihood
of each token of a rare word when it is left out of the counts. Where a user's lexicon says which tags a word may have,
the guess is confined to those; tags seen in the corpus stay possible.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tagger.archive import Archive, Arrays
from tagger.guesser import Guesser, best_kappa, shares
from tagger.letters import INITIAL
from tagger.lexicon import Lexicon


@dataclass(frozen=True)
class WordModel:
    lexicon: Lexicon
    prior: np.ndarray  # (K,) P(t)
    guesser: Guesser
    strength: float  # λ
    rare_count: int  # words seen more often are not guessed at

    @classmethod
    def learn(
        cls,
        lexicon: Lexicon,
        words: list[str],
        elsewhere: np.ndarray,
        prior: np.ndarray,
        rare_count: int,
        suffix_length: int,
    ) -> WordModel:
        """`words` are the lexicon's; `elsewhere` tells which were seen inside of sentences, not at their start only."""
        K, owners, counts = len(prior), lexicon.rows.owners, lexicon.counts.astype(float)
        total = np.bincount(owners, weights=counts, minlength=len(lexicon.words))
        rare = total <= max(rare_count, total.min())
        words = list(words)
        firsts = np.flatnonzero(rare & ~elsewhere).tolist()
        for i, word in zip(firsts, initial(lexicon, [words[i] for i in firsts]), strict=True):
            words[i] = word
        guesser, judged, guess = Guesser.learn(words, rare, lexicon.rows, counts, K, suffix_length)
        entries, widths = lexicon.rows.entries(judged)
        guess = guess[np.repeat(np.arange(len(judged)), widths), lexicon.rows.tags[entries]]
        strength, _ = best_kappa(counts[entries] - 1, total[owners[entries]] - 1, guess, counts[entries])
        return cls(lexicon, prior, guesser, strength, rare_count)

    @property
    def B(self) -> np.ndarray:
        """For each entry of the lexicon P(x | t), as far as it rests on counts.

        count(x, t) / (count(x) + λ) · P(x) / P(t), where P(x) = count(x) / N
        """
        rows, counts = self.lexicon.rows, self.lexicon.counts.astype(float)
        of_word = np.bincount(rows.owners, weights=counts, minlength=len(rows))[rows.owners]
        return np.asarray(counts / (of_word + self.strength) * of_word / (self.prior[rows.tags] * counts.sum()))

    def __call__(self, words: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """(words, K) log P(x | t), and the words' places in the lexicon; a word never seen counts as seen once."""
        ids = self.lexicon.words.find(words)
        own = shares(self.lexicon.rows, self.lexicon.counts, ids, len(self.prior))
        known = np.flatnonzero(ids >= 0)
        entries, widths = self.lexicon.rows.entries(ids[known])
        seen = np.zeros(len(words))
        seen[known] = np.add.reduceat(self.lexicon.counts[entries], np.cumsum(widths) - widths) if len(known) else 0
        guess = np.tile(self.guesser.prior, (len(words), 1))
        rare = np.flatnonzero(seen <= self.rare_count)
        guess[rare] = self.guesser([words[i] for i in rare.tolist()], own[rare])
        # (count(x, t) + λ · guess) / (count(x) + λ) · P(x) / P(t)
        P = (own * seen[:, None] + self.strength * guess) / (seen + self.strength)[:, None]
        P *= (np.maximum(seen, 1) / self.lexicon.counts.sum())[:, None]
        return np.log(P / self.prior), ids

    def initial(self, words: Sequence[str]) -> list[str]:
        known = self.lexicon.known(words)
        return [w if k else m for w, k, m in zip(words, known.tolist(), initial(self.lexicon, words), strict=True)]

    def arrays(self) -> Arrays:
        own = {"prior": self.prior, "B": self.B, "lambda": np.array([self.strength])}
        return own | self.lexicon.arrays() | self.guesser.arrays()

    @classmethod
    def restore(cls, archive: Archive, K: int, rare_count: int) -> WordModel:
        lexicon, guesser = Lexicon.restore(archive, K), Guesser.restore(archive, K)
        prior, strength = archive.take("prior", "f", K), float(archive.take("lambda", "f", 1)[0])
        archive.check(bool((prior > 0).all()) and strength > 0, "the probabilities of its tags are not all positive")
        return cls(lexicon, prior, guesser, strength, rare_count)


def initial(lexicon: Lexicon, words: Sequence[str]) -> list[str]:
    """First words of sentences: those with a capital first letter and no other under a mark."""
    lows = [word.lower() if word[1:] == word[1:].lower() else word for word in words]
    known = lexicon.known(lows).tolist()
    return [
        word if low == word else INITIAL[not there] + word for word, low, there in zip(words, lows, known, strict=True)
    ]
