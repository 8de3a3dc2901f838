"""Several models as one, by the mean of their marginals.

The members may be of any kind with the same tags. Each computes its marginals, restricted to the allowed tags, and the
ensemble has their mean:

    P[t, k] = Σ_m p_m(tag k at token t) / M

Probabilities are averaged, not scores: the scores of an HMM are logarithms of joint probabilities, those of a CRF have
no unit, and transitions of second order cannot be added to transitions of first order. The mean is used rather than the
product, because one model that is sure and wrong would outweigh the others in a product. The best tag is the most
probable one at each token, which maximises the expected number of right tokens. The chain between tokens is lost: the
probability of a tagging is the product of those of its tags, as if tokens were independent given the sentence. Where
all members have one span scheme, the best tagging is the best of those that it allows.

Where some members consider only candidate tags, such as an HMM of second order, and all others can score these alone,
as a CRF can, no marginals of all tags are computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import cast

import numpy as np

from tagger.arrays.caching import cached_property
from tagger.chain.candidate_lattice import CandidateLattice, Candidates
from tagger.chain.lattice import DenseLattice, Lattice, Scorer
from tagger.chain.pack import Pack
from tagger.chain.scores import Chain, forbid
from tagger.errors import ModelError
from tagger.models.predictor import Predictor
from tagger.sentence import Words
from tagger.words.lexicon import Lexicon

TAGS_SHOWN = 5


class Ensemble(Predictor):
    """Fitted models with the same tags; `names` are their file names, for messages."""

    def __init__(self, members: Sequence[Predictor], names: Sequence[str]) -> None:
        self.members, self.names = list(members), list(names)
        first = self.members[0]
        for member, name in zip(self.members, self.names, strict=True):
            if member.classes_ != first.classes_:
                differ = f"{only_in(first, member, self.names[0])}; {only_in(member, first, name)}"
                raise ModelError(
                    f"{name}: expected the tags of {self.names[0]}, got others: {differ}. Use one tag set."
                )
        self.classes_, self.column_, self.tokenizer_ = first.classes_, first.column_, first.tokenizer_
        schemes = {member.scheme_ for member in self.members}
        self.scheme_ = first.scheme_ if len(schemes) == 1 else None
        named = (member.columns_ for member in self.members if member.wanted_columns_)
        self.columns_ = next(named, first.columns_)
        self.wanted_columns_ = tuple(dict.fromkeys(name for member in self.members for name in member.wanted_columns_))
        self.lexicon_ = reduce(self.join, (member.lexicon_ for member in self.members))
        self.seen_ = reduce(np.union1d, (member.seen_ for member in self.members))

    def join(self, a: Lexicon, b: Lexicon) -> Lexicon:
        """Join two lexicons; if they have the same words, they come from one corpus, which counts once."""
        return a if np.array_equal(a.words.hashes, b.words.hashes) else Lexicon.union([a, b], len(self.classes_))

    def build_scorer(self) -> Scorer:
        members, K = self.members, len(self.classes_)  # each member keeps its own scorers
        allowed, alike = self.allowed_steps(), len({member.scheme_ for member in members}) == 1

        def score(sentences: list[Words]) -> Lattice:
            scorers = [member.candidate_scorer() for member in members]
            lattices = [None if scorer else m.scorer()(sentences) for m, scorer in zip(members, scorers, strict=True)]
            few = [lattice for lattice in lattices if isinstance(lattice, CandidateLattice)]
            sparse = alike and bool(few) and len(few) == len(lattices) - sum(map(bool, scorers))
            for i, scorer in enumerate(scorers):
                if scorer:
                    lattices[i] = scorer(sentences, few[0]) if sparse else members[i].scorer()(sentences)
            lengths = [len(words) for words in sentences]
            return MeanLattice(cast(list[Lattice], lattices), lengths, K, sparse, allowed)

        return score


def only_in(a: Predictor, b: Predictor, name: str) -> str:
    """List the tags that the first model has and the second lacks."""
    tags = [tag for tag in a.classes_ if tag not in b.classes_]
    return f"{' '.join(tags[:TAGS_SHOWN]) or 'none'}{' …' if len(tags) > TAGS_SHOWN else ''} only in {name}"


@dataclass(frozen=True)
class MeanLattice:
    """The lattice of an ensemble: the mean of its members' marginals, without transitions but forbidden ones."""

    members: list[Lattice]
    lengths: list[int]  # of the sentences
    K: int
    sparse: bool = False  # whether all members are candidate lattices
    allowed: np.ndarray | None = None  # (K + 1, K + 1) the steps that a span scheme allows; None: all

    @cached_property
    def nodes(self) -> tuple[Candidates, np.ndarray]:
        """The candidates of all members together, and the mean of their probabilities, (nodes,)."""
        few = [cast(CandidateLattice, lattice) for lattice in self.members]
        cells = [lattice.candidates.tokens * self.K + lattice.candidates.tags for lattice in few]
        union, places = np.unique(np.concatenate(cells), return_inverse=True)
        P = np.bincount(places, weights=np.concatenate([lattice.node_marginals for lattice in few]))
        widths = np.bincount(union // self.K, minlength=sum(self.lengths))
        return Candidates(union % self.K, widths), P / len(few)

    @cached_property
    def mean(self) -> np.ndarray:
        """The mean of the marginals, (N, K)."""
        if self.sparse:
            candidates, P = self.nodes
            return candidates.dense(P, self.K)
        return np.asarray(np.mean([lattice.marginals() for lattice in self.members], axis=0, dtype=np.float64))

    @cached_property
    def tokens(self) -> DenseLattice:
        """A chain with the logarithms of the mean as emissions and transitions of 0, or -inf where not allowed."""
        pack, K = Pack.of(self.lengths), self.K
        with np.errstate(divide="ignore"):
            E = np.log(self.mean[pack.tokens])
        start, transitions, end = forbid(self.allowed, np.zeros(K), np.zeros((K, K)), np.zeros(K))
        return DenseLattice(Chain(pack, start, transitions, end, E))

    def best(self) -> np.ndarray:
        if self.allowed is not None:
            return self.tokens.best()
        if self.sparse:
            candidates, P = self.nodes
            return candidates.tags[candidates.argmax(P)]
        return np.asarray(self.mean.argmax(axis=1))

    def path_scores(self, tags: np.ndarray) -> np.ndarray:
        sentences = np.repeat(np.arange(len(self.lengths)), self.lengths)
        with np.errstate(divide="ignore"):
            scores = np.log(self.probabilities(tags, np.eye(self.K, dtype=bool)))
        return np.bincount(sentences, weights=scores, minlength=len(self.lengths))

    def probabilities(self, tags: np.ndarray, same: np.ndarray) -> np.ndarray:
        if self.sparse:
            candidates, P = self.nodes
            return candidates.sums(P, tags, same)
        return np.asarray((self.mean * same[tags]).sum(axis=1))

    def n_best(self, n: int) -> list[list[tuple[float, np.ndarray]]]:
        return self.tokens.n_best(n)

    def marginals(self) -> np.ndarray:
        return self.mean

    def log_z(self) -> np.ndarray:
        return self.tokens.log_z()

    def considers(self, tags: np.ndarray) -> np.ndarray:
        return np.any([lattice.considers(tags) for lattice in self.members], axis=0)

    def restrict(self, allowed: np.ndarray) -> MeanLattice:
        return replace(self, members=[lattice.restrict(allowed) for lattice in self.members])
