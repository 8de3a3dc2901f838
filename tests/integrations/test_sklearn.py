"""Taggers as estimators of scikit-learn: its tools run on them, and give the figures of our own."""

import sys
from itertools import pairwise

import numpy as np
import pytest
from paths import TRAIN
from program import run_process

from tagger import CRFTagger, HMMTagger, PooledTagger, read_corpus
from tagger.integrations.sklearn import accuracy, span_f1

sklearn = pytest.importorskip("sklearn")
base = pytest.importorskip("sklearn.base")
selection = pytest.importorskip("sklearn.model_selection")
pipeline = pytest.importorskip("sklearn.pipeline")
validation = pytest.importorskip("sklearn.utils.validation")

CORPUS = read_corpus(TRAIN)[:120]
X, Y = [list(s.words) for s in CORPUS], [list(s.tags) for s in CORPUS]
FAST = {"max_iterations": 3, "threads": 1, "candidates": "all"}


def fold_scores(tagger, cv=3):
    """Accuracy on each of `cv` contiguous folds, by hand."""
    scores, bounds = [], np.linspace(0, len(X), cv + 1).astype(int)
    for a, b in pairwise(bounds):
        model = base.clone(tagger).fit(X[:a] + X[b:], Y[:a] + Y[b:])
        predicted = model.predict(X[a:b])
        right = [p == g for ps, gs in zip(predicted, Y[a:b], strict=True) for p, g in zip(ps, gs, strict=True)]
        scores.append(np.mean(right))
    return scores


@pytest.mark.parametrize("tagger", [HMMTagger(), CRFTagger(**FAST)], ids=["hmm", "crf"])
def test_cross_validation(tagger):
    expected = fold_scores(tagger)
    assert selection.cross_val_score(tagger, X, Y, cv=3) == pytest.approx(expected)
    assert selection.cross_val_score(tagger, X, Y, cv=3, scoring=accuracy) == pytest.approx(expected)


def test_cross_validation_on_two_processes():
    scores = selection.cross_val_score(HMMTagger(), X, Y, cv=3, n_jobs=2)
    assert scores == pytest.approx(fold_scores(HMMTagger()))


def test_predictions_of_all_folds():
    predicted = selection.cross_val_predict(HMMTagger(), X, Y, cv=3)
    assert predicted.shape == (len(X),)
    assert [len(tags) for tags in predicted] == [len(words) for words in X]
    first = HMMTagger().fit(X[40:], Y[40:]).predict(X[:40])
    assert list(predicted[:40]) == first


def test_grid_search():
    search = selection.GridSearchCV(CRFTagger(**FAST), {"l2": [0.1, 100.0]}, cv=2, scoring=accuracy).fit(X, Y)
    assert search.best_params_ == {"l2": 0.1}
    assert search.best_estimator_.predict(X[:1])[0] == search.predict(X[:1])[0]
    assert search.score(X, Y) == pytest.approx(accuracy(search.best_estimator_, X, Y))


def test_learning_curve():
    sizes, train, test = selection.learning_curve(HMMTagger(), X, Y, cv=2, train_sizes=[0.2, 1.0])
    assert list(sizes) == [12, 60] and train.shape == test.shape == (2, 2)
    assert test[1].mean() > test[0].mean()


def test_pipeline():
    class Lower(base.TransformerMixin, base.BaseEstimator):
        def fit(self, X, y=None):
            return self

        def transform(self, X):
            return [[word.lower() for word in words] for words in X]

    steps = pipeline.Pipeline([("lower", Lower()), ("tag", HMMTagger())]).fit(X, Y)
    lower = Lower().transform(X)
    assert steps.predict(X) == HMMTagger().fit(lower, Y).predict(lower)
    assert "HMMTagger" in repr(steps) and "HMMTagger" in steps._repr_html_()
    assert base.clone(steps).set_params(tag__order=1).named_steps["tag"].order == 1


@pytest.mark.parametrize("tagger", [HMMTagger(order=1), CRFTagger(l2=0.5), PooledTagger()], ids=["hmm", "crf", "pool"])
def test_clone_keeps_the_settings_and_nothing_else(tagger):
    again = base.clone(tagger)
    assert type(again) is type(tagger) and again.get_params() == tagger.get_params() and repr(again) == repr(tagger)
    assert not again.__sklearn_is_fitted__()


def test_scikit_learn_knows_a_fitted_tagger():
    with pytest.raises(Exception, match="not fitted"):
        validation.check_is_fitted(HMMTagger())
    validation.check_is_fitted(HMMTagger().fit(X, Y))
    assert not base.is_classifier(HMMTagger()) and not base.is_regressor(HMMTagger())


def test_span_f1():
    spans = [["B-X", "I-X", "O"], ["O", "B-Y", "O"]] * 10
    words = [["New", "York", "is"], ["in", "Europe", "not"]] * 10
    model = HMMTagger().fit(words, spans)
    wrong = [["B-X", "O", "O"], ["O", "B-Y", "O"]] * 10
    assert span_f1(model, words, wrong) == pytest.approx(0.5)
    assert span_f1(model, words, spans) == 1.0


def test_dask_runs_the_folds():
    distributed = pytest.importorskip("distributed")
    joblib = pytest.importorskip("joblib")
    cluster = distributed.LocalCluster(n_workers=1, processes=False, dashboard_address=None)
    with cluster, distributed.Client(cluster), joblib.parallel_config(backend="dask"):
        scores = selection.cross_val_score(HMMTagger(), X, Y, cv=3)
    assert scores == pytest.approx(fold_scores(HMMTagger()))


def test_scikit_learn_is_not_imported_without_need(tmp_path):
    code = "import sys, tagger; m = tagger.HMMTagger(order=1); repr(m); m.get_params(); print('sklearn' in sys.modules)"
    assert run_process(tmp_path, "-c", code, command=[sys.executable]).out == "False\n"
