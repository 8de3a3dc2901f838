"""Lattices of a CRF over the candidates that its HMM proposes (`proposal`).

Only tokens with a choice get scores. The rows of `FeatureScorer`, one score per tag for each word at each offset, serve
small tag sets, `NodeScorer` large ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tagger.arrays.keyed import KeyedValues
from tagger.chain.candidate_kernels import TrellisScores
from tagger.chain.candidate_lattice import CandidateLattice, Candidates, CandidateScorer
from tagger.chain.candidates import Arcs, Trellis
from tagger.chain.lattice import Lattice, Scorer
from tagger.crf.candidates.node_scorer import NodeScorer
from tagger.crf.candidates.proposal import Proposal, propose
from tagger.crf.scorer import FeatureScorer
from tagger.crf.trigrams import TagTrigrams
from tagger.features.encoder import Features
from tagger.features.tag_parts import TagParts
from tagger.sentence import Words

ROW_SCORER_TAGS = 200  # from here on a row of scores for all tags costs more than it saves


ConstrainedProposal = Callable[["np.ndarray | None"], Proposal]  # from the tags allowed (N, K), None for all
ProposalScorer = Callable[[list[Words], ConstrainedProposal], CandidateLattice]


@dataclass(frozen=True)
class ChainTable:
    """The weights of a chain over candidates."""

    order: int
    steps: np.ndarray  # (K + 1, K + 1) of tag bigrams; the last row is the start, the last column the end
    trigrams: KeyedValues  # the weight of each trigram, by its key

    @classmethod
    def of(
        cls, order: int, start: np.ndarray, transitions: np.ndarray, end: np.ndarray, trigrams: TagTrigrams
    ) -> ChainTable:
        """Join start, transitions and end."""
        K = len(start)
        steps = np.zeros((K + 1, K + 1))
        steps[:K, :K], steps[K, :K], steps[:K, K] = transitions, start, end
        return cls(order, steps, trigrams.lookup())


@dataclass(frozen=True)
class CRFNodes:
    """The scores of a CRF for nodes; the last node is the mark."""

    table: ChainTable
    tags: np.ndarray  # (nodes + 1,)
    emissions: np.ndarray  # (nodes + 1,)

    @property
    def order(self) -> int:
        return self.table.order

    def possible(self) -> np.ndarray:
        return ~np.isneginf(self.emissions[:-1])

    def only(self, nodes: np.ndarray) -> CRFNodes:
        kept = np.append(nodes, len(self.tags) - 1)
        return CRFNodes(self.table, self.tags[kept], self.emissions[kept])

    def on(self, trellis: Trellis) -> CRFScores:
        tags = self.tags[trellis.nodes]
        here = trellis.at_states(tags)
        contexts = here if self.order == 1 else tags[trellis.there] * len(self.table.steps) + here
        return CRFScores(self.table, contexts, trellis.at_states(self.emissions[trellis.nodes]))


@dataclass(frozen=True)
class CRFScores(TrellisScores):
    """The scores of a CRF for a trellis."""

    table: ChainTable
    contexts: np.ndarray  # (states,) the tag of each, or its two tags as u · (K + 1) + v
    arrivals: np.ndarray  # (states,)

    def arcs(self, arcs: Arcs) -> np.ndarray:
        width = len(self.table.steps)
        before, w = self.contexts[arcs.before], np.repeat(self.contexts[arcs.states] % width, arcs.widths)
        scores = self.table.steps.ravel()[before % width * width + w]
        return scores if self.table.order == 1 else scores + self.table.trigrams(before * width + w)


def node_scorer(features: Features, weights: np.ndarray, tag_parts: TagParts) -> FeatureScorer:
    """Make the scorer of nodes that suits the size of the tag set."""
    kind = NodeScorer if tag_parts.K > ROW_SCORER_TAGS else FeatureScorer
    return kind(features, weights, tag_parts)


def proposal_scorer(table: ChainTable, features: FeatureScorer, posterior_weight: float) -> ProposalScorer:
    """Make a function from sentences, and a proposal of candidates for them, to the CRF's lattice over these."""
    K = len(table.steps) - 1

    def score(sentences: list[Words], propose_within: ConstrainedProposal) -> CandidateLattice:
        def nodes(allowed: np.ndarray | None) -> tuple[Candidates, CRFNodes]:
            proposal = propose_within(allowed)
            candidates = proposal.candidates
            emissions = features.node_scores(sentences, candidates) + posterior_weight * proposal.log_posterior
            emissions = np.where(proposal.possible, emissions, -np.inf)
            return candidates, CRFNodes(table, np.append(candidates.tags, K), np.append(emissions, 0.0))

        return CandidateLattice(np.array([len(words) for words in sentences], np.int64), K, nodes)

    return score


def candidate_scorer(score: ProposalScorer, threshold: float, with_path: bool = False) -> CandidateScorer:
    """Make a function from sentences and the lattice of an HMM to the CRF's lattice over the candidates in that."""

    def score_candidates(sentences: list[Words], hmm: CandidateLattice) -> CandidateLattice:
        def proposed(allowed: np.ndarray | None) -> Proposal:
            return propose(hmm if allowed is None else hmm.restrict(allowed), threshold, with_path)

        return score(sentences, proposed)

    return score_candidates


def proposing_scorer(score: CandidateScorer, propose_for: Scorer) -> Scorer:
    """Make a scorer whose candidates come from the scorer of an HMM."""

    def score_proposed(sentences: list[Words]) -> Lattice:
        proposer = propose_for(sentences)
        assert isinstance(proposer, CandidateLattice)
        return score(sentences, proposer)

    return score_proposed
