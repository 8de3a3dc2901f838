"""All numbers of the recursions for one sentence: every state and every arc of its lattice.

A lattice of either form is laid out as a trellis of whole sentences (`candidates`), in which all tags of a dense chain
are candidates, and runs through the kernels of candidates in logarithms. So the tables look the same for both forms and
both orders:

    state 0            the start: delta = alpha = 0, beta = log Z
    states of token t  one for each tag (order 1), or for each pair of the tag before and the tag (order 2)
    last states        the end, one (order 1) or one for each last tag (order 2): beta = 0

With them every step is the same formula, and log Z is the ⊕ over the last states.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tagger.chain.candidate_kernels import CandidateLogSum, CandidateMax, TrellisScores
from tagger.chain.candidate_lattice import CandidateLattice
from tagger.chain.candidates import Arcs, Trellis
from tagger.chain.lattice import DenseLattice, Lattice
from tagger.chain.recursion import backward, forward
from tagger.chain.scores import Chain
from tagger.chain.viterbi import viterbi_table


@dataclass(frozen=True)
class RecursionTables:
    """The states and arcs of a sentence of T tokens, in log space."""

    order: int
    positions: np.ndarray  # (states,) 0 for the start, t for token t = 1 … T, T + 1 for the end
    tags: np.ndarray  # (states, order) the tag before, for order 2, and the tag; K for a mark
    emissions: np.ndarray  # (states,) the score of arriving in each
    delta: np.ndarray  # (states,) the best path up to each
    pointers: np.ndarray  # (states,) the state before it on that path; -1 for the start
    alpha: np.ndarray  # (states,) log Σ exp of all paths up to each
    beta: np.ndarray  # (states,) log Σ exp of all ways on from each
    probabilities: np.ndarray  # (states,)
    before: np.ndarray  # (arcs,) the state that each arc comes from
    after: np.ndarray  # (arcs,) the state that it leads to; rising
    steps: np.ndarray  # (arcs,) its score
    step_probabilities: np.ndarray  # (arcs,)
    log_z: float

    def marginals(self, K: int) -> np.ndarray:
        """Sum up the probabilities of the states of each tag, (T, K)."""
        T = int(self.positions[-1]) - 1
        out = np.zeros((T + 2, K + 1))
        np.add.at(out, (self.positions, self.tags[:, -1]), self.probabilities)
        return out[1:-1, :-1]

    def best_states(self) -> list[int]:
        """Follow the back-pointers from the best last state; return the states from the start to the end."""
        last = np.flatnonzero(self.positions == self.positions[-1])
        path = [int(last[self.delta[last].argmax()])]
        while path[-1] > 0:
            path.append(int(self.pointers[path[-1]]))
        return path[::-1]


def lattice_tables(lattice: Lattice) -> RecursionTables | None:
    """Compute the tables of a lattice of one sentence that has tokens; None if the lattice has no chain."""
    if isinstance(lattice, DenseLattice):
        N, K = lattice.chain.emissions.shape
        trellis = Trellis(np.full(N, K, np.int64), np.array([N]), 1, cut=False)
        scores: TrellisScores = DenseScores.of(lattice.chain, trellis)
        return trellis_tables(trellis, scores, np.append(np.tile(np.arange(K), N), K))
    if isinstance(lattice, CandidateLattice):
        candidates, node_scores = lattice.proposal
        trellis = lattice.trellis(cut=False)
        return trellis_tables(trellis, node_scores.on(trellis), np.append(candidates.tags, lattice.K))
    return None


def trellis_tables(trellis: Trellis, scores: TrellisScores, node_tags: np.ndarray) -> RecursionTables:
    """Compute the tables of a trellis of one sentence; `node_tags` are those of its nodes and of the mark."""
    best, total = CandidateMax(trellis, scores), CandidateLogSum(trellis, scores)
    delta, pointers = viterbi_table(best)
    alpha = forward(total)
    log_z = total.log_z(alpha)
    arc_probabilities: list[np.ndarray] = []
    beta = backward(total, alpha, log_z, lambda step, probabilities: arc_probabilities.insert(0, probabilities))
    arcs = trellis.arcs(slice(trellis.first, len(alpha)))
    slots = [trellis.here] if trellis.order == 1 else [trellis.there, trellis.here]
    return RecursionTables(
        order=trellis.order,
        positions=trellis.rows,
        tags=node_tags[trellis.nodes[np.stack(slots, axis=1)]],
        emissions=total.arrivals,
        delta=delta,
        pointers=np.concatenate([np.full(trellis.first, -1, np.int64), *pointers]),
        alpha=alpha,
        beta=beta,
        probabilities=total.probabilities(alpha, beta, log_z),
        before=arcs.before,
        after=arcs.after,
        steps=scores.arcs(arcs),
        step_probabilities=np.concatenate(arc_probabilities),
        log_z=float(log_z[0]),
    )


@dataclass(frozen=True)
class DenseScores(TrellisScores):
    """The scores of a dense chain for a trellis in which all tags are candidates."""

    steps: np.ndarray  # (steps, K + 1, K + 1) the last row is the start, the last column the end; one for all, or T + 1
    tags: np.ndarray  # (states,)
    arrivals: np.ndarray  # (states,)
    positions: np.ndarray  # (states,)

    @classmethod
    def of(cls, chain: Chain, trellis: Trellis) -> DenseScores:
        """Lay out the scores of a chain of one sentence."""
        N, K = chain.emissions.shape
        one_for_all = not chain.by_row
        steps = np.zeros((1 if one_for_all else N + 1, K + 1, K + 1))
        steps[:, K, :K], steps[:, :K, K] = chain.start, chain.end
        steps[slice(None) if one_for_all else slice(1, N), :K, :K] = chain.into(slice(1, N))
        nodes, position = trellis.nodes[trellis.here], trellis.rows * (not one_for_all)
        tags = np.where(nodes == N * K, K, nodes % K)
        return cls(steps, tags, np.append(chain.emissions, 0.0)[nodes], position)

    def arcs(self, arcs: Arcs) -> np.ndarray:
        return self.steps[self.positions[arcs.before], self.tags[arcs.before], self.tags[arcs.after]]
