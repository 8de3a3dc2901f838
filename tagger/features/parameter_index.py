"""The index of parameters: which weight belongs to a feature together with a tag."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tagger.arrays.keyed import AscendingKeys
from tagger.features.encoder import Features
from tagger.features.tag_parts import TagParts


class ParameterIndex:
    """Finds the parameters of features with tags; a tag has the weights of its parts too."""

    def __init__(self, features: Features, tag_parts: TagParts) -> None:
        self.W, self.columns = tag_parts.all_columns, tag_parts.columns_by_tag
        self.K, self.first_pair = tag_parts.K, tag_parts.columns
        self.cells = features.rows.owners * self.W + features.rows.tags  # (P,) ascending
        self.index = AscendingKeys(self.cells)

    def find(self, ids: Iterable[np.ndarray], tags: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """List the parameters of features `ids`, each (rows,), -1 for none, with the tags (rows,); and their rows."""
        return self.find_columns(ids, self.columns[tags])

    def find_steps(
        self, ids: Iterable[np.ndarray], before: np.ndarray, tags: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """List the same for features of steps, with the tags before and the tags; a mark, K, has no weights."""
        pairs = np.where((before < self.K) & (tags < self.K), self.first_pair + before * self.K + tags, -1)
        return self.find_columns(ids, pairs[:, None])

    def find_columns(self, ids: Iterable[np.ndarray], columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """List the parameters of features in any of the columns of their row (rows, columns), -1 for none."""
        params, rows = [np.empty(0, np.int32)], [np.empty(0, np.int32)]
        for feature in ids:
            present = np.flatnonzero(feature >= 0)
            for column in columns[present].T:
                place = self.index.find(np.where(column < 0, -1, feature[present] * self.W + column))
                there = np.flatnonzero(place >= 0)
                params.append(place[there].astype(np.int32))  # there are far fewer parameters than 2³¹
                rows.append(present[there].astype(np.int32))
        return np.concatenate(params), np.concatenate(rows)
