"""Lattices of a CRF over the candidates that its HMM proposes (`proposal`).

Only tokens with a choice get scores. The rows of `FeatureScorer`, one score per tag for each word at each offset, serve
small tag sets, `NodeScorer` large ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from tagger.arrays.caching import cached_property
from tagger.arrays.keyed import KeyedValues
from tagger.chain.candidate_kernels import TrellisScores
from tagger.chain.candidate_lattice import CandidateLattice, Candidates, CandidateScorer
from tagger.chain.candidates import Arcs, Trellis
from tagger.chain.lattice import Lattice, Scorer
from tagger.chain.scores import forbid
from tagger.chain.single.candidates import SMALL_TAG_SET
from tagger.crf.candidates.node_scorer import NodeScorer
from tagger.crf.candidates.proposal import Proposal, propose
from tagger.crf.candidates.single import SingleCRF, SingleSentence
from tagger.crf.scorer import FeatureScorer
from tagger.crf.trigrams import TagTrigrams
from tagger.features.encoder import Features
from tagger.features.parameter_index import ParameterIndex
from tagger.features.tag_parts import TagParts
from tagger.sentence import Words

if TYPE_CHECKING:
    from tagger.crf.tagger import CRFTagger

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

    @cached_property
    def single(self) -> SingleCRF | None:
        """Return the weights for one sentence at a time; None for first order, many tags, or forbidden steps."""
        fits = self.order == 2 and len(self.steps) <= SMALL_TAG_SET and bool(np.isfinite(self.steps).all())
        return SingleCRF(self.steps, self.trigrams) if fits else None


@dataclass(frozen=True)
class StepWeights:
    """The weights of features of steps to the tokens of some sentences."""

    parameters: ParameterIndex
    weights: np.ndarray  # (P,)
    features: list[np.ndarray]  # by template, the feature of each token (N,), -1 for none

    def __call__(self, tokens: np.ndarray, before: np.ndarray, tags: np.ndarray) -> np.ndarray:
        """Add up the weights of steps to tokens, from one tag to another; 0 for steps from or to marks."""
        params, rows = self.parameters.find_steps([row[tokens] for row in self.features], before, tags)
        return np.bincount(rows, weights=self.weights[params], minlength=len(tokens))


@dataclass(frozen=True)
class CRFNodes:
    """The scores of a CRF for nodes; the last node is the mark."""

    table: ChainTable
    tags: np.ndarray  # (nodes + 1,)
    emissions: np.ndarray  # (nodes + 1,)
    steps: StepWeights | None = None  # for models with features of steps

    @property
    def order(self) -> int:
        return self.table.order

    def possible(self) -> np.ndarray:
        return ~np.isneginf(self.emissions[:-1])

    def only(self, nodes: np.ndarray) -> CRFNodes:
        kept = np.append(nodes, len(self.tags) - 1)
        return CRFNodes(self.table, self.tags[kept], self.emissions[kept], self.steps)

    def on(self, trellis: Trellis) -> CRFScores:
        tags = self.tags[trellis.nodes]
        here = trellis.at_states(tags)
        contexts = here if self.order == 1 else tags[trellis.there] * len(self.table.steps) + here
        scores = CRFScores(self.table, contexts, trellis.at_states(self.emissions[trellis.nodes]))
        return scores if self.steps is None else replace(scores, steps=self.steps, tokens=trellis.tokens[trellis.rows])

    def single(self) -> SingleSentence | None:
        emissions = self.emissions.tolist()
        if self.steps is not None or self.table.single is None or -np.inf in emissions:
            return None
        return SingleSentence(self.table.single, self.tags.tolist(), emissions)


@dataclass(frozen=True)
class CRFScores(TrellisScores):
    """The scores of a CRF for a trellis."""

    table: ChainTable
    contexts: np.ndarray  # (states,) the tag of each, or its two tags as u · (K + 1) + v
    arrivals: np.ndarray  # (states,)
    steps: StepWeights | None = None
    tokens: np.ndarray | None = None  # (states,) the token of each, if there are features of steps

    def arcs(self, arcs: Arcs) -> np.ndarray:
        scores = self.chain_scores(arcs)
        if self.steps is None or self.tokens is None:
            return scores
        width = len(self.table.steps)
        before, after = self.contexts[arcs.before] % width, self.contexts[arcs.after] % width
        return scores + self.steps(self.tokens[arcs.after], before, after)

    def chain_scores(self, arcs: Arcs) -> np.ndarray:
        """Add up the weights of tag bigrams and trigrams, (arcs,)."""
        width = len(self.table.steps)
        before, w = self.contexts[arcs.before], np.repeat(self.contexts[arcs.states] % width, arcs.widths)
        scores = self.table.steps.ravel()[before % width * width + w]
        return scores if self.table.order == 1 else scores + self.table.trigrams(before * width + w)


def node_scorer(features: Features, weights: np.ndarray, tag_parts: TagParts) -> FeatureScorer:
    """Make the scorer of nodes that suits the size of the tag set."""
    kind = NodeScorer if tag_parts.K > ROW_SCORER_TAGS else FeatureScorer
    return kind(features, weights, tag_parts)


def model_scorer(model: CRFTagger) -> ProposalScorer:
    """Make the scorer of sentences with proposed candidates for a fitted CRF."""
    emissions = node_scorer(model.features_, model.weights_, model.tag_parts_)
    return proposal_scorer(chain_table(model), emissions, float(model.posterior_weight_.sum()))  # 0 without a weight


def chain_table(model: CRFTagger) -> ChainTable:
    """Collect the weights of the chain of a fitted CRF."""
    chain_scores = forbid(model.allowed_steps(), model.start_, model.transitions_, model.end_)
    return ChainTable.of(model.order, *chain_scores, model.trigrams_)


def proposal_scorer(table: ChainTable, features: FeatureScorer, posterior_weight: float) -> ProposalScorer:
    """Make a function from sentences, and a proposal of candidates for them, to the CRF's lattice over these."""
    K = len(table.steps) - 1

    def score(sentences: list[Words], propose_within: ConstrainedProposal) -> CandidateLattice:
        def nodes(allowed: np.ndarray | None) -> tuple[Candidates, CRFNodes]:
            proposal = propose_within(allowed)
            candidates = proposal.candidates
            emissions = features.node_scores(sentences, candidates) + posterior_weight * proposal.log_posterior
            emissions = np.where(proposal.possible, emissions, -np.inf)
            tags, with_mark = np.append(candidates.tags, K), np.append(emissions, 0.0)
            return candidates, CRFNodes(table, tags, with_mark, step_weights(features, sentences))

        return CandidateLattice(np.array([len(words) for words in sentences], np.int64), K, nodes)

    return score


def step_weights(features: FeatureScorer, sentences: list[Words]) -> StepWeights | None:
    """Look up the features of the steps in sentences; None for a model that has no such features."""
    if not features.features.step_templates:
        return None
    return StepWeights(features.parameters, features.weights, features.step_features(sentences))


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
