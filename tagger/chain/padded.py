"""Padded batches: the arrays (B, T, …) of other libraries as packed steps, and back.

Only the functions of `tagger.chain` need this; models make packs of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tagger.chain import forward_backward
from tagger.chain.pack import Pack
from tagger.chain.scores import Chain

Array = np.ndarray
Lengths = Sequence[int] | np.ndarray | None
Ends = np.ndarray | None


class PaddedBatch:
    """A padded batch as a chain on packed steps, and back."""

    def __init__(self, emissions: Array, transitions: Array, lengths: Lengths, start: Ends, end: Ends) -> None:
        emissions = np.asarray(emissions)
        if emissions.ndim not in (2, 3):
            raise ValueError(f"emissions: expected the shape (B, T, K) or (T, K), got {emissions.shape}.")
        if transitions is None:
            raise ValueError("transitions: expected scores (K, K), got None. Give zeros if all steps are equal.")
        self.single = emissions.ndim == 2
        if self.single:
            emissions, lengths = emissions[None], None if lengths is None else np.reshape(lengths, -1)
        B, T, K = self.shape = emissions.shape
        given = np.full(B, T) if lengths is None else np.asarray(lengths)
        if given.shape != (B,) or given.dtype.kind not in "iu" or (given < 0).any() or (given > T).any():
            raise ValueError(f"lengths: expected {B} integers from 0 to {T}, got {lengths}.")
        self.pack = Pack.of(given)
        step = np.repeat(np.arange(len(self.pack.sizes)), self.pack.sizes)
        self.cells = self.pack.order[self.pack.ranks], step  # (N,) the sentence of each row, and its token
        rows = emissions[self.cells]
        dtype = rows.dtype if rows.dtype in (np.float32, np.float64) else np.float64
        self.chain = Chain(
            self.pack,
            checked("start", start, K).astype(dtype),
            checked("transitions", transitions, K, K).astype(dtype),
            checked("end", end, K).astype(dtype),
            rows.astype(dtype),
        )

    def posterior(self) -> forward_backward.Posterior:
        """Run forward–backward."""
        return forward_backward.forward_backward(forward_backward.sum_kernel(self.chain))

    def rows_of(self, tags: np.ndarray) -> np.ndarray:
        """Return the tags of the rows (N,), checked."""
        B, T, K = self.shape
        tags, shape = np.asarray(tags), (T,) if self.single else (B, T)
        if tags.shape != shape:
            raise ValueError(f"tags: expected the shape {shape}, got {tags.shape}.")
        rows = tags.reshape(B, T)[self.cells]
        if rows.dtype.kind not in "iu" or (rows < 0).any() or (rows >= K).any():
            raise ValueError(f"tags: expected integers from 0 to {K - 1}, got others.")
        return rows.astype(np.int64)

    def padded(self, rows: np.ndarray, fill: float) -> np.ndarray:
        """Put rows (N, …) into a batch (B, T, …), or (T, …) for a single sentence."""
        out = np.full((*self.shape[:2], *rows.shape[1:]), fill, rows.dtype)
        out[self.cells] = rows
        return np.asarray(self.squeeze(out))

    def squeeze(self, by_sentence: Any) -> Any:
        """Return the results of all sentences, or of the single one."""
        return by_sentence[0] if self.single else by_sentence


def checked(name: str, scores: np.ndarray | None, *shape: int) -> np.ndarray:
    """Return the scores as an array of this shape, zeros for None."""
    array = np.zeros(shape) if scores is None else np.asarray(scores)
    if array.shape != shape:
        raise ValueError(f"{name}: expected the shape {shape}, got {array.shape}.")
    return array
