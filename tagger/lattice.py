"""What a model makes of some sentences: a `Lattice` that can be asked for the best tags, the n best, probabilities.

Everything a user sees is written once, on this interface. `ChainLattice` is the dense first-order form; a model with
another structure brings another form. Answers come in the order of the sentences as they were given: sentence after
sentence, token after token.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from tagger import viterbi
from tagger.chain.packed import Chain, forward_backward


class Lattice(Protocol):
    """B sentences with N tokens in all and K tags."""

    def best(self) -> tuple[np.ndarray, np.ndarray]:
        """The tags of the best paths (N,), and their scores (B,), -inf where no path is allowed."""

    def n_best(self, n: int) -> list[list[tuple[float, np.ndarray]]]:
        """For each sentence up to n paths, best first, as (score, tags)."""

    def marginals(self) -> np.ndarray:
        """(N, K) the probability of each tag at each token."""

    def log_z(self) -> np.ndarray:
        """(B,) log of the sum of exp(score) over all paths; score - log_z is a path's log probability."""

    def restrict(self, allowed: np.ndarray) -> Lattice:
        """The same with only the tags that are True in `allowed` (N, K)."""


@dataclass(frozen=True)
class ChainLattice:
    chain: Chain
    step: viterbi.Step | None = None  # a quick one for these transitions

    def best(self) -> tuple[np.ndarray, np.ndarray]:
        tags, scores = viterbi.best(self.chain, self.step)
        return self.chain.pack.unpack(tags), self.by_sentence(scores)

    def n_best(self, n: int) -> list[list[tuple[float, np.ndarray]]]:
        found = viterbi.n_best(self.chain, n)
        return [found[rank] for rank in np.argsort(self.chain.pack.order).tolist()]

    def marginals(self) -> np.ndarray:
        return self.chain.pack.unpack(forward_backward(self.chain).marginals)

    def log_z(self) -> np.ndarray:
        return self.by_sentence(forward_backward(self.chain).log_z)

    def restrict(self, allowed: np.ndarray) -> ChainLattice:
        emissions = np.where(allowed[self.chain.pack.tokens], self.chain.emissions, -np.inf)
        return replace(self, chain=replace(self.chain, emissions=emissions.astype(self.chain.emissions.dtype)))

    def by_sentence(self, ranked: np.ndarray) -> np.ndarray:
        out = np.empty_like(ranked)
        out[self.chain.pack.order] = ranked
        return out
