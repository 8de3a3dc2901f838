"""P(word | tag): counted for known words, guessed from the spelling for unknown ones, both for rare words.

By Bayes' rule P(x | t) = P(t | x) · P(x) / P(t), and P(t | x) is smoothed towards the guess with strength λ:

    P(t | x) = (count(x, t) + λ · guess(t | spelling of x)) / (count(x) + λ)

So counts decide for frequent words, the guess for unknown ones. λ maximises the leave-one-out likelihood of the tokens
of rare words. Where a user's lexicon lists the tags of a word, the guess is restricted to those; tags seen in the
corpus stay possible.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from tagger.arrays.caching import cached_property
from tagger.arrays.npz import MIN_POSITIVE, Archive, Arrays, narrow
from tagger.arrays.ragged import RaggedRows, ranges
from tagger.errors import TrainingError
from tagger.escaping import quote
from tagger.features.word_classes import WordClasses
from tagger.hmm.affixes import INSIDE, KNOWN_IN_LOWER_CASE, NEW, Letters
from tagger.hmm.guesser import Guesser, tag_shares
from tagger.hmm.smoothing import best_kappa
from tagger.hmm.sparse_guess import OwnShares
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
    raw: RawTextTable  # the probabilities that EM on partly tagged text has added
    scale: np.ndarray  # (2, K) the factor that it has left to all others, of rare and of frequent words: today the same

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
        classes: WordClasses | None,
    ) -> EmissionModel:
        """Learn from a lexicon with these `words`, of which `seen_inside` (a mask) occur inside sentences.

        Words seen only at the start of sentences train the guesser as first words. In new text they are known words
        and not first words, so their scores then differ a little from those that λ is fitted to.
        """
        K, owners, counts = len(prior), lexicon.rows.owners, lexicon.counts.astype(float)
        total = lexicon.totals
        rare = total <= max(rare_count, total.min())
        letters = Letters(words, initial_kinds(lexicon, words, rare & ~seen_inside))
        guesser, sample, guess = Guesser.learn(letters, rare, lexicon.rows, counts, K, suffix_length, classes)
        entries, _ = lexicon.rows.entries(sample)
        strength = best_kappa(counts[entries] - 1, total[owners[entries]] - 1, guess, counts[entries])
        # count(x, t) / (count(x) + λ) · P(x) / P(t), where P(x) = count(x) / N
        of_word = total[owners]
        B = counts / (of_word + strength) * of_word / (prior[lexicon.rows.tags] * total.sum())
        raw = RawTextTable(WordTagTable.empty(K), WordTagTable.empty(K))
        return cls(lexicon, prior, B, guesser, strength, rare_count, allowed, raw, np.ones((2, K)))

    @property
    def word_classes(self) -> WordClasses | None:
        """The word classes that the guesser looks at, if there are any."""
        return self.guesser.classes

    def __call__(self, forms: Sequence[WordForm]) -> tuple[np.ndarray, np.ndarray]:
        """Compute log P(x | t), (words, K), and the words' places in the lexicon; unseen words count as seen once."""
        words, first = split_forms(forms)
        ids, K = self.lexicon.words.find(words), len(self.prior)
        entries, owners = self.lexicon.rows.known_entries(ids)
        seen = self.seen(ids)
        guess = np.tile(self.guesser.prior, (len(words), 1))
        rare = np.flatnonzero(seen <= self.rare_count)
        guess[rare] = self.guesser(*self.spelling(words, first, ids, rare))
        if len(self.allowed.words):
            restrict_guess(guess, self.allowed.dense(lower_first_words(words, first, self.allowed.words), K))
        # λ / (count(x) + λ) · guess · P(x) / P(t), plus B for the tags seen with x
        P = guess * self.guess_share(seen)[:, None]
        P /= self.prior
        P[owners, self.lexicon.rows.tags[entries]] += self.B[entries]
        if len(self.raw):
            P = P * self.scale[(seen > self.rare_count).astype(int)] + self.raw.dense(words, first, K)
        with np.errstate(divide="ignore"):  # a lexicon makes tags impossible
            return np.log(P, out=P), ids

    def seen(self, ids: np.ndarray) -> np.ndarray:
        """Return how often words of the lexicon, or -1, were seen."""
        return np.asarray(self.totals[ids])

    @cached_property
    def totals(self) -> np.ndarray:
        """How often each word of the lexicon was seen; the last number is 0, for an unseen word."""
        return np.append(self.lexicon.totals, 0)

    @cached_property
    def tokens(self) -> int:
        """The number of training tokens."""
        return int(self.lexicon.counts.sum())

    def guess_share(self, seen: np.ndarray) -> np.ndarray:
        """Compute λ / (count(x) + λ) · P(x), the factor of the guess, of words seen that often; 0 counts as 1."""
        return np.asarray(self.strength / (seen + self.strength) * np.maximum(seen, 1) / self.tokens)

    def spelling(
        self, words: Sequence[str], first: np.ndarray, ids: np.ndarray, rare: np.ndarray
    ) -> tuple[Letters, OwnShares]:
        """Return the letters of the `rare` words (indices) and their own part of the guesser's counts.

        `first` (words,) marks first words of sentences, `ids` (words,) are the words' places in the lexicon.
        """
        strings = [words[i] for i in rare.tolist()]
        letters = Letters(strings, initial_kinds(self.lexicon, strings, first[rare]))
        return letters, tag_shares(self.lexicon.rows, self.lexicon.counts, ids[rare])

    def likely_tags(
        self, forms: Sequence[WordForm], width: int, ratio: float
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Find the likeliest tags of words by P(t | x), those at least `ratio` times as probable as the best.

        Returns tags (words, width), best first, with -1 after the last; log P(x | t) of these, (words, width), with
        -inf after the last; and the words' places in the lexicon (words,). `width` is cut to K. Of many tags, only the
        ones that can be likely are evaluated.
        """
        # Untagged text and a lexicon may change the order of all tags.
        if self.guesser.few_tags or len(self.raw) or len(self.allowed.words):
            scores, ids = self(forms)
            return *likeliest(scores, scores + np.log(self.prior), width, ratio), ids
        words, first = split_forms(forms)
        ids, width = self.lexicon.words.find(words), min(width, len(self.prior))
        tags, scores = np.full((len(words), width), -1, np.int64), np.full((len(words), width), -np.inf)
        for block, rows, P in self.sparse_blocks(words, first, ids, width):
            entries, owners, ranks = likeliest_entries(rows, P, width, ratio)
            chosen, at = rows.tags[entries], (block[owners], ranks)
            tags[at], scores[at] = chosen, np.log(P[entries] / self.prior[chosen])
        return tags, scores, ids

    def sparse_blocks(
        self, words: Sequence[str], first: np.ndarray, ids: np.ndarray, width: int
    ) -> Iterator[tuple[np.ndarray, RaggedRows, np.ndarray]]:
        """Yield P(x | t) · P(t) of blocks of words at the tags that may be among the `width` likeliest.

        P(x | t) · P(t) = λ / (count(x) + λ) · guess(t | x) · P(x), plus B · P(t) for the tags seen with x
        """
        seen, K = self.seen(ids), len(self.prior)
        rare, frequent = np.flatnonzero(seen <= self.rare_count), np.flatnonzero(seen > self.rare_count)
        guesses = self.guesser.sparse(*self.spelling(words, first, ids, rare), width)
        blocks = ((rare[block], guess.rows, guess.P) for block, guess in guesses)
        for block, rows, guess in chain(blocks, self.frequent_block(frequent, ids[frequent], width)):
            of_entry = rows.owners
            P = guess * self.guess_share(seen[block])[of_entry]
            entries, owners = self.lexicon.rows.known_entries(ids[block])
            tags = self.lexicon.rows.tags[entries]  # all of them are in the rows
            P[np.searchsorted(of_entry * K + rows.tags, owners * K + tags)] += self.B[entries] * self.prior[tags]
            yield block, rows, P

    def frequent_block(
        self, words: np.ndarray, ids: np.ndarray, width: int
    ) -> list[tuple[np.ndarray, RaggedRows, np.ndarray]]:
        """Return frequent words, their own tags with the `width` likeliest ones, and the guess for these, P_0."""
        K, prior = len(self.prior), self.guesser.prior
        entries, owners = self.lexicon.rows.known_entries(ids)
        usual = np.arange(len(ids), dtype=np.int64)[:, None] * K + np.argsort(-prior, kind="stable")[:width]
        rows = RaggedRows.of(np.unique(np.append(usual, owners * K + self.lexicon.rows.tags[entries])), len(ids), K)
        return [(words, rows, prior[rows.tags])] if len(ids) else []

    def add_expected(self, forms: Sequence[WordForm], added: np.ndarray, factor: np.ndarray) -> EmissionModel:
        """Return a counted model with P'(x | t) = factor · (P(x | t) + added); `added` is (words, K), `factor` (K,)."""
        raw = RawTextTable.from_dense(*split_forms(forms), added * factor)
        return replace(self, raw=raw, scale=np.stack([factor, factor]))

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
    kinds = np.full(len(words), INSIDE, np.int64)
    places = np.flatnonzero(first)
    if not len(places):
        return kinds
    firsts = [words[i] for i in places.tolist()]
    lows = [word.lower() if word[1:] == word[1:].lower() else word for word in firsts]
    capital = np.array([low != word for low, word in zip(lows, firsts, strict=True)], bool)
    kinds[places[capital]] = np.where(lexicon.known(lows), KNOWN_IN_LOWER_CASE, NEW)[capital]
    return kinds


def likeliest(scores: np.ndarray, likely: np.ndarray, width: int, ratio: float) -> tuple[np.ndarray, np.ndarray]:
    """Choose tags by log P(t | x) + constant, `likely` (words, K), and their `scores`: see `EmissionModel.likely_tags`.

    `likely` is overwritten.
    """
    likely[likely < likely.max(axis=1, keepdims=True) + np.log(ratio)] = -np.inf
    words, tags = np.arange(len(likely))[:, None], np.argsort(-likely, axis=1, kind="stable")[:, :width]
    possible = likely[words, tags] > -np.inf
    return np.where(possible, tags, -1), np.where(possible, scores[words, tags], -np.inf)


def likeliest_entries(
    rows: RaggedRows, P: np.ndarray, width: int, ratio: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Choose the `width` largest of P in each row, best first, that are at least `ratio` times its best.

    Returns the entries, the row of each and its rank there.
    """
    least = ratio * np.maximum.reduceat(P, rows.bounds[:-1])
    entries = np.flatnonzero(np.repeat(least, rows.widths) <= P)
    owners = np.searchsorted(rows.bounds, entries, side="right") - 1
    # By P, then by row: both sorts are stable, so ties stay in the order of tags; that of short integers is linear.
    order = np.argsort(-P[entries], kind="stable")
    order = order[np.argsort(narrow(owners[order]), kind="stable")]
    entries, owners = entries[order], owners[order]
    ranks = ranges(np.bincount(owners, minlength=len(rows)))
    best = ranks < width
    return entries[best], owners[best], ranks[best]
