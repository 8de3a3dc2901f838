"""Which tags a word may have, judged by its spelling alone: learned from rare words, meant for unknown ones.

A word is described from vague to precise: nothing; its class (digits, hyphen, capitals); its shape; its last letter,
last two, … together with the class. Each description keeps the tags of the rare words it fits, and leans on the
vaguer one before it as if that had been seen κ times (Brants 2000 calls this successive abstraction):

    P_k(tag) = (count_k(tag) + κ_k · P_{k-1}(tag)) / (count_k + κ_k),        P_0 uniform

A rare word counts once, shared among its tags: new words arrive as types, not as tokens. Every κ_k maximises the
likelihood of the rare words when each is judged by all others (leave one word out), so nothing is tuned by hand.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tagger.archive import Archive, Arrays
from tagger.rows import Rows
from tagger.spelling import shape
from tagger.vocab import StringTable, Vocabulary

GRID = np.exp(np.arange(-3.0, 9.0, 0.5))  # candidates for κ


def word_class(word: str) -> str:
    """Digits, hyphen, capitals: the coarsest look at a word."""
    case = "A" if word.isupper() and len(word) > 1 else "X" if word[:1].isupper() else "x" if word.islower() else "o"
    return ("d" if any(letter.isdigit() for letter in word) else "") + ("-" if "-" in word else "") + case


def descriptions(word: str, suffix_length: int) -> list[str | None]:
    """From vague to precise; None where the word is too short."""
    kind, low = word_class(word), word.lower()
    out: list[str | None] = ["", f"class {kind}", f"shape {shape(word)}"]
    return out + [f"{kind} -{low[-n:]}" if n <= len(low) else None for n in range(1, suffix_length + 1)]


class Guesser:
    """The counts of each description, sparse, and the κ of each level."""

    def __init__(self, table: StringTable, rows: Rows, counts: np.ndarray, kappas: np.ndarray, K: int) -> None:
        self.table, self.rows, self.counts, self.kappas, self.K = table, rows, counts, kappas, K
        self.totals = np.bincount(rows.owners, weights=counts, minlength=len(table))

    @property
    def suffix_length(self) -> int:
        return len(self.kappas) - len(descriptions("", 0))

    @classmethod
    def learn(
        cls,
        words: Sequence[str],
        owners: np.ndarray,
        tags: np.ndarray,
        counts: np.ndarray,
        K: int,
        suffix_length: int,
    ) -> tuple[Guesser, np.ndarray]:
        """From rare words and their entries (word, tag, count).

        Also returns, for each entry, the probability of its tag as guessed from all other words.
        """
        share = counts / np.bincount(owners, weights=counts, minlength=len(words))[owners]
        numbers = Vocabulary()
        described = np.array(
            [[-1 if text is None else numbers[text] for text in descriptions(word, suffix_length)] for word in words]
        ).reshape(len(words), -1)  # (words, levels)
        kappas = np.empty(described.shape[1])
        guess = np.full(len(owners), 1.0 / K)  # of each entry's tag, by the levels done so far
        pairs, pair_counts = [], []
        for level, description in enumerate(described.T):
            there = np.flatnonzero(description[owners] >= 0)
            at = description[owners[there]]
            cells, place = np.unique(at * K + tags[there], return_inverse=True)
            of_tag = np.bincount(place, weights=share[there], minlength=len(cells))
            of_all = np.bincount(at, weights=share[there], minlength=len(numbers))
            others_of_tag = of_tag[place] - share[there]  # what the other words say
            others = of_all[at] - 1.0
            kappas[level], guess[there] = best_kappa(others_of_tag, others, guess[there], share[there])
            pairs.append(cells)
            pair_counts.append(of_tag)
        table, ids = numbers.freeze()
        cells, weights = np.concatenate(pairs), np.concatenate(pair_counts)
        cells = ids[cells // K] * K + cells % K
        order = np.argsort(cells)
        return cls(table, Rows.of(cells[order], len(table), K), weights[order], kappas, K), guess

    def __call__(self, words: Sequence[str]) -> np.ndarray:
        """(words, K) the probability of each tag."""
        P = np.full((len(words), self.K), 1.0 / self.K)
        levels = zip(*(descriptions(word, self.suffix_length) for word in words), strict=True)
        for kappa, texts in zip(self.kappas.tolist(), levels, strict=False):
            said = np.array([i for i, text in enumerate(texts) if text is not None], np.int64)
            ids = self.table.find([text for text in texts if text is not None])
            rows, ids = said[ids >= 0], ids[ids >= 0]
            entries, widths = self.rows.entries(ids)
            Q = kappa * P[rows]
            Q[np.repeat(np.arange(len(rows)), widths), self.rows.tags[entries]] += self.counts[entries]
            P[rows] = Q / (self.totals[ids] + kappa)[:, None]
        return P

    def arrays(self) -> Arrays:
        values = {"guesser.counts": self.counts, "guesser.kappas": self.kappas}
        return self.table.arrays("spellings") | self.rows.arrays("guesser") | values

    @classmethod
    def restore(cls, archive: Archive, K: int) -> Guesser:
        table = StringTable.restore(archive, "spellings")
        rows = Rows.restore(archive, "guesser", len(table), K)
        counts, kappas = (
            archive.take("guesser.counts", "f", len(rows.tags)),
            archive.take("guesser.kappas", "f", None),
        )
        fits = len(kappas) >= len(descriptions("", 0)) and bool((kappas > 0).all()) and bool((counts >= 0).all())
        archive.check(fits, "the counts of its guesser are not all positive")
        return cls(table, rows, counts, kappas, K)


def best_kappa(
    of_tag: np.ndarray, of_all: np.ndarray, prior: np.ndarray, weights: np.ndarray
) -> tuple[float, np.ndarray]:
    """The κ that makes (of_tag + κ · prior) / (of_all + κ) most likely, and those probabilities."""

    def smoothed(kappa: float) -> np.ndarray:
        return (np.maximum(of_tag, 0.0) + kappa * prior) / (np.maximum(of_all, 0.0) + kappa)

    kappa = max(GRID.tolist(), key=lambda kappa: float(weights @ np.log(smoothed(kappa))))
    return kappa, smoothed(kappa)
