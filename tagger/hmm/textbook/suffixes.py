"""Tags of unknown words from their suffixes, by successive abstraction (Brants 2000, section 2.3).

With f_i the tag frequencies of the rare words that end in the same i letters, and P_0 the frequencies of all tags,

    P_i(t) = (f_i(t) + θ · P_{i-1}(t)) / (1 + θ)        θ: the standard deviation of the P_0(t)

The longest suffix that was seen has the last word. Capitalised words and others have suffixes of their own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tagger.arrays.npz import Archive, Arrays
from tagger.hmm.word_tags import WordTagTable
from tagger.words.lexicon import Lexicon

NAMES = ("suffixes", "suffixes.capital")  # of the arrays in a model file


@dataclass(frozen=True)
class SuffixModel:
    """P(t | suffix) of K tags; suffixes of words in lower case, and of capitalised ones."""

    prior: np.ndarray  # (K,) P_0
    tables: tuple[WordTagTable, WordTagTable]  # counts of tags by suffix
    longest: int  # letters of a suffix

    @classmethod
    def learn(
        cls, lexicon: Lexicon, words: Sequence[str], prior: np.ndarray, rare_count: int, longest: int
    ) -> SuffixModel:
        """Count the suffixes of the words of a lexicon that were seen up to `rare_count` times."""
        K, rows = len(prior), lexicon.rows
        rare = lexicon.totals <= max(rare_count, int(lexicon.totals.min()))
        counts: tuple[Counter[tuple[str, int]], ...] = (Counter(), Counter())
        for i in np.flatnonzero(rare[rows.owners]).tolist():
            word, tag = words[rows.owners[i]], int(rows.tags[i])
            for n in range(1, min(longest, len(word)) + 1):
                counts[is_capitalized(word)][word[-n:], tag] += int(lexicon.counts[i])
        small, capital = (table_of(of_case, K) for of_case in counts)
        return cls(prior, (small, capital), longest)

    @property
    def theta(self) -> float:
        """θ, the standard deviation of the tag frequencies."""
        return float(np.sqrt(((self.prior - self.prior.mean()) ** 2).sum() / max(1, len(self.prior) - 1)))

    def __call__(self, words: Sequence[str]) -> np.ndarray:
        """Compute P(t | suffixes of the word), (words, K)."""
        P, K, theta = np.tile(self.prior, (len(words), 1)), len(self.prior), self.theta
        capital = np.array([is_capitalized(word) for word in words], bool)
        for table, chosen in zip(self.tables, (~capital, capital), strict=True):
            places = np.flatnonzero(chosen)
            for n in range(1, self.longest + 1):
                if not len(places):
                    break
                places = places[[len(words[i]) >= n for i in places.tolist()]]
                counts = table.dense([words[i][-n:] for i in places.tolist()], K)
                totals = counts.sum(axis=1, keepdims=True)
                seen = totals[:, 0] > 0  # a suffix that is unknown has no longer ones
                places, f = places[seen], counts[seen] / totals[seen]
                P[places] = (f + theta * P[places]) / (1 + theta)
        return P

    def arrays(self) -> Arrays:
        small, capital = (table.arrays(name) for table, name in zip(self.tables, NAMES, strict=True))
        return small | capital

    @classmethod
    def restore(cls, archive: Archive, prior: np.ndarray, longest: int) -> SuffixModel:
        small, capital = (WordTagTable.restore(archive, name, len(prior)) for name in NAMES)
        return cls(prior, (small, capital), longest)


def is_capitalized(word: str) -> bool:
    """Return whether the first letter is a capital."""
    return word[:1].isupper()


def table_of(counts: Counter[tuple[str, int]], K: int) -> WordTagTable:
    """Make a table of counts by suffix and tag."""
    suffixes = {suffix: i for i, suffix in enumerate(dict.fromkeys(suffix for suffix, _ in counts))}
    cells = np.array([suffixes[suffix] * K + tag for suffix, tag in counts], np.int64)
    return WordTagTable.of(list(suffixes), cells, np.array(list(counts.values()), float), K)
