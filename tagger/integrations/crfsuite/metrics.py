"""The functions of `sklearn_crfsuite.metrics`: scores of lists of label sequences, computed by scikit-learn.

Labels of all sequences are one list for scikit-learn, which is imported when a function is called.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

Sequences = Sequence[Sequence[str]]


def flat_accuracy_score(y_true: Sequences, y_pred: Sequences) -> float:
    """Compute the share of labels that are right."""
    return flat("accuracy_score", y_true, y_pred)


def flat_precision_score(y_true: Sequences, y_pred: Sequences, **options: Any) -> Any:
    """Compute the precision of labels; `options` are those of scikit-learn's `precision_score`."""
    return flat("precision_score", y_true, y_pred, **options)


def flat_recall_score(y_true: Sequences, y_pred: Sequences, **options: Any) -> Any:
    """Compute the recall of labels; `options` are those of scikit-learn's `recall_score`."""
    return flat("recall_score", y_true, y_pred, **options)


def flat_f1_score(y_true: Sequences, y_pred: Sequences, **options: Any) -> Any:
    """Compute F1 of labels; `options` are those of scikit-learn's `f1_score`."""
    return flat("f1_score", y_true, y_pred, **options)


def flat_fbeta_score(y_true: Sequences, y_pred: Sequences, beta: float, **options: Any) -> Any:
    """Compute F-beta of labels; `options` are those of scikit-learn's `fbeta_score`."""
    return flat("fbeta_score", y_true, y_pred, beta=beta, **options)


def flat_classification_report(y_true: Sequences, y_pred: Sequences, labels: Any = None, **options: Any) -> Any:
    """Make a table of precision, recall and F1 of each label; `options` are those of scikit-learn's function."""
    return flat("classification_report", y_true, y_pred, labels=labels, **options)


def sequence_accuracy_score(y_true: Sequences, y_pred: Sequences) -> float:
    """Compute the share of sequences whose labels are all right."""
    right = [list(gold) == list(guess) for gold, guess in zip(y_true, y_pred, strict=True)]
    return sum(right) / len(right) if right else 0


def flat(name: str, y_true: Sequences, y_pred: Sequences, **options: Any) -> Any:
    """Call a function of `sklearn.metrics` with the labels of all sequences as two lists."""
    try:
        from sklearn import metrics
    except ImportError:
        raise ImportError("metrics need scikit-learn: pip install scikit-learn") from None
    return getattr(metrics, name)(list(chain.from_iterable(y_true)), list(chain.from_iterable(y_pred)), **options)
