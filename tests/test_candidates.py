"""The second-order chain against the oracle: every answer, ragged candidates, forbidden tags, constraints."""

import numpy as np
import oracle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tagger.chain import candidates
from tagger.chain.candidate_kernels import CandidateMax, CandidateSum
from tagger.chain.candidate_lattice import CandidateLattice, best_tags
from tagger.chain.forward_backward import forward_backward
from tagger.chain.pack import Pack
from tagger.chain.viterbi import viterbi


class Plain:
    """Scores that are a table, without anything about words."""

    def __init__(self, table):
        self.table, self.K = table, len(table) - 1

    def places(self, words, tags):
        return np.full(len(words), -1)

    def arrivals(self, pairs, emissions, places):
        return emissions

    def onward(self, pairs, w, places):
        return self.table.reshape(-1, self.K + 1)[pairs, w]


def lattice(table, sentences):
    """Of sentences, each a list of lists of scores (T, K)."""
    K = len(table) - 1
    pack = Pack.of([len(sentence) for sentence in sentences])
    scores = np.array([row for sentence in sentences for row in sentence], float).reshape(-1, K)
    tags = best_tags(scores, K)
    return CandidateLattice(
        pack, Plain(table), pack.tokens, np.arange(len(scores)), scores, tags, np.full_like(tags, -1)
    )


@st.composite
def chains(draw):
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    K = draw(st.integers(1, 3))
    table = random.normal(size=(K + 1,) * 3) * draw(st.sampled_from([0.0, 1.0, 30.0]))
    sentences = []
    for length in draw(st.lists(st.integers(0, 4), min_size=1, max_size=5)):
        E = random.normal(size=(length, K)) * 2
        E[random.random(E.shape) < draw(st.sampled_from([0.0, 0.3]))] = -np.inf
        sentences.append(E)
    allowed = random.random((sum(map(len, sentences)), K)) < draw(st.sampled_from([0.5, 0.9, 1.0]))
    return table, sentences, allowed


@settings(max_examples=60, deadline=None)
@given(chains())
def test_every_answer_equals_enumeration(case):
    table, sentences, allowed = case
    whole = lattice(table, sentences)
    rows = np.split(allowed, np.cumsum([len(E) for E in sentences])[:-1])
    narrow = [np.where(ok, E, -np.inf) for E, ok in zip(sentences, rows, strict=True)]
    for answers, emissions in ((whole, sentences), (whole.restrict(allowed), narrow)):
        compare(answers, table, emissions)


def compare(answers, table, sentences):
    tags, scores = answers.best()
    z, marginals, found = answers.log_z(), answers.marginals(), answers.n_best(6)
    at = 0
    for i, E in enumerate(sentences):
        own = slice(at, at + len(E))
        at += len(E)
        every = oracle.second_order(table.tolist(), E.tolist())
        score = {path: s for s, path in every}
        possible = [s for s, _ in every if s > -np.inf]
        assert scores[i] == pytest.approx(every[0][0], abs=1e-9)
        assert z[i] == pytest.approx(oracle.log_z(every), abs=1e-9)
        assert [s for s, _ in found[i]] == pytest.approx(possible[:6], abs=1e-9)
        assert all(score[tuple(path.tolist())] == pytest.approx(s, abs=1e-9) for s, path in found[i])
        assert len({tuple(path.tolist()) for _, path in found[i]}) == len(found[i])
        if possible:
            assert score[tuple(tags[own].tolist())] == pytest.approx(every[0][0], abs=1e-9)
            expected = np.reshape(oracle.node_marginals(every, E.shape[1]), E.shape)
            np.testing.assert_allclose(marginals[own], expected, atol=1e-9)
        else:
            assert not marginals[own].any() and not found[i]


def test_expected_trigrams_equal_enumeration():
    random = np.random.default_rng(3)
    table, E = random.normal(size=(3, 3, 3)), random.normal(size=(4, 2))
    one = lattice(table, [E]).trellis
    counts = np.zeros((3, 3, 3))

    def see(step, P):
        w = np.repeat(one.tags[one.here[step.pairs]], step.widths)
        np.add.at(counts.reshape(9, 3), (one.keys[step.before], w), P)

    forward_backward(CandidateSum(one), see)
    expected = np.zeros((3, 3, 3))
    every = oracle.second_order(table.tolist(), E.tolist())
    for s, path in every:
        tags = (2, *path)
        for u, v, w in zip(tags, tags[1:], tags[2:], strict=False):
            expected[u, v, w] += np.exp(s - oracle.log_z(every))
    np.testing.assert_allclose(counts, expected, atol=1e-12)


def test_candidates_are_all_that_is_considered_but_a_constraint_can_bring_in_others():
    table = np.zeros((4, 4, 4))
    E = np.log([[0.6, 0.3, 0.1], [0.5, 0.1, 0.4]])
    pack = Pack.of([2])
    tags = np.array([[0, 1], [2, -1]])
    few = CandidateLattice(pack, Plain(table), pack.tokens, np.arange(2), E, tags, np.full_like(tags, -1))
    assert few.best()[0].tolist() == [0, 2]
    np.testing.assert_allclose(few.marginals(), [[2 / 3, 1 / 3, 0], [0, 0, 1]])
    allowed = np.array([[False, False, True], [True, True, True]])
    assert few.restrict(allowed).best()[0].tolist() == [2, 2]
    assert few.restrict(allowed).best()[1][0] == pytest.approx(np.log(0.1 * 0.4))
    assert few.restrict(allowed).restrict(np.ones((2, 3), bool)).best()[0].tolist() == [2, 2]
    twice = few.restrict(allowed).restrict(~allowed)
    assert twice.best()[1][0] == -np.inf and twice.log_z()[0] == -np.inf and twice.n_best(3) == [[]]


def test_layout_in_small_blocks_changes_nothing(monkeypatch):
    random = np.random.default_rng(5)
    table = random.normal(size=(5, 5, 5))
    sentences = [random.normal(size=(length, 4)) for length in (9, 1, 7, 7, 0, 3)]
    whole = lattice(table, sentences)
    assert len(whole.trellis.blocks) == 1
    monkeypatch.setattr(candidates, "BLOCK_TRIPLES", 50)
    parts = lattice(table, sentences)
    assert len(parts.trellis.blocks) > 3
    assert parts.best()[0].tolist() == whole.best()[0].tolist()
    np.testing.assert_array_equal(parts.marginals(), whole.marginals())


def test_all_scores_zero_count_the_paths():
    z = lattice(np.zeros((4, 4, 4)), [np.zeros((50, 3))]).log_z()
    assert z[0] == pytest.approx(50 * np.log(3), rel=1e-12)


def test_a_long_sentence_is_decided_as_exactly_as_a_short_one():
    """Two tags, the emissions alone decide, and differ by little; 20,000 tokens before do not wash that out."""
    E = np.tile([[-8.0, -8.0001], [-9.0001, -9.0]], (10_000, 1))
    assert lattice(np.zeros((3, 3, 3)), [E]).best()[0].tolist() == [0, 1] * 10_000


def test_no_sentences_and_no_words():
    empty = lattice(np.zeros((3, 3, 3)), [[], []])
    assert empty.best()[1].tolist() == [0.0, 0.0] and empty.log_z().tolist() == [0.0, 0.0]
    assert [len(found) for found in empty.n_best(2)] == [1, 1] and empty.marginals().shape == (0, 2)
    assert viterbi(CandidateMax(lattice(np.zeros((2, 2, 2)), []).trellis))[1].shape == (0,)
