"""The tables of `tagger.chain` against enumeration, for transitions of every shape, and against published figures."""

import subprocess
import sys

import numpy as np
import oracle
import pytest

import tagger
from tagger import chain

LENGTHS = [3, 1, 0, 4]
B, T, K = 4, 5, 3  # one token more than any sentence has
SHAPES = {"one table": (K, K), "by step": (T - 1, K, K), "by sentence and step": (B, T - 1, K, K)}
KINDS = ["plain", "ties", "forbidden", "wide"]


def random_scores(shape, kind, seed=0):
    random = np.random.default_rng(seed)
    scores = {
        "emissions": random.normal(size=(B, T, K)),
        "transitions": random.normal(size=SHAPES[shape]),
        "start": random.normal(size=K),
        "end": random.normal(size=K),
    }
    if kind == "ties":
        scores = {name: np.round(values / 2) for name, values in scores.items()}
    if kind == "forbidden":
        steps = scores["transitions"]
        steps[random.random(steps.shape) < 0.4] = -np.inf
        steps[..., np.arange(K), np.arange(K)] = 0.25  # so that a path exists
        scores["emissions"][random.random((B, T, K)) < 0.2] = -np.inf
        scores["emissions"][:, :, 0] = 0.5
    if kind == "wide":
        scores = {name: 300 * values for name, values in scores.items()}
    return scores


def sentences(scores):
    """For each sentence its number, its length, and start, steps, end and emissions as lists."""
    steps = np.broadcast_to(scores["transitions"], (B, T - 1, K, K))
    for b, length in enumerate(LENGTHS):
        own = (scores["start"], steps[b], scores["end"], scores["emissions"][b, :length])
        yield b, length, *(values.tolist() for values in own)


def by_tag(ways, place, combine):
    """Combine the scores of all ways that have each tag at their first or last place."""
    return [combine([s for s, path in ways if path[place] == k]) for k in range(K)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", SHAPES)
def test_every_table_equals_enumeration(shape, kind):
    scores = random_scores(shape, kind)
    spoiled = scores | {"emissions": scores["emissions"].copy(), "lengths": LENGTHS}
    for b, length in enumerate(LENGTHS):
        spoiled["emissions"][b, length:] = np.nan
    alpha, beta = chain.forward(**spoiled), chain.backward(**spoiled)
    delta, pointers = chain.viterbi_table(**spoiled)
    pairs, log_z = chain.pair_marginals(**spoiled), chain.log_norm(**spoiled)
    close = {"rtol": 1e-12, "atol": 1e-9}
    assert pairs.shape == (B, T - 1, K, K)
    for b, length, start, steps, end, emissions in sentences(scores):
        for t in range(length):
            ways, onward = oracle.prefixes(start, steps, emissions, t), oracle.suffixes(steps, end, emissions, t)
            np.testing.assert_allclose(alpha[b, t], by_tag(ways, -1, oracle.add_logs), **close)
            np.testing.assert_allclose(beta[b, t], by_tag(onward, 0, oracle.add_logs), **close)
            np.testing.assert_allclose(delta[b, t], by_tag(ways, -1, max), **close)
        for t in range(1, length):  # from the tag that the pointer names, the best way to each tag is the best of all
            before = by_tag(oracle.prefixes(start, steps, emissions, t - 1), -1, max)
            for j in range(K):
                values = [before[i] + steps[t - 1][i][j] for i in range(K)]
                assert values[pointers[b, t, j]] == pytest.approx(max(values), rel=1e-12, abs=1e-9)
                if kind == "ties":
                    assert pointers[b, t, j] == values.index(max(values))
        every = oracle.step_paths(start, steps, end, emissions)
        assert log_z[b] == pytest.approx(oracle.log_z(every), rel=1e-12, abs=1e-9)
        if length > 1:
            np.testing.assert_allclose(pairs[b, : length - 1], oracle.edge_marginals(every, K), atol=1e-9)
        assert not pairs[b, max(length - 1, 0) :].any() and (pointers[b, length:] == -1).all()
        assert (pointers[b, :1] == -1).all() and np.isneginf(delta[b, length:]).all()
        assert np.isneginf(alpha[b, length:]).all() and np.isneginf(beta[b, length:]).all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", SHAPES)
def test_paths_likelihoods_and_marginals_with_transitions_of_every_shape(shape, kind):
    scores = random_scores(shape, kind, seed=1) | {"lengths": LENGTHS}
    best, best_scores = chain.decode(**scores)
    several, P = chain.n_best(**scores, n=4), chain.marginals(**scores)
    tags = np.zeros((B, T), int)  # tag 0 is always allowed
    values = chain.log_likelihood(tags=tags, **scores)
    unary = chain.unary_score(scores["emissions"], tags, LENGTHS, scores["start"], scores["end"])
    binary = chain.binary_score(tags, scores["transitions"], LENGTHS)
    for b, length, *lists in sentences(scores):
        every = oracle.step_paths(*lists)
        own = {path: s for s, path in every}
        assert best_scores[b] == pytest.approx(every[0][0], rel=1e-12, abs=1e-9)
        assert own[tuple(best[b, :length].tolist())] == pytest.approx(every[0][0], rel=1e-12, abs=1e-9)
        possible = [s for s, _ in every if s > -np.inf][:4]
        assert [s for s, _ in several[b]] == pytest.approx(possible, rel=1e-12, abs=1e-9)
        if length:
            np.testing.assert_allclose(P[b, :length], oracle.node_marginals(every, K), atol=1e-9)
        score = own[(0,) * length]
        assert unary[b] + binary[b] == pytest.approx(score, rel=1e-12, abs=1e-9)
        assert values[b] == pytest.approx(score - oracle.log_z(every), rel=1e-12, abs=1e-9)
    _, _, start, steps, end, emissions = next(sentences(scores))
    assert binary[0] == pytest.approx(steps[0][0][0] + steps[1][0][0])  # by hand
    assert unary[0] == pytest.approx(start[0] + end[0] + sum(row[0] for row in emissions))


def test_pointers_lead_along_the_best_path():
    scores = random_scores("by step", "ties", seed=3)
    delta, pointers = chain.viterbi_table(**scores)
    best, best_scores = chain.decode(**scores)
    for b in range(B):
        path = [int(np.argmax(delta[b, -1] + scores["end"]))]
        assert delta[b, -1, path[0]] + scores["end"][path[0]] == best_scores[b]
        for t in range(T - 1, 0, -1):
            path.append(int(pointers[b, t, path[-1]]))
        assert path[::-1] == best[b].tolist()


def test_long_sentences_keep_their_scores():
    """Rows are re-based on the way; the table is not."""
    E = np.full((5000, 2), [10.0, 9.0])
    delta, _ = chain.viterbi_table(E.astype(np.float32), np.zeros((2, 2)))
    np.testing.assert_allclose(delta[:, 0], 10.0 * np.arange(1, 5001), rtol=1e-12)


@pytest.mark.parametrize("shape", SHAPES)
def test_gradients_have_the_shapes_of_the_scores_and_equal_differences(shape):
    scores = random_scores(shape, "plain", seed=4) | {"lengths": LENGTHS}
    tags = np.random.default_rng(5).integers(0, K, (B, T))
    _, gradient = chain.log_likelihood_gradient(tags=tags, **scores)
    assert gradient.transitions.shape == SHAPES[shape]
    assert chain.check_gradient(tags=tags, **scores) < 1e-8
    wrong = chain.Gradient(gradient.emissions, gradient.transitions + 0.01, gradient.start, gradient.end)
    assert chain.check_gradient(tags=tags, **scores, gradient=wrong) == pytest.approx(0.01, abs=1e-6)


def test_forbidden_scores_have_a_gradient_of_zero():
    scores = random_scores("by step", "forbidden", seed=6) | {"lengths": LENGTHS}
    tags = np.zeros((B, T), int)
    _, gradient = chain.log_likelihood_gradient(tags=tags, **scores)
    assert not gradient.transitions[np.isneginf(scores["transitions"])].any()
    assert chain.check_gradient(tags=tags, **scores) < 1e-8


@pytest.mark.parametrize("length", [None, 3, 1, 0])
def test_one_sentence_alone_gets_the_tables_of_a_batch_of_one(length):
    scores = random_scores("by sentence and step", "plain", seed=7)
    alone = scores | {name: scores[name][0] for name in ("emissions", "transitions")} | {"lengths": length}
    batch = scores | {name: scores[name][:1] for name in ("emissions", "transitions")}
    batch["lengths"] = None if length is None else [length]
    for function in (chain.forward, chain.backward, chain.pair_marginals, chain.log_norm):
        np.testing.assert_array_equal(function(**alone), function(**batch)[0])
    for own, other in zip(chain.viterbi_table(**alone), chain.viterbi_table(**batch), strict=True):
        np.testing.assert_array_equal(own, other[0])


@pytest.mark.parametrize(
    "spoil, message",
    [
        ({"transitions": np.zeros((T, K, K))}, r"transitions: .*\(4, 3, 3\) or \(4, 4, 3, 3\), got \(5, 3, 3\)"),
        ({"emissions": None, "transitions": np.zeros((K, K))}, "emissions: .* None"),
        ({"tags": np.zeros((B, T, K))}, r"one-hot rows \(4, 5, 3\). Give tags.argmax\(-1\)"),
        ({"tags": np.full((B, T), -1)}, "padding, give lengths"),
    ],
)
def test_what_does_not_fit_is_refused_with_the_remedy(spoil, message):
    arguments = random_scores("one table", "plain") | {"tags": np.zeros((B, T), int)}
    with pytest.raises(ValueError, match=message):
        chain.log_likelihood(**arguments | spoil)


# Published figures: JackyTintin's notes on linear-chain CRFs, 2018


def test_psi_fits_unchanged_and_gives_the_published_figures():
    np.random.seed(1111)
    V, m = 5, 10
    log_psi = np.random.random([m, V, V])
    scores = {"emissions": None, "transitions": log_psi[1:], "start": log_psi[0, 0]}
    best, _ = chain.decode(**scores)
    assert best.tolist() == [1, 4, 2, 4, 3, 0, 3, 0, 3, 1]
    seq = np.random.choice(V, m)
    assert np.exp(chain.log_likelihood(tags=seq, **scores)) == pytest.approx(2.69869828108e-08, rel=1e-10)
    last = np.exp(chain.forward(**scores)[-1])
    assert last == pytest.approx([2.66620185e8, 4.91942550e8, 4.48597546e8, 3.42214705e8, 4.10510463e8], rel=1e-8)
    beta = np.exp(chain.backward(**scores))
    assert beta[0] == pytest.approx([2.95024144e8, 2.61620644e8, 3.16953747e8, 2.02959597e8, 2.51250862e8], rel=1e-8)
    assert beta[8] == pytest.approx([8.15414542, 7.95904764, 9.64664115, 8.69502743, 9.41073532], rel=1e-8)
    _, gradient = chain.log_likelihood_gradient(tags=seq, **scores)
    by_psi = [0.75834232, -0.13348772, -0.16172055, -0.10355687, -0.12819671]
    assert gradient.start / np.exp(log_psi[0, 0]) == pytest.approx(by_psi, abs=5e-9, rel=0)


def test_the_gradient_for_psi_is_that_for_its_logarithm_divided_by_psi():
    random = np.random.default_rng(8)
    psi, seq, step = random.random((4, K, K)) + 0.1, np.array([0, 2, 2, 1]), 1e-6

    def likelihood(psi):
        return chain.log_likelihood_gradient(None, seq, np.log(psi[1:]), start=np.log(psi[0, 0]))

    _, gradient = likelihood(psi)
    for cell in np.ndindex(3, K, K):
        moved = [psi.copy(), psi.copy()]
        for sign, own in zip((1, -1), moved, strict=True):
            own[1:][cell] += sign * step
        slope = (likelihood(moved[0])[0] - likelihood(moved[1])[0]) / (2 * step)
        assert gradient.transitions[cell] / psi[1:][cell] == pytest.approx(slope, abs=1e-7)


def test_published_gradients_for_x_W_P_and_S():
    np.random.seed(1111)
    V, m = 5, 7
    seq, x = np.random.choice(V, m), np.random.random(m)
    W, P, S = np.random.random(V), np.random.random([V, V]), np.random.random(V)
    _, gradient = chain.log_likelihood_gradient(np.outer(x, W), seq, P, start=S)
    close = {"abs": 5e-9, "rel": 0}
    dW = [-0.62291675, -0.38050215, -0.18983737, -0.65300231, 1.84625859]
    dx = [0.03394788, -0.11666261, 0.02592661, 0.07931277, 0.02549323, 0.11371901, 0.02198856]
    dS = [-0.17736447, -0.21489701, -0.20747999, -0.19735031, 0.79709179]
    dP = [
        [-0.34655117, -0.27314013, -0.16800195, -0.28352514, 0.73359469],
        [-0.22747135, -0.2967193, -0.27009443, -0.2664594, 0.87349324],
        [-0.27906702, -0.27747362, -0.33689934, -0.18786182, 0.82788735],
        [-0.2701056, -0.16940564, -0.2624276, -0.29133856, -0.25558298],
        [0.72105085, 0.86080584, 0.76931185, -0.2103895, -0.11362927],
    ]
    assert x @ gradient.emissions == pytest.approx(dW, **close)
    assert gradient.emissions @ W == pytest.approx(dx, **close)
    assert gradient.start == pytest.approx(dS, **close)
    assert gradient.transitions == pytest.approx(np.array(dP), **close)


# What is public


def test_the_package_lists_its_public_names_and_has_them():
    assert dir(tagger) == sorted(tagger.__all__) and "chain" in dir(tagger) and "TYPE_CHECKING" not in dir(tagger)
    assert dir(chain) == sorted(chain.__all__)
    assert all(callable(getattr(chain, name)) for name in chain.__all__)
    with pytest.raises(AttributeError, match="no attribute 'psi'"):
        chain.psi  # noqa: B018
    code = "import tagger; assert tagger.chain.decode.__name__ == 'decode'"
    subprocess.run([sys.executable, "-c", code], check=True)
