"""Scores of nodes, tokens with one of their candidate tags: from weights to scores, and back to gradients.

As in `score_tables`, features of one word are scored once for each distinct pair of a word and a tag at an offset, and
a node's score is the sum of one such number per offset, plus the weights of its features of several words:

    score(t, k) = Σ_offsets pair_score[word at t + offset, k] + Σ_f w[f, k]

All of these are sparse 0/1 matrices times the weights; the gradient is the transposed matrix times the residual.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from tagger.features.encoder import Features, token_keys, word_keys
from tagger.features.parameter_index import ParameterIndex
from tagger.features.tag_parts import TagParts
from tagger.words.windows import Windows


@dataclass(frozen=True)
class WeightSums:
    """The weights that add up to each of some numbers."""

    params: np.ndarray  # (columns,) ascending
    matrix: csr_array  # (rows, columns) of zeros and ones

    def scores(self, weights: np.ndarray) -> np.ndarray:
        """Add up the numbers, (rows,)."""
        return np.asarray(self.matrix @ weights[self.params])

    def gradient(self, residual: np.ndarray) -> np.ndarray:
        """Add up the gradient (columns,) of the residual (rows,)."""
        return np.asarray(self.matrix.T @ residual.astype(self.matrix.dtype))


@dataclass(frozen=True)
class PairTable:
    """A number for each distinct pair of a word at an offset and a tag."""

    index: np.ndarray  # (nodes,) the pair of each node
    sums: WeightSums  # of the pairs

    def add_gradient(self, residual: np.ndarray, gradient: np.ndarray) -> None:
        """Add the gradient of the residual (nodes,) to that of all weights (P,)."""
        by_pair = np.bincount(self.index, weights=residual, minlength=self.sums.matrix.shape[0])
        gradient[self.sums.params] += self.sums.gradient(by_pair)


class NodeTables:
    """The tables of nodes with these tokens and tags, and the matrices of their features of several words.

    `parts` are slices of the nodes; each has a matrix of its own, so that threads can share the work.
    """

    def __init__(
        self,
        features: Features,
        values: dict[str, np.ndarray],
        windows: Windows,
        tag_parts: TagParts,
        nodes: tuple[np.ndarray, np.ndarray],
        parts: Sequence[slice],
        dtype: np.dtype,
    ) -> None:
        self.features, self.values, self.windows, self.dtype = features, values, windows, dtype
        self.tokens, self.tags = nodes
        self.parameters = ParameterIndex(features, tag_parts)
        self.tables = [self.pair_table(offset, tag_parts.K) for offset in features.offsets]
        several = [t for t, template in enumerate(features.templates) if template.offset is None]
        ids = [features.ids(t, token_keys(features.templates[t], values, windows, features.radix)) for t in several]
        self.several = [self.weight_sums([row[self.tokens[part]] for row in ids], self.tags[part]) for part in parts]
        self.parts = parts

    def pair_table(self, offset: int, K: int) -> PairTable:
        """Build the table of all templates of one word at this offset."""
        features = self.features
        pairs, index = np.unique(
            self.windows.at(offset)[self.tokens].astype(np.int64) * K + self.tags, return_inverse=True
        )
        templates = [(t, template) for t, template in enumerate(features.templates) if template.offset == offset]
        ids = [features.ids(t, word_keys(template, self.values, features.radix)) for t, template in templates]
        return PairTable(index.astype(np.int32), self.weight_sums([row[pairs // K] for row in ids], pairs % K))

    def weight_sums(self, ids: list[np.ndarray], tags: np.ndarray) -> WeightSums:
        """Build the sums of rows with these features and tags."""
        params, rows = self.parameters.find(ids, tags)
        order = np.argsort(rows, kind="stable")
        distinct, columns = np.unique(params[order], return_inverse=True)
        bounds = np.append(0, np.cumsum(np.bincount(rows, minlength=len(tags)))).astype(np.int32)
        arrays = (np.ones(len(params), self.dtype), columns.astype(np.int32), bounds)
        return WeightSums(distinct, csr_array(arrays, shape=(len(tags), len(distinct))))

    def scores(self, weights: np.ndarray, map_all: Callable[..., list[Any]]) -> list[np.ndarray]:
        """Compute the scores of the nodes of each part; `map_all` applies a function to all items of a list."""
        w = weights.astype(self.dtype)
        pair_scores = map_all(lambda table: table.sums.scores(w), self.tables)

        def part_scores(i: int) -> np.ndarray:
            out = self.several[i].scores(w).astype(np.float64)
            for table, scores in zip(self.tables, pair_scores, strict=True):
                out += scores[table.index[self.parts[i]]]
            return out

        return map_all(part_scores, range(len(self.parts)))

    def gradient(self, residual: np.ndarray, map_all: Callable[..., list[Any]]) -> np.ndarray:
        """Compute the gradient (P,) of the residual (nodes,), summed in a fixed order."""
        gradient = np.zeros(len(self.parameters.cells))
        map_all(lambda table: table.add_gradient(residual, gradient), self.tables)  # each has its own weights
        by_part = map_all(lambda i: self.several[i].gradient(residual[self.parts[i]]), range(len(self.parts)))
        for sums, part in zip(self.several, by_part, strict=True):
            gradient[sums.params] += part
        return gradient
