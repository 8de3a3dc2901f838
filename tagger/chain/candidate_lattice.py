"""`CandidateLattice`: the lattice of second order over a few candidate tags of each token.

It chooses the candidates, lays them out (`candidates`) and names the kernels; the answers are those of `PackedLattice`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tagger.arrays.caching import cached_property
from tagger.chain.candidate_kernels import CandidateMax, CandidateSum
from tagger.chain.candidates import Scores, Trellis
from tagger.chain.kernels import MaxKernel, SumKernel
from tagger.chain.lattice import PackedLattice
from tagger.chain.pack import Pack


@dataclass(frozen=True)
class CandidateLattice(PackedLattice):
    """A chain of second order over the best few allowed tags of each token.

    Rows as in the pack. `scores` has a line for each distinct word, and so has `candidates`: tags, -1 after the last.
    """

    pack: Pack
    model: Scores
    lines: np.ndarray  # (N,) the line of each row
    words: np.ndarray  # (lines,) as the model numbers them
    scores: np.ndarray  # (lines, K)
    candidates: np.ndarray  # (lines, C)
    places: np.ndarray  # (lines, C) the model's number for each word with each candidate
    allowed: np.ndarray | None = None  # (N, K) by row; None: everything

    @cached_property
    def trellis(self) -> Trellis:
        C, K = self.candidates.shape[1], self.scores.shape[1]
        tags = self.candidates[self.lines]  # (N, C)
        free = np.ones(len(tags), bool) if self.allowed is None else np.asarray(self.allowed.all(axis=1))
        if self.allowed is not None:
            scores = np.where(self.allowed[~free], self.scores[self.lines[~free]], -np.inf)
            tags[~free] = -1
            tags[~free, : min(C, K)] = best_tags(scores, C)
        tags[tags[:, 0] < 0, 0] = 0  # a token that allows nothing has one impossible node
        row, place = np.nonzero(tags >= 0)
        tag, line = tags[row, place].astype(np.int64), self.lines[row]
        emissions, places = self.scores[line, tag], self.places[line, place]
        if self.allowed is not None:
            emissions = np.where(self.allowed[row, tag], emissions, -np.inf)
            bound = np.flatnonzero(~free[row])
            places[bound] = self.model.places(self.words[line[bound]], tag[bound])
        return Trellis(self.pack, self.model, tag, np.bincount(row, minlength=len(tags)), emissions, places)

    def max_kernel(self) -> MaxKernel:
        return CandidateMax(self.trellis)

    def nbest_kernel(self) -> MaxKernel:
        return CandidateMax(self.trellis)

    def sum_kernel(self) -> SumKernel:
        return CandidateSum(self.trellis)

    def by_tag(self, states: np.ndarray) -> np.ndarray:
        trellis = self.trellis
        out = np.zeros((len(self.lines), self.scores.shape[1]))
        nodes = np.add.reduceat(states, trellis.pairs) if len(states) else states  # the pairs that end in each node
        out[trellis.rows, trellis.tags] = nodes
        return out

    def restrict(self, allowed: np.ndarray) -> CandidateLattice:
        rows = allowed[self.pack.tokens]
        return replace(self, allowed=rows if self.allowed is None else rows & self.allowed)


def best_tags(scores: np.ndarray, C: int) -> np.ndarray:
    """Choose the C best possible tags of each line, best first; -1 after the last."""
    order = np.argsort(-scores, axis=1, kind="stable")[:, :C]
    return np.where(np.isneginf(np.take_along_axis(scores, order, axis=1)), -1, order)
