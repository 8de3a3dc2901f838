"""`tagger.chain` on padded batches: against enumeration, against differences, and whatever stands in the padding."""

import numpy as np
import oracle
import pytest

from tagger import chain

LENGTHS = [3, 1, 0, 4]
T, K = 5, 3  # one token more than any sentence has


def random_batch(seed=0, dtype=np.float64, lengths=LENGTHS):
    random = np.random.default_rng(seed)
    B = len(lengths)
    scores = {
        "emissions": random.normal(size=(B, T, K)).astype(dtype),
        "transitions": random.normal(size=(K, K)).astype(dtype),
        "start": random.normal(size=K).astype(dtype),
        "end": random.normal(size=K).astype(dtype),
    }
    return scores, random.integers(0, K, (B, T))


def enumerated(scores, lengths=LENGTHS):
    """For each sentence all its paths."""
    ends = [scores[name].tolist() for name in ("start", "transitions", "end")]
    return [oracle.paths(*ends, scores["emissions"][b, :length].tolist()) for b, length in enumerate(lengths)]


def spoiled(scores, tags):
    """The same with nonsense behind the ends of sentences."""
    scores, tags = scores | {"emissions": scores["emissions"].copy()}, tags.copy()
    for b, length in enumerate(LENGTHS):
        scores["emissions"][b, length:] = np.nan
        tags[b, length:] = -7
    return scores, tags


@pytest.mark.parametrize("dtype, tolerance", [(np.float32, 1e-5), (np.float64, 1e-10)])
def test_every_function_equals_enumeration(dtype, tolerance):
    scores, tags = spoiled(*random_batch(1, dtype))
    norms = chain.log_norm(**scores, lengths=LENGTHS)
    paths = chain.sequence_score(tags=tags, **scores, lengths=LENGTHS)
    likelihoods = chain.log_likelihood(tags=tags, **scores, lengths=LENGTHS)
    P = chain.marginals(**scores, lengths=LENGTHS)
    best, best_scores = chain.decode(**scores, lengths=LENGTHS)
    several = chain.n_best(**scores, n=4, lengths=LENGTHS)
    assert P.shape == (4, T, K) and best.shape == (4, T)
    for b, (length, every) in enumerate(zip(LENGTHS, enumerated(scores), strict=True)):
        own = {path: score for score, path in every}
        z = oracle.log_z(every)
        assert norms[b] == pytest.approx(z, abs=tolerance)
        assert paths[b] == pytest.approx(own[tuple(tags[b, :length].tolist())], abs=tolerance)
        assert likelihoods[b] == pytest.approx(paths[b] - z, abs=tolerance)
        if length:
            np.testing.assert_allclose(P[b, :length], oracle.node_marginals(every, K), atol=tolerance)
        assert not P[b, length:].any() and (best[b, length:] == -1).all()
        assert best_scores[b] == pytest.approx(every[0][0], abs=tolerance)
        assert own[tuple(best[b, :length].tolist())] == pytest.approx(every[0][0], abs=tolerance)
        assert [s for s, _ in several[b]] == pytest.approx([s for s, _ in every[:4]], abs=tolerance)
    assert likelihoods[2] == norms[2] == paths[2] == 0.0  # no token, one path


@pytest.mark.parametrize("name", ["emissions", "transitions", "start", "end"])
def test_the_gradient_equals_central_differences(name):
    scores, tags = random_batch(2)
    _, gradient = chain.log_likelihood_gradient(tags=tags, **scores, lengths=LENGTHS)
    found, step = getattr(gradient, name), 1e-5
    for cell in np.ndindex(*scores[name].shape):
        values = []
        for sign in (1, -1):
            moved = scores | {name: scores[name].copy()}
            moved[name][cell] += sign * step
            values.append(chain.log_likelihood(tags=tags, **moved, lengths=LENGTHS).sum())
        assert found[cell] == pytest.approx((values[0] - values[1]) / (2 * step), abs=1e-8)


def test_without_lengths_all_tokens_count_and_ends_are_free():
    scores, tags = random_batch(3)
    free = scores | {"start": np.zeros(K), "end": np.zeros(K)}
    E, A = scores["emissions"], scores["transitions"]
    np.testing.assert_array_equal(chain.log_norm(E, A), chain.log_norm(**free, lengths=[T] * 4))
    np.testing.assert_array_equal(chain.sequence_score(E, tags, A), chain.sequence_score(tags=tags, **free))
    assert chain.log_norm(np.zeros((2, T, K), int), np.zeros((K, K), int)) == pytest.approx(T * np.log(K))


def test_what_is_forbidden_never_comes_out():
    scores, _ = random_batch(4)
    A = scores["transitions"] = np.full((K, K), -np.inf)
    A[0, 1] = A[1, 2] = A[2, 0] = 0.0
    tags, found = chain.decode(**scores, lengths=LENGTHS)
    assert np.isfinite(found).all()
    assert all((A[row[: max(n - 1, 0)], row[1:n]] == 0).all() for row, n in zip(tags, LENGTHS, strict=True))
    assert chain.decode(scores["emissions"], np.full((K, K), -np.inf), LENGTHS)[1].tolist()[3] == -np.inf


@pytest.mark.parametrize(
    "spoil, name",
    [
        ({"emissions": np.zeros(K)}, "emissions"),
        ({"emissions": np.zeros((T, K)), "lengths": T}, r"tags.* \(5,\)"),
        ({"transitions": None}, "transitions"),
        ({"lengths": [3, 1, 0, T + 1]}, "lengths.* 5"),
        ({"lengths": [3, 1]}, "lengths.* 4 "),
        ({"lengths": [3.0, 1.0, 0.0, 4.0]}, "lengths"),
        ({"transitions": np.zeros((K, K + 1))}, "transitions"),
        ({"start": np.zeros(K + 1)}, "start"),
        ({"tags": np.zeros((4, 1), int)}, "tags"),
        ({"tags": np.full((4, T), K)}, "tags.* 2"),
    ],
)
def test_what_does_not_fit_is_refused(spoil, name):
    scores, tags = random_batch()
    with pytest.raises(ValueError, match=name):
        chain.log_likelihood(**(scores | {"tags": tags, "lengths": LENGTHS} | spoil))


@pytest.mark.parametrize("length", [None, T, 3, 0])
def test_one_sentence_alone_gets_the_answers_of_a_batch_of_one(length):
    scores, tags = random_batch(seed=8, lengths=[T])
    alone = scores | {"emissions": scores["emissions"][0], "lengths": length}
    batch = scores | {"lengths": None if length is None else [length]}
    for function in (chain.sequence_score, chain.log_likelihood):
        assert function(**alone, tags=tags[0]) == function(**batch, tags=tags)[0]
    assert chain.log_norm(**alone) == chain.log_norm(**batch)[0]
    np.testing.assert_array_equal(chain.marginals(**alone), chain.marginals(**batch)[0])
    (path, score), (paths, every) = chain.decode(**alone), chain.decode(**batch)
    assert path.shape == (T,) and path.tolist() == paths[0].tolist() and score == every[0]
    assert str(chain.n_best(**alone, n=4)) == str(chain.n_best(**batch, n=4)[0])
    own, other = (chain.log_likelihood_gradient(**g, tags=t)[1] for g, t in ((alone, tags[0]), (batch, tags)))
    np.testing.assert_array_equal(own.emissions, other.emissions[0])
    np.testing.assert_array_equal(own.transitions, other.transitions)
