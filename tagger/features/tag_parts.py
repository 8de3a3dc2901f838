"""Tags made of parts: NNG+JKB is a noun with a particle, and what is learned of either holds for other tags too.

Where at least half of a tag set is joined by one separator, as in Korean (`NNG+XSV+EC`) or in morphological tags
(`Case=Nom|Number=Sing`), a feature of one word votes not only for whole tags but also for their parts: how a tag begins
and how it ends. A stem seen as NNP+JX then speaks for NNP+JKG too, an ending seen with NNG+JX for NNP+JX. (After the
subtags of Müller, Schmid & Schütze 2013; docs/features.md has what other parts were tried.)

A parts, numbered behind the K tags:  score(k) = own(k) + Σ_a M[a, k] · part(a),  M[a, k] = 1 if tag k has part a.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tagger.arrays.ragged import RaggedRows

SEPARATORS = "+|"


def separator_of(tags: Sequence[str]) -> str | None:
    """What joins the parts of at least half of the tags, if anything does."""
    joined = {mark: sum(mark in tag.strip(mark) for tag in tags) for mark in SEPARATORS}
    best = max(joined, key=lambda mark: joined[mark])
    return best if 2 * joined[best] >= len(tags) else None


class TagParts:
    """Which parts each of K tags has."""

    def __init__(self, tags: Sequence[str], separator: str | None) -> None:
        self.K, self.separator = len(tags), separator
        found = [parts_of_tag(tag, separator) for tag in tags] if separator else [set[str]() for _ in tags]
        self.names = sorted(set().union(*found))
        numbers = {name: a for a, name in enumerate(self.names)}
        self.matrix = np.zeros((len(self.names), self.K), np.float32)  # M (A, K)
        for k, parts in enumerate(found):
            self.matrix[[numbers[name] for name in parts], k] = 1

    @property
    def columns(self) -> int:
        """K + A"""
        return self.K + len(self.names)

    def columns_of(self, k: int) -> np.ndarray:
        """The tag itself and its parts."""
        return np.append(k, self.K + np.flatnonzero(self.matrix[:, k]))

    def places(self, others: TagParts) -> np.ndarray:
        """The columns here of the parts of others, all of which are here too."""
        return self.K + np.searchsorted(self.names, others.names) if others.names else np.empty(0, np.int64)

    def spread(self, scores: np.ndarray) -> np.ndarray:
        """(n, K) the scores of tags, from those of tags and parts (n, K + A)."""
        if not self.names:
            return scores
        return np.asarray(scores[:, : self.K] + scores[:, self.K :] @ self.matrix.astype(scores.dtype, copy=False))

    def gather(self, columns: np.ndarray) -> None:
        """Fill the columns of the parts of (n, K + A): the sums over the tags that have each part."""
        if self.names:
            matrix = self.matrix.astype(columns.dtype, copy=False)
            columns[:, self.K :] = columns[:, : self.K] @ matrix.T

    def events(self, tags: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Of tags (n,): all pairs of a place and a column, the tag of that place or one of its parts."""
        owners, parts = np.nonzero(self.matrix.T)
        rows = RaggedRows(np.bincount(owners, minlength=self.K), parts)
        entries, widths = rows.entries(tags)
        places = np.arange(len(tags))
        return np.append(places, np.repeat(places, widths)), np.append(tags, self.K + rows.tags[entries])


def parts_of_tag(tag: str, separator: str) -> set[str]:
    """Its beginning and its end: NNG+XSV+EC has NNG+ and +EC."""
    pieces = tag.split(separator)
    return {pieces[0] + separator, separator + pieces[-1]}
