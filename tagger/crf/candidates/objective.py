"""The objective of a CRF over candidate tags: like `objective`, but with scores only where a token has a choice.

    loss(w) = Σ_pieces (log Z(piece) - log Z(right paths of the piece)) + l2 · ‖w - centre‖²

Tokens with one candidate are fixed; what lies between the pieces (`chain.candidates`) is the same on all paths and
cancels out. The layout of a corpus never changes, so that an evaluation is a few gathers and sums: arcs with the same
tags share one score, and its exponential.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tagger.arrays.caching import cached_property
from tagger.arrays.keyed import find_keys, number_keys
from tagger.arrays.npz import narrow
from tagger.arrays.ragged import consecutive, slices
from tagger.chain.candidate_kernels import Step, TrellisScores, candidate_sum
from tagger.chain.candidate_lattice import Candidates
from tagger.chain.candidates import BLOCK_ARCS, Arcs, Trellis
from tagger.chain.forward_backward import forward_backward
from tagger.crf.candidates.node_tables import NodeTables, WeightSums
from tagger.crf.objective import Objective
from tagger.crf.parameters import EncodedCorpus, ParameterLayout

FORBIDDEN = -100.0  # the score of a step that is not allowed: -inf would need logarithms; exp(-100) is no path
PIECE_PACK_TOKENS = 1 << 15  # pieces are short: larger packs than those of sentences keep the steps long


@dataclass(frozen=True)
class PieceLoss:
    """-log p of the pieces of a pack, and expected minus observed counts."""

    loss: float
    nodes: np.ndarray  # (n,) of the pack's nodes
    arcs: np.ndarray  # (distinct arcs of the pack,)
    steps: np.ndarray | None = None  # (arcs of the pack,), for features of steps


class Pieces:
    """The layout of some sentences: their pieces, the nodes that have scores, and which arcs have the same tags."""

    def __init__(
        self, candidates: Candidates, is_right: np.ndarray, lengths: np.ndarray, layout: ParameterLayout
    ) -> None:
        widths, width = candidates.widths, layout.K + 1
        self.trellis = trellis = Trellis(widths, lengths, layout.order)
        self.nodes = np.flatnonzero(widths[candidates.tokens] > 1)  # (n,) of tokens with a choice
        place = np.full(len(candidates.tags) + 1, len(self.nodes))
        place[self.nodes] = np.arange(len(self.nodes))
        self.node_of_state = place[trellis.nodes][trellis.here].astype(np.int32)  # n for all others
        tags, right = np.append(candidates.tags, layout.K), np.append(is_right, True)
        tags, right = tags[trellis.nodes], right[trellis.nodes]  # of each slot
        here, before = tags[trellis.here], tags[trellis.there] if layout.order == 2 else 0
        self.right = right[trellis.here] & (right[trellis.there] if layout.order == 2 else True)  # (states,)
        # The key of an arc: its two or three tags, as one number.
        self.first_arc = np.append(0, np.cumsum(trellis.sources[1])).astype(np.int32)  # of states after the first ones
        arcs = trellis.arcs(slice(trellis.first, len(trellis.rows)))
        keys = (before * width + here)[arcs.before] * width + np.repeat(here[arcs.states], arcs.widths)
        distinct, numbers = number_keys(keys, width ** (layout.order + 1))
        self.keys = narrow(distinct)
        self.numbers = numbers.astype(np.int32)  # (arcs,) the place of each arc's key
        # The counts of the right paths, if there is one for each piece.
        self.is_open = bool((np.bincount(candidates.tokens, weights=is_right, minlength=1) > 1).any())
        both = self.right[arcs.before] & np.repeat(self.right[arcs.states], arcs.widths)
        self.right_nodes = is_right[self.nodes].astype(np.float64)
        self.right_arcs = np.bincount(self.numbers[both], minlength=len(self.keys)).astype(np.float32)
        self.right_steps = both  # (arcs,)
        trellis.forget_layout()

    def step_ends(self, layout: ParameterLayout) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the token that each arc leads to, the tag before it and its tag, (arcs,); tag K for a mark."""
        trellis, width = self.trellis, layout.K + 1
        tokens = np.repeat(trellis.tokens[trellis.rows[trellis.first :]], trellis.sources[1])
        keys = self.keys[self.numbers].astype(np.int64)
        return tokens, keys // width % width, keys % width

    def loss(self, node_scores: np.ndarray, arc_scores: np.ndarray, step_scores: np.ndarray | None = None) -> PieceLoss:
        """Compute the loss from the scores of nodes (n,), of distinct arcs, and of features of steps (arcs,)."""
        free = self.expect(node_scores, arc_scores, step_scores, right_only=False)
        if self.is_open:
            right = self.expect(node_scores, arc_scores, step_scores, right_only=True)
        else:
            score = node_scores @ self.right_nodes + arc_scores @ self.right_arcs
            score += 0.0 if step_scores is None else step_scores @ self.right_steps
            right = PieceLoss(float(score), self.right_nodes, self.right_arcs, self.right_steps)
        steps = None if free.steps is None or right.steps is None else free.steps - right.steps
        return PieceLoss(free.loss - right.loss, free.nodes - right.nodes, free.arcs - right.arcs, steps)

    def expect(
        self, node_scores: np.ndarray, arc_scores: np.ndarray, step_scores: np.ndarray | None, right_only: bool
    ) -> PieceLoss:
        """Compute log Z and the expected number of each node and each distinct arc, over all or the right paths."""
        first = self.trellis.first
        scores = PieceScores(self, np.append(node_scores, 0.0)[self.node_of_state], arc_scores, step_scores)
        if right_only:
            scores.arrivals[~self.right] = -np.inf
        probabilities = np.empty(len(self.numbers))  # of all arcs

        def observe(step: Step, P: np.ndarray) -> None:
            probabilities[self.inside(step.arcs)] = P

        posterior = forward_backward(candidate_sum(self.trellis, scores), observe)
        nodes = np.bincount(self.node_of_state[first:], weights=posterior.states[first:], minlength=len(self.nodes) + 1)
        arcs = np.bincount(self.numbers, weights=probabilities, minlength=len(self.keys))
        steps = None if step_scores is None else probabilities
        return PieceLoss(float(posterior.log_z.sum()), nodes[:-1], arcs, steps)

    def inside(self, arcs: Arcs) -> slice:
        """Find arcs among all arcs."""
        begin, end = arcs.states.start - self.trellis.first, arcs.states.stop - self.trellis.first
        return slice(int(self.first_arc[begin]), int(self.first_arc[end]))


@dataclass(frozen=True)
class PieceScores(TrellisScores):
    """The scores of pieces in one evaluation."""

    pieces: Pieces
    arrivals: np.ndarray  # (states,)
    of_keys: np.ndarray  # of the distinct arcs
    of_steps: np.ndarray | None = None  # (arcs,) of features of steps

    def arcs(self, arcs: Arcs) -> np.ndarray:
        inside = self.pieces.inside(arcs)
        scores = self.of_keys[self.pieces.numbers[inside]]
        return np.asarray(scores if self.of_steps is None else scores + self.of_steps[inside])

    def arc_factors(self, arcs: Arcs) -> np.ndarray:
        if self.of_steps is not None:
            return super().arc_factors(arcs)
        return np.asarray(self.exp_of_keys[self.pieces.numbers[self.pieces.inside(arcs)]])

    @cached_property
    def exp_of_keys(self) -> np.ndarray:
        """The exponentials of the scores of the distinct arcs."""
        return np.asarray(np.exp(self.of_keys))


class CandidateLikelihood(Objective):
    """The objective over the candidates of each token."""

    def pack_tokens(self, corpus: EncodedCorpus) -> int:
        """Choose the number of tokens of a pack, so that its arcs fit one block."""
        assert corpus.proposal is not None
        widths = corpus.proposal.candidates.widths
        per_token = max(1.0, count_arcs(widths, self.layout.order) / max(1, len(widths)))
        return max(1, min(PIECE_PACK_TOKENS, int(BLOCK_ARCS / 2 / per_token)))

    def encode(self, corpus: EncodedCorpus, tokens: list[np.ndarray]) -> None:
        is_right = corpus.is_right
        assert corpus.proposal is not None and is_right is not None
        candidates = corpus.proposal.candidates
        # The nodes of each pack among those of the corpus.
        first = np.cumsum(candidates.widths) - candidates.widths
        nodes = [consecutive(first[own], candidates.widths[own]) for own in tokens]
        self.pieces = self.map(
            lambda i: Pieces(
                Candidates(candidates.tags[nodes[i]], candidates.widths[tokens[i]]),
                is_right[nodes[i]],
                corpus.lengths[self.sentences[i]],
                self.layout,
            ),
            range(len(nodes)),
        )
        scored = np.concatenate([own[pieces.nodes] for own, pieces in zip(nodes, self.pieces, strict=True)])
        self.rows = slices(len(pieces.nodes) for pieces in self.pieces)
        self.log_posterior = corpus.proposal.log_posterior[scored]
        tokens_of_nodes, tags = candidates.tokens[scored], candidates.tags[scored]
        self.tables = NodeTables(corpus, tokens_of_nodes, tags, self.rows, self.dtype, self.map)
        self.arcs = [ArcParameters(pieces.keys, self.layout) for pieces in self.pieces]
        self.residual = np.zeros(len(scored))
        self.steps: list[WeightSums] = []  # of each pack, the weights of features of steps that add up to its arcs
        if corpus.features.step_templates:
            ids = corpus.step_features()
            self.steps = [
                self.tables.step_sums([row[own] for row in ids], *pieces.step_ends(self.layout))
                for own, pieces in zip(tokens, self.pieces, strict=True)
            ]

    def pack_losses(self, weights: np.ndarray) -> list[PieceLoss]:
        w, *_, posterior = np.split(weights, self.layout.bounds)
        scores = self.tables.scores(w, self.map)
        w = w.astype(self.dtype)

        def one_pack(i: int) -> PieceLoss:
            nodes = scores[i] + posterior * self.log_posterior[self.rows[i]]
            steps = self.steps[i].scores(w) if self.steps else None
            loss = self.pieces[i].loss(nodes, self.arcs[i].scores(weights), steps)
            self.residual[self.rows[i]] = loss.nodes
            return loss

        return self.map(one_pack, self.used)

    def feature_gradient(self, residual: np.ndarray, squares: bool = False) -> np.ndarray:
        return self.tables.gradient(residual, self.map, squares)

    def add_step_gradient(self, packs: list[PieceLoss], gradient: np.ndarray) -> None:
        for i, pack in zip(self.used, packs, strict=True):
            if pack.steps is not None:
                gradient[self.steps[i].params] += self.steps[i].gradient(pack.steps)

    def chain_gradient(self, packs: list[PieceLoss]) -> np.ndarray:
        gradient = np.zeros(self.layout.size - self.layout.features_end)
        for i, pack in zip(self.used, packs, strict=True):
            self.arcs[i].add_gradient(pack.arcs, gradient)
        gradient[-1] = self.residual @ self.log_posterior
        return gradient


class ArcParameters:
    """The weights of the chain that add up to the score of each distinct arc, given by its tags as one number."""

    def __init__(self, keys: np.ndarray, layout: ParameterLayout) -> None:
        K, width, self.first, keys = layout.K, layout.K + 1, layout.features_end, keys.astype(np.int64)
        starts, ends, trigrams, self.none = (layout.bounds[1:] - self.first).tolist()
        v, w = keys // width % width, keys % width
        seen = find_keys(layout.seen, np.where((v < K) & (w < K), v * K + w, -1))
        pair = np.select([seen >= 0, (v == K) & (w < K), (w == K) & (v < K)], [seen, starts + w, ends + v], self.none)
        place = find_keys(layout.trigrams, keys)
        params = np.stack([pair, np.where(place < 0, self.none, trigrams + place)])
        self.params = params.astype(np.int32)  # (2, keys)
        self.barred = 0.0 if layout.allowed is None else np.where(layout.allowed[v, w], 0.0, FORBIDDEN)

    def scores(self, weights: np.ndarray) -> np.ndarray:
        """Add up the score of each distinct arc."""
        own = np.append(weights[self.first : self.first + self.none], 0.0)
        return np.asarray(own[self.params].sum(axis=0) + self.barred)

    def add_gradient(self, arcs: np.ndarray, gradient: np.ndarray) -> None:
        """Add the gradient of the chain's weights, given the residual of the distinct arcs."""
        for params in self.params:
            gradient[: self.none] += np.bincount(params, weights=arcs, minlength=self.none + 1)[:-1]


def count_arcs(widths: np.ndarray, order: int) -> float:
    """Count the arcs of a text whose tokens have `widths` candidates, as if it were one sentence."""
    arcs = widths[:-1] * widths[1:]
    return float((arcs if order == 1 else arcs[:-1] * widths[2:]).sum())
