"""Our `CRF` against the real one: the same parameters, the same loss, the same weights, the same labels."""

import random

import numpy as np
import pytest

from tagger.features.token_values import ObservedSentence, read_items
from tagger.integrations.crfsuite import CRF, metrics

sklearn_crfsuite = pytest.importorskip("sklearn_crfsuite")
pycrfsuite = pytest.importorskip("pycrfsuite")


def made(count, seed):
    rng, X, y = random.Random(seed), [], []
    for _ in range(count):
        xseq, yseq, before = [], [], "A"
        for _ in range(rng.randint(1, 7)):
            word = rng.choice("abcdefgh")
            xseq.append(
                {
                    "w": word,
                    "up": rng.random() < 0.3,
                    "is_a": word == "a",  # a weight for each label, as for each label seen with False
                    "never": False,
                    "bias": 1.0,
                    "num": rng.gauss(0, 1),
                    "l": [f"p{word}", "q", "q"],
                    "n": {"z": word, "k": 2, "s": {"one"}},
                }
            )
            label = rng.choice("AB") if rng.random() < 0.1 else "A" if word in "abc" else "C" if before == "B" else "B"
            yseq.append(label)
            before = label
        X.append(xseq)
        y.append(yseq)
    return X, y


X, Y = made(150, 0)
NEW, _ = made(40, 1)
SETTINGS = [
    {},
    {"c2": 0.3},
    {"c1": 0.5, "c2": 0.1},
    {"all_possible_states": True},
    {"all_possible_transitions": True, "c2": 0.5},
    {"min_freq": 12},
    {"min_freq": 12, "all_possible_states": True, "all_possible_transitions": True},
]


def gap(ours, theirs):
    return max(abs(ours.get(key, 0.0) - theirs.get(key, 0.0)) for key in ours.keys() | theirs.keys())


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_both_have_one_optimum(settings):
    stop = {"delta": 1e-7, "max_iterations": 400}
    theirs = sklearn_crfsuite.CRF(algorithm="lbfgs", **settings, **stop, epsilon=1e-7).fit(X, Y)
    ours = CRF(algorithm="lbfgs", **settings, **stop).fit(X, Y)
    assert ours.training_log_.featgen_num_features == theirs.training_log_.featgen_num_features
    loss = theirs.training_log_.last_iteration["loss"]
    assert ours.training_log_.last_iteration["loss"] == pytest.approx(loss, rel=3e-5)
    flat = 0.2 if settings.get("c1") else 0.03  # weights of features that always occur together are exchangeable
    assert gap(ours.state_features_, theirs.state_features_) < flat
    assert gap(ours.transition_features_, theirs.transition_features_) < 0.03
    if not settings.get("c1"):
        assert set(ours.attributes_) == set(theirs.attributes_) and ours.num_attributes_ == theirs.num_attributes_
        assert ours.state_features_.keys() == theirs.state_features_.keys()
        assert ours.transition_features_.keys() == theirs.transition_features_.keys()
    assert ours.classes_ == theirs.classes_ == ours.tagger_.labels()
    assert ours.predict(NEW).tolist() == theirs.predict(NEW).tolist()
    for mine, real in zip(ours.predict_marginals(NEW), theirs.predict_marginals(NEW), strict=True):
        for a, b in zip(mine, real, strict=True):
            assert list(a) == list(b) and a == pytest.approx(b, abs=5e-3)
    assert ours.score(X, Y) == theirs.score(X, Y)
    ours.tagger_.set(NEW[0])
    theirs.tagger_.set(NEW[0])
    labels = ours.predict_single(NEW[0])
    assert ours.tagger_.probability(labels) == pytest.approx(theirs.tagger_.probability(labels), abs=5e-3)


def test_held_out_scores_have_the_same_names():
    names = set()
    for crf in (sklearn_crfsuite.CRF(max_iterations=200), CRF(max_iterations=200)):
        last = crf.fit(X[:100], Y[:100], X_dev=X[100:], y_dev=Y[100:]).training_log_.last_iteration
        names |= {(name, round(float(last[name]), 2)) for name in last if "accuracy" in name or "avg" in name}
    assert len(names) == 7


def test_signatures_are_the_same():
    assert list(CRF().get_params()) and set(CRF().get_params()) == set(sklearn_crfsuite.CRF().get_params())
    assert CRF().get_params() == sklearn_crfsuite.CRF().get_params()
    public = {name for name in dir(sklearn_crfsuite.CRF) if not name.startswith("_")}
    ours = {name for name in dir(CRF) if not name.startswith("_")}
    assert public - ours <= {"get_metadata_routing", "set_fit_request"}  # of scikit-learn
    functions = {name for name in dir(sklearn_crfsuite.metrics) if name.startswith(("flat_", "sequence_"))}
    assert functions and functions <= set(dir(metrics))


@pytest.mark.parametrize(
    "item",
    [
        {"a": "b", "c": 2.5, "d": True, "e": False, "f": 3},
        {"a": ["x", "y"], "b": {"c": "d", "e": {"f": 0.5}}, "g": {"only"}, "h": []},
        ["x", "y", "z"],
        {"a:b": 1, "ä": "ö", "": "", "np": np.float64(0.25), "nb": np.bool_(True), b"bytes": b"value"},
        {},
    ],
)
def test_dicts_are_read_as_python_crfsuite_reads_them(item):
    (expected,) = pycrfsuite.ItemSequence([item]).items()
    named = read_items([ObservedSentence(["w"], {"attributes:x": [item]})], "attributes:x")
    _, numbers, values = named.pairs(np.array([0]))
    found = {named.names[number]: float(value) for number, value in zip(numbers, values, strict=True)}
    assert found == {name: value for name, value in expected.items() if value}


def test_an_item_sequence_is_a_sequence():
    crf = CRF(max_iterations=10).fit([pycrfsuite.ItemSequence(xseq) for xseq in X], Y)
    assert crf.predict_single(pycrfsuite.ItemSequence(NEW[0])) == crf.predict_single(NEW[0])
