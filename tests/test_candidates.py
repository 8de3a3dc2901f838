"""Chains over candidate tags, of both orders, against the oracle: every answer, ragged, in pieces, constrained."""

from dataclasses import dataclass, replace

import numpy as np
import oracle
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tagger.chain import candidates as layout
from tagger.chain.candidate_kernels import (
    CandidateLogSum,
    CandidateMax,
    CandidateScaledSum,
    TrellisScores,
    candidate_sum,
)
from tagger.chain.candidate_lattice import CandidateLattice, Candidates, best_tags
from tagger.chain.candidates import MARK, Trellis
from tagger.chain.forward_backward import forward_backward
from tagger.chain.viterbi import viterbi


@dataclass(frozen=True)
class TableScores(TrellisScores):
    """Scores of nodes that are a table (K + 1,) * (order + 1), for nodes and for the trellises over them."""

    table: np.ndarray
    tags: np.ndarray  # (nodes + 1,)
    emissions: np.ndarray  # (nodes + 1,)
    whole: bool = False  # sentences must not be cut
    contexts: np.ndarray | None = None  # (states, order)
    arrivals: np.ndarray | None = None  # (states,)

    @property
    def order(self):
        return self.table.ndim - 1

    def possible(self):
        return ~(np.isneginf(self.emissions[:-1]) | self.whole)

    def only(self, nodes):
        kept = np.append(nodes, len(self.tags) - 1)
        return replace(self, tags=self.tags[kept], emissions=self.emissions[kept])

    def single(self):
        """The recursions on arrays are tested here; those on lists in `test_few`."""

    def on(self, trellis):
        slots = [trellis.here] if self.order == 1 else [trellis.there, trellis.here]
        nodes = [trellis.nodes[slot] for slot in slots]
        contexts = np.stack([self.tags[own] for own in nodes], axis=1)
        return replace(self, contexts=contexts, arrivals=self.emissions[trellis.nodes[trellis.here]])

    def arcs(self, arcs):
        return self.table[(*self.contexts[arcs.before].T, self.contexts[arcs.after][:, -1])]


def lattice(table, sentences, whole=False):
    """Of sentences, each a list of dictionaries from candidate tag to score."""
    K, tokens = len(table) - 1, [token for sentence in sentences for token in sentence]
    whole = whole or not np.isfinite(table).all()  # a piece says nothing of arcs that are forbidden elsewhere

    def propose(allowed):
        chosen = tokens
        if allowed is not None:
            chosen = [{k: s for k, s in token.items() if allowed[t, k]} for t, token in enumerate(tokens)]
        chosen = [token or {0: -np.inf} for token in chosen]
        tags = np.array([k for token in chosen for k in token], np.int64)
        emissions = np.array([s for token in chosen for s in token.values()], float)
        scores = TableScores(table, np.append(tags, K), np.append(emissions, 0.0), whole)
        return Candidates(tags, np.array(list(map(len, chosen)), np.int64)), scores

    return CandidateLattice(np.array(list(map(len, sentences)), np.int64), K, propose)


def all_tags(E):
    """Candidates of a sentence whose tokens have all tags, from scores (T, K)."""
    return [dict(enumerate(row)) for row in np.asarray(E, float).tolist()]


SHAPES = {  # the number of candidates of the tokens of a sentence; the rest is random
    "free": [4, 2, 3, 2],
    "one token": [3],
    "one fixed token": [1],
    "fixed at both ends": [1, 3, 2, 4, 1],
    "two fixed at both ends": [1, 1, 3, 2, 1, 1],
    "pieces of one token": [1, 4, 1, 2, 1, 3, 1],
    "pieces of one token, far apart": [2, 1, 1, 4, 1, 1, 1, 3],
    "free at both ends": [3, 1, 1, 1, 3],
    "neighbours of fixed ones": [2, 3, 1, 4, 1, 1, 2, 2],
    "all fixed": [1, 1, 1, 1],
    "empty": [],
}


@st.composite
def chains(draw):
    """A table of either order, sentences over candidates, and the tags (N, K) that a constraint allows."""
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    K, order = draw(st.integers(1, 4)), draw(st.sampled_from([1, 2]))
    kind = draw(st.sampled_from(["plain", "plain", "zero", "ties", "wide", "forbidden arcs", "forbidden nodes"]))
    shapes = draw(st.lists(st.sampled_from([*SHAPES.values(), None]), min_size=1, max_size=4))
    table = random.normal(size=(K + 1,) * (order + 1)) * {"zero": 0.0, "wide": 100.0}.get(kind, 1.0)
    if kind == "forbidden arcs":
        table[random.random(table.shape) < 0.2] = -np.inf
    sentences = []
    for shape in shapes:
        widths = random.integers(1, 5, random.integers(0, 5)) if shape is None else shape
        sentence = []
        for width in widths:
            E = random.normal(size=K) * {"zero": 0.0, "wide": 100.0}.get(kind, 2.0)
            E[(random.random(K) < 0.2) & (kind == "forbidden nodes")] = -np.inf
            tags = random.permutation(K)[:width].tolist()  # in any order
            sentence.append({k: float(E[k]) for k in tags})
        sentences.append(sentence)
    if kind == "ties":
        table = np.round(table)
        sentences = [[{k: round(s) for k, s in token.items()} for token in sentence] for sentence in sentences]
    allowed = random.random((sum(map(len, sentences)), K)) < draw(st.sampled_from([0.5, 0.9, 1.0]))
    return table, sentences, allowed


def split(sentences, rows):
    """The rows of each sentence."""
    return np.split(rows, np.cumsum(list(map(len, sentences)))[:-1])


@settings(max_examples=80, deadline=None)
@given(chains())
def test_every_answer_equals_enumeration(chain):
    table, sentences, allowed = chain
    narrow = [
        [{k: s for k, s in token.items() if ok[k]} or {0: -np.inf} for token, ok in zip(own, rows, strict=True)]
        for own, rows in zip(sentences, split(sentences, allowed), strict=True)
    ]
    for whole in (False, True):
        answers = lattice(table, sentences, whole)
        compare(answers, table, sentences)
        compare(answers.restrict(allowed), table, narrow)


def compare(answers, table, sentences):
    order, K = table.ndim - 1, len(table) - 1
    tags = answers.best()
    scores, z, marginals, found = answers.path_scores(tags), answers.log_z(), answers.marginals(), answers.n_best(6)
    for i, (own, P) in enumerate(zip(split(sentences, tags), split(sentences, marginals), strict=True)):
        every = oracle.candidate_paths(order, table.tolist(), sentences[i])
        score = {path: s for s, path in every}
        possible = [s for s, _ in every if s > -np.inf]
        # Relative, because scores times 100 have sums of thousands.
        assert scores[i] == pytest.approx(every[0][0], abs=1e-9, rel=1e-12)
        assert z[i] == pytest.approx(oracle.log_z(every), abs=1e-9, rel=1e-12)
        assert [s for s, _ in found[i]] == pytest.approx(possible[:6], abs=1e-9, rel=1e-12)
        assert all(score[tuple(path.tolist())] == pytest.approx(s, abs=1e-9, rel=1e-12) for s, path in found[i])
        assert len({tuple(path.tolist()) for _, path in found[i]}) == len(found[i])
        if possible:
            assert score[tuple(own.tolist())] == pytest.approx(every[0][0], abs=1e-9, rel=1e-12)
            np.testing.assert_allclose(P, np.reshape(oracle.node_marginals(every, K), P.shape), atol=1e-9)
        else:
            assert not P.any() and not found[i]


@settings(max_examples=40, deadline=None)
@given(chains(), st.integers(0, 2**32))
def test_path_scores_equal_enumeration(chain, seed):
    """Also of paths that are not the best, and -inf for tags that are no candidates."""
    table, sentences, allowed = chain
    random, N = np.random.default_rng(seed), len(allowed)
    inside = np.array([random.choice(list(token)) for sentence in sentences for token in sentence], np.int64)
    anywhere = np.where(random.random(N) < 0.2, random.integers(0, len(table) - 1, N), inside)
    for tags in (inside, anywhere):
        found = lattice(table, sentences).path_scores(tags)
        for i, own in enumerate(split(sentences, tags)):
            every = oracle.candidate_paths(table.ndim - 1, table.tolist(), sentences[i])
            expected = {path: s for s, path in every}.get(tuple(own.tolist()), -np.inf)
            assert found[i] == pytest.approx(expected, abs=1e-9, rel=1e-12)


def expected_arcs(answers, make_kernel, cut):
    """{(token before, token, tags): probability} of all arcs of a trellis, MARK beyond the ends."""
    trellis, scores = answers.trellis(cut), answers.proposal[1]
    on, table = scores.on(trellis), {}

    def observe(step, P):
        before, after = step.arcs.before, step.arcs.after
        assert len(P) == len(before)
        rows = [trellis.tokens[trellis.rows[states]] for states in (before, after)]
        tags = [*on.contexts[before].T, on.contexts[after][:, -1]]
        for *key, p in zip(*rows, *tags, P, strict=True):
            place = (*map(int, key[:2]), tuple(map(int, key[2:])))
            assert place not in table  # no arc is seen twice
            table[place] = p

    posterior = forward_backward(make_kernel(trellis, on), observe)
    return table, posterior


def arcs_by_enumeration(table, sentences):
    order, K, first, expected = table.ndim - 1, len(table) - 1, 0, {}
    for sentence in sentences:
        every = oracle.candidate_paths(order, table.tolist(), sentence)
        found = oracle.ngram_marginals(every, order, K) if every[0][0] > -np.inf else {}
        for (t, tags), p in found.items():
            before, here = (first + t - 1 if t else MARK), (first + t if t < len(sentence) else MARK)
            expected[before, here, tags] = p
        first += len(sentence)
    return expected


@settings(max_examples=60, deadline=None)
@given(chains())
def test_expected_arcs_equal_enumeration(chain):
    table, sentences, _ = chain
    answers = lattice(table, sentences)
    expected = arcs_by_enumeration(table, sentences)
    found, _ = expected_arcs(answers, candidate_sum, cut=False)
    assert expected.keys() <= found.keys()
    for place, p in found.items():
        assert p == pytest.approx(expected.get(place, 0.0), abs=1e-9)
    if not answers.free:
        return
    # Cut into pieces: the same numbers; what is left out lies between fixed tokens and has probability 1.
    inside, _ = expected_arcs(answers, candidate_sum, cut=True)
    assert inside.keys() <= found.keys()
    for place, p in found.items():
        assert inside.get(place, 1.0) == pytest.approx(p, abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(chains(), st.booleans())
def test_scaled_sums_equal_sums_of_logarithms_wherever_they_say_that_they_are_exact(chain, cut):
    table, sentences, _ = chain
    answers = lattice(table, sentences)
    cut = cut and answers.free
    trellis = answers.trellis(cut)
    with np.errstate(invalid="ignore"):
        exact = CandidateScaledSum(trellis, answers.proposal[1].on(trellis)).is_exact()
    emissions = [s for sentence in sentences for token in sentence for s in token.values()]
    if np.isfinite(emissions).all() and np.abs(table).max() + np.abs(emissions).max(initial=0.0) < 100:
        assert exact  # it must not be too shy: this is the fast one
    if not exact:
        return

    def scaled(trellis, scores):
        kernel = CandidateScaledSum(trellis, scores)
        assert kernel.is_exact()
        return kernel

    (arcs, a), (log_arcs, b) = (expected_arcs(answers, kernel, cut) for kernel in (scaled, CandidateLogSum))
    np.testing.assert_allclose(a.log_z, b.log_z, atol=1e-9, rtol=1e-12)
    np.testing.assert_allclose(a.states, b.states, atol=1e-9)
    assert arcs.keys() == log_arcs.keys()
    np.testing.assert_allclose([arcs[place] for place in log_arcs], list(log_arcs.values()), atol=1e-9)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("part", ["nodes", "arcs"])
def test_scores_that_span_too_much_are_summed_in_logarithms(order, part):
    """A path of very low score, the only one that is allowed to end: scaled sums would lose it."""
    span = 800.0
    table = np.zeros((3,) * (order + 1))
    tokens = [{0: 0.0, 1: 0.0}] * 3
    if part == "nodes":
        tokens = [{0: 0.0, 1: -span}] * 3
    else:
        table[..., 1] = -span
    table[..., 0, 2] = -span * 5  # the end wants tag 1
    answers = lattice(table, [tokens])
    trellis = answers.trellis(cut=False)
    scores = answers.proposal[1].on(trellis)
    assert not CandidateScaledSum(trellis, scores).is_exact()
    assert isinstance(candidate_sum(trellis, scores), CandidateLogSum)
    assert not isinstance(candidate_sum(trellis, scores), CandidateScaledSum)
    compare(answers, table, [tokens])


@pytest.mark.parametrize("order", [1, 2])
def test_a_long_sentence_with_large_scores(order):
    """10,000 tokens, scores times 100: scaled sums must notice that they cannot do it."""
    random = np.random.default_rng(order)
    table = 100 * random.normal(size=(5,) * (order + 1))
    widths = random.choice([1, 1, 2, 3, 4], 10_000)
    tokens = [dict(zip(random.permutation(4)[:n].tolist(), 100 * random.normal(size=n), strict=True)) for n in widths]
    whole, cut = (lattice(table, [tokens], whole) for whole in (True, False))
    trellis = whole.trellis(cut=False)
    assert not CandidateScaledSum(trellis, whole.proposal[1].on(trellis)).is_exact()
    best, z = oracle.long_chain(order, table.tolist(), tokens)
    for answers in (whole, cut):
        tags = answers.best()
        assert answers.path_scores(tags)[0] == pytest.approx(best, rel=1e-12)
        assert answers.log_z()[0] == pytest.approx(z, rel=1e-12)
        assert answers.n_best(1)[0][0][0] == pytest.approx(best, rel=1e-12)
    np.testing.assert_array_equal(whole.best(), cut.best())
    np.testing.assert_allclose(whole.marginals(), cut.marginals(), atol=1e-9)
    np.testing.assert_allclose(whole.marginals().sum(axis=1), 1.0, atol=1e-9)


@pytest.mark.parametrize("order", [1, 2])
def test_the_oracle_of_long_chains_equals_enumeration(order):
    random = np.random.default_rng(order)
    table = random.normal(size=(4,) * (order + 1))
    tokens = [{0: 0.1, 2: -1.0}, {1: 0.5}, {0: 0.2, 1: 0.3, 2: 0.4}, {2: 1.0, 0: -np.inf}]
    every = oracle.candidate_paths(order, table.tolist(), tokens)
    best, z = oracle.long_chain(order, table.tolist(), tokens)
    assert best == pytest.approx(every[0][0], abs=1e-12) and z == pytest.approx(oracle.log_z(every), abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from([1, 2]), st.lists(st.lists(st.integers(1, 3), max_size=9), max_size=5))
@example(1, [])
@example(2, [[], [1, 1, 1], []])
def test_pieces_hold_every_token_with_a_choice_once_and_no_more_fixed_ones_than_they_need(order, shapes):
    widths, lengths = np.array([n for shape in shapes for n in shape], np.int64), np.array(list(map(len, shapes)))
    trellis = Trellis(widths, lengths.astype(np.int64), order)
    inside = trellis.tokens[trellis.first :]  # the first row of a piece is what is before it
    inside = inside[inside != MARK]
    assert len(set(inside.tolist())) == len(inside)
    assert set(np.flatnonzero(widths > 1).tolist()) <= set(inside.tolist())
    for rank, length in enumerate(trellis.pack.lengths.tolist()):
        rows = trellis.pack.starts[:length] + rank
        own = np.where(trellis.tokens[rows] == MARK, 1, widths[trellis.tokens[rows]])
        assert own[0] == 1 and own[1] > 1
        fixed = "".join("x" if width == 1 else "." for width in own[1:]).rstrip("x")
        assert "x" * order not in fixed  # else it could be cut there
        assert 1 <= length - 1 - len(fixed) <= order


def test_candidates_are_all_that_is_considered():
    table = np.zeros((4, 4, 4))
    few = lattice(table, [[{0: np.log(0.6), 1: np.log(0.3)}, {2: np.log(0.4)}]])
    assert few.best().tolist() == [0, 2]
    np.testing.assert_allclose(few.marginals(), [[2 / 3, 1 / 3, 0], [0, 0, 1]])
    allowed = np.array([[False, True, True], [True, True, True]])
    narrowed = few.restrict(allowed)
    assert narrowed.best().tolist() == [1, 2]
    assert narrowed.path_scores(narrowed.best())[0] == pytest.approx(np.log(0.3 * 0.4))
    assert narrowed.path_scores(np.array([0, 2]))[0] == -np.inf
    assert narrowed.restrict(np.ones((2, 3), bool)).best().tolist() == [1, 2]
    twice = narrowed.restrict(~allowed)
    assert twice.path_scores(twice.best())[0] == -np.inf
    assert twice.log_z()[0] == -np.inf and twice.n_best(3) == [[]]


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("whole", [True, False])
def test_layout_in_small_blocks_changes_nothing(monkeypatch, order, whole):
    random = np.random.default_rng(5)
    table = random.normal(size=(5,) * (order + 1))
    sentences = [all_tags(random.normal(size=(length, 4))) for length in (9, 1, 7, 7, 0, 3)]
    sentences[0][4:6] = [{1: 0.5}, {2: 0.5}]
    one_block = lattice(table, sentences, whole)
    assert len(one_block.trellis(not whole).blocks) == 1
    monkeypatch.setattr(layout, "BLOCK_ARCS", 50)
    blocks = lattice(table, sentences, whole)
    assert len(blocks.trellis(not whole).blocks) > 3
    assert blocks.best().tolist() == one_block.best().tolist()
    np.testing.assert_allclose(blocks.marginals(), one_block.marginals(), atol=1e-12)
    np.testing.assert_allclose(blocks.log_z(), one_block.log_z(), rtol=1e-12)
    expected, _ = expected_arcs(one_block, candidate_sum, not whole)
    found, _ = expected_arcs(blocks, candidate_sum, not whole)
    assert found.keys() == expected.keys()
    np.testing.assert_allclose([found[place] for place in expected], list(expected.values()), atol=1e-12)


@pytest.mark.parametrize("order", [1, 2])
def test_all_scores_zero_count_the_paths(order):
    z = lattice(np.zeros((4,) * (order + 1)), [all_tags(np.zeros((50, 3)))]).log_z()
    assert z[0] == pytest.approx(50 * np.log(3), rel=1e-12)


@pytest.mark.parametrize("order", [1, 2])
def test_a_long_sentence_is_decided_as_exactly_as_a_short_one(order):
    """Two tags, the emissions alone decide, and differ by little; 20,000 tokens before do not wash that out."""
    E = np.tile([[-8.0, -8.0001], [-9.0001, -9.0]], (10_000, 1))
    assert lattice(np.zeros((3,) * (order + 1)), [all_tags(E)]).best().tolist() == [0, 1] * 10_000


@pytest.mark.parametrize("order", [1, 2])
def test_no_sentences_and_no_words(order):
    table = np.zeros((3,) * (order + 1))
    empty = lattice(table, [[], []])
    assert empty.best().shape == (0,) and empty.path_scores(empty.best()).tolist() == [0.0, 0.0]
    assert empty.log_z().tolist() == [0.0, 0.0]
    assert [len(found) for found in empty.n_best(2)] == [1, 1] and empty.marginals().shape == (0, 2)
    assert empty.n_best(0) == [[], []]
    nothing = lattice(table, [])
    trellis = nothing.trellis(cut=True)
    assert viterbi(CandidateMax(trellis, nothing.proposal[1].on(trellis))).shape == (0,)
    assert nothing.best().shape == nothing.log_z().shape == (0,) and nothing.n_best(2) == []


def test_the_best_tags_of_a_line_come_best_first_and_impossible_ones_not_at_all():
    scores = np.array([[0.0, 2.0, 1.0], [-np.inf, 1.0, -np.inf], [1.0, 1.0, 1.0], [-np.inf] * 3])
    assert best_tags(scores, 2).tolist() == [[1, 2], [1, -1], [0, 1], [-1, -1]]
    assert best_tags(scores, 9).tolist() == [[1, 2, 0], [1, -1, -1], [0, 1, 2], [-1, -1, -1]]


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("level", [500.0, -500.0, 1000.0, -1000.0])
def test_arcs_that_are_all_high_or_low_overflow_nothing(order, level):
    """The span of equal scores is 0, so sums are scaled while the exponentials are neither infinite nor 0."""
    widths, lengths = np.array([2, 3, 2]), np.array([3])
    trellis = layout.Trellis(widths, lengths, order)

    class Level(TrellisScores):
        arrivals = np.zeros(len(trellis.rows))

        def arcs(self, arcs):
            return np.full(len(arcs.before), level)

    kernel = candidate_sum(trellis, Level())
    posterior = forward_backward(kernel)
    assert isinstance(kernel, CandidateScaledSum) == (abs(level) < 700)
    steps = len(trellis.tokens) - 1
    assert posterior.log_z[0] == pytest.approx(np.log(12) + steps * level, rel=1e-12)
    np.testing.assert_allclose(posterior.states[trellis.first :][trellis.here[trellis.first :] < 3].sum(), 1.0)
