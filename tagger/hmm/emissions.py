"""How likely a word is under each tag: counted if it is known, guessed from its spelling if not, both if it is rare.

Bayes' rule turns the question round, P(x | t) = P(t | x) · P(x) / P(t), and P(t | x) leans on what the spelling
suggests as if that had been seen λ times:

    P(t | x) = (count(x, t) + λ · guess(t | spelling of x)) / (count(x) + λ)

So frequent words speak for themselves, unknown ones are guessed, and rare ones are between. λ maximises the likelihood
of each token of a rare word when it is left out of the counts. Where a user's lexicon says which tags a word may have,
the guess is confined to those; tags seen in the corpus stay possible.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from tagger.arrays.npz import MIN_POSITIVE, Archive, Arrays
from tagger.arrays.ragged import RaggedRows
from tagger.arrays.string_table import StringTable
from tagger.errors import TrainingError
from tagger.escaping import quote
from tagger.hmm.affixes import INSIDE, KNOWN_IN_LOWER_CASE, NEW, Letters
from tagger.hmm.guesser import Guesser, shares
from tagger.hmm.smoothing import best_kappa
from tagger.sentence import Words
from tagger.words.lexicon import Lexicon


class FirstWord(NamedTuple):
    """The first word of a sentence, if it is capitalised and unknown: the capital may mean nothing.

    A type of its own, for no character in front of a word would be safe: the word may begin with it.
    """

    word: str


WordForm = str | FirstWord  # a word as the model distinguishes them


@dataclass(frozen=True)
class Entries:
    """Words with some of the tags, and a number for each pair."""

    words: StringTable
    rows: RaggedRows
    values: np.ndarray

    @classmethod
    def of(cls, words: Sequence[str], cells: np.ndarray, values: np.ndarray, K: int) -> Entries:
        """`cells` are word · K + tag."""
        table, ids = StringTable.build(words)
        cells = ids[cells // K] * K + cells % K
        order = np.argsort(cells)
        return cls(table, RaggedRows.of(cells[order], len(table), K), values[order])

    @classmethod
    def none(cls, K: int) -> Entries:
        return cls.of([], np.empty(0, np.int64), np.empty(0), K)

    @classmethod
    def nonzero(cls, words: Sequence[str], values: np.ndarray) -> Entries:
        """Keep the numbers of an array (words, K) that are not 0."""
        word, tag = np.nonzero(values)
        K = values.shape[1]
        return cls.of(words, word * K + tag, values[word, tag], K)

    def dense(self, words: Sequence[str], K: int) -> np.ndarray:
        """(words, K), 0 where there is no number."""
        entries, owners = self.rows.known_entries(self.words.find(words))
        out = np.zeros((len(words), K))
        out[owners, self.rows.tags[entries]] = self.values[entries]
        return out

    def arrays(self, name: str) -> Arrays:
        return self.words.arrays(f"{name}.words") | self.rows.arrays(name) | {f"{name}.values": self.values}

    @classmethod
    def restore(cls, archive: Archive, name: str, K: int) -> Entries:
        words = StringTable.restore(archive, f"{name}.words")
        rows = RaggedRows.restore(archive, name, len(words), K)
        values = archive.take(f"{name}.values", "f", len(rows.tags))
        archive.check(bool((values > 0).all()), f"the numbers {name!r} are not all positive")
        return cls(words, rows, values)


@dataclass(frozen=True)
class RawEntries:
    """What untagged text has added, for words inside of sentences and for first words."""

    inside: Entries
    first: Entries

    def __len__(self) -> int:
        return len(self.inside.words) + len(self.first.words)

    def forms(self) -> list[WordForm]:
        return [*self.inside.words.strings(), *map(FirstWord, self.first.words.strings())]

    def dense(self, words: Sequence[str], first: np.ndarray, K: int) -> np.ndarray:
        """(words, K), 0 where there is no number; `first` (words,) tells which are first words."""
        out = self.inside.dense(words, K)
        out[first] = self.first.dense([words[i] for i in np.flatnonzero(first).tolist()], K)
        return out

    def arrays(self) -> Arrays:
        """Of a model that has seen no untagged text, the same as files of earlier versions had."""
        return self.inside.arrays("raw") | (self.first.arrays("raw.first") if len(self) else {})

    @classmethod
    def restore(cls, archive: Archive, K: int) -> RawEntries:
        """Earlier versions wrote one table, in which first words had a line feed or carriage return before them."""
        inside = Entries.restore(archive, "raw", K)
        if archive.has("raw.first.words.blob"):
            return cls(inside, Entries.restore(archive, "raw.first", K))
        words = inside.words.strings()
        first = np.array([word.startswith(("\n", "\r")) for word in words], bool)
        values = inside.dense(words, K)
        bare = [words[i][1:] for i in np.flatnonzero(first).tolist()]
        others = [words[i] for i in np.flatnonzero(~first).tolist()]
        return cls(Entries.nonzero(others, values[~first]), Entries.nonzero(bare, values[first]))


@dataclass(frozen=True)
class EmissionModel:
    lexicon: Lexicon
    prior: np.ndarray  # (K,) P(t)
    B: np.ndarray  # for each entry of the lexicon P(x | t), as far as it rests on counts
    guesser: Guesser
    strength: float  # λ
    rare_count: int  # words seen more often are not guessed at
    allowed: Entries  # what a user's lexicon allows
    raw: RawEntries  # what untagged text has added
    scale: np.ndarray  # (2, K) what it has left of the other probabilities: of rare words, of frequent ones

    @classmethod
    def learn(
        cls,
        lexicon: Lexicon,
        words: Sequence[str],
        elsewhere: np.ndarray,
        prior: np.ndarray,
        rare_count: int,
        suffix_length: int,
        allowed: Entries,
    ) -> EmissionModel:
        """`words` are the lexicon's; `elsewhere` tells which were seen inside of sentences, not at their start only.

        The others teach the guesser as first words. When they come back they are known, and no longer treated as first
        words: their scores then differ a little from what was judged here.
        """
        K, owners, counts = len(prior), lexicon.rows.owners, lexicon.counts.astype(float)
        total = lexicon.totals
        rare = total <= max(rare_count, total.min())
        letters = Letters(words, initial(lexicon, words, rare & ~elsewhere))
        guesser, judged, guess = Guesser.learn(letters, rare, lexicon.rows, counts, K, suffix_length)
        entries, _ = lexicon.rows.entries(judged)
        strength = best_kappa(counts[entries] - 1, total[owners[entries]] - 1, guess, counts[entries])
        # count(x, t) / (count(x) + λ) · P(x) / P(t), where P(x) = count(x) / N
        of_word = total[owners]
        B = counts / (of_word + strength) * of_word / (prior[lexicon.rows.tags] * total.sum())
        raw = RawEntries(Entries.none(K), Entries.none(K))
        return cls(lexicon, prior, B, guesser, strength, rare_count, allowed, raw, np.ones((2, K)))

    def __call__(self, forms: Sequence[WordForm]) -> tuple[np.ndarray, np.ndarray]:
        """(words, K) log P(x | t), and the words' places in the lexicon; a word never seen counts as seen once."""
        words, first = spelled(forms)
        ids, K = self.lexicon.words.find(words), len(self.prior)
        entries, owners = self.lexicon.rows.known_entries(ids)
        seen = np.bincount(owners, weights=self.lexicon.counts[entries], minlength=len(words))
        guess = np.tile(self.guesser.prior, (len(words), 1))
        rare = np.flatnonzero(seen <= self.rare_count)
        own = shares(self.lexicon.rows, self.lexicon.counts, ids[rare], K)
        strings = [words[i] for i in rare.tolist()]
        guess[rare] = self.guesser(Letters(strings, initial(self.lexicon, strings, first[rare])), own)
        if len(self.allowed.words):
            confine(guess, self.allowed.dense(plain(words, first, self.allowed.words), K))
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
        """Whether words of the lexicon were seen more than `rare_count` times; -1 is none of them."""
        return np.asarray(np.append(self.lexicon.totals, 0)[ids] > self.rare_count)

    def learn_raw(self, forms: Sequence[WordForm], added: np.ndarray, factor: np.ndarray) -> EmissionModel:
        """P'(x | t) = factor · (P(x | t) + added), with added (words, K), and factor (2, K) as `scale` is."""
        here = set(forms)
        words, first = spelled([*forms, *(form for form in self.raw.forms() if form not in here)])
        values = self.raw.dense(words, first, len(self.prior))
        values[: len(forms)] += added
        values *= factor[self.frequent(self.lexicon.words.find(words)).astype(int)]
        inside, firsts = (
            Entries.nonzero([words[i] for i in np.flatnonzero(own).tolist()], values[own]) for own in (~first, first)
        )
        return replace(self, raw=RawEntries(inside, firsts), scale=self.scale * factor)

    def forms(self, sentences: list[Words]) -> list[Sequence[WordForm]]:
        """Return the sentences, with a `FirstWord` where the first word is capitalised and unknown."""
        firsts = self.first_forms([words[0] if len(words) else "" for words in sentences])
        return [
            words if isinstance(first, str) else [first, *words[1:]]
            for words, first in zip(sentences, firsts, strict=True)
        ]

    def first_forms(self, words: Sequence[str]) -> list[WordForm]:
        """The forms of words that begin a sentence."""
        unknown = initial(self.lexicon, words, ~self.lexicon.known(words)) != INSIDE
        return [FirstWord(word) if new else word for word, new in zip(words, unknown.tolist(), strict=True)]

    def arrays(self) -> Arrays:
        own = {"prior": self.prior, "B": self.B, "lambda": np.array([self.strength]), "raw.scale": self.scale}
        own |= self.lexicon.arrays() | self.guesser.arrays()
        return own | self.allowed.arrays("allowed") | self.raw.arrays()

    @classmethod
    def restore(cls, archive: Archive, K: int, rare_count: int) -> EmissionModel:
        lexicon, guesser = Lexicon.restore(archive, K), Guesser.restore(archive, K)
        prior, strength = archive.take("prior", "f", K), float(archive.take("lambda", "f", 1)[0])
        B = archive.take("B", "f", len(lexicon.counts))
        scale = archive.take("raw.scale", "f", 2, K)
        positive = all(
            bool((numbers > least).all()) for numbers, least in ((prior, MIN_POSITIVE), (scale, MIN_POSITIVE), (B, 0))
        )
        positive = positive and strength > MIN_POSITIVE
        archive.check(positive, "its probabilities are not all positive")
        allowed, raw = Entries.restore(archive, "allowed", K), RawEntries.restore(archive, K)
        return cls(lexicon, prior, B, guesser, strength, rare_count, allowed, raw, scale)


def confine(guess: np.ndarray, allowed: np.ndarray) -> None:
    """Leave nothing to the tags that are not allowed, in rows (words, K) where any is."""
    said = np.flatnonzero(allowed.any(axis=1))
    guess[said] *= allowed[said] > 0
    guess[said] /= guess[said].sum(axis=1, keepdims=True)


def read_allowed(lexicon: Mapping[str, Sequence[str]], classes: list[str]) -> Entries:
    """A user's lexicon in numbers."""
    numbers = {name: k for k, name in enumerate(classes)}
    for word, tags in lexicon.items():
        for tag in tags:
            if tag not in numbers:
                raise TrainingError(f"the lexicon gives {quote(word)} the tag {quote(tag)}, which the corpus never has")
    K = len(classes)
    cells = [i * K + k for i, tags in enumerate(lexicon.values()) for k in sorted({numbers[tag] for tag in tags})]
    return Entries.of(list(lexicon), np.array(cells, np.int64), np.ones(len(cells)), K)


def check_choices(model: EmissionModel, forms: Sequence[WordForm], allowed: np.ndarray, classes: list[str]) -> None:
    """Refuse a word of the text whose tags, in a row of `allowed` (words, K), a user's lexicon all forbids."""
    known = plain(*spelled(forms), model.allowed.words)
    said = np.flatnonzero(model.allowed.words.find(known) >= 0).tolist()
    distinct = list(dict.fromkeys(forms[i] for i in said))
    possible = dict(zip(distinct, ~np.isneginf(model(distinct)[0]), strict=True))
    for i in said:
        if not (possible[forms[i]] & allowed[i]).any():
            choice, others = ("|".join(np.array(classes)[row]) for row in (allowed[i], possible[forms[i]]))
            raise TrainingError(f"the corpus leaves {quote(known[i])} the choice {choice}, the lexicon only {others}")


def spelled(forms: Sequence[WordForm]) -> tuple[list[str], np.ndarray]:
    """The words as strings, and which of them (words,) are first words."""
    words = [form if isinstance(form, str) else form.word for form in forms]
    return words, np.array([isinstance(form, FirstWord) for form in forms], bool)


def plain(words: Sequence[str], first: np.ndarray, table: StringTable) -> list[str]:
    """The words; first words that are not in the table in lower case."""
    lower = first & (table.find(words) < 0)
    return [word.lower() if low else word for word, low in zip(words, lower.tolist(), strict=True)]


def initial(lexicon: Lexicon, words: Sequence[str], first: np.ndarray) -> np.ndarray:
    """(words,) the `Letters.initial` of words, of which those where `first` is True begin a sentence.

    Only a word that has a capital first letter and no other may be an ordinary word.
    """
    out = np.full(len(words), INSIDE)
    places = np.flatnonzero(first)
    own = [words[i] for i in places.tolist()]
    lows = [word.lower() if word[1:] == word[1:].lower() else word for word in own]
    capital = np.array([low != word for low, word in zip(lows, own, strict=True)], bool)
    out[places[capital]] = np.where(lexicon.known(lows), KNOWN_IN_LOWER_CASE, NEW)[capital]
    return out
