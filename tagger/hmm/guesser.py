"""Which tags a word may have, judged by its spelling alone: learned from rare words, meant for unknown ones.

Several *witnesses* look at the word: its ending, its beginning, each with and without its case; its length; its
letters in lower case. A witness describes the word from vague to precise (the last letter, the last two, …). Each
description keeps the tags of the words it fits, and leans on the vaguer one before it as if that had been seen κ times
(Brants 2000 calls this successive abstraction):

    P_k(tag) = (count_k(tag) + κ_k · P_{k-1}(tag)) / (count_k + κ_k),        P_0: the tags of rare words

What the witnesses say is pooled: their logarithms are added up, each with a weight (Genest & Zidek 1986).

    P(tag) ∝ P_0(tag)^{a_0} · Π_i (P_i(tag) / P_0(tag))^{a_i}

A rare word counts once, shared among its tags: new words arrive as types, not as tokens. Every κ makes the words it is
counted from most likely when each is judged by all others (leave one word out), and the weights make the rarest words
most likely (`pooling`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from tagger.arrays.keyed import find_keys
from tagger.arrays.npz import MAX_COUNT, MIN_POSITIVE, Archive, Arrays, narrow
from tagger.arrays.ragged import RaggedRows, sums_to
from tagger.hmm.affixes import NONE, Letters, joined
from tagger.hmm.opinion_pool import narrowed, pool_weights, pooled
from tagger.hmm.smoothing import best_kappa, leaning

BEGINNING = 5  # letters
AT_ONCE = 1 << 16  # words × tags
JUDGED = 1 << 18  # at most so many words × tags are judged to find the weights
MOST_JUDGED = 1000  # and at most so many words
LIKELY = 256  # tags of each are enough for that

SpellingModel = list[np.ndarray]  # keys of words, from vague to precise


def testimony(letters: Letters, suffix_length: int) -> dict[str, SpellingModel]:
    """The keys of each witness's descriptions of each word."""
    case = letters.case()
    endings, beginnings = letters.endings(suffix_length), letters.beginnings(BEGINNING)
    return {
        "ending and case": [case, letters.shape(), *(joined(key, case) for key in endings)],
        "ending": endings,
        "beginning and case": [joined(key, case) for key in beginnings],
        "beginning": beginnings,
        "length": [joined(letters.length(), case)],
        "letters": [letters.numbered(), letters.whole()],
    }


@dataclass(frozen=True)
class Level:
    """The counts of each description of one precision, sparse, and how much they lean on the vaguer one."""

    keys: np.ndarray  # (descriptions,) ascending
    rows: RaggedRows
    counts: np.ndarray  # of each entry
    kappa: float

    def refine(self, P: np.ndarray, scale: np.ndarray, keys: np.ndarray, own: np.ndarray | None = None) -> None:
        """Turn scale · P, (words,) and (words, K), from what the vaguer description says into what this one says.

        Without the words' `own`. With count the sum of the counts, 0 for a word that does not fit:

            (counts + κ · scale · P) / (count + κ)  =  (scale · κ / (count + κ)) · (P + counts / (scale · κ))
        """
        entries, owners = self.rows.known_entries(find_keys(self.keys, keys))  # NONE is no key
        cells, counts = owners * P.shape[1] + self.rows.tags[entries], self.counts[entries].astype(float)
        if own is not None:
            counts = np.maximum(counts - own.ravel()[cells], 0.0)
        P.ravel()[cells] += counts / (scale * self.kappa)[owners]
        scale *= self.kappa / (np.bincount(owners, weights=counts, minlength=len(P)) + self.kappa)
        np.maximum(scale, MIN_POSITIVE, out=scale)


class Guesser:
    def __init__(self, prior: np.ndarray, witnesses: list[list[Level]], weights: np.ndarray) -> None:
        self.prior = prior  # (K,) P_0
        self.witnesses = witnesses
        self.weights = weights  # (1 + witnesses,) a

    @property
    def suffix_length(self) -> int:
        return len(self.witnesses[1])

    @classmethod
    def learn(
        cls, letters: Letters, rare: np.ndarray, rows: RaggedRows, counts: np.ndarray, K: int, suffix_length: int
    ) -> tuple[Guesser, np.ndarray, np.ndarray]:
        """From words, of which some are `rare` (a mask), their tags and counts.

        Also returns some of the rare words, and what is guessed for each of their entries from all other words.
        """
        owners, tags = rows.owners, rows.tags
        total = np.bincount(owners, weights=counts, minlength=len(rare))
        share = counts / total[owners]
        by_tag = np.argsort(tags, kind="stable")  # entries
        few = by_tag[rare[owners[by_tag]]]  # those of rare words
        prior = np.bincount(tags[few], weights=share[few], minlength=K) + 1 / K
        prior /= prior.sum()
        said = testimony(letters, suffix_length)
        witnesses = []
        for name, keys in said.items():
            of = by_tag if name == "letters" else few  # frequent words tell of their capitalised forms
            witnesses.append(learn_witness(keys, owners[of], tags[of], share[of], prior))
        rarest = rare & (total == total[rare].min())
        new = some(rarest, K)
        judged = np.concatenate([new, some(rare & ~rarest, K)])
        own = shares(rows, counts, judged, K)
        guesser = cls(prior, witnesses, np.ones(1 + len(witnesses)))
        likely = max(LIKELY, int(rows.widths[judged].max()))
        opinions, gold = guesser.likely_opinions(cut(said.values(), judged), own, likely)
        guesser.weights = pool_weights(opinions[: len(new)], gold[: len(new)])
        P, _ = pooled(guesser.weights, opinions)
        return guesser, judged, P[gold > 0]

    def __call__(self, letters: Letters, own: np.ndarray | None = None) -> np.ndarray:
        """(words, K) the probability of each tag; `own` (words, K) is what the words themselves have taught."""
        said, words = testimony(letters, self.suffix_length).values(), len(letters.lengths)
        out = np.empty((words, len(self.prior)))
        for part in self.parts(words):
            opinions = self.opinions(cut(said, part), None if own is None else own[part])
            out[part], _ = pooled(self.weights, opinions)
        return out

    def parts(self, words: int) -> list[slice]:
        """So few words at once that what is needed for them stays in the processor's cache."""
        size = max(1, AT_ONCE // len(self.prior))
        return [slice(i, i + size) for i in range(0, words, size)]

    def opinions(self, said: list[SpellingModel], own: np.ndarray | None) -> np.ndarray:
        """(words, 1 + witnesses, K) log P_0, and log P_i / P_0 of each witness."""
        words, base = len(said[0][0]), np.log(self.prior)
        out = np.empty((words, 1 + len(said), len(base)))
        out[:, 0] = base
        P = np.empty((words, len(base)))
        for i, (levels, keys) in enumerate(zip(self.witnesses, said, strict=True), 1):
            P[:], scale = self.prior, np.ones(words)
            for level, key in zip(levels, keys, strict=True):
                level.refine(P, scale, key, own)
            np.add(np.log(P, out=P), np.log(scale)[:, None] - base, out=out[:, i])
        return out

    def likely_opinions(self, said: list[SpellingModel], own: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
        """The opinions on the likeliest tags of each word, and its `own` of those."""
        if count >= len(self.prior):
            return self.opinions(said, own), own
        parts = self.parts(len(own))
        found = [narrowed(self.opinions(cut(said, part), own[part]), own[part], count) for part in parts]
        opinions, gold = map(np.concatenate, zip(*found, strict=True))
        return opinions, gold

    def arrays(self) -> Arrays:
        levels = [level for levels in self.witnesses for level in levels]
        widths = np.concatenate([level.rows.widths for level in levels])
        rows = RaggedRows(widths, np.concatenate([level.rows.tags for level in levels]))
        return {
            "guesser.keys": np.concatenate([level.keys for level in levels]),
            "guesser.sizes": narrow(np.array([len(level.keys) for level in levels])),
            "guesser.levels": narrow(np.array([len(levels) for levels in self.witnesses])),
            "guesser.counts": np.concatenate([level.counts for level in levels]),
            "guesser.kappas": np.array([level.kappa for level in levels]),
            "guesser.weights": self.weights,
            "guesser.prior": self.prior,
        } | rows.arrays("guesser")

    @classmethod
    def restore(cls, archive: Archive, K: int) -> Guesser:
        keys, sizes = archive.take("guesser.keys", "u", None), archive.take("guesser.sizes", "u", None)
        rows = RaggedRows.restore(archive, "guesser", len(keys), K)
        counts = archive.take("guesser.counts", "f", len(rows.tags))
        kappas, prior = archive.take("guesser.kappas", "f", len(sizes)), archive.take("guesser.prior", "f", K)
        expected = testimony(Letters([]), 0)
        levels = archive.take("guesser.levels", "u", len(expected)).astype(np.int64)
        weights = archive.take("guesser.weights", "f", 1 + len(expected))
        fits = sums_to(sizes, len(keys)) and sums_to(levels, len(sizes)) and keys.dtype == np.uint64
        suffix_length = int(levels[1])
        fits = fits and [len(keys) for keys in testimony(Letters([]), suffix_length).values()] == levels.tolist()
        archive.check(fits, "the levels of its guesser do not fit each other")
        positive = within(counts, MIN_POSITIVE, MAX_COUNT) and within(prior, MIN_POSITIVE, 2)
        archive.check(positive, "the counts of its guesser are not all positive")
        sane = within(kappas, 1e-4, 1e4) and within(weights, -1000, 1000)
        archive.check(sane, "the weights of its guesser are out of all bounds")
        return cls(prior, split(keys, sizes.astype(np.int64), rows, counts, kappas, levels), weights)


def cut(said: Iterable[SpellingModel], part: slice | np.ndarray) -> list[SpellingModel]:
    """What is said of some of the words."""
    return [[key[part] for key in keys] for keys in said]


def within(numbers: np.ndarray, low: float, high: float) -> bool:
    """Whether all numbers lie between two bounds, however few bits they have."""
    return not numbers.size or (low < float(numbers.min()) and float(numbers.max()) < high)


def split(
    keys: np.ndarray, sizes: np.ndarray, rows: RaggedRows, counts: np.ndarray, kappas: np.ndarray, levels: np.ndarray
) -> list[list[Level]]:
    """The levels of each witness out of arrays that hold them all."""
    ends = np.cumsum(sizes)
    found = []
    for begin, end, kappa in zip((ends - sizes).tolist(), ends.tolist(), kappas.tolist(), strict=True):
        inside = slice(int(rows.bounds[begin]), int(rows.bounds[end]))
        own = RaggedRows(rows.widths[begin:end], rows.tags[inside])
        found.append(Level(keys[begin:end], own, counts[inside], kappa))
    stops = np.cumsum(levels)
    return [found[begin:end] for begin, end in zip((stops - levels).tolist(), stops.tolist(), strict=True)]


def learn_witness(
    said: SpellingModel, owners: np.ndarray, tags: np.ndarray, share: np.ndarray, prior: np.ndarray
) -> list[Level]:
    """The levels of one witness, from the entries (word, tag, share) of words, by rising tag.

    One stable sort by keys brings the entries of a description together, and those of its tags among them.
    """
    guess = prior[tags]  # of each entry's tag, from all other words, by the levels done so far
    levels = []
    for key in said:
        there = np.flatnonzero(key[owners] != NONE)
        there = there[np.argsort(key[owners[there]], kind="stable")]
        keys, tag, part = key[owners[there]], tags[there], share[there]
        new_key = changes(keys)
        new_cell = new_key | changes(tag)
        at, cell = np.cumsum(new_key) - 1, np.cumsum(new_cell) - 1
        of_all, of_tag = np.bincount(at, weights=part), np.bincount(cell, weights=part)
        others = of_tag[cell] - part, of_all[at] - 1.0, guess[there]
        kappa = best_kappa(*others, part)
        guess[there] = leaning(*others, kappa)
        rows = RaggedRows(np.bincount(at[new_cell]), tag[new_cell])
        levels.append(Level(keys[new_key], rows, of_tag.astype(np.float32), kappa))
    return levels


def changes(numbers: np.ndarray) -> np.ndarray:
    """Whether each number differs from the one before; the first does."""
    differs = np.ones(len(numbers), bool)
    differs[1:] = numbers[1:] != numbers[:-1]
    return differs


def some(mask: np.ndarray, K: int) -> np.ndarray:
    """So many of the words as are enough to judge by, from everywhere."""
    words = np.flatnonzero(mask)
    most = max(1, min(MOST_JUDGED, JUDGED // K))
    return words if len(words) <= most else words[np.linspace(0, len(words) - 1, most).astype(np.int64)]


def shares(rows: RaggedRows, counts: np.ndarray, words: np.ndarray, K: int) -> np.ndarray:
    """(words, K) the share of each tag in a word's tokens; a line of zeros where the word is -1."""
    entries, owners = rows.known_entries(words)
    total = np.bincount(owners, weights=counts[entries], minlength=len(words))
    out = np.zeros((len(words), K))
    out[owners, rows.tags[entries]] = counts[entries] / total[owners]
    return out
