"""Lattices of a CRF over all tags, on the candidates of an HMM and a few of its own.

In a mean of models a CRF over all tags is computed on candidates alone. An HMM considers ten tags of a word at most, by
its spelling or its counts. So the CRF adds the tags that its own features find about as likely as the best one:

    candidates(t) = candidates of the HMM ∪ { k : emissions[t, k] ≥ max_j emissions[t, j] - MARGIN }

The emissions of all tags are gathered for that, as for a dense lattice; the recursion has few nodes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tagger.chain.candidate_lattice import CandidateLattice, Candidates, CandidateScorer
from tagger.chain.pack import Pack
from tagger.crf.candidates.proposal import DEFAULT_THRESHOLD, propose
from tagger.crf.candidates.scorer import (
    ROW_SCORER_TAGS,
    ChainTable,
    CRFNodes,
    candidate_scorer,
    chain_table,
    model_scorer,
    step_weights,
)
from tagger.crf.scorer import FeatureScorer
from tagger.sentence import Words

if TYPE_CHECKING:
    from tagger.crf.tagger import CRFTagger

MARGIN = 2.0  # of emissions below the best of a token


def beside_hmm(model: CRFTagger) -> CandidateScorer:
    """Make the candidate scorer of a fitted CRF over all tags; with many tags it adds none to those of the HMM."""
    with_path = model.scheme_ is not None
    if len(model.classes_) > ROW_SCORER_TAGS:  # no row of emissions is computed
        return candidate_scorer(model_scorer(model), DEFAULT_THRESHOLD, with_path)
    features = FeatureScorer(model.features_, model.weights_, model.tag_parts_)
    return own_candidate_scorer(chain_table(model), features, DEFAULT_THRESHOLD, with_path)


def own_candidate_scorer(
    table: ChainTable, features: FeatureScorer, threshold: float, with_path: bool
) -> CandidateScorer:
    """Make a function from sentences and the lattice of an HMM to the CRF's lattice."""
    K = features.K

    def score(sentences: list[Words], hmm: CandidateLattice) -> CandidateLattice:
        lengths = np.array([len(words) for words in sentences], np.int64)
        pack = Pack.of(lengths)
        emissions = np.empty((len(pack.tokens), K), np.float32)
        emissions[pack.tokens] = features(sentences, pack)

        def nodes(allowed: np.ndarray | None) -> tuple[Candidates, CRFNodes]:
            proposal = propose(hmm if allowed is None else hmm.restrict(allowed), threshold, with_path)
            given = proposal.candidates.tokens * K + proposal.candidates.tags
            chosen = likely_tags(emissions, allowed)
            chosen.ravel()[given] = True
            cells = np.flatnonzero(chosen)
            scores = np.append(emissions.ravel()[cells], 0.0)
            scores[np.searchsorted(cells, given[~proposal.possible])] = -np.inf
            candidates = Candidates(cells % K, np.count_nonzero(chosen, axis=1))
            return candidates, CRFNodes(table, np.append(candidates.tags, K), scores, step_weights(features, sentences))

        return CandidateLattice(lengths, K, nodes)

    return score


def likely_tags(emissions: np.ndarray, allowed: np.ndarray | None) -> np.ndarray:
    """Return True for each tag (N, K) that is allowed and less than MARGIN below the best of the token's tags."""
    E = emissions if allowed is None else np.where(allowed, emissions, -np.inf)
    likely = E.max(axis=1, initial=-np.inf, keepdims=True) - MARGIN <= E
    return likely if allowed is None else likely & allowed
