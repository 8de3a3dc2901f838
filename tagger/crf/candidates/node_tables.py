"""Scores of nodes, tokens with one of their candidate tags: from weights to scores, and back to gradients.

As in `score_tables`, features of one word are scored once for each distinct pair of a word and a tag at an offset, and
a node's score is the sum of one such number per offset, plus the weights of its features of several words:

    score(t, k) = Σ_offsets pair_score[word at t + offset, k] + Σ_f w[f, k]

All of these are sparse 0/1 matrices times the weights; the gradient is the transposed matrix times the residual.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from tagger.arrays.keyed import number_keys
from tagger.crf.parameters import EncodedCorpus
from tagger.features.parameter_index import ParameterIndex
from tagger.features.token_values import Triples
from tagger.words.windows import MARKS

MapAll = Callable[[Callable[[Any], Any], Iterable[Any]], list[Any]]  # applies a function to all items


def map_in_turn(function: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
    """Apply a function to all items, one after the other."""
    return list(map(function, items))


@dataclass(frozen=True)
class WeightSums:
    """The weights that add up to each of some numbers."""

    params: np.ndarray  # (columns,) ascending
    matrix: csr_array  # (rows, columns) of zeros and ones, or values

    def scores(self, weights: np.ndarray) -> np.ndarray:
        """Add up the numbers, (rows,)."""
        return np.asarray(self.matrix @ weights[self.params])

    def gradient(self, residual: np.ndarray, squares: bool = False) -> np.ndarray:
        """Add up the gradient (columns,) of the residual (rows,); with `squares` from squared values."""
        matrix = self.matrix.power(2) if squares else self.matrix
        return np.asarray(matrix.T @ residual.astype(matrix.dtype))


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

    `parts` are slices of the nodes; each has a matrix of its own, so that threads can share the work. `map_all` applies
    a function to all items of a list.
    """

    def __init__(
        self,
        corpus: EncodedCorpus,
        tokens: np.ndarray,
        tags: np.ndarray,
        parts: Sequence[slice],
        dtype: np.dtype,
        map_all: MapAll = map_in_turn,
    ) -> None:
        self.tokens, self.tags, self.parts, self.dtype = tokens, tags, parts, dtype
        self.parameters = ParameterIndex(corpus.features, corpus.tag_parts)
        self.tables: list[PairTable] = map_all(lambda offset: self.pair_table(corpus, offset), corpus.features.offsets)
        ids = [corpus.token_features(t) for t in corpus.templates_at(None)]

        def sums_of_part(part: slice) -> WeightSums:
            return self.weight_sums([row[tokens[part]] for row in ids], tags[part], corpus.at(tokens[part]).triples())

        self.several: list[WeightSums] = map_all(sums_of_part, parts)

    def pair_table(self, corpus: EncodedCorpus, offset: int) -> PairTable:
        """Build the table of all templates of one word at this offset."""
        words, K = corpus.windows.at(offset)[self.tokens].astype(np.int64), corpus.K
        pairs, index = number_keys(words * K + self.tags, (len(corpus.windows.words) + MARKS) * K)
        ids = [corpus.word_features(t)[pairs // K] for t in corpus.templates_at(offset)]
        return PairTable(index.astype(np.int32), self.weight_sums(ids, pairs % K))

    def weight_sums(self, ids: list[np.ndarray], tags: np.ndarray, valued: Triples | None = None) -> WeightSums:
        """Build the sums of rows with these features and tags, and with these features with values."""
        params, rows = self.parameters.find(ids, tags)
        if valued is None:
            return self.sums_of(params, rows, len(tags))
        more, places = self.parameters.find([valued.ids], tags[valued.rows])
        values = np.append(np.ones(len(params), self.dtype), valued.values[places].astype(self.dtype))
        return self.sums_of(np.append(params, more), np.append(rows, valued.rows[places]), len(tags), values)

    def step_sums(
        self, features: list[np.ndarray], tokens: np.ndarray, before: np.ndarray, tags: np.ndarray
    ) -> WeightSums:
        """Build the sums of steps to these tokens with a tag before and a tag; `features` (N,) are those of tokens."""
        ids = [row[tokens] for row in features]
        return self.sums_of(*self.parameters.find_steps(ids, before, tags), len(tokens))

    def sums_of(self, params: np.ndarray, rows: np.ndarray, count: int, values: np.ndarray | None = None) -> WeightSums:
        """Build the sums of `count` rows from the parameters of rows, times their values if they have any."""
        order = np.argsort(rows, kind="stable")
        distinct, columns = number_keys(params[order], len(self.parameters.cells))
        bounds = np.append(0, np.cumsum(np.bincount(rows, minlength=count))).astype(np.int32)
        amounts = np.ones(len(params), self.dtype) if values is None else values[order]
        matrix = csr_array((amounts, columns.astype(np.int32), bounds), shape=(count, len(distinct)))
        return WeightSums(distinct, matrix)

    def scores(self, weights: np.ndarray, map_all: MapAll = map_in_turn) -> list[np.ndarray]:
        """Compute the scores of the nodes of each part."""
        w = weights.astype(self.dtype)
        pair_scores = map_all(lambda table: table.sums.scores(w), self.tables)

        def part_scores(i: int) -> np.ndarray:
            out = self.several[i].scores(w).astype(np.float64)
            for table, scores in zip(self.tables, pair_scores, strict=True):
                out += scores[table.index[self.parts[i]]]
            return out

        return map_all(part_scores, range(len(self.parts)))

    def gradient(self, residual: np.ndarray, map_all: MapAll = map_in_turn, squares: bool = False) -> np.ndarray:
        """Compute the gradient (P,) of the residual (nodes,), summed in a fixed order; or from squared values."""
        gradient = np.zeros(len(self.parameters.cells))
        map_all(lambda table: table.add_gradient(residual, gradient), self.tables)  # each has its own weights
        by_part = map_all(lambda i: self.several[i].gradient(residual[self.parts[i]], squares), range(len(self.parts)))
        for sums, part in zip(self.several, by_part, strict=True):
            gradient[sums.params] += part
        return gradient
