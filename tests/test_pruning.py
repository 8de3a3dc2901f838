"""Pruned steps find exactly the scores of the plain recursion, bit for bit."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from paths import TEST, TRAIN

from tagger import CRFTagger, HMMTagger, read_corpus
from tagger.chain import pruning
from tagger.chain.kernels import DenseMax
from tagger.chain.pack import Pack
from tagger.chain.pruning import PrunedStep
from tagger.chain.recursion import forward
from tagger.chain.scores import Chain, path_scores
from tagger.chain.viterbi import viterbi

KINDS = ("plain", "sharp", "ties", "forbidden", "dead ends", "hopeless")


def random_chain(seed, kind, K, dtype):
    random = np.random.default_rng(seed)
    pack = Pack.of(random.integers(0, 12, 9))
    N = len(pack.tokens)
    sharp = {"sharp": 30.0, "hopeless": 8.0}.get(kind, 3.0)
    E, A, start, end = (random.normal(size=shape) * sharp for shape in ((N, K), (K, K), K, K))
    if kind == "ties":
        E, A, start, end = (np.round(x) for x in (E, A, start, end))
    if kind in ("forbidden", "dead ends", "hopeless"):
        A[random.random(A.shape) < 0.3] = -np.inf
        E[random.random(E.shape) < 0.2] = -np.inf
    if kind == "dead ends":
        A[0] = A[:, K - 1] = -np.inf
    if kind == "hopeless" and N:
        E[random.integers(0, N)] = -np.inf
    return Chain(pack, start, A.astype(dtype), end, E.astype(dtype))


@pytest.mark.parametrize("large", [200, 1])
@pytest.mark.parametrize("kind", KINDS)
@given(seed=st.integers(0, 10**9), K=st.integers(1, 9), dtype=st.sampled_from([np.float32, np.float64]))
def test_every_score_equals_that_of_the_plain_recursion(kind, large, seed, K, dtype):
    chain = random_chain(seed, kind, K, dtype)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pruning, "LARGE_TAG_SET", large)
        step = PrunedStep(chain.transitions)
    np.testing.assert_array_equal(forward(DenseMax(chain, step)), forward(DenseMax(chain)))
    pruned, plain = viterbi(DenseMax(chain, step)), viterbi(DenseMax(chain))
    np.testing.assert_array_equal(pruned, plain)


@pytest.mark.parametrize("model", [CRFTagger(max_iterations=20), HMMTagger(order=1)], ids=lambda model: model.kind)
def test_on_text_it_finds_the_same_and_looks_at_few_tags(model):
    model.fit(read_corpus(TRAIN))
    (_, lattice), *_ = model.lattices(read_corpus(TEST))
    chain, K = lattice.chain, len(model.classes_)
    plain = forward(DenseMax(chain))
    np.testing.assert_array_equal(forward(DenseMax(chain, lattice.step)), plain)
    below = plain.max(axis=1, keepdims=True) - plain
    left = below <= lattice.step.reach[plain.argmax(axis=1)]
    assert left.sum(axis=1).mean() < K / 4


def test_a_narrower_reach_would_lose_the_best_path():
    """The bound is used to its limit: with half of it, some score is wrong."""
    chain = random_chain(3, "plain", 6, np.float64)
    step = PrunedStep(chain.transitions)
    step.reach = step.reach / 2
    assert not np.array_equal(forward(DenseMax(chain, step)), forward(DenseMax(chain)))


def test_the_longest_way_through_float32_is_the_same_in_float64():
    chain = random_chain(5, "plain", 5, np.float32)
    exact = replace(chain, emissions=chain.emissions.astype(float), transitions=chain.transitions.astype(float))
    found = viterbi(DenseMax(chain, PrunedStep(chain.transitions)))
    np.testing.assert_array_equal(found, viterbi(DenseMax(exact)))
    np.testing.assert_allclose(path_scores(chain, found), path_scores(exact, found), rtol=1e-5)
