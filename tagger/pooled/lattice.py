"""The lattice of a pool: calibrated probabilities, and the opinions of further members.

The probabilities of a lattice over candidates say which candidate is right if one of them is. A token with n candidates
has the right one among them with probability coverage[n] (`opinion_weights`), so

    P(k | t) = coverage[n] · p(k | t)

and the rest belongs to the tags that are no candidates, in proportion to their frequency. A token whose tags are
constrained is taken to have its right tag among those allowed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from tagger.chain.candidate_lattice import CandidateLattice, Candidates, CandidateScorer, NodeProposer
from tagger.crf.candidates.scorer import CRFNodes
from tagger.models.base import Tagger
from tagger.pooled.opinion_weights import MIN_PROBABILITY
from tagger.sentence import Words


@dataclass(frozen=True)
class PooledLattice(CandidateLattice):
    """A chain over candidates with calibrated probabilities."""

    coverage: np.ndarray = field(kw_only=True)  # by the number of candidates, from 1
    prior: np.ndarray = field(kw_only=True)  # (K,) the frequency of each tag
    by_token: bool = field(kw_only=True, default=True)  # whether steps are free, so that each token gets its best tag

    @property
    def token_coverage(self) -> np.ndarray:
        """The probability (N,) that the right tag of each token is a candidate."""
        widths = self.candidates.widths
        values = self.coverage[np.minimum(widths, len(self.coverage)) - 1]
        certain = widths == self.K if self.allowed is None else (widths == self.K) | ~self.allowed.all(axis=1)
        return np.where(certain, 1.0, values)

    def best(self) -> np.ndarray:
        """Find the most probable tag of each token, (N,): the tags of which most are expected to be right."""
        if not self.by_token:
            return super().best()
        return self.candidates.tags[self.candidates.argmax(self.node_marginals)]

    def probabilities(self, tags: np.ndarray, same: np.ndarray) -> np.ndarray:
        return self.token_coverage * super().probabilities(tags, same)

    def marginals(self) -> np.ndarray:
        coverage, candidates = self.token_coverage, self.candidates
        P = candidates.dense(self.node_marginals * coverage[candidates.tokens], self.K)
        others = np.repeat(self.prior[None], len(P), axis=0)
        others[candidates.tokens, candidates.tags] = 0.0
        others *= ((1 - coverage) / np.maximum(others.sum(axis=1), np.finfo(float).tiny))[:, None]
        return P + others

    def log_z(self) -> np.ndarray:
        # log P(path) = score - log Z + Σ_t log coverage
        sentences = np.repeat(np.arange(len(self.lengths)), self.lengths)
        uncovered = np.bincount(sentences, weights=np.log(self.token_coverage), minlength=len(self.lengths))
        return super().log_z() - uncovered


@dataclass(frozen=True)
class Opinion(ABC):
    """The probabilities of a further member of a pool, and their weight."""

    weight: float

    @property
    @abstractmethod
    def name(self) -> str:
        """The name of the member in tables."""

    @abstractmethod
    def probabilities(self, sentences: list[Words], candidates: Candidates) -> np.ndarray:
        """Compute the member's probability of each node, (nodes,)."""

    @abstractmethod
    def marginals(self, words: Words) -> np.ndarray:
        """Compute the member's probability of each tag of each token of a sentence, (T, K)."""

    def terms(self, P: np.ndarray) -> np.ndarray:
        """Compute the terms that the member's probabilities add to a score."""
        return np.asarray(self.weight * np.log(np.maximum(P, MIN_PROBABILITY)))


@dataclass(frozen=True)
class ModelOpinion(Opinion):
    """The opinion of a trained model."""

    member: Tagger

    @property
    def name(self) -> str:
        return self.member.kind

    def probabilities(self, sentences: list[Words], candidates: Candidates) -> np.ndarray:
        with self.member.one_at_a_time(sentences):
            return self.member.scorer()(sentences).marginals()[candidates.tokens, candidates.tags]

    def marginals(self, words: Words) -> np.ndarray:
        return self.member.scorer()([words]).marginals()


def pooled_scorer(
    score: CandidateScorer,
    coverage: np.ndarray,
    prior: np.ndarray,
    opinions: Sequence[Opinion],
    by_token: bool,
) -> CandidateScorer:
    """Make a scorer of pooled lattices from that of a CRF's; opinions are added to the scores of its nodes."""

    def score_pool(sentences: list[Words], hmm: CandidateLattice) -> CandidateLattice:
        crf = score(sentences, hmm)
        propose = with_opinions(crf.propose, sentences, opinions) if opinions else crf.propose
        return PooledLattice(crf.lengths, crf.K, propose, coverage=coverage, prior=prior, by_token=by_token)

    return score_pool


def with_opinions(propose: NodeProposer, sentences: list[Words], opinions: Sequence[Opinion]) -> NodeProposer:
    """Add w · log p(tag | sentence) of each opinion to the scores of nodes."""

    def nodes(allowed: np.ndarray | None) -> tuple[Candidates, CRFNodes]:
        candidates, scores = propose(allowed)
        assert isinstance(scores, CRFNodes)
        added = sum(opinion.terms(opinion.probabilities(sentences, candidates)) for opinion in opinions)
        return candidates, replace(scores, emissions=scores.emissions + np.append(added, 0.0))

    return nodes
