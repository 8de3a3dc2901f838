"""From weights to scores and back to gradients: which weights add up to which cells of which table.

*Score each distinct word once.* Most features look at one word at a fixed offset. So there is one table (words × tags)
per offset, and a token's emissions are the sum of one row from each table. Features of several words that were seen
with few tags (*narrow* ones, such as pairs of words) add to the cells of the tokens themselves, wide ones (such as
pairs of shapes) have tables of their own.

*A weight knows its cells.* Whatever is scored, a table or the tokens of a pack, is a sparse matrix times the weights,
and the gradient is the transposed matrix times what flows back, for a table summed by row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csc_array

from tagger.arrays.ragged import consecutive
from tagger.features.encoder import Features, token_keys, word_keys
from tagger.words.windows import MARKS, Windows

NARROW = 0.15  # a template is narrow if the features it gives have fewer than this share of all tags


@dataclass(frozen=True)
class Cells:
    """Which weights add up to which cells of an array (rows, W), where W counts tags and parts of tags."""

    params: np.ndarray  # (columns,) ascending
    matrix: csc_array  # (rows · W, columns)

    @classmethod
    def of(
        cls, features: Features, rows: np.ndarray, ids: np.ndarray, shape: tuple[int, int], dtype: np.dtype
    ) -> Cells:
        """Feature ids[i] fires in row rows[i] of an array of that shape; -1 is none."""
        order = np.argsort(ids, kind="stable")[np.count_nonzero(ids < 0) :]
        distinct, first, count = np.unique(ids[order], return_index=True, return_counts=True)
        params, widths = features.rows.entries(distinct)
        first, count = np.repeat(first, widths), np.repeat(count, widths)  # where each parameter fires
        places = rows[order].astype(index_type(shape))[consecutive(first, count)]
        places *= shape[1]
        places += np.repeat(features.rows.tags[params], count).astype(places.dtype)
        arrays = (np.ones(len(places), dtype), places, np.append(0, np.cumsum(count)))
        return cls(params, csc_array(arrays, shape=(shape[0] * shape[1], len(params))))

    def scores(self, weights: np.ndarray, W: int) -> np.ndarray:
        """(rows, W)"""
        return np.asarray(self.matrix @ weights[self.params]).reshape(-1, W)

    def gradient(self, residual: np.ndarray) -> np.ndarray:
        """(columns,)"""
        return np.asarray(self.matrix.T @ residual.ravel())


def index_type(shape: tuple[int, int]) -> Any:
    return np.int32 if shape[0] * shape[1] < 2**31 else np.int64


@dataclass(frozen=True)
class Table:
    """A row of scores for each distinct value of something that every token has, or every row of another table.

    Its cells come from its narrow features. A wide one, such as the last letter of a word, is better off with a small
    table of its own (letters × tags) from which the rows of this one are added up: those are the `inner` tables.
    """

    index: np.ndarray  # (N,) the row of each token
    sums: csc_array  # (R, N) adds up tokens by row
    cells: Cells  # of (R, W)
    inner: list[Table]

    def scores(self, weights: np.ndarray, W: int) -> np.ndarray:
        """(R, W)"""
        out = self.cells.scores(weights, W)
        for table in self.inner:
            out += np.take(table.scores(weights, W), table.index, axis=0)
        return out

    def add_gradient(self, residual: np.ndarray, gradient: np.ndarray) -> None:
        """Add to the gradient what the residual (N, W) says of the weights of this table."""
        by_row = self.sums @ residual
        gradient[self.cells.params] += self.cells.gradient(by_row)
        for table in self.inner:
            table.add_gradient(by_row, gradient)


class TableBuilder:
    """Turns templates into tables and narrow cells, for tokens in the order of the packs."""

    def __init__(
        self,
        features: Features,
        values: dict[str, np.ndarray],
        windows: Windows,
        W: int,
        dtype: np.dtype,
        packs: list[slice],
    ) -> None:
        self.features, self.values, self.windows = features, values, windows
        self.W, self.dtype, self.packs = W, dtype, packs

    def build(self) -> tuple[list[Table], list[Cells]]:
        """The tables, and for each pack the cells of its narrow features."""
        tables = [self.word_table(offset) for offset in self.features.offsets]
        several = [t for t, template in enumerate(self.features.templates) if template.offset is None]
        narrow, wide = self.sorted_out(several, [self.token_features(t) for t in several])
        return tables + wide, [self.cells(narrow[:, rows]) for rows in self.packs]

    def token_features(self, t: int) -> np.ndarray:
        """(N,) the feature of each token that template t gives, -1 for none."""
        keys = token_keys(self.features.templates[t], self.values, self.windows, self.features.radix)
        return self.features.ids(t, keys)

    def word_table(self, offset: int) -> Table:
        """All templates that look at the one word at that offset; a row for each word that stands there."""
        words = self.windows.at(offset)
        present = np.flatnonzero(np.bincount(words, minlength=len(self.windows.words) + MARKS))
        index = np.empty(len(self.windows.words) + MARKS, np.int32)
        index[present] = np.arange(len(present))
        own = [t for t, template in enumerate(self.features.templates) if template.offset == offset]
        keys = [word_keys(self.features.templates[t], self.values, self.features.radix)[present] for t in own]
        narrow, wide = self.sorted_out(own, [self.features.ids(t, key) for t, key in zip(own, keys, strict=True)])
        return self.table(index[words], len(present), narrow, wide)

    def sorted_out(self, templates: list[int], ids: list[np.ndarray]) -> tuple[np.ndarray, list[Table]]:
        """The features (rows,) of each template: the narrow ones together, and a table for each wide template."""
        narrow = [np.empty((0, len(ids[0]) if ids else len(self.windows.places)), np.int64)]
        wide = []
        for t, found in zip(templates, ids, strict=True):
            if self.width(found) < NARROW * self.W:
                narrow.append(found[None])
            else:
                wide.append(self.template_table(t, found))
        return np.concatenate(narrow), wide

    def width(self, ids: np.ndarray) -> float:
        """The mean number of tags that these features add to."""
        return float(self.features.rows.widths[ids[ids >= 0]].sum() / max(1, len(ids)))

    def template_table(self, t: int, ids: np.ndarray) -> Table:
        """A row for each feature of the template, and one more for whatever has none of them."""
        first, end = self.features.bases[t : t + 2].tolist()
        own = np.append(np.arange(first, end), -1)[None]
        return self.table(np.where(ids < 0, end, ids) - first, end - first + 1, own, [])

    def table(self, index: np.ndarray, R: int, narrow: np.ndarray, wide: list[Table]) -> Table:
        """`index` (N,) is the row of each token, `narrow` (templates, R) the features of each row."""
        N = len(index)
        sums = csc_array((np.ones(N, self.dtype), index, np.arange(N + 1)), shape=(R, N))
        return Table(index.astype(np.int32), sums, self.cells(narrow), wide)

    def cells(self, ids: np.ndarray) -> Cells:
        """`ids` (templates, rows): the features of each row, -1 for none."""
        templates, rows = ids.shape
        return Cells.of(self.features, np.tile(np.arange(rows), templates), ids.ravel(), (rows, self.W), self.dtype)
