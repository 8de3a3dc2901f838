"""The second form of `Lattice`: each token has a few candidates, and a score looks at three of them in a row.

It chooses the candidates, makes a `Trellis` of them, and gives the answers of `trigram` in the order of the sentences.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tagger.arrays.caching import cached_property
from tagger.chain import candidate_kernels
from tagger.chain.candidates import Scores, Trellis
from tagger.chain.pack import Pack


@dataclass(frozen=True)
class TrigramLattice:
    """Sentences whose tokens may have any tag; of those that are allowed, each token's best few are candidates.

    Rows as in the pack. `scores` has a line for each distinct word, and so has `candidates`: tags, -1 after the last.
    """

    pack: Pack
    model: Scores
    lines: np.ndarray  # (N,) the line of each row
    words: np.ndarray  # (lines,) as the model numbers them
    scores: np.ndarray  # (lines, K)
    candidates: np.ndarray  # (lines, C)
    places: np.ndarray  # (lines, C) what the model knows of each word with each candidate
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

    def best(self) -> tuple[np.ndarray, np.ndarray]:
        tags, scores = candidate_kernels.best(self.trellis)
        return self.pack.unpack(tags), scores[self.pack.rank_of]

    def n_best(self, n: int) -> list[list[tuple[float, np.ndarray]]]:
        found = candidate_kernels.n_best(self.trellis, n)
        return [found[rank] for rank in self.pack.rank_of.tolist()]

    def marginals(self) -> np.ndarray:
        trellis = self.trellis
        out = np.zeros((len(self.lines), self.scores.shape[1]))
        out[trellis.rows, trellis.tags] = candidate_kernels.forward_backward(trellis).nodes
        return self.pack.unpack(out)

    def log_z(self) -> np.ndarray:
        return candidate_kernels.log_z(self.trellis)[self.pack.rank_of]

    def restrict(self, allowed: np.ndarray) -> TrigramLattice:
        rows = allowed[self.pack.tokens]
        return replace(self, allowed=rows if self.allowed is None else rows & self.allowed)


def best_tags(scores: np.ndarray, C: int) -> np.ndarray:
    """The C best tags of each line, best first, as far as they are possible; -1 after the last."""
    order = np.argsort(-scores, axis=1, kind="stable")[:, :C]
    return np.where(np.isneginf(np.take_along_axis(scores, order, axis=1)), -1, order)
