"""The chain against the oracle, against published figures, and each route to a number against the others."""

from dataclasses import replace
from math import log

import numpy as np
import oracle
import pytest

from tagger.chain.forward_backward import forward_backward, sum_kernel
from tagger.chain.kernels import DenseMax, LogSum
from tagger.chain.nbest import n_best
from tagger.chain.pack import Pack, batches
from tagger.chain.recursion import backward, forward
from tagger.chain.scaled import SPAN, ScaledSum, mixing_steps, scaled_kernel, shift_within
from tagger.chain.scores import Chain, forbid, path_scores
from tagger.chain.viterbi import viterbi
from tagger.corpus.span_schemes import SCHEMES, allowed_steps

LENGTHS = [[1], [3, 1, 4], [2, 0, 3, 3, 1, 0], [5], [0, 0]]
KINDS = ["plain", "forbidden transitions", "forbidden tags", "forbidden ends", "wide"]


def random_chain(lengths, K, seed, kind="plain", dtype=np.float64):
    random = np.random.default_rng(seed)
    pack = Pack.of(lengths)
    start, end = random.normal(size=K), random.normal(size=K)
    transitions = random.normal(size=(K, K))
    emissions = random.normal(size=(sum(lengths), K))
    if kind == "forbidden transitions":
        transitions[random.random((K, K)) < 0.4] = -np.inf
        np.fill_diagonal(transitions, 0.5)  # so that a path exists
    if kind == "forbidden tags":
        emissions[random.random(emissions.shape) < 0.4] = -np.inf
        emissions[:, 0] = 0.3
    if kind == "forbidden ends":
        start[1:] = -np.inf
        end[:-1] = -np.inf
        if 1 in lengths:
            end[0] = 0.1
    if kind == "wide":
        emissions *= 100
        transitions *= 30
    emissions, transitions = emissions.astype(dtype), transitions.astype(dtype)
    return Chain(pack, start.astype(dtype), transitions, end.astype(dtype), emissions)


def posterior(chain):
    return forward_backward(sum_kernel(chain))


def best(chain):
    return viterbi(DenseMax(chain))


def by_oracle(chain):
    """For each rank: all paths of the sentence, and the rows of its tokens."""
    for rank, length in enumerate(chain.pack.lengths.tolist()):
        rows = chain.pack.starts[:length] + rank
        scores = (chain.start.tolist(), chain.transitions.tolist(), chain.end.tolist())
        yield rank, rows, oracle.paths(*scores, chain.emissions[rows].tolist())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.parametrize("K", [1, 2, 3])
def test_all_quantities_equal_enumeration(kind, lengths, K):
    chain = random_chain(lengths, K, seed=K, kind=kind)
    found = posterior(chain)
    expected = np.zeros((K, K))
    best_tags = best(chain)
    best_scores = path_scores(chain, best_tags)
    for rank, rows, every in by_oracle(chain):
        assert found.log_z[rank] == pytest.approx(oracle.log_z(every), abs=1e-9, rel=1e-12)
        if len(rows):
            np.testing.assert_allclose(found.states[rows], oracle.node_marginals(every, K), atol=1e-9)
        expected += np.sum(oracle.edge_marginals(every, K), axis=0)
        assert best_scores[rank] == pytest.approx(every[0][0], abs=1e-9, rel=1e-12)
        path = tuple(best_tags[rows].tolist())
        assert {p: s for s, p in every}[path] == pytest.approx(every[0][0], abs=1e-9, rel=1e-12)
    np.testing.assert_allclose(found.transitions, expected, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_path_scores_equal_enumeration(kind):
    chain = random_chain([3, 1, 0, 4], 3, seed=5, kind=kind)
    tags = np.random.default_rng(1).integers(0, 3, len(chain.emissions))
    found = path_scores(chain, tags)
    for rank, rows, every in by_oracle(chain):
        assert found[rank] == pytest.approx({p: s for s, p in every}[tuple(tags[rows].tolist())], abs=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1, 4, 1000])
def test_n_best_equals_enumeration(kind, n):
    chain = random_chain([3, 1, 0, 4], 3, seed=9, kind=kind)
    for found, (_, _, every) in zip(n_best(DenseMax(chain), n), by_oracle(chain), strict=True):
        possible = [(s, p) for s, p in every if s > -np.inf][:n]
        assert [s for s, _ in found] == pytest.approx([s for s, _ in possible], abs=1e-9, rel=1e-12)
        assert len({tuple(path.tolist()) for _, path in found}) == len(possible)
        for s, path in found:
            assert {p: s for s, p in every}[tuple(path.tolist())] == pytest.approx(s, abs=1e-9, rel=1e-12)


def test_no_path_at_all():
    chain = random_chain([2, 1], 2, seed=1)
    chain = replace(chain, transitions=np.full((2, 2), -np.inf))
    found = posterior(chain)
    assert found.log_z[0] == -np.inf and np.isfinite(found.log_z[1])
    assert path_scores(chain, best(chain))[0] == -np.inf
    assert n_best(DenseMax(chain), 3)[0] == []
    dead_token = replace(random_chain([2], 2, seed=1), emissions=np.array([[0.0, 0.0], [-np.inf, -np.inf]]))
    assert posterior(dead_token).log_z[0] == -np.inf
    dead_token = replace(dead_token, emissions=dead_token.emissions.astype(np.float32))
    assert path_scores(dead_token, best(dead_token))[0] == -np.inf


@pytest.mark.parametrize("dtype, tolerance", [(np.float32, 2e-5), (np.float64, 1e-11)])
def test_scaled_equals_log_space(dtype, tolerance):
    chain = random_chain([40, 7, 7, 1, 0, 23], 6, seed=3, dtype=dtype)
    shift = shift_within(chain, 80.0)
    a, b = (forward_backward(kernel) for kernel in (ScaledSum(chain, shift, np.dtype(dtype)), LogSum(chain)))
    assert a.states.dtype == dtype
    np.testing.assert_allclose(a.log_z, b.log_z, rtol=tolerance)
    np.testing.assert_allclose(a.states, b.states, atol=tolerance)
    np.testing.assert_allclose(a.transitions, b.transitions, atol=40 * tolerance)


def test_packed_equals_one_by_one():
    lengths = [4, 9, 1, 0, 6]
    together = random_chain(lengths, 4, seed=8)
    found = posterior(together)
    for rank, length in enumerate(together.pack.lengths.tolist()):
        rows = together.pack.starts[:length] + rank
        alone = replace(together, pack=Pack.of([length]), emissions=together.emissions[rows])
        assert posterior(alone).log_z[0] == pytest.approx(found.log_z[rank], abs=1e-12)
        np.testing.assert_array_equal(best(alone), best(together)[rows])


def test_counting():
    """All scores zero: every path counts one, so log Z = T log K and all tags are equally likely."""
    lengths = [7, 3, 1, 0]
    found = posterior(Chain(Pack.of(lengths), np.zeros(4), np.zeros((4, 4)), np.zeros(4), np.zeros((11, 4))))
    np.testing.assert_allclose(found.log_z, [T * log(4) for T in lengths], atol=1e-12)
    np.testing.assert_allclose(found.states, 0.25)


def test_without_transitions_each_token_is_a_softmax():
    chain = replace(random_chain([5, 2], 3, seed=2), start=np.zeros(3), end=np.zeros(3), transitions=np.zeros((3, 3)))
    softmax = np.exp(chain.emissions) / np.exp(chain.emissions).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(posterior(chain).states, softmax, rtol=1e-12)


def test_a_long_sentence_with_large_scores():
    """10,000 tokens, scores times 100: scaled probabilities would underflow, so the chain must notice."""
    chain = random_chain([10_000], 3, seed=4, kind="wide", dtype=np.float32)
    assert all(shift_within(chain, span) is None for span in SPAN.values())
    exact = replace(chain, emissions=chain.emissions.astype(np.float64))
    tags = best(chain)
    np.testing.assert_array_equal(tags, best(exact))
    score = path_scores(chain, tags)
    assert score[0] == pytest.approx(path_scores(exact, tags)[0], rel=1e-12)
    table = np.full((4, 4), -np.inf)  # the last index is the mark
    table[:3, :3], table[3, :3], table[:3, 3] = exact.transitions, exact.start, exact.end
    highest, log_z = oracle.long_chain(1, table.tolist(), [dict(enumerate(row)) for row in exact.emissions.tolist()])
    assert score[0] == pytest.approx(highest, rel=1e-12)
    assert posterior(chain).log_z[0] == pytest.approx(log_z, rel=1e-12)


def test_long_sentences_in_float32_keep_their_tags():
    """Running sums in float32 would decide otherwise on the last tokens."""
    chain = random_chain([5_000], 5, seed=6, dtype=np.float32)
    chain = replace(chain, emissions=chain.emissions + np.float32(30))  # sums as large as those of 50,000 tokens
    exact = replace(chain, emissions=chain.emissions.astype(np.float64))
    np.testing.assert_array_equal(best(chain), best(exact))


def test_forbidden_transitions_are_done_in_scaled_space_only_if_tags_mix():
    mixing = random_chain([4, 2], 3, seed=0, kind="forbidden transitions")
    assert not np.isfinite(mixing.transitions).all() and mixing_steps(mixing.transitions) == 2
    assert shift_within(mixing, 1e9) is not None
    apart = np.where(np.eye(3, dtype=bool), 0.0, -np.inf)  # no tag leads to another
    in_turns = np.where(np.arange(4)[:, None] % 2 != np.arange(4) % 2, 0.0, -np.inf)  # never again after odd steps
    assert mixing_steps(apart) is None and mixing_steps(in_turns) is None
    assert shift_within(replace(mixing, transitions=apart), 1e9) is None
    some = mixing.emissions.copy()
    some[0, 0] = -np.inf
    assert shift_within(replace(mixing, emissions=some), 1e9) is None
    nowhere = np.full(3, -np.inf)
    assert shift_within(replace(mixing, end=nowhere), 1e9) is None


@pytest.mark.parametrize("scheme", SCHEMES)
def test_scaled_sums_under_a_scheme_equal_log_space(scheme):
    """Scores as wide as the bound lets them be, where a wrong bound would underflow."""
    letters = {"bio": "BI", "iob1": "BI", "bioes": "BIES", "bmes": "BMES"}[scheme]
    tags = ["O", *(f"{letter}-{name}" for name in "XYZ" for letter in letters)]
    allowed, K = allowed_steps(scheme, tags), len(tags)
    n = mixing_steps(np.where(allowed[:-1, :-1], 0.0, -np.inf))
    assert n == (2 if letters == "BI" else 3)
    for seed in range(20):
        random = np.random.default_rng(seed)
        for dtype, span in SPAN.items():
            plain = random_chain([1, 2, 3, 9, 40], K, seed, dtype=dtype)
            width = span / n / 2
            emissions = random.choice([-width / 2, width / 2], plain.emissions.shape).astype(dtype)
            chain_scores = forbid(allowed, plain.start, plain.transitions, plain.end)
            chain = Chain(plain.pack, *chain_scores, emissions)
            kernel = scaled_kernel(chain)
            assert kernel is not None and kernel.e.dtype == dtype
            exact, found = forward_backward(LogSum(chain)), forward_backward(kernel)
            tolerance = 2e-4 if dtype == np.float32 else 1e-9
            np.testing.assert_allclose(found.log_z, exact.log_z, rtol=tolerance, atol=tolerance)
            np.testing.assert_allclose(found.states, exact.states, atol=tolerance)
            np.testing.assert_allclose(found.transitions, exact.transitions, atol=40 * tolerance)
            assert shift_within(replace(chain, emissions=2 * emissions), span) is None  # twice as wide is too wide


def test_a_sentence_too_short_for_any_path_is_not_done_in_scaled_space():
    allowed = allowed_steps("bmes", ["B", "E", "M"])  # a sentence of one token has no path
    start, transitions, end = forbid(allowed, np.zeros(3), np.zeros((3, 3)), np.zeros(3))
    for lengths, possible in (([4, 3], True), ([4, 1], False)):
        chain = Chain(Pack.of(lengths), start, transitions, end, np.zeros((sum(lengths), 3)))
        assert (scaled_kernel(chain) is not None) == possible
    assert posterior(chain).log_z.tolist() == [pytest.approx(log(2)), -np.inf]  # B M M E and B E B E


def test_batches_hold_every_sentence_once():
    lengths = np.random.default_rng(0).integers(0, 50, 300)
    groups = batches(lengths, tokens=200)
    assert sorted(np.concatenate(groups).tolist()) == list(range(300))
    assert all(lengths[group[:-1]].sum() <= 200 for group in groups)
    assert batches([]) == []


def published_example():
    """A worked example of linear chains: JackyTintin's notes on linear-chain CRFs, 2018."""
    np.random.seed(1111)
    V, m = 5, 10
    return V, m, np.random.random([m, V, V])


def unrolled(V, m, log_psi):
    """Scores that differ from step to step, as a chain of m·V states that may only move from one step to the next."""
    K = V * m
    start, transitions = np.full(K, -np.inf), np.full((K, K), -np.inf)
    start[:V] = log_psi[0, 0]
    for t in range(1, m):
        transitions[(t - 1) * V : t * V, t * V : (t + 1) * V] = log_psi[t]
    return Chain(Pack.of([m]), start, transitions, np.zeros(K), np.zeros((m, K)))


def test_published_best_path_probability_and_forward_row():
    V, m, log_psi = published_example()
    chain = unrolled(V, m, log_psi)
    tags = best(chain)
    assert (tags % V).tolist() == [1, 4, 2, 4, 3, 0, 3, 0, 3, 1]
    seq = np.random.choice(V, m)
    p = np.exp(path_scores(chain, seq + V * np.arange(m)) - posterior(chain).log_z)
    assert p[0] == pytest.approx(2.69869828108e-08, rel=1e-10)
    # The forward score of the last tag k is log Z of the chain that must end there.
    last = []
    for k in range(V):
        end = np.full(V * m, -np.inf)
        end[(m - 1) * V + k] = 0.0
        last.append(np.exp(posterior(replace(chain, end=end)).log_z[0]))
    assert last == pytest.approx([2.66620185e8, 4.91942550e8, 4.48597546e8, 3.42214705e8, 4.10510463e8], rel=1e-8)


def test_published_gradient():
    np.random.seed(1111)
    V, m = 5, 7
    seq, x = np.random.choice(V, m), np.random.random(m)
    W, P, S = np.random.random(V), np.random.random([V, V]), np.random.random(V)
    expected = posterior(Chain(Pack.of([m]), S, P, np.zeros(V), np.outer(x, W)))
    residual = np.eye(V)[seq] - expected.states  # observed minus expected
    seen = np.zeros((V, V))
    np.add.at(seen, (seq[:-1], seq[1:]), 1)
    close = {"abs": 5e-9, "rel": 0}
    assert x @ residual == pytest.approx([-0.62291675, -0.38050215, -0.18983737, -0.65300231, 1.84625859], **close)
    dx = [0.03394788, -0.11666261, 0.02592661, 0.07931277, 0.02549323, 0.11371901, 0.02198856]
    assert residual @ W == pytest.approx(dx, **close)
    assert residual[0] == pytest.approx([-0.17736447, -0.21489701, -0.20747999, -0.19735031, 0.79709179], **close)
    dP = [-0.34655117, -0.27314013, -0.16800195, -0.28352514, 0.73359469]
    assert (seen - expected.transitions)[0] == pytest.approx(dP, **close)


@pytest.mark.parametrize("spread", [20, 60, 79, 81, 120, 640, 660])
def test_the_bounds_of_scaled_arithmetic_are_safe(spread):
    """Scores that span just less and just more than a number format does: the answer is that of log space."""
    random = np.random.default_rng(spread)
    for _ in range(20):
        chain = random_chain([6, 3], 3, seed=int(random.integers(1 << 30)), dtype=np.float32)
        emissions = np.where(random.random(chain.emissions.shape) < 0.5, -spread * 0.9, 0.0).astype(np.float32)
        chain = replace(chain, emissions=emissions)
        fast, exact = posterior(chain), forward_backward(LogSum(chain))
        np.testing.assert_allclose(fast.log_z, exact.log_z, rtol=1e-5)
        np.testing.assert_allclose(fast.states, exact.states, atol=1e-5)
        np.testing.assert_allclose(fast.transitions, exact.transitions, atol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_edge_marginals_of_each_step_equal_enumeration(kind):
    """Two tokens have one step, so the expected transitions of a sentence are its edge marginals."""
    for seed in range(5):
        chain = random_chain([2], 3, seed=seed, kind=kind)
        ((_, _, every),) = by_oracle(chain)
        np.testing.assert_allclose(posterior(chain).transitions, oracle.edge_marginals(every, 3)[0], atol=1e-9)


@pytest.mark.parametrize("kernel", [scaled_kernel, LogSum], ids=["scaled", "log space"])
def test_the_arcs_of_every_step_equal_enumeration(kernel):
    """p(previous tag, tag) of each token, and their sum, as the kernels of the sum compute them."""
    chain = random_chain([4, 2, 1], 3, seed=7)
    arcs = np.zeros((3, 3))
    one = kernel(chain)
    alpha = forward(one)
    backward(one, alpha, one.log_z(alpha), lambda step, P: arcs.__iadd__(P.sum(axis=0)))
    expected = sum(np.sum(oracle.edge_marginals(every, 3), axis=0) for _, _, every in by_oracle(chain))
    np.testing.assert_allclose(arcs, expected, atol=1e-9)
