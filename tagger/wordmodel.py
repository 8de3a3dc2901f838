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

import numpy as np

from tagger.archive import LEAST, Archive, Arrays
from tagger.errors import TrainingError, quote
from tagger.guesser import Guesser, shares
from tagger.leaning import best_kappa
from tagger.letters import INITIAL
from tagger.lexicon import Lexicon
from tagger.rows import Rows
from tagger.sentence import Words
from tagger.vocab import StringTable


@dataclass(frozen=True)
class Entries:
    """Words with some of the tags, and a number for each pair."""

    words: StringTable
    rows: Rows
    values: np.ndarray

    @classmethod
    def of(cls, words: Sequence[str], cells: np.ndarray, values: np.ndarray, K: int) -> Entries:
        """`cells` are word · K + tag."""
        table, ids = StringTable.build(words)
        cells = ids[cells // K] * K + cells % K
        order = np.argsort(cells)
        return cls(table, Rows.of(cells[order], len(table), K), values[order])

    def dense(self, words: Sequence[str], K: int) -> np.ndarray:
        """(words, K), 0 where there is no number."""
        entries, owners = self.rows.found(self.words.find(words))
        out = np.zeros((len(words), K))
        out[owners, self.rows.tags[entries]] = self.values[entries]
        return out

    def arrays(self, name: str) -> Arrays:
        return self.words.arrays(f"{name}.words") | self.rows.arrays(name) | {f"{name}.values": self.values}

    @classmethod
    def restore(cls, archive: Archive, name: str, K: int) -> Entries:
        words = StringTable.restore(archive, f"{name}.words")
        rows = Rows.restore(archive, name, len(words), K)
        values = archive.take(f"{name}.values", "f", len(rows.tags))
        archive.check(bool((values > 0).all()), f"the numbers {name!r} are not all positive")
        return cls(words, rows, values)


@dataclass(frozen=True)
class WordModel:
    lexicon: Lexicon
    prior: np.ndarray  # (K,) P(t)
    B: np.ndarray  # for each entry of the lexicon P(x | t), as far as it rests on counts
    guesser: Guesser
    strength: float  # λ
    rare_count: int  # words seen more often are not guessed at
    allowed: Entries  # what a user's lexicon allows
    raw: Entries  # what untagged text has added
    scale: np.ndarray  # (2, K) what it has left of the other probabilities: of rare words, of frequent ones

    @classmethod
    def learn(
        cls,
        lexicon: Lexicon,
        words: list[str],
        elsewhere: np.ndarray,
        prior: np.ndarray,
        rare_count: int,
        suffix_length: int,
        allowed: Entries,
    ) -> WordModel:
        """`words` are the lexicon's; `elsewhere` tells which were seen inside of sentences, not at their start only.

        The others teach the guesser under the mark of first words. When they come back they are known, and asked about
        without it: what is said then differs a little from what was judged here.
        """
        K, owners, counts = len(prior), lexicon.rows.owners, lexicon.counts.astype(float)
        total = lexicon.totals
        rare = total <= max(rare_count, total.min())
        words = list(words)
        firsts = np.flatnonzero(rare & ~elsewhere).tolist()
        for i, word in zip(firsts, initial(lexicon, [words[i] for i in firsts]), strict=True):
            words[i] = word
        guesser, judged, guess = Guesser.learn(words, rare, lexicon.rows, counts, K, suffix_length)
        entries, _ = lexicon.rows.entries(judged)
        strength = best_kappa(counts[entries] - 1, total[owners[entries]] - 1, guess, counts[entries])
        # count(x, t) / (count(x) + λ) · P(x) / P(t), where P(x) = count(x) / N
        of_word = total[owners]
        B = counts / (of_word + strength) * of_word / (prior[lexicon.rows.tags] * total.sum())
        raw = Entries.of([], np.empty(0, np.int64), np.empty(0), K)
        return cls(lexicon, prior, B, guesser, strength, rare_count, allowed, raw, np.ones((2, K)))

    def __call__(self, words: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """(words, K) log P(x | t), and the words' places in the lexicon; a word never seen counts as seen once."""
        ids, K = self.lexicon.words.find(words), len(self.prior)
        entries, owners = self.lexicon.rows.found(ids)
        seen = np.bincount(owners, weights=self.lexicon.counts[entries], minlength=len(words))
        guess = np.tile(self.guesser.prior, (len(words), 1))
        rare = np.flatnonzero(seen <= self.rare_count)
        own = shares(self.lexicon.rows, self.lexicon.counts, ids[rare], K)
        guess[rare] = self.guesser([words[i] for i in rare.tolist()], own)
        if len(self.allowed.words):
            confine(guess, self.allowed.dense(plain(words, self.allowed.words), K))
        # λ / (count(x) + λ) · guess · P(x) / P(t), plus B for the tags seen with x
        share = self.strength / (seen + self.strength) * np.maximum(seen, 1) / self.lexicon.counts.sum()
        P = guess * share[:, None]
        P /= self.prior
        P[owners, self.lexicon.rows.tags[entries]] += self.B[entries]
        if len(self.raw.words):
            P = P * self.scale[(seen > self.rare_count).astype(int)] + self.raw.dense(words, K)
        with np.errstate(divide="ignore"):  # a lexicon makes tags impossible
            return np.log(P, out=P), ids

    def frequent(self, ids: np.ndarray) -> np.ndarray:
        """Whether words of the lexicon were seen more than `rare_count` times; -1 is none of them."""
        return np.asarray(np.append(self.lexicon.totals, 0)[ids] > self.rare_count)

    def learn_raw(self, words: Sequence[str], added: np.ndarray, factor: np.ndarray) -> WordModel:
        """P'(x | t) = factor · (P(x | t) + added), with added (words, K), and factor (2, K) as `scale` is."""
        K, here = len(self.prior), set(words)
        strings = [*words, *(word for word in self.raw.words.strings() if word not in here)]
        values = self.raw.dense(strings, K)
        values[: len(words)] += added
        values *= factor[self.frequent(self.lexicon.words.find(strings)).astype(int)]
        word, tag = np.nonzero(values)
        raw = Entries.of(strings, word * K + tag, values[word, tag], K)
        return replace(self, raw=raw, scale=self.scale * factor)

    def initial(self, words: Sequence[str]) -> list[str]:
        known = self.lexicon.known(words)
        return [w if k else m for w, k, m in zip(words, known.tolist(), initial(self.lexicon, words), strict=True)]

    def marked(self, sentences: list[Words]) -> list[Words]:
        """Sentences whose first word is capitalised and unknown begin with that word under a mark."""
        firsts = [words[0] if len(words) else "" for words in sentences]
        marked = self.initial(firsts)
        return [
            words if first == new else [new, *words[1:]]
            for words, first, new in zip(sentences, firsts, marked, strict=True)
        ]

    def arrays(self) -> Arrays:
        own = {"prior": self.prior, "B": self.B, "lambda": np.array([self.strength]), "raw.scale": self.scale}
        own |= self.lexicon.arrays() | self.guesser.arrays()
        return own | self.allowed.arrays("allowed") | self.raw.arrays("raw")

    @classmethod
    def restore(cls, archive: Archive, K: int, rare_count: int) -> WordModel:
        lexicon, guesser = Lexicon.restore(archive, K), Guesser.restore(archive, K)
        prior, strength = archive.take("prior", "f", K), float(archive.take("lambda", "f", 1)[0])
        B = archive.take("B", "f", len(lexicon.counts))
        scale = archive.take("raw.scale", "f", 2, K)
        positive = all(bool((numbers > least).all()) for numbers, least in ((prior, LEAST), (scale, LEAST), (B, 0)))
        positive = positive and strength > LEAST
        archive.check(positive, "its probabilities are not all positive")
        allowed, raw = Entries.restore(archive, "allowed", K), Entries.restore(archive, "raw", K)
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


def check_choices(model: WordModel, words: Sequence[str], allowed: np.ndarray, classes: list[str]) -> None:
    """Refuse a word of the text whose tags, in a row of `allowed` (words, K), a user's lexicon all forbids."""
    known = plain(words, model.allowed.words)
    said = np.flatnonzero(model.allowed.words.find(known) >= 0).tolist()
    distinct = list(dict.fromkeys(words[i] for i in said))
    possible = dict(zip(distinct, ~np.isneginf(model(distinct)[0]), strict=True))
    for i in said:
        if not (possible[words[i]] & allowed[i]).any():
            choice, others = ("|".join(np.array(classes)[row]) for row in (allowed[i], possible[words[i]]))
            raise TrainingError(f"the corpus leaves {quote(known[i])} the choice {choice}, the lexicon only {others}")


def plain(words: Sequence[str], table: StringTable) -> list[str]:
    """Words without the marks of first words; those that are not in the table in lower case."""
    bare = [word[1:] if word[:1] and word[0] in INITIAL else word for word in words]
    known = (table.find(bare) >= 0).tolist()
    marked = (len(word) != len(own) for word, own in zip(words, bare, strict=True))
    return [own.lower() if first and not there else own for own, first, there in zip(bare, marked, known, strict=True)]


def initial(lexicon: Lexicon, words: Sequence[str]) -> list[str]:
    """First words of sentences: those with a capital first letter and no other under a mark."""
    lows = [word.lower() if word[1:] == word[1:].lower() else word for word in words]
    known = lexicon.known(lows).tolist()
    return [
        word if low == word else INITIAL[not there] + word for word, low, there in zip(words, lows, known, strict=True)
    ]
