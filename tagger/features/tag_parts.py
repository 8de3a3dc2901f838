"""Tag parts: NNG+JKB is a noun with a particle, and what is learned of either holds for other tags too.

Where at least half of a tag set is joined by one separator, as in Korean (`NNG+XSV+EC`) or in morphological tags
(`Case=Nom|Number=Sing`), a feature of one word has weights not only for whole tags but also for their parts, the first
and the last component. A stem seen as NNP+JX then adds to the score of NNP+JKG too, an ending seen with NNG+JX to that
of NNP+JX. (After the subtags of Müller, Schmid & Schütze 2013; docs/lab-notes/features.md has other parts that were
tried.)

The A parts are numbered behind the K tags, and behind them the pairs of tags, for features of steps:

    score(k) = whole(k) + Σ_a M[a, k] · part(a),    M[a, k] = 1 if tag k has part a
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tagger.arrays.caching import cached_property
from tagger.arrays.ragged import RaggedRows, ranges

PART_SEPARATORS = "+|"


def separator_of(tags: Sequence[str]) -> str | None:
    """Find the separator that joins the parts of at least half of the tags, if there is one."""
    joined = {mark: sum(mark in tag.strip(mark) for tag in tags) for mark in PART_SEPARATORS}
    best = max(joined, key=lambda mark: joined[mark])
    return best if 2 * joined[best] >= len(tags) else None


class TagParts:
    """The parts of each of K tags; without a separator there are none."""

    def __init__(self, tags: Sequence[str], separator: str | None) -> None:
        self.K, self.separator = len(tags), separator
        parts_by_tag = [parts_of_tag(tag, separator) if separator else set() for tag in tags]
        self.names = sorted(set().union(*parts_by_tag))
        numbers = {name: a for a, name in enumerate(self.names)}
        self.matrix = np.zeros((len(self.names), self.K), np.float32)  # M (A, K)
        for k, parts in enumerate(parts_by_tag):
            self.matrix[[numbers[name] for name in parts], k] = 1

    @property
    def columns(self) -> int:
        """The number of tags and parts, K + A."""
        return self.K + len(self.names)

    @property
    def all_columns(self) -> int:
        """The number of tags, parts and pairs of tags, K + A + K²; a pair (i, j) is column K + A + i · K + j."""
        return self.columns + self.K**2

    @cached_property
    def columns_by_tag(self) -> np.ndarray:
        """The columns of every tag, (K, most columns of a tag): its own, those of its parts, and -1 after the last."""
        tags, parts = np.nonzero(self.matrix.T)
        rank = ranges(np.bincount(tags, minlength=self.K))  # of each part among those of its tag
        table = np.full((self.K, 2 + rank.max(initial=-1)), -1, np.int64)
        table[:, 0] = np.arange(self.K)
        table[tags, 1 + rank] = self.K + parts
        return table

    def places(self, others: TagParts) -> np.ndarray:
        """Find the columns of the parts of others, all of which are parts here too."""
        return self.K + np.searchsorted(self.names, others.names) if others.names else np.empty(0, np.int64)

    def spread(self, scores: np.ndarray) -> np.ndarray:
        """Compute the scores of tags (n, K) from those of tags and parts (n, K + A)."""
        if not self.names:
            return scores
        return np.asarray(scores[:, : self.K] + scores[:, self.K :] @ self.matrix.astype(scores.dtype, copy=False))

    def gather(self, columns: np.ndarray) -> None:
        """Fill in the last A of (n, K + A) columns: for each part the sum over the tags that have it."""
        if self.names:
            matrix = self.matrix.astype(columns.dtype, copy=False)
            columns[:, self.K :] = columns[:, : self.K] @ matrix.T

    def events(self, tags: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """List the events of tags (n,): pairs of a place and a column, its tag's or that of one of the tag's parts."""
        owners, parts = np.nonzero(self.matrix.T)
        rows = RaggedRows(np.bincount(owners, minlength=self.K), parts)
        entries, widths = rows.entries(tags)
        places = np.arange(len(tags), dtype=np.int64)
        return np.append(places, np.repeat(places, widths)), np.append(tags, self.K + rows.tags[entries])


def parts_of_tag(tag: str, separator: str) -> set[str]:
    """Return the first and the last component of a tag: NNG+XSV+EC has NNG+ and +EC."""
    components = tag.split(separator)
    return {components[0] + separator, separator + components[-1]}
