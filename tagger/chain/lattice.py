"""What a model makes of some sentences: a `Lattice` that can be asked for the best tags, the n best, probabilities.

Everything a user sees is written once, on this interface. `ChainLattice` is the dense first-order form; a model with
another structure brings another form. Answers come in the order of the sentences as they were given: sentence after
sentence, token after token.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from tagger.chain import viterbi
from tagger.chain.forward_backward import Chain, forward_backward
from tagger.chain.pack import Pack
from tagger.chain.pruning import Dominance
from tagger.sentence import Words


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
        return self.chain.pack.unpack(tags), scores[self.chain.pack.rank_of]

    def n_best(self, n: int) -> list[list[tuple[float, np.ndarray]]]:
        found = viterbi.n_best(self.chain, n)
        return [found[rank] for rank in self.chain.pack.rank_of.tolist()]

    def marginals(self) -> np.ndarray:
        return self.chain.pack.unpack(forward_backward(self.chain).marginals)

    def log_z(self) -> np.ndarray:
        return forward_backward(self.chain).log_z[self.chain.pack.rank_of]

    def restrict(self, allowed: np.ndarray) -> ChainLattice:
        emissions = np.where(allowed[self.chain.pack.tokens], self.chain.emissions, -np.inf)
        return replace(self, chain=replace(self.chain, emissions=emissions.astype(self.chain.emissions.dtype)))


Scorer = Callable[[list[Words]], Lattice]


def chain_scorer(
    start: np.ndarray, transitions: np.ndarray, end: np.ndarray, emissions: Callable[[list[Words], Pack], np.ndarray]
) -> Scorer:
    """A function from sentences to their lattice; `emissions` makes those of sentences in a pack, (N, K) by row."""
    step = Dominance(transitions)

    def score(sentences: list[Words]) -> Lattice:
        pack = Pack.of([len(words) for words in sentences])
        return ChainLattice(Chain(pack, start, transitions, end, emissions(sentences, pack)), step)

    return score
