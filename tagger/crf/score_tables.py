"""Score tables: from weights to emission scores, and back from residuals to gradients.

*Score each distinct word once.* Most features look at one word at a fixed offset. So there is one table (words × tags)
per offset, and a token's emissions are the sum of one row from each table. Features of several words that were seen
with few tags (*narrow* ones, such as pairs of words) add to the cells of the tokens themselves, wide ones (such as
pairs of shapes) have tables of their own.

*Scoring is a sparse matrix product.* The scores of a table, or of the tokens of a pack, are a sparse 0/1 matrix times
the weights. The gradient is the transposed matrix times the residual, which for a table is summed by row first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csc_array, csr_array

from tagger.arrays.ragged import consecutive
from tagger.chain.scores import StepTransitions, block_rows
from tagger.crf.parameters import EncodedCorpus
from tagger.features.encoder import Features
from tagger.features.token_values import Triples
from tagger.features.valued import distinct_numbers
from tagger.words.windows import MARKS

WIDE_VALUES = 0.15  # a feature with values is wide if it has weights for this share of the tags, or more
GRADIENT_CELLS = 1 << 26  # of the sums of several packs that are kept together
RowSteps = Callable[[slice], np.ndarray]  # the probabilities of the steps into some rows, (rows, K, K)
Subtraction = Callable[[np.ndarray, slice], None]  # from expected steps, those of right paths, in place
NARROW = 0.15  # a template is narrow if its features have weights for fewer than this share of the tags


@dataclass(frozen=True)
class Cells:
    """The weights that add up to each cell of an array (rows, W), where W counts tags and tag parts."""

    params: np.ndarray  # (columns,) ascending
    matrix: csc_array  # (rows · W, columns)

    @classmethod
    def of(
        cls,
        features: Features,
        rows: np.ndarray,
        ids: np.ndarray,
        shape: tuple[int, int],
        dtype: np.dtype,
        first_column: int = 0,
        values: np.ndarray | None = None,
    ) -> Cells:
        """Build the cells of an array of this shape, where feature ids[i] fires in row rows[i]; -1 is none.

        The columns of the array are those of the features' weights from `first_column` on. Features may have values;
        without them they are 1.
        """
        # A column per parameter of the features that fire. Its entries are the rows where its feature fires, times W,
        # plus the parameter's own tag; features are sorted, so `consecutive` lists those rows column after column.
        order = np.argsort(ids, kind="stable")[np.count_nonzero(ids < 0) :]
        distinct, first, count = np.unique(ids[order], return_index=True, return_counts=True)
        params, widths = features.rows.entries(distinct)
        first, count = np.repeat(first, widths), np.repeat(count, widths)
        entries = consecutive(first, count)
        cells = rows[order].astype(index_type(shape))[entries]
        cells *= shape[1]
        cells += np.repeat(features.rows.tags[params] - first_column, count).astype(cells.dtype)
        amounts = np.ones(len(cells), dtype) if values is None else values[order].astype(dtype)[entries]
        arrays = (amounts, cells, np.append(0, np.cumsum(count)))
        return cls(params, csc_array(arrays, shape=(shape[0] * shape[1], len(params))))

    def scores(self, weights: np.ndarray, W: int) -> np.ndarray:
        """Add up the scores (rows, W)."""
        return np.asarray(self.matrix @ weights[self.params]).reshape(-1, W)

    def gradient(self, residual: np.ndarray, squares: bool = False) -> np.ndarray:
        """Add up the gradient (columns,) of the residual (rows, W); with `squares` from squared values."""
        matrix = self.matrix.power(2) if squares else self.matrix
        return np.asarray(matrix.T @ residual.ravel())


def index_type(shape: tuple[int, int]) -> Any:
    """Choose the smallest integer type for the cells of an array."""
    return np.int32 if shape[0] * shape[1] < 2**31 else np.int64


@dataclass(frozen=True)
class Table:
    """A table with a row of scores for each distinct word at an offset, or each feature of a wide template.

    The narrow features fill its cells. A wide template, such as the last letter of a word, has a small `inner` table of
    its own (letters × tags), whose rows are added to those of this table.
    """

    index: np.ndarray  # (N,) the row of each token
    sums: csc_array  # (R, N) sums tokens by row
    cells: Cells  # of (R, W)
    inner: list[Table]

    def scores(self, weights: np.ndarray, W: int) -> np.ndarray:
        """Compute the scores (R, W)."""
        out = self.cells.scores(weights, W)
        for table in self.inner:
            out += np.take(table.scores(weights, W), table.index, axis=0)
        return out

    def add_gradient(self, residual: np.ndarray, gradient: np.ndarray) -> None:
        """Add the gradient of the weights of this table, given the residual (N, W)."""
        by_row = self.sums @ residual
        gradient[self.cells.params] += self.cells.gradient(by_row)
        for table in self.inner:
            table.add_gradient(by_row, gradient)


@dataclass(frozen=True)
class ValueMatrix:
    """Wide features with values: tokens × features, times their weights (features, W), gives scores of tokens.

    The gradient is the transposed matrix times the residual. Few features are wide, so that the sums of one pack stay
    in the processor's cache.
    """

    params: np.ndarray  # of the features
    cells: np.ndarray  # of each parameter in (features, W)
    packs: list[csr_array]  # (n, features) for each pack
    shape: tuple[int, int]  # features, W

    @classmethod
    def of(cls, corpus: EncodedCorpus, triples: Triples, packs: list[slice], dtype: np.dtype) -> ValueMatrix:
        """Build the matrix of triples whose rows are those of the packs."""
        N, rows = packs[-1].stop if packs else 0, corpus.features.rows
        features, columns = distinct_numbers(triples.ids)
        params, widths = rows.entries(features)
        F, W = len(features), corpus.tag_parts.columns
        bounds = np.searchsorted(triples.rows, np.arange(N + 1))
        matrix = csr_array((triples.values.astype(dtype), columns.astype(np.int32), bounds), shape=(N, F))
        cells = np.repeat(np.arange(F, dtype=np.int64) * W, widths) + rows.tags[params]
        return cls(params, cells, [matrix[own] for own in packs], (F, W))

    def weights(self, w: np.ndarray) -> np.ndarray:
        """Lay out the weights as (features, W)."""
        laid_out = np.zeros(self.shape, w.dtype)
        laid_out.reshape(-1)[self.cells] = w[self.params]
        return laid_out

    def gradient(
        self,
        residual: np.ndarray,
        used: Sequence[int],
        rows: list[slice],
        map_all: Callable[..., list[Any]],
        squares: bool = False,
    ) -> np.ndarray:
        """Compute the gradient of the parameters from the residual (N, W) of the packs used, summed in their order.

        With `squares`, it is that of squared values.
        """
        packs = [pack.power(2) for pack in self.packs] if squares else self.packs
        sums = np.zeros(len(self.cells))
        together = max(1, GRADIENT_CELLS // max(1, self.shape[0] * self.shape[1]))  # packs
        for begin in range(0, len(used), together):
            some = used[begin : begin + together]
            for own in map_all(lambda i: packs[i].T @ residual[rows[i]], some):
                sums += own.ravel()[self.cells]
        return sums


@dataclass(frozen=True)
class TableBuilder:
    """Builds tables and narrow cells from templates, for tokens in the order of the packs."""

    corpus: EncodedCorpus
    dtype: np.dtype
    packs: list[slice]

    def build(self) -> tuple[list[Table], list[Cells], ValueMatrix | None]:
        """Build the tables; for each pack the cells of its narrow features of several words, or with values; the rest.

        The rest are wide features with values.
        """
        tables = [self.word_table(offset) for offset in self.corpus.features.offsets]
        several = self.corpus.templates_at(None)
        narrow, wide = self.narrow_and_wide(several, [self.corpus.token_features(t) for t in several])
        if self.corpus.valued is None:
            return tables + wide, [self.cells(narrow[:, rows]) for rows in self.packs], None
        triples, W = self.corpus.triples(), self.corpus.tag_parts.columns
        is_wide = self.corpus.features.rows.widths[triples.ids] >= WIDE_VALUES * W
        matrix = ValueMatrix.of(self.corpus, triples.only(is_wide), self.packs, self.dtype)
        triples = triples.only(~is_wide)
        bounds = np.searchsorted(triples.rows, [(rows.start, rows.stop) for rows in self.packs]).tolist()
        parts = [triples.only(slice(*bound)) for bound in bounds]
        cells = [self.cells(narrow[:, rows], rows.start, part) for rows, part in zip(self.packs, parts, strict=True)]
        return tables + wide, cells, matrix

    def word_table(self, offset: int) -> Table:
        """Build the table of all templates of one word at this offset, with a row for each word that occurs there."""
        words, count = self.corpus.windows.at(offset), len(self.corpus.windows.words) + MARKS
        present = np.flatnonzero(np.bincount(words, minlength=count))
        index = np.empty(count, np.int32)
        index[present] = np.arange(len(present))
        templates = self.corpus.templates_at(offset)
        ids = [self.corpus.word_features(t, present) for t in templates]
        return self.table(index[words], len(present), *self.narrow_and_wide(templates, ids))

    def narrow_and_wide(self, templates: list[int], ids: list[np.ndarray]) -> tuple[np.ndarray, list[Table]]:
        """Stack the features (rows,) of the narrow templates, and build a table for each wide one."""
        narrow = [np.empty((0, len(ids[0]) if ids else len(self.corpus.windows.places)), np.int64)]
        wide = []
        for t, features in zip(templates, ids, strict=True):
            if self.width(features) < NARROW * self.corpus.tag_parts.columns:
                narrow.append(features[None])
            else:
                wide.append(self.template_table(t, features))
        return np.concatenate(narrow), wide

    def width(self, ids: np.ndarray) -> float:
        """Compute the mean number of tags that these features have weights for."""
        return float(self.corpus.features.rows.widths[ids[ids >= 0]].sum() / max(1, len(ids)))

    def template_table(self, t: int, ids: np.ndarray) -> Table:
        """Build a table with a row for each feature of the template, and a last one for no feature."""
        first, end = self.corpus.features.bases[t : t + 2].tolist()
        features = np.append(np.arange(first, end), -1)[None]
        return self.table(np.where(ids < 0, end, ids) - first, end - first + 1, features, [])

    def table(self, index: np.ndarray, R: int, narrow: np.ndarray, wide: list[Table]) -> Table:
        """Build a table: `index` (N,) is the row of each token, `narrow` (templates, R) the features of each row."""
        N = len(index)
        sums = csc_array((np.ones(N, self.dtype), index, np.arange(N + 1)), shape=(R, N))
        return Table(index.astype(np.int32), sums, self.cells(narrow), wide)

    def cells(self, ids: np.ndarray, begin: int = 0, triples: Triples | None = None) -> Cells:
        """Build the cells of rows with the features `ids` (templates, rows), -1 for none.

        Features with values may be added; row 0 is `begin` there.
        """
        templates, rows = ids.shape
        places, shape = np.tile(np.arange(rows), templates), (rows, self.corpus.tag_parts.columns)
        if triples is None:
            return Cells.of(self.corpus.features, places, ids.ravel(), shape, self.dtype)
        values = np.append(np.ones(ids.size, np.float32), triples.values)
        places, ids = np.append(places, triples.rows - begin), np.append(ids, triples.ids)
        return Cells.of(self.corpus.features, places, ids, shape, self.dtype, values=values)


@dataclass(frozen=True)
class StepCells:
    """The weights that add up to the transitions of the rows of a pack after the first ones, in blocks of rows."""

    blocks: list[Cells]  # of (rows, K²)
    rows: int
    K: int

    @classmethod
    def of(cls, corpus: EncodedCorpus, ids: np.ndarray, dtype: np.dtype) -> StepCells:
        """Build the cells of steps to rows with these features (templates, rows), -1 for none."""
        templates, rows = ids.shape
        size, blocks = block_rows(corpus.K), []
        for begin in range(0, max(1, rows), size):
            own = ids[:, begin : begin + size]
            places, shape = np.tile(np.arange(own.shape[1]), templates), (own.shape[1], corpus.K**2)
            blocks.append(Cells.of(corpus.features, places, own.ravel(), shape, dtype, corpus.tag_parts.columns))
        return cls(blocks, rows, corpus.K)

    def transitions(self, w: np.ndarray, for_all: np.ndarray) -> StepTransitions:
        """Add up the transitions of the rows and those that all have (K, K)."""
        size, for_all = block_rows(self.K), for_all.astype(w.dtype)

        def make(rows: slice) -> np.ndarray:
            own = self.blocks[rows.start // size].scores(w, self.K**2).reshape(-1, self.K, self.K)
            own += for_all
            return own

        return StepTransitions(self.rows, size, make)

    def gradient(self, free: RowSteps, subtract_right: Subtraction) -> tuple[np.ndarray, list[np.ndarray]]:
        """Compute expected minus observed steps (K, K), and the gradient of the weights by block."""
        sums, gradients, begin = np.zeros((self.K, self.K)), [], 0
        for cells in self.blocks:
            end = begin + cells.matrix.shape[0] // self.K**2
            by_row = free(slice(begin, end))  # (rows, K, K)
            subtract_right(by_row, slice(begin, end))
            sums += by_row.sum(axis=0, dtype=np.float64)
            gradients.append(cells.gradient(by_row))
            begin = end
        return sums, gradients
