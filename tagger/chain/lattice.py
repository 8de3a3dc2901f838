"""`Lattice`: a model's scores for some sentences, which answers for best tags, n best taggings and probabilities.

Everything a user sees is written once, on this interface, and the four answers are written once too, in
`PackedLattice`. A form of lattice only names its kernels: `DenseLattice` has all tags at every token and first order,
`candidate_lattice.CandidateLattice` a few candidate tags and second order. Answers come in the order of the sentences
as they were given, token after token.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from tagger.chain.forward_backward import forward_backward, log_norm, sum_kernel
from tagger.chain.kernels import DenseMax, MaxKernel, StepFunction, SumKernel
from tagger.chain.nbest import ScoredPath, n_best
from tagger.chain.pack import Pack
from tagger.chain.pruning import PrunedStep
from tagger.chain.scores import Chain
from tagger.chain.viterbi import viterbi
from tagger.sentence import Words


class Lattice(Protocol):
    """B sentences with N tokens in all and K tags."""

    def best(self) -> tuple[np.ndarray, np.ndarray]:
        """Find the tags of the best paths (N,) and their scores (B,), -inf where no path is allowed."""

    def n_best(self, n: int) -> list[list[ScoredPath]]:
        """Find up to n paths per sentence, best first, as (score, tags)."""

    def marginals(self) -> np.ndarray:
        """Compute the probability of each tag at each token, (N, K)."""

    def log_z(self) -> np.ndarray:
        """Compute log Σ exp(score) over all paths, (B,); score - log_z is a path's log probability."""

    def restrict(self, allowed: np.ndarray) -> Lattice:
        """Forbid all tags that are False in `allowed` (N, K)."""


class PackedLattice(ABC):
    """The answers of a lattice by the kernels it names."""

    pack: Pack

    @abstractmethod
    def max_kernel(self) -> MaxKernel:
        """Return the kernel for the best path."""

    @abstractmethod
    def nbest_kernel(self) -> MaxKernel:
        """Return the kernel for the n best paths, in float64."""

    @abstractmethod
    def sum_kernel(self) -> SumKernel:
        """Return the kernel for probabilities."""

    @abstractmethod
    def by_tag(self, states: np.ndarray) -> np.ndarray:
        """Sum the probabilities of states by row and tag, (N, K)."""

    def best(self) -> tuple[np.ndarray, np.ndarray]:
        tags, scores = viterbi(self.max_kernel())
        return self.pack.unpack(tags), scores[self.pack.rank_of]

    def n_best(self, n: int) -> list[list[ScoredPath]]:
        by_rank = n_best(self.nbest_kernel(), n)
        return [by_rank[rank] for rank in self.pack.rank_of.tolist()]

    def marginals(self) -> np.ndarray:
        return self.pack.unpack(self.by_tag(forward_backward(self.sum_kernel()).states))

    def log_z(self) -> np.ndarray:
        return log_norm(self.sum_kernel())[self.pack.rank_of]


@dataclass(frozen=True)
class DenseLattice(PackedLattice):
    """A chain of first order in which every token may have every tag."""

    chain: Chain
    step: StepFunction | None = None  # a fast maximum for these transitions; `max_step` without one

    @property
    def pack(self) -> Pack:  # type: ignore[override]
        return self.chain.pack

    def max_kernel(self) -> MaxKernel:
        return DenseMax(self.chain, self.step)

    def nbest_kernel(self) -> MaxKernel:
        return DenseMax(replace(self.chain, emissions=self.chain.emissions.astype(np.float64)))

    def sum_kernel(self) -> SumKernel:
        return sum_kernel(self.chain)

    def by_tag(self, states: np.ndarray) -> np.ndarray:
        return states

    def restrict(self, allowed: np.ndarray) -> DenseLattice:
        emissions = np.where(allowed[self.pack.tokens], self.chain.emissions, -np.inf)
        return replace(self, chain=replace(self.chain, emissions=emissions.astype(self.chain.emissions.dtype)))


Scorer = Callable[[list[Words]], Lattice]


def dense_scorer(
    start: np.ndarray, transitions: np.ndarray, end: np.ndarray, emissions: Callable[[list[Words], Pack], np.ndarray]
) -> Scorer:
    """Make a function from sentences to their lattice; `emissions` computes (N, K) by row for sentences in a pack."""
    step = PrunedStep(transitions)

    def score(sentences: list[Words]) -> Lattice:
        pack = Pack.of([len(words) for words in sentences])
        return DenseLattice(Chain(pack, start, transitions, end, emissions(sentences, pack)), step)

    return score
