"""`CandidateLattice`: the lattice of first or second order over a few candidate tags of each token.

It lays out the candidates (`candidates`), names the kernels and puts the answers back in the order of the tokens. The
best path and the probabilities are found piece by piece. For the n best paths, and where a tag is forbidden, sentences
stay whole: a forbidden tag in one piece can make paths of another piece impossible.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from tagger.arrays.caching import cached_property
from tagger.chain.candidate_kernels import CandidateMax, TrellisScores, candidate_sum, group_argmax
from tagger.chain.candidates import MARK, Trellis
from tagger.chain.forward_backward import forward_backward, log_norm
from tagger.chain.nbest import ScoredPath, n_best
from tagger.chain.single.candidates import SentenceScores, best_nodes, node_probabilities
from tagger.chain.viterbi import viterbi
from tagger.sentence import Words


@dataclass(frozen=True)
class Candidates:
    """The candidate tags of N tokens: nodes, token after token. Every token has at least one."""

    tags: np.ndarray  # (nodes,)
    widths: np.ndarray  # (N,)

    @cached_property
    def tokens(self) -> np.ndarray:
        """The token of each node, (nodes,)."""
        return np.repeat(np.arange(len(self.widths), dtype=np.int64), self.widths)

    def dense(self, values: np.ndarray, K: int) -> np.ndarray:
        """Lay out values (nodes,) by token and tag, (N, K), with zeros elsewhere."""
        out = np.zeros((len(self.widths), K))
        out[self.tokens, self.tags] = values
        return out

    def nodes_of(self, tags: np.ndarray) -> np.ndarray:
        """Find the node of each token (N,) that has this tag, -1 where it is no candidate."""
        nodes = np.full(len(self.widths), -1, np.int64)
        places = np.flatnonzero(self.tags == tags[self.tokens])
        nodes[self.tokens[places]] = places
        return nodes

    def argmax(self, values: np.ndarray) -> np.ndarray:
        """Find the first node of each token (N,) that has the highest of the values (nodes,)."""
        return group_argmax(values, np.cumsum(self.widths) - self.widths, self.widths) if len(values) else self.tags

    def sums(self, values: np.ndarray, tags: np.ndarray, same: np.ndarray) -> np.ndarray:
        """Sum the values (nodes,) of the nodes of each token whose tags are the `same` (K, K) as its tag (N,)."""
        chosen = same[tags[self.tokens], self.tags]
        return np.bincount(self.tokens, weights=values * chosen, minlength=len(self.widths))


class NodeScores(Protocol):
    """A model's scores for the nodes of candidates."""

    @property
    def order(self) -> int:
        """1 or 2."""

    def possible(self) -> np.ndarray:
        """Return True for each node that is not forbidden, (nodes,)."""

    def only(self, nodes: np.ndarray) -> NodeScores:
        """Return the scores of some of the nodes."""

    def on(self, trellis: Trellis) -> TrellisScores:
        """Return the scores of the states and arcs of a trellis of these nodes."""

    def single(self) -> SentenceScores | None:
        """Return the scores of one sentence for the recursions on lists; None to use those on arrays."""


NodeProposer = Callable[
    ["np.ndarray | None"], tuple[Candidates, NodeScores]
]  # from the tags allowed (N, K), None for all


@dataclass(frozen=True)
class CandidateLattice:
    """A chain over the candidates that `propose` names for B sentences; a constraint may bring in other tags."""

    lengths: np.ndarray  # (B,)
    K: int
    propose: NodeProposer
    allowed: np.ndarray | None = None  # (N, K); None: everything

    @cached_property
    def proposal(self) -> tuple[Candidates, NodeScores]:
        """The candidates, and the scores of their nodes."""
        return self.propose(self.allowed)

    @property
    def candidates(self) -> Candidates:
        """The candidates of each token."""
        return self.proposal[0]

    @cached_property
    def free(self) -> bool:
        """Whether all nodes are possible, so that sentences may be cut into pieces."""
        return bool(self.proposal[1].possible().all())

    def trellis(self, cut: bool) -> Trellis:
        """Lay out the candidates."""
        return Trellis(self.candidates.widths, self.lengths, self.proposal[1].order, cut)

    @cached_property
    def single(self) -> SentenceScores | None:
        """The scores of one sentence for the recursions on lists, if there is one and they can do it."""
        is_single = len(self.lengths) == 1 and self.lengths[0] > 0 and self.allowed is None
        return self.proposal[1].single() if is_single else None

    def best(self) -> np.ndarray:
        candidates, scores = self.proposal
        if self.single:
            return candidates.tags[best_nodes(candidates.widths.tolist(), self.single)]
        trellis = self.trellis(self.free)
        nodes = np.cumsum(candidates.widths) - candidates.widths  # right where there is one candidate
        inside = trellis.tokens != MARK
        nodes[trellis.tokens[inside]] = viterbi(CandidateMax(trellis, scores.on(trellis)))[inside]
        return candidates.tags[nodes]

    def path_scores(self, tags: np.ndarray) -> np.ndarray:
        candidates, scores = self.proposal
        nodes = candidates.nodes_of(tags)
        # A trellis with one candidate for each token has one path.
        path = Trellis(np.ones(len(nodes), np.int64), self.lengths, scores.order, cut=False)
        along = scores.only(nodes).on(path)
        values = np.zeros(len(path.rows))
        values[path.first :] = along.arrivals[path.first :] + along.arcs(path.arcs(slice(path.first, len(values))))
        sums = self.by_sentence(path, path.pack.sums(values))
        missing = np.repeat(np.arange(len(self.lengths)), self.lengths)[nodes < 0]
        sums[missing] = -np.inf
        return sums

    def n_best(self, n: int) -> list[list[ScoredPath]]:
        candidates, scores = self.proposal
        trellis = self.trellis(cut=False)
        by_rank = n_best(CandidateMax(trellis, scores.on(trellis)), n)
        places = iter(trellis.pack.rank_of.tolist())
        # A path of nodes begins and ends with a mark.
        of_sentences = [by_rank[next(places)] if length else [(0.0, np.empty(2, np.int64))] for length in self.lengths]
        return [[(score, candidates.tags[path[1:-1]]) for score, path in paths[:n]] for paths in of_sentences]

    @cached_property
    def node_marginals(self) -> np.ndarray:
        """The probability of each node, (nodes,)."""
        candidates, scores = self.proposal
        single = node_probabilities(candidates.widths.tolist(), self.single) if self.single else None
        if single is not None:
            return np.array(single)
        trellis = self.trellis(self.free)
        states = forward_backward(candidate_sum(trellis, scores.on(trellis))).states
        P = np.zeros(trellis.mark + 1)
        P[trellis.nodes[trellis.first : len(trellis.slot_states)]] = trellis.slot_sums(states)[trellis.first :]
        if self.free:
            P[: trellis.mark][np.repeat(candidates.widths == 1, candidates.widths)] = 1.0
        return P[:-1]

    def probabilities(self, tags: np.ndarray, same: np.ndarray) -> np.ndarray:
        return self.candidates.sums(self.node_marginals, tags, same)

    def marginals(self) -> np.ndarray:
        return self.candidates.dense(self.node_marginals, self.K)

    def log_z(self) -> np.ndarray:
        trellis = self.trellis(cut=False)
        return self.by_sentence(trellis, log_norm(candidate_sum(trellis, self.proposal[1].on(trellis))))

    def considers(self, tags: np.ndarray) -> np.ndarray:
        return self.candidates.nodes_of(tags) >= 0

    def restrict(self, allowed: np.ndarray) -> CandidateLattice:
        return replace(self, allowed=allowed if self.allowed is None else allowed & self.allowed)

    def by_sentence(self, trellis: Trellis, numbers: np.ndarray) -> np.ndarray:
        """Return numbers by rank of a trellis of whole sentences in the order of the sentences, (B,)."""
        out = np.zeros(len(self.lengths))
        out[self.lengths > 0] = numbers[trellis.pack.rank_of]
        return out


# From sentences, and a lattice that says which candidates their tokens have, to another model's lattice over these.
CandidateScorer = Callable[[list[Words], CandidateLattice], CandidateLattice]


def best_tags(scores: np.ndarray, C: int) -> np.ndarray:
    """Choose the C best possible tags of each line, best first; -1 after the last."""
    order = np.argsort(-scores, axis=1, kind="stable")[:, :C]
    return np.where(np.isneginf(np.take_along_axis(scores, order, axis=1)), -1, order)
