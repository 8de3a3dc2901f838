"""`tagger.integrations.crfsuite`: every argument, method and attribute of sklearn-crfsuite's documentation."""

import pickle
import random
from collections import Counter
from itertools import chain, pairwise

import numpy as np
import pytest

from tagger import CRFTagger, load_model
from tagger.crf import trainer
from tagger.errors import TaggerError, TrainingError
from tagger.integrations.crfsuite import CRF, metrics

pytest.importorskip("sklearn")
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, cross_val_score


def made(count, seed=0):
    """Sequences whose labels depend on a word, on a number and on the label before; many pairs never occur."""
    rng, X, y = random.Random(seed), [], []
    for _ in range(count):
        xseq, yseq = [], []
        for _ in range(rng.randint(1, 6)):
            word, size = rng.choice("abcdefgh"), rng.choice([-1.0, 0.5, 2.0])
            xseq.append({"word": word, "size": size, "big": size > 1, "bias": 1.0, "in": {"of": [word, "x"]}})
            label = "NUM" if size > 1 else "B" if word in "abc" else "C"
            yseq.append(label if rng.random() < 0.9 or not yseq else yseq[-1])
        X.append(xseq)
        y.append(yseq)
    return X, y


X, Y = made(60)


@pytest.fixture(scope="module")
def crf():
    return CRF(algorithm="lbfgs", c1=0.1, c2=0.1, max_iterations=100, all_possible_transitions=True).fit(X, Y)


def test_predictions(crf):
    labels = crf.predict(X)
    assert labels.dtype == object and labels.shape == (len(X),) and list(labels[0]) == crf.predict_single(X[0])
    assert crf.score(X, Y) == metrics.flat_accuracy_score(Y, labels) > 0.85
    P = crf.predict_marginals(X)
    assert P.shape == (len(X),) and list(P[0][0]) == crf.classes_ == list(dict.fromkeys(chain.from_iterable(Y)))
    assert sum(P[0][0].values()) == pytest.approx(1, abs=1e-5)
    assert crf.predict_marginals_single(X[0])[0] == pytest.approx(P[0][0], abs=1e-5)
    assert crf.predict([X[0][:2], X[1][:2]][:1]).shape == (1, len(X[0][:2]))  # arrays of equal lengths are tables


def test_attributes(crf):
    assert set(crf.attributes_) == {name for name, _ in crf.state_features_} and crf.num_attributes_ == len(
        crf.attributes_
    )
    assert {"bias", "size", "big", "word:a", "in:of:x"} & set(crf.attributes_)
    assert set(crf.transition_features_) <= {(a, b) for a in crf.classes_ for b in crf.classes_}
    assert crf.state_features_["big", "NUM"] > 0 > crf.state_features_.get(("big", "B"), -1)
    assert crf.size_ > 1000 and crf.tagger_.labels() == crf.classes_
    log = crf.training_log_
    assert log.last_iteration is log.iterations[-1] and log.last_iteration["num"] == len(log.iterations)
    assert log.iterations[0]["loss"] > log.last_iteration["loss"] > 0 and log.featgen_num_features > 0


def test_the_tagger_inside(crf):
    tagger = crf.tagger_
    assert tagger.tag(X[0]) == crf.predict_single(X[0])
    tagger.set(X[1])
    assert tagger.tag() == crf.predict_single(X[1])
    assert tagger.marginal("B", 0) == crf.predict_marginals_single(X[1])[0]["B"]
    (best, *_), *_ = crf.model.predict_nbest([X[1]], 1)
    assert tagger.probability(crf.predict_single(X[1])) == pytest.approx(best[0], rel=1e-5)
    for count in (0, len(X[1]) + 1):
        with pytest.raises(ValueError, match="yseq: expected"):
            tagger.probability(["B"] * count)
    info = tagger.info()
    assert info.labels.keys() == set(crf.classes_) and info.header["num_attrs"] == str(crf.num_attributes_)
    tagger.close()


def test_nothing_is_known_before_fit():
    new = CRF()
    assert new.tagger_ is new.classes_ is new.size_ is new.attributes_ is new.num_attributes_ is None
    assert new.state_features_ is new.transition_features_ is new.training_log_ is None
    with pytest.raises(TaggerError):
        new.predict(X)


def test_pickles_and_clones(crf):
    copy = pickle.loads(pickle.dumps(crf))
    assert copy.predict(X).tolist() == crf.predict(X).tolist() and copy.state_features_ == crf.state_features_
    assert CRF(c1=0.5).get_params()["c1"] == 0.5 and CRF().set_params(c2=3).c2 == 3
    with pytest.raises(ValueError, match="nonsense"):
        CRF().set_params(nonsense=1)


def test_scikit_learn_selects_settings():
    crf = CRF(c2=0.1, max_iterations=20)
    scores = cross_val_score(crf, X, Y, cv=3, n_jobs=2)
    assert len(scores) == 3 and min(scores) > 0.6
    labels = ["B", "C"]
    f1 = make_scorer(metrics.flat_f1_score, average="weighted", labels=labels)
    search = GridSearchCV(crf, {"c1": [0.1, 1.0]}, cv=2, scoring=f1).fit(X, Y)
    assert search.best_params_["c1"] in (0.1, 1.0) and search.best_estimator_.score(X, Y) > 0.7


@pytest.mark.parametrize("algorithm", ["l2sgd", "ap", "pa", "arow", "sgd"])
def test_other_algorithms_are_refused(algorithm):
    with pytest.raises(TrainingError, match="algorithm"):
        CRF(algorithm=algorithm).fit(X, Y)


def test_settings_of_the_optimiser_are_taken():
    settings = {"num_memories": 3, "epsilon": 1e-3, "linesearch": "Backtracking", "max_linesearch": 5}
    few = CRF(**settings, period=2, delta=0.1, keep_tempfiles=True, max_iterations=50).fit(X, Y)
    many = CRF(max_iterations=50).fit(X, Y)
    assert 2 < len(few.training_log_.iterations) < len(many.training_log_.iterations)
    assert len(CRF(max_iterations=3).fit(X, Y).training_log_.iterations) == 3
    with pytest.raises(TrainingError, match="linesearch"):
        CRF(linesearch="sideways").fit(X, Y)


@pytest.mark.parametrize("c1", [0.0, 0.1])
def test_iterations_on_samples_do_not_count(monkeypatch, c1):
    monkeypatch.setattr(trainer, "WARM_UP_TOKENS", 5)
    crf = CRF(c1=c1, max_iterations=55, delta=0.0).fit(X, Y)
    assert len(crf.training_log_.iterations) == crf.model.summary_["iterations"]
    # After iterations on samples the first loss is lower than after one step from zero; with c1 there are none.
    one_step = CRF(c1=c1, max_iterations=1).fit(X, Y).training_log_.last_iteration["loss"]
    first = crf.training_log_.iterations[0]["loss"]
    assert first < one_step if c1 == 0 else first == one_step


def test_parameters_are_chosen_as_asked():
    pairs = [pair for xs, ys in zip(X, Y, strict=True) for pair in zip(xs, ys, strict=True)]
    sums = {label: sum(x["size"] for x, own in pairs if own == label) for label in ("B", "C", "NUM")}
    words = Counter((f"word:{x['word']}", label) for x, label in pairs)
    steps = Counter(chain.from_iterable(map(pairwise, Y)))
    few, many = CRF().fit(X, Y), CRF(all_possible_states=True, all_possible_transitions=True).fit(X, Y)
    # There are no weights for the ends of sequences, and a feature whose values add up to less than zero has none.
    assert not few.model.start_.any() and not few.model.end_.any()
    assert {label for name, label in few.state_features_ if name == "size"} == {k for k, v in sums.items() if v >= 0}
    names = {"bias", "size", "big", "in:of:x"} | {f"{a}:{word}" for a in ("word", "in:of") for word in "abcdefgh"}
    sizes = [crf.training_log_.featgen_num_features for crf in (few, many)]
    assert sizes[0] < sizes[1] == 3 * len(names) + 9 - sum(value < 0 for value in sums.values())
    assert ("word:a", "C") not in words and ("word:a", "C") in many.state_features_.keys() - few.state_features_.keys()
    rare = CRF(min_freq=10).fit(X, Y)
    kept = {pair for pair, count in words.items() if count >= 10}
    assert {pair for pair in rare.state_features_ if pair[0].startswith("word:")} == kept
    assert set(rare.transition_features_) == {pair for pair, count in steps.items() if count >= 10}
    assert len(kept) < len(words) and len(rare.transition_features_) < len(steps)


def test_held_out_data_is_scored():
    crf = CRF(max_iterations=20).fit(X[:40], Y[:40], X_dev=X[40:], y_dev=Y[40:])
    last = crf.training_log_.last_iteration
    assert last["item_accuracy_float"] == pytest.approx(crf.score(X[40:], Y[40:]))
    assert last["instance_accuracy_float"] == metrics.sequence_accuracy_score(Y[40:], crf.predict(X[40:]))
    assert last["avg_f1"] == pytest.approx(metrics.flat_f1_score(Y[40:], crf.predict(X[40:]), average="macro"))
    assert last["scores"]["B"].ref == sum(label == "B" for yseq in Y[40:] for label in yseq)
    with pytest.raises(ValueError, match="X_dev"):
        CRF().fit(X, Y, X_dev=X)


def test_verbose_prints_and_a_trainer_class_hears_instead(capsys):
    crf = CRF(max_iterations=4, verbose=True).fit(X, Y)
    lines, loss = capsys.readouterr().out.splitlines(), crf.training_log_.iterations[0]["loss"]
    assert len(lines) == 5 and lines[0].startswith("Iter 1") and f"{loss:.2f}" in lines[0]
    heard = []

    class Listener:
        def __init__(self, algorithm, params, verbose):
            assert params["max_iterations"] == 4 and verbose

        def on_iteration(self, log, info):
            heard.append(info["loss"])

        def on_optimization_end(self, log):
            heard.append(log)

    CRF(max_iterations=4, verbose=True, trainer_cls=Listener).fit(X, Y)
    assert len(heard) == 5 and not capsys.readouterr().out


def test_a_model_file_is_written_and_read(tmp_path):
    path = str(tmp_path / "model.npz")
    crf = CRF(max_iterations=20, model_filename=path).fit(X, Y)
    other = CRF(model_filename=path)
    assert other.predict(X).tolist() == crf.predict(X).tolist() and sorted(other.classes_) == sorted(crf.classes_)
    assert isinstance(load_model(path), CRFTagger)
    assert CRF(model_filename=str(tmp_path / "none.npz")).classes_ is None


def test_sequences_may_be_arrays_and_lists_of_strings():
    strings = [[[f"word={x['word']}", "bias"] for x in xseq] for xseq in X]
    crf = CRF(max_iterations=20).fit(np.array([*strings, []], dtype=object)[:-1], Y)
    assert crf.score(strings, Y) > 0.4
    assert crf.predict([[], strings[0]])[0] == []
    with pytest.raises(TypeError, match="dict"):
        crf.predict([["a", "word"]])


def test_metrics_are_those_of_scikit_learn():
    gold, guess = [["A", "B"], ["A"], ["B", "B"]], [["A", "A"], ["A"], ["B", "B"]]
    assert metrics.flat_accuracy_score(gold, guess) == 0.8
    assert metrics.flat_precision_score(gold, guess, average="binary", pos_label="A") == pytest.approx(2 / 3)
    assert metrics.flat_recall_score(gold, guess, average="binary", pos_label="A") == 1
    assert metrics.flat_f1_score(gold, guess, average="binary", pos_label="A") == pytest.approx(0.8)
    assert metrics.flat_fbeta_score(gold, guess, beta=2, average="binary", pos_label="A") == pytest.approx(10 / 11)
    assert "precision" in metrics.flat_classification_report(gold, guess, labels=["A", "B"], digits=3)
    assert metrics.sequence_accuracy_score(gold, guess) == pytest.approx(2 / 3)
    assert metrics.sequence_accuracy_score([], []) == 0


@pytest.mark.parametrize(
    "name, value",
    [
        *(("c1", -1), ("c2", float("nan")), ("c2", "1"), ("max_iterations", -1), ("max_iterations", 2.5)),
        *(("period", -1), ("period", 0.5), ("delta", float("nan")), ("delta", -1e-3)),
    ],
)
def test_a_setting_out_of_range_is_named_as_it_was_given(name, value):
    with pytest.raises(TrainingError, match=rf"^{name}: expected a (whole )?number from 0 up, got "):
        CRF(**{name: value}).fit([[{"a": 1.0}]], [["A"]])


def test_zero_and_floats_mean_what_they_mean_in_crfsuite():
    """No iterations are no limit, no period is no rule when to stop, and whole numbers may be floats."""
    X, y = [[{"a": "x"}, {"a": "y"}]] * 3, [["A", "B"]] * 3
    unlimited = CRF(max_iterations=0).fit(X, y).training_log_.iterations
    assert 1 < len(unlimited) < 100
    assert len(CRF(max_iterations=2.0).fit(X, y).training_log_.iterations) == 2
    at_once = CRF(period=1, delta=10.0, max_iterations=9).fit(X, y).training_log_.iterations
    never = CRF(period=0, delta=10.0, max_iterations=3).fit(X, y).training_log_.iterations
    assert (len(at_once), len(never)) == (2, 3)


@pytest.mark.parametrize(
    "setting", [{"min_freq": "x"}, {"min_freq": float("nan")}, {"all_possible_states": "no"}], ids=repr
)
def test_settings_that_mean_nothing_are_named(setting):
    with pytest.raises(TrainingError, match=f"^{next(iter(setting))}: expected "):
        CRF(**setting).fit([[{"a": 1}]], [["A"]])
