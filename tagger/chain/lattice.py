"""`Lattice`: a model's scores for some sentences, which answers for best tags, n best taggings and probabilities.

Everything a user sees is written once, on this interface. A form of lattice only names its kernels and maps its rows
to tokens: `DenseLattice` has all tags at every token and first order, `candidate_lattice.CandidateLattice` a few
candidate tags and first or second order. Answers come in the order of the sentences as they were given, token after
token.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from tagger.chain.forward_backward import forward_backward, log_norm, sum_kernel
from tagger.chain.kernels import DenseMax, StepFunction
from tagger.chain.nbest import ScoredPath, n_best
from tagger.chain.pack import Pack
from tagger.chain.pruning import PrunedStep
from tagger.chain.scores import Chain, StepTransitions, forbid, path_scores
from tagger.chain.single.dense import best_path
from tagger.chain.viterbi import viterbi
from tagger.sentence import Words


class Lattice(Protocol):
    """B sentences with N tokens in all and K tags."""

    def best(self) -> np.ndarray:
        """Find the tags of the best paths, (N,)."""

    def path_scores(self, tags: np.ndarray) -> np.ndarray:
        """Compute the score of one path per sentence (B,), given its tags (N,); -inf for one that is not allowed."""

    def n_best(self, n: int) -> list[list[ScoredPath]]:
        """Find up to n paths per sentence, best first, as (score, tags)."""

    def marginals(self) -> np.ndarray:
        """Compute the probability of each tag at each token, (N, K)."""

    def probabilities(self, tags: np.ndarray, same: np.ndarray) -> np.ndarray:
        """Compute the probability (N,) of the tag of each token (N,), or of a tag that is the `same` (K, K) as it."""

    def log_z(self) -> np.ndarray:
        """Compute log Σ exp(score) over all paths, (B,); score - log_z is a path's log probability."""

    def considers(self, tags: np.ndarray) -> np.ndarray:
        """Return whether each token (N,) can get this tag (N,)."""

    def restrict(self, allowed: np.ndarray) -> Lattice:
        """Forbid all tags that are False in `allowed` (N, K)."""


@dataclass(frozen=True)
class DenseLattice:
    """A chain of first order in which every token may have every tag."""

    chain: Chain
    step: StepFunction | None = None  # a fast maximum for these transitions; `max_step` without one

    def best(self) -> np.ndarray:
        chain = self.chain
        if len(chain.pack.order) == 1 and len(chain.emissions) and isinstance(self.step, PrunedStep):
            return np.array(best_path(self.step, chain.start, chain.end, chain.emissions))
        return chain.pack.unpack(viterbi(DenseMax(chain, self.step)))

    def path_scores(self, tags: np.ndarray) -> np.ndarray:
        pack = self.chain.pack
        return path_scores(self.chain, tags[pack.tokens])[pack.rank_of]

    def n_best(self, n: int) -> list[list[ScoredPath]]:
        exact = replace(self.chain, emissions=self.chain.emissions.astype(np.float64))
        by_rank = n_best(DenseMax(exact), n)
        return [by_rank[rank] for rank in self.chain.pack.rank_of.tolist()]

    def marginals(self) -> np.ndarray:
        return self.chain.pack.unpack(forward_backward(sum_kernel(self.chain)).states)

    def probabilities(self, tags: np.ndarray, same: np.ndarray) -> np.ndarray:
        return np.asarray((self.marginals() * same[tags]).sum(axis=1))

    def log_z(self) -> np.ndarray:
        return log_norm(sum_kernel(self.chain))[self.chain.pack.rank_of]

    def considers(self, tags: np.ndarray) -> np.ndarray:
        return np.ones(len(tags), bool)

    def restrict(self, allowed: np.ndarray) -> DenseLattice:
        emissions = np.where(allowed[self.chain.pack.tokens], self.chain.emissions, -np.inf)
        return replace(self, chain=replace(self.chain, emissions=emissions.astype(self.chain.emissions.dtype)))


Scorer = Callable[[list[Words]], Lattice]


def dense_scorer(
    start: np.ndarray,
    transitions: np.ndarray,
    end: np.ndarray,
    emissions: Callable[[list[Words], Pack], np.ndarray],
    allowed: np.ndarray | None = None,
    steps: Callable[[list[Words], Pack], StepTransitions] | None = None,
) -> Scorer:
    """Make a function from sentences to their lattice; `emissions` computes (N, K) by row for sentences in a pack.

    `steps` makes what is added to the transitions of each row after the first ones, for models that have any. Steps
    from tag to tag that are not `allowed` (K + 1, K + 1) are forbidden (`scores.forbid`).
    """
    start, transitions, end = forbid(allowed, start, transitions, end)
    step = PrunedStep(transitions)

    def score(sentences: list[Words]) -> Lattice:
        pack = Pack.of([len(words) for words in sentences])
        if steps is not None:
            by_step = steps(sentences, pack).changed(lambda own: transitions + own)
            return DenseLattice(Chain(pack, start, by_step, end, emissions(sentences, pack)))
        return DenseLattice(Chain(pack, start, transitions, end, emissions(sentences, pack)), step)

    return score
