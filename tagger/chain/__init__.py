"""A linear chain for people who bring emission scores: sequence score, log norm, likelihood, marginals, decoding.

The scores may come from any model. They are batches as other libraries pass them: `emissions` (B, T, K), of which the
first `lengths[b]` rows of sentence b count and the rest is never looked at; without `lengths` all T count. One sentence
alone (T, K) gets answers without the first axis; its tags are (T,), its length a whole number. `start` and `end` (K,)
default to zeros. A score of -inf forbids. `chain.packed` and `viterbi` do the work, on packed steps; here
padding comes off and is put on again, as 0, or as -1 where a tag's number is expected.

>>> tags, scores = decode(emissions, transitions, lengths)
>>> values, gradient = log_likelihood_gradient(emissions, gold, transitions, lengths)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tagger.chain import forward_backward, nbest, viterbi
from tagger.chain.kernels import DenseMax
from tagger.chain.pack import Pack
from tagger.chain.scores import Chain, path_scores

NO_TAG = -1  # behind the end of a sentence
Array = np.ndarray
Lengths = Sequence[int] | np.ndarray | None
Ends = np.ndarray | None


@dataclass(frozen=True)
class Gradient:
    """Of the batch's log-likelihood, all sentences added up."""

    emissions: np.ndarray  # (B, T, K)
    transitions: np.ndarray  # (K, K)
    start: np.ndarray  # (K,)
    end: np.ndarray  # (K,)


def sequence_score(
    emissions: Array, tags: Array, transitions: Array, lengths: Lengths = None, start: Ends = None, end: Ends = None
) -> np.ndarray:
    """(B,) the score of the path `tags` (B, T); 0 for a sentence without tokens."""
    batch = PaddedBatch(emissions, transitions, lengths, start, end)
    return batch.answer(path_scores(batch.chain, batch.rows_of(tags))[batch.pack.rank_of])


def log_norm(
    emissions: Array, transitions: Array, lengths: Lengths = None, start: Ends = None, end: Ends = None
) -> np.ndarray:
    """(B,) log Z, the log of the sum of exp(score) over all paths; 0 for a sentence without tokens."""
    batch = PaddedBatch(emissions, transitions, lengths, start, end)
    return batch.answer(forward_backward.log_norm(forward_backward.sum_kernel(batch.chain))[batch.pack.rank_of])


def log_likelihood(
    emissions: Array, tags: Array, transitions: Array, lengths: Lengths = None, start: Ends = None, end: Ends = None
) -> np.ndarray:
    """(B,) log p(tags | emissions) = sequence score - log norm."""
    return log_likelihood_gradient(emissions, tags, transitions, lengths, start, end)[0]


def log_likelihood_gradient(
    emissions: Array, tags: Array, transitions: Array, lengths: Lengths = None, start: Ends = None, end: Ends = None
) -> tuple[np.ndarray, Gradient]:
    """The log-likelihood of each sentence (B,), and the gradient of their sum: what was seen less what was expected.

    ∂/∂emissions[t, k] = [y_t = k] - p(y_t = k)      ∂/∂transitions[i, j] = Σ_t [y_{t-1} = i, y_t = j] - p(i, j at t)
    """
    batch = PaddedBatch(emissions, transitions, lengths, start, end)
    pack, path = batch.chain.pack, batch.rows_of(tags)
    found = batch.posterior()
    rows = -found.states.astype(np.float64)  # (N, K)
    rows[np.arange(len(path)), path] += 1.0
    steps = -found.transitions
    first = pack.first
    np.add.at(steps, (path[pack.before], path[first:]), 1.0)
    ends = (rows[:first].sum(axis=0), rows[pack.last].sum(axis=0))
    values = (path_scores(batch.chain, path) - found.log_z)[pack.rank_of]
    return batch.answer(values), Gradient(batch.padded(rows, 0.0), steps, *ends)


def marginals(
    emissions: Array, transitions: Array, lengths: Lengths = None, start: Ends = None, end: Ends = None
) -> np.ndarray:
    """(B, T, K) the probability of each tag at each token."""
    batch = PaddedBatch(emissions, transitions, lengths, start, end)
    return batch.padded(batch.posterior().states, 0.0)


def decode(
    emissions: Array, transitions: Array, lengths: Lengths = None, start: Ends = None, end: Ends = None
) -> tuple[np.ndarray, np.ndarray]:
    """The tags of the best path (B, T), and its score (B,), -inf where no path is allowed."""
    batch = PaddedBatch(emissions, transitions, lengths, start, end)
    tags, scores = viterbi.viterbi(DenseMax(batch.chain))
    return batch.padded(tags, NO_TAG), batch.answer(scores[batch.pack.rank_of])


def n_best(
    emissions: Array, transitions: Array, n: int, lengths: Lengths = None, start: Ends = None, end: Ends = None
) -> list[Any]:
    """For each sentence up to n paths as (score, tags), best first; of one sentence alone, its paths."""
    batch = PaddedBatch(emissions, transitions, lengths, start, end)
    exact = replace(batch.chain, emissions=batch.chain.emissions.astype(np.float64))
    found = nbest.n_best(DenseMax(exact), n)
    return batch.answer([found[rank] for rank in batch.pack.rank_of.tolist()])


class PaddedBatch:
    """A padded batch as a chain on packed steps, and the way back."""

    def __init__(
        self,
        emissions: np.ndarray,
        transitions: np.ndarray,
        lengths: Lengths,
        start: np.ndarray | None,
        end: np.ndarray | None,
    ) -> None:
        emissions = np.asarray(emissions)
        if emissions.ndim not in (2, 3):
            shapes = "(sentences, tokens, tags) or (tokens, tags)"
            raise ValueError(f"emissions should have the shape {shapes}, not {emissions.shape}")
        if transitions is None:
            raise ValueError("transitions: expected scores (K, K), got None. Give zeros if every step is as good.")
        self.alone = emissions.ndim == 2
        if self.alone:
            emissions, lengths = emissions[None], None if lengths is None else np.reshape(lengths, -1)
        B, T, K = self.shape = emissions.shape
        given = np.full(B, T) if lengths is None else np.asarray(lengths)
        if given.shape != (B,) or given.dtype.kind not in "iu" or (given < 0).any() or (given > T).any():
            raise ValueError(f"lengths should be {B} whole numbers from 0 to {T}, got {lengths}")
        self.pack = Pack.of(given)
        step = np.repeat(np.arange(len(self.pack.sizes)), self.pack.sizes)
        self.cells = self.pack.order[self.pack.ranks], step  # (N,) the sentence and the token of each row
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
        return forward_backward.forward_backward(forward_backward.sum_kernel(self.chain))

    def rows_of(self, tags: np.ndarray) -> np.ndarray:
        """(N,) the tags of the tokens that count."""
        B, T, K = self.shape
        tags, shape = np.asarray(tags), (T,) if self.alone else (B, T)
        if tags.shape != shape:
            raise ValueError(f"tags should have the shape {shape}, not {tags.shape}")
        rows = tags.reshape(B, T)[self.cells]
        if rows.dtype.kind not in "iu" or (rows < 0).any() or (rows >= K).any():
            raise ValueError(f"tags should be whole numbers from 0 to {K - 1}")
        return rows.astype(np.int64)

    def padded(self, rows: np.ndarray, fill: float) -> np.ndarray:
        """Rows (N, …) as a batch (B, T, …), those of one sentence alone as (T, …)."""
        out = np.full((*self.shape[:2], *rows.shape[1:]), fill, rows.dtype)
        out[self.cells] = rows
        return np.asarray(self.answer(out))

    def answer(self, by_sentence: Any) -> Any:
        """What there is for each sentence, or for the only one."""
        return by_sentence[0] if self.alone else by_sentence


def checked(name: str, scores: np.ndarray | None, *shape: int) -> np.ndarray:
    """The scores, zeros if there are none."""
    found = np.zeros(shape) if scores is None else np.asarray(scores)
    if found.shape != shape:
        raise ValueError(f"{name} should have the shape {shape}, not {found.shape}")
    return found
