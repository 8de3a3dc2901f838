"""scikit-learn: scorers for `GridSearchCV`, `cross_val_score` and `learning_curve`.

scikit-learn's own metrics take one label per sample; a tagger has a label per word. All else that scikit-learn asks
for is part of every tagger (`tagger.models.estimator`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tagger.corpus.labels import tagged_sentences
from tagger.evaluation.spans import score_by
from tagger.models.predictor import Predictor


def accuracy(estimator: Predictor, X: Iterable[Any], y: Iterable[Any] | None = None) -> float:
    """Compute the share of words with the right tag: ``cross_val_score(tagger, X, y, scoring=accuracy)``.

    Parameters
    ----------
    estimator : fitted tagger
    X : iterable of Sentence or of word lists
    y : iterable of tag lists, optional
        The true tags; without them X holds tagged Sentences.

    Returns
    -------
    float
    """
    return score("accuracy", estimator, X, y)


def span_f1(estimator: Predictor, X: Iterable[Any], y: Iterable[Any] | None = None) -> float:
    """Compute F1 of the spans that tags such as `B-PER` mark, with the parameters of `accuracy`."""
    return score("span-f1", estimator, X, y)


def score(metric: str, estimator: Predictor, X: Iterable[Any], y: Iterable[Any] | None) -> float:
    """Compute a metric of a fitted tagger; 0.0 where it is not defined."""
    gold = tagged_sentences(X, y)
    return score_by(metric, gold, estimator.predict(gold)) or 0.0
