"""P(word | tag): counted for known words, guessed from the spelling for unknown ones, both for rare words.

By Bayes' rule P(x | t) = P(t | x) · P(x) / P(t), and P(t | x) is smoothed towards the guess with strength λ:

    P(t | x) = (count(x, t) + λ · guess(t | spelling of x)) / (count(x) + λ)

So counts decide for frequent words, the guess for unknown ones. λ maximises the leave-one-out likelihood of the tokens
of rare words. Where a user's lexicon lists the tags of a word, the guess is restricted to those; tags seen in the
corpus stay possible.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tagger.arrays.npz import MIN_POSITIVE, Archive, Arrays
from tagger.errors import TrainingError
from tagger.escaping import quote
from tagger.hmm.affixes import INSIDE, KNOWN_IN_LOWER_CASE, NEW, Letters
from tagger.hmm.guesser import Guesser, tag_shares
from tagger.hmm.smoothing import best_kappa
from tagger.hmm.word_tags import FirstWord, RawTextTable, WordForm, WordTagTable, lower_first_words, split_forms
from tagger.sentence import Words
from tagger.words.lexicon import Lexicon


@dataclass(frozen=True)
class EmissionModel:
    """P(x | t) of any word form x and K tags."""

    lexicon: Lexicon
    prior: np.ndarray  # (K,) P(t)
    B: np.ndarray  # (entries of the lexicon,) the share of the counts in P(x | t)
    guesser: Guesser
    strength: float  # λ
    rare_count: int  # words seen more often get no guess
    allowed: WordTagTable  # the tags that a user's lexicon allows
    raw: RawTextTable  # the probabilities that untagged text has added
    scale: np.ndarray  # (2, K) the factor that untagged text has left to all others: of rare and of frequent words

    @classmethod
    def learn(
        cls,
        lexicon: Lexicon,
        words: Sequence[str],
        seen_inside: np.ndarray,
        prior: np.ndarray,
        rare_count: int,
        suffix_length: int,
        allowed: WordTagTable,
    ) -> EmissionModel:
        """Learn from a lexicon with these `words`, of which `seen_inside` (a mask) occur inside sentences.

        Words seen only at the start of sentences train the guesser as first words. In new text they are known words
        and not first words, so their scores then differ a little from those that λ is fitted to.
        """
        K, owners, counts = len(prior), lexicon.rows.owners, lexicon.counts.astype(float)
        total = lexicon.totals
        rare = total <= max(rare_count, total.min())
        letters = Letters(words, initial_kinds(lexicon, words, rare & ~seen_inside))
        guesser, sample, guess = Guesser.learn(letters, rare, lexicon.rows, counts, K, suffix_length)
        entries, _ = lexicon.rows.entries(sample)
        strength = best_kappa(counts[entries] - 1, total[owners[entries]] - 1, guess, counts[entries])
        # count(x, t) / (count(x) + λ) · P(x) / P(t), where P(x) = count(x) / N
        of_word = total[owners]
        B = counts / (of_word + strength) * of_word / (prior[lexicon.rows.tags] * total.sum())
        raw = RawTextTable(WordTagTable.empty(K), WordTagTable.empty(K))
        return cls(lexicon, prior, B, guesser, strength, rare_count, allowed, raw, np.ones((2, K)))

    def __call__(self, forms: Sequence[WordForm]) -> tuple[np.ndarray, np.ndarray]:
        """Compute log P(x | t), (words, K), and the words' places in the lexicon; unseen words count as seen once."""
        words, first = split_forms(forms)
        ids, K = self.lexicon.words.find(words), len(self.prior)
        entries, owners = self.lexicon.rows.known_entries(ids)
        seen = np.bincount(owners, weights=self.lexicon.counts[entries], minlength=len(words))
        guess = np.tile(self.guesser.prior, (len(words), 1))
        rare = np.flatnonzero(seen <= self.rare_count)
        own_shares = tag_shares(self.lexicon.rows, self.lexicon.counts, ids[rare], K)
        strings = [words[i] for i in rare.tolist()]
        guess[rare] = self.guesser(Letters(strings, initial_kinds(self.lexicon, strings, first[rare])), own_shares)
        if len(self.allowed.words):
            restrict_guess(guess, self.allowed.dense(lower_first_words(words, first, self.allowed.words), K))
        # λ / (count(x) + λ) · guess · P(x) / P(t), plus B for the tags seen with x
        share = self.strength / (seen + self.strength) * np.maximum(seen, 1) / self.lexicon.counts.sum()
        P = guess * share[:, None]
        P /= self.prior
        P[owners, self.lexicon.rows.tags[entries]] += self.B[entries]
        if len(self.raw):
            P = P * self.scale[(seen > self.rare_count).astype(int)] + self.raw.dense(words, first, K)
        with np.errstate(divide="ignore"):  # a lexicon makes tags impossible
            return np.log(P, out=P), ids

    def frequent(self, ids: np.ndarray) -> np.ndarray:
        """Return True for each word of the lexicon seen more than `rare_count` times; False for -1, unknown."""
        return np.asarray(np.append(self.lexicon.totals, 0)[ids] > self.rare_count)

    def add_raw(self, forms: Sequence[WordForm], added: np.ndarray, factor: np.ndarray) -> EmissionModel:
        """Return the model with P'(x | t) = factor · (P(x | t) + added).

        `added` is (words, K), `factor` (2, K) as `scale` is.
        """
        given = set(forms)
        words, first = split_forms([*forms, *(form for form in self.raw.forms() if form not in given)])
        values = self.raw.dense(words, first, len(self.prior))
        values[: len(forms)] += added
        values *= factor[self.frequent(self.lexicon.words.find(words)).astype(int)]
        return replace(self, raw=RawTextTable.from_dense(words, first, values), scale=self.scale * factor)

    def forms(self, sentences: list[Words]) -> list[Sequence[WordForm]]:
        """Return the sentences, with a `FirstWord` where the first word is capitalised and unknown."""
        firsts = self.first_forms([words[0] if len(words) else "" for words in sentences])
        return [
            words if isinstance(first, str) else [first, *words[1:]]
            for words, first in zip(sentences, firsts, strict=True)
        ]

    def first_forms(self, words: Sequence[str]) -> list[WordForm]:
        """Return the forms of words that begin a sentence."""
        unknown = initial_kinds(self.lexicon, words, ~self.lexicon.known(words)) != INSIDE
        return [FirstWord(word) if new else word for word, new in zip(words, unknown.tolist(), strict=True)]

    def check_choices(self, forms: Sequence[WordForm], choices: np.ndarray, classes: list[str]) -> None:
        """Raise TrainingError if a user's lexicon forbids all tags that a row of `choices` (words, K) leaves a word."""
        words = lower_first_words(*split_forms(forms), self.allowed.words)
        listed = np.flatnonzero(self.allowed.words.find(words) >= 0).tolist()
        distinct = list(dict.fromkeys(forms[i] for i in listed))
        possible = dict(zip(distinct, ~np.isneginf(self(distinct)[0]), strict=True))
        for i in listed:
            if not (possible[forms[i]] & choices[i]).any():
                left, allowed = ("|".join(np.array(classes)[row]) for row in (choices[i], possible[forms[i]]))
                got = f"expected one of the tags {left} that the corpus leaves open, got {allowed}"
                raise TrainingError(f"lexicon, word {quote(words[i])}: {got}. Change one of the two.")

    def arrays(self) -> Arrays:
        arrays = {"prior": self.prior, "B": self.B, "lambda": np.array([self.strength]), "raw.scale": self.scale}
        arrays |= self.lexicon.arrays() | self.guesser.arrays()
        return arrays | self.allowed.arrays("allowed") | self.raw.arrays()

    @classmethod
    def restore(cls, archive: Archive, K: int, rare_count: int) -> EmissionModel:
        lexicon, guesser = Lexicon.restore(archive, K), Guesser.restore(archive, K)
        prior, strength = archive.take("prior", "f", K), float(archive.take("lambda", "f", 1)[0])
        B = archive.take("B", "f", len(lexicon.counts))
        scale = archive.take("raw.scale", "f", 2, K)
        positive = all(
            bool((numbers > least).all()) for numbers, least in ((prior, MIN_POSITIVE), (scale, MIN_POSITIVE), (B, 0))
        )
        archive.check(positive and strength > MIN_POSITIVE, "expected positive probabilities of its words")
        allowed, raw = WordTagTable.restore(archive, "allowed", K), RawTextTable.restore(archive, K)
        return cls(lexicon, prior, B, guesser, strength, rare_count, allowed, raw, scale)


def restrict_guess(guess: np.ndarray, allowed: np.ndarray) -> None:
    """Set forbidden tags to 0 and renormalise, in place, in rows (words, K) where any tag is allowed."""
    listed = np.flatnonzero(allowed.any(axis=1))
    guess[listed] *= allowed[listed] > 0
    guess[listed] /= guess[listed].sum(axis=1, keepdims=True)


def initial_kinds(lexicon: Lexicon, words: Sequence[str], first: np.ndarray) -> np.ndarray:
    """Compute `Letters.initial` (words,) of words, of which those where `first` is True begin a sentence.

    Only a word whose first letter is its only capital may be an ordinary word.
    """
    kinds = np.full(len(words), INSIDE)
    places = np.flatnonzero(first)
    firsts = [words[i] for i in places.tolist()]
    lows = [word.lower() if word[1:] == word[1:].lower() else word for word in firsts]
    capital = np.array([low != word for low, word in zip(lows, firsts, strict=True)], bool)
    kinds[places[capital]] = np.where(lexicon.known(lows), KNOWN_IN_LOWER_CASE, NEW)[capital]
    return kinds
