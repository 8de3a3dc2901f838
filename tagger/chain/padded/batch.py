"""Padded batches: the arrays (B, T, …) of other libraries as packed steps, and back.

Only the functions of `tagger.chain` need this; models make packs of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tagger.chain import forward_backward
from tagger.chain.pack import Pack
from tagger.chain.scores import Chain, StepTransitions

Array = np.ndarray
Scores = np.ndarray | None
Lengths = Sequence[int] | np.ndarray | None


class PaddedBatch:
    """A padded batch as a chain on packed steps, and back."""

    def __init__(self, emissions: Scores, transitions: Array, lengths: Lengths, start: Scores, end: Scores) -> None:
        if transitions is None:
            raise ValueError("transitions: expected scores (K, K), got None. Give zeros if all steps are equal.")
        transitions = np.asarray(transitions)
        emissions = np.asarray(no_emissions(transitions) if emissions is None else emissions)
        if emissions.ndim not in (2, 3):
            raise ValueError(f"emissions: expected the shape (B, T, K) or (T, K), got {emissions.shape}.")
        self.single = emissions.ndim == 2
        if self.single:
            emissions, lengths = emissions[None], None if lengths is None else np.reshape(lengths, -1)
        B, T, K = self.shape = emissions.shape
        given = np.full(B, T, np.int64) if lengths is None else np.asarray(lengths)
        if given.shape != (B,) or given.dtype.kind not in "iu" or (given < 0).any() or (given > T).any():
            raise ValueError(f"lengths: expected {B} integers from 0 to {T}, got {lengths}.")
        self.pack = Pack.of(given)
        step = np.repeat(np.arange(len(self.pack.sizes)), self.pack.sizes)
        self.cells = self.pack.order[self.pack.ranks], step  # (N,) the sentence of each row, and its token
        self.step_shape = self.checked_steps(transitions)
        rows = emissions[self.cells]
        dtype = rows.dtype if rows.dtype in (np.float32, np.float64) else np.float64
        steps = transitions[self.step_cells].astype(dtype)
        self.chain = Chain(
            self.pack,
            checked("start", start, K).astype(dtype),
            steps if transitions.ndim == 2 else StepTransitions.of(steps),
            checked("end", end, K).astype(dtype),
            rows.astype(dtype),
        )

    def checked_steps(self, transitions: np.ndarray) -> tuple[int, ...]:
        """Return the shape of the transitions: for all steps, for each, or for each of each sentence."""
        B, T, K = self.shape
        shapes = [(K, K), (max(T - 1, 0), K, K)] + [(B, max(T - 1, 0), K, K)] * (not self.single)
        if transitions.shape not in shapes:
            expected = " or ".join(map(str, shapes))
            raise ValueError(f"transitions: expected the shape {expected}, got {transitions.shape}.")
        return transitions.shape

    @property
    def step_cells(self) -> Any:
        """Where the transitions into the rows after the first ones are in those given."""
        sentence, step = (cells[self.pack.first :] for cells in self.cells)
        return {2: ..., 3: (step - 1,), 4: (sentence, step - 1)}[len(self.step_shape)]

    def as_given(self, steps: np.ndarray) -> np.ndarray:
        """Add up numbers of steps, (K, K) or by row, in the shape of the transitions."""
        out = np.zeros(self.step_shape)
        np.add.at(out, self.step_cells, steps)
        return out

    def posterior(self) -> forward_backward.Posterior:
        """Run forward–backward."""
        return forward_backward.forward_backward(forward_backward.sum_kernel(self.chain))

    def expected_steps(self, posterior: forward_backward.Posterior) -> np.ndarray:
        """Return the expected number of steps from tag to tag, (K, K), or by row if the transitions are."""
        if posterior.row_transitions is None:
            return posterior.transitions
        return posterior.row_transitions(slice(0, len(self.pack.before)))

    def rows_of(self, tags: np.ndarray) -> np.ndarray:
        """Return the tags of the rows (N,), checked."""
        B, T, K = self.shape
        tags, shape = np.asarray(tags), (T,) if self.single else (B, T)
        if tags.shape == (*shape, K):
            raise ValueError(f"tags: expected numbers {shape}, got one-hot rows {tags.shape}. Give tags.argmax(-1).")
        if tags.shape != shape:
            raise ValueError(f"tags: expected the shape {shape}, got {tags.shape}.")
        rows = tags.reshape(B, T)[self.cells]
        if rows.dtype.kind not in "iu" or (rows < 0).any() or (rows >= K).any():
            raise ValueError(
                f"tags: expected integers from 0 to {K - 1}, got others. If a label marks padding, give lengths."
            )
        return rows.astype(np.int64)

    def padded(self, rows: np.ndarray, fill: float) -> np.ndarray:
        """Put rows (N, …) into a batch (B, T, …), or (T, …) for a single sentence."""
        out = np.full((*self.shape[:2], *rows.shape[1:]), fill, rows.dtype)
        out[self.cells] = rows
        return np.asarray(self.squeeze(out))

    def squeeze(self, by_sentence: Any) -> Any:
        """Return the results of all sentences, or of the single one."""
        return by_sentence[0] if self.single else by_sentence


def no_emissions(transitions: np.ndarray) -> np.ndarray:
    """Make emissions of 0 for transitions that differ from step to step, (T - 1, K, K) or (B, T - 1, K, K)."""
    if transitions.ndim < 3:
        raise ValueError(
            "emissions: expected scores (B, T, K) or (T, K), got None. With transitions (K, K) they are needed."
        )
    *batch, steps, K, _ = transitions.shape
    return np.zeros((*batch, steps + 1, K), transitions.dtype)


def checked(name: str, scores: np.ndarray | None, *shape: int) -> np.ndarray:
    """Return the scores as an array of this shape, zeros for None."""
    array = np.zeros(shape) if scores is None else np.asarray(scores)
    if array.shape != shape:
        raise ValueError(f"{name}: expected the shape {shape}, got {array.shape}.")
    return array
