"""The loss against its definition, the gradient against differences, all ways of computing them against each other."""

import sys
from math import log
from pathlib import Path

import numpy as np
import oracle
import pytest
from feature_table import weight_table

from tagger.corpus.partial import Choices
from tagger.crf import objective as likelihood_module
from tagger.crf import score_tables as tables_module
from tagger.crf.objective import PenalizedLikelihood
from tagger.crf.parameters import EncodedCorpus, ParameterLayout
from tagger.experiments.fold_likelihood import FoldLikelihood
from tagger.features.encoder import learn_features
from tagger.features.tag_parts import TagParts
from tagger.features.template import describe, margin, parse_templates
from tagger.files.resources import useful_threads
from tagger.pooled.held_out import ParameterCounts
from tagger.words.windows import Windows

SENTENCES = [
    ("the dog barks .", "D N V ."),
    ("a dog", "D N"),
    ("dogs bark at the big dog", "N V P D J N"),
    ("Stop", "V"),
    ("the bark of the tree", "D N P D N"),
]
TEMPLATE = """
bias[0]
word[0]
suffix:1-2[0]
capital[0]
lower[-1]
lower[1]
suffix:1[-1] & suffix:1[0]
lower[-1] & lower[0]
lower[-1] & lower[0] & lower[1]
capital[0] & suffix:1[0]
"""
TAGS = sorted({tag for _, tags in SENTENCES for tag in tags.split()})
K = len(TAGS)


def encoded(order=1):
    templates = parse_templates(TEMPLATE)
    words = [text.split() for text, _ in SENTENCES]
    tags = np.array([TAGS.index(tag) for _, text in SENTENCES for tag in text.split()])
    windows = Windows.of(words, margin(templates))
    parts = TagParts(TAGS, None)
    features, counts, values = learn_features(templates, windows, tags, parts)
    corpus = EncodedCorpus(features, values, windows, np.array(list(map(len, words))), tags, Choices.none(K), K, parts)
    return corpus, ParameterLayout(corpus, counts, order=order)


def build(l2=0.3, threads=1, dtype=np.float64, folds=None, order=1):
    corpus, layout = encoded(order)
    return FoldLikelihood(corpus, layout, l2, threads, dtype, folds=folds)


def random_weights(size, scale=1.0):
    return np.random.default_rng(0).normal(size=size) * scale


def by_definition(loss, weights, l2):
    """-Σ log p + l2·‖w‖² from the features as text, summed over all paths."""
    features = encoded()[0].features
    w, start, transitions, end, *others = loss.layout.split(weights)
    assert not any(map(len, others))  # trigrams and the HMM's probability are of other chains
    total = l2 * (weights @ weights)
    table = weight_table(features, w)
    for text, tags in SENTENCES:
        words, gold = text.split(), [TAGS.index(tag) for tag in tags.split()]
        rows = describe(words, features.templates)
        emissions = [[sum(table.get((found, k), 0.0) for found in row) for k in range(K)] for row in rows]
        every = oracle.paths(start.tolist(), transitions.tolist(), end.tolist(), emissions)
        total += oracle.log_z(every) - oracle.score(start, transitions, end, emissions, gold)
    return total


@pytest.mark.parametrize("order", [0, 1])
def test_the_loss_is_what_the_definition_says(order):
    loss = build(order=order)
    weights = random_weights(loss.layout.size)
    assert loss(weights)[0] == pytest.approx(by_definition(loss, weights, 0.3), rel=1e-12)


def test_with_zero_weights_every_path_is_equally_likely():
    loss = build()
    tokens = sum(len(tags.split()) for _, tags in SENTENCES)
    assert loss(np.zeros(loss.layout.size))[0] == pytest.approx(tokens * log(K), rel=1e-12)


@pytest.mark.parametrize("narrow, order", [(0.0, 1), (0.25, 1), (10.0, 1), (0.25, 0)])
def test_the_gradient_of_every_parameter_equals_central_differences(monkeypatch, narrow, order):
    monkeypatch.setattr(tables_module, "NARROW", narrow)
    loss = build(order=order)
    assert (loss.layout.size > loss.layout.features_end) == (order > 0)
    assert (len(loss.narrow[0].params) > 0) == (narrow > 0.0)
    assert any(table.inner for table in loss.tables) == (narrow < 10.0)
    weights = random_weights(loss.layout.size)
    _, gradient = loss(weights)
    step = 1e-5
    for i in range(loss.layout.size):
        up, down = weights.copy(), weights.copy()
        up[i] += step
        down[i] -= step
        assert gradient[i] == pytest.approx((loss(up)[0] - loss(down)[0]) / (2 * step), abs=1e-7, rel=1e-7)


def test_cells_and_tables_agree(monkeypatch):
    results = []
    for narrow in (0.0, 10.0):
        monkeypatch.setattr(tables_module, "NARROW", narrow)
        loss = build()
        results.append(loss(random_weights(loss.layout.size)))
    assert results[0][0] == pytest.approx(results[1][0], rel=1e-13)
    np.testing.assert_allclose(results[0][1], results[1][1], atol=1e-12)


def one_by_one(lengths, tokens):
    return [np.array([i]) for i in range(len(lengths))]


@pytest.mark.usefixtures("threads_for_all")
def test_threads_change_no_bit(monkeypatch):
    monkeypatch.setattr(likelihood_module, "batches", one_by_one)
    assert build(threads=2).pool
    results = [build(threads=threads)(random_weights(build().layout.size)) for threads in (1, 2, 3)]
    for loss, gradient in results[1:]:
        assert loss == results[0][0]
        np.testing.assert_array_equal(gradient, results[0][1])


def test_a_small_corpus_has_one_thread():
    assert build(threads=2).pool is None
    assert useful_threads(8, tokens=100_000, tags=9) == 1 and useful_threads(8, tokens=100_000, tags=10) == 8


def test_float32_is_close_to_float64():
    weights = random_weights(build().layout.size)
    (a, da), (b, db) = build(dtype=np.float32)(weights), build()(weights)
    assert a == pytest.approx(b, rel=1e-5)
    np.testing.assert_allclose(da, db, atol=1e-5)


def test_packs_change_nothing(monkeypatch):
    whole = build()
    monkeypatch.setattr(likelihood_module, "batches", one_by_one)
    single = build()
    weights = random_weights(whole.layout.size)
    assert len(single.packs) == len(SENTENCES)
    assert whole(weights)[0] == pytest.approx(single(weights)[0], rel=1e-13)
    np.testing.assert_allclose(whole(weights)[1], single(weights)[1], atol=1e-12)


def test_counts_follow_the_layout_of_the_weights():
    corpus, layout = encoded()
    w, start, transitions, end, *_ = layout.split(layout.counts)
    assert transitions[TAGS.index("D"), TAGS.index("N")] == 4
    assert start[TAGS.index("D")] == 3 and end[TAGS.index("N")] == 3
    assert start.sum() == end.sum() == len(SENTENCES)
    table = weight_table(corpus.features, w)
    assert table[("lower[-1]=the", TAGS.index("N"))] == 3
    assert table[("lower[-1]=<before>", TAGS.index("D"))] == 3
    assert table[("lower[-1]=the & lower[0]=dog & lower[1]=barks", TAGS.index("N"))] == 1
    assert table[("lower[-1]=a & lower[0]=dog & lower[1]=<after>", TAGS.index("N"))] == 1


def test_parts_of_the_corpus_add_up_to_the_whole():
    """Without the penalty, the loss is the mean of the estimates from parts, weighted by their tokens."""
    weights = random_weights(build().layout.size)
    parts = [build(l2=0.0, folds=[np.array(chosen)]) for chosen in ([0, 3], [1, 2, 4])]
    loss, gradient = build(l2=0.0)(weights)
    assert sum(part(weights)[0] / part.scale for part in parts) == pytest.approx(loss, rel=1e-12)
    np.testing.assert_allclose(sum(part(weights)[1] / part.scale for part in parts), gradient, atol=1e-12)


def test_curvature_is_the_diagonal_of_the_second_derivative_for_single_tokens():
    """Without neighbours nothing but p · (1 - p) bends the loss."""
    corpus, layout = encoded()
    alone = PenalizedLikelihood(corpus, layout, 0.3, dtype=np.float64, groups=[np.array([3])])
    weights = random_weights(layout.size)
    found, step = alone.curvature(weights), 1e-4
    for i in range(layout.features_end):
        up, down = weights.copy(), weights.copy()
        up[i] += step
        down[i] -= step
        assert found[i] == pytest.approx((alone(up)[1][i] - alone(down)[1][i]) / (2 * step), abs=1e-6)


def test_a_fold_left_out_does_not_count():
    folds = [np.array([0, 3]), np.array([1]), np.array([2, 4])]
    whole, rest = build(folds=folds), build(folds=[np.array([0, 2, 3, 4])])
    weights = random_weights(whole.layout.size)
    loss, gradient = build()(weights)
    assert whole(weights)[0] == pytest.approx(loss, rel=1e-12)
    whole.leave_out(1)
    penalty = 0.3 * weights @ weights
    assert whole(weights)[0] - penalty == pytest.approx((rest(weights)[0] - penalty) / rest.scale, rel=1e-12)
    found = whole(weights)[1] - 0.6 * weights
    np.testing.assert_allclose(found, (rest(weights)[1] - 0.6 * weights) / rest.scale, atol=1e-12)
    whole.leave_out(None)
    np.testing.assert_allclose(whole(weights)[1], gradient, atol=1e-12)


def test_observed_counts_are_those_of_the_sentences_in_use():
    corpus, layout = encoded()
    parameters = ParameterCounts(corpus, layout)
    assert np.array_equal(parameters.of(np.arange(5)), layout.counts)
    parts = [parameters.of(fold) for fold in (np.array([0, 3]), np.array([1, 2, 4]))]
    assert np.array_equal(sum(parts), layout.counts) and (parts[0] != parts[1]).any()


def test_float32_is_close_to_float64_on_a_real_corpus():
    """The bounds that docs/explanation/training.md states."""
    sys.path.insert(0, str(Path(__file__).parent.parent / "scripts"))
    from precision import differences

    found = differences(Path(__file__).parent.parent / "data" / "chinese-test.txt", iterations=15)
    assert found.loss < 1e-5 and found.gradient < 1e-3 and found.marginals < 1e-4 and found.best == 0
