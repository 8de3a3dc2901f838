"""Several models as one: the mean of what they believe of each token.

The members may be of any kind, as long as they have the same tags. Each is asked for its marginals, in the light of
whatever is allowed, and the tokens of the ensemble have the mean of them:

    P[t, k] = Σ_m p_m(tag k at token t) / M

Probabilities are averaged, not scores: those of an HMM are logarithms of joint probabilities, those of a CRF have no
unit at all, and a chain of second order has no transitions that could be added to those of a first-order one. The mean
rather than the product, because a model that is sure and wrong should not silence the others. The best tag is then the
most probable one at each token, which gets the most tokens right on average. What is lost is the chain between tokens:
a tagging's probability is the product of those of its tags, as if tokens were independent given the sentence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np

from tagger.arrays.caching import cached_property
from tagger.chain.lattice import DenseLattice, Lattice, Scorer
from tagger.chain.pack import Pack
from tagger.chain.scores import Chain
from tagger.errors import ModelError
from tagger.models.base import Predictor
from tagger.sentence import Words
from tagger.words.lexicon import Lexicon


class Ensemble(Predictor):
    """Fitted models with the same tags; `names` are those of their files, for messages."""

    def __init__(self, members: Sequence[Predictor], names: Sequence[str]) -> None:
        self.members, self.names = list(members), list(names)
        first = self.members[0]
        for member, name in zip(self.members, self.names, strict=True):
            if member.classes_ != first.classes_:
                differ = f"{only(first, member, self.names[0])}; {only(member, first, name)}"
                raise ModelError(f"models that work together need the same tags: {differ}")
        self.classes_, self.column_ = first.classes_, first.column_
        self.lexicon_ = reduce(self.joined, (member.lexicon_ for member in self.members))
        self.seen_ = reduce(np.union1d, (member.seen_ for member in self.members))

    def joined(self, a: Lexicon, b: Lexicon) -> Lexicon:
        """The words of both; those of one corpus are not counted twice."""
        return a if np.array_equal(a.words.hashes, b.words.hashes) else a.joined(b, len(self.classes_))

    def build_scorer(self) -> Scorer:
        members = self.members  # each keeps its own scorers

        def score(sentences: list[Words]) -> Lattice:
            return MeanLattice([member.scorer()(sentences) for member in members], [len(words) for words in sentences])

        return score


def only(a: Predictor, b: Predictor, name: str) -> str:
    """Which tags the one has and the other lacks."""
    own = [tag for tag in a.classes_ if tag not in b.classes_]
    return f"{' '.join(own[:5])}{' …' if len(own) > 5 else ''} only in {name}" if own else f"none only in {name}"


@dataclass(frozen=True)
class MeanLattice:
    members: list[Lattice]
    lengths: list[int]  # of the sentences

    @cached_property
    def mean(self) -> np.ndarray:
        """(N, K)"""
        return np.asarray(np.mean([lattice.marginals() for lattice in self.members], axis=0, dtype=np.float64))

    @cached_property
    def tokens(self) -> DenseLattice:
        """A chain whose transitions say nothing, with the logarithms of the mean as emissions."""
        pack, K = Pack.of(self.lengths), self.mean.shape[1]
        with np.errstate(divide="ignore"):
            E = np.log(self.mean[pack.tokens])
        return DenseLattice(Chain(pack, np.zeros(K), np.zeros((K, K)), np.zeros(K), E))

    def best(self) -> tuple[np.ndarray, np.ndarray]:
        return self.tokens.best()

    def n_best(self, n: int) -> list[list[tuple[float, np.ndarray]]]:
        return self.tokens.n_best(n)

    def marginals(self) -> np.ndarray:
        return self.mean

    def log_z(self) -> np.ndarray:
        return self.tokens.log_z()

    def restrict(self, allowed: np.ndarray) -> MeanLattice:
        return replace(self, members=[lattice.restrict(allowed) for lattice in self.members])
