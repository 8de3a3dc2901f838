"""Cross-validation and learning curves.

Cross-validation tests every sentence with a model that has not seen it. Sentences with the same words are in the same
fold, whatever their tags, so that no test sentence occurs in training. A hash of the words assigns the folds: the order
of the corpus does not matter.

Sentences of one document share names and topics, so that a sentence is easier to tag after training on its neighbours.
Contiguous folds, each a stretch of the corpus, keep documents together and estimate the accuracy on new documents.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from tagger.corpus.labels import tagged_sentences
from tagger.corpus.split import group_hash
from tagger.errors import TrainingError
from tagger.escaping import Displayable
from tagger.evaluation.metrics import accuracy
from tagger.evaluation.significance import Interval, interval
from tagger.evaluation.spans import METRICS, score_by
from tagger.models.base import Tagger
from tagger.sentence import Sentence
from tagger.tagging.workers import Executor, processes

ONE_PROCESS = processes(1)


@dataclass(frozen=True)
class TaggerFactory:
    """A picklable function that makes untrained taggers of one class with given settings, and trains them."""

    kind: type[Tagger]
    settings: dict[str, Any]
    resources: dict[str, Any] = field(default_factory=dict)  # arguments of `fit`, such as word classes

    def __call__(self) -> Tagger:
        return self.kind(**self.settings)

    def fit(self, sentences: Sequence[Sentence]) -> Tagger:
        """Train a new tagger."""
        return self().fit(sentences, **self.resources)


@dataclass(frozen=True)
class Fold:
    """The predictions of a model for the sentences left out of its training."""

    members: list[int]  # indices of the sentences in the corpus
    tags: list[list[str]]
    most_probable: list[list[tuple[str, float]]]  # the most probable tag of each token and its probability
    accuracy: float


def fold_numbers(sentences: Sequence[Sentence], folds: int, seed: int, contiguous: bool = False) -> list[int]:
    """Assign a fold to each sentence: distinct sentences in the order of their hashes, in turn; or stretches."""
    groups = {tuple(sentence.words) for sentence in sentences}
    if len(groups) < folds:
        raise TrainingError(
            f"{folds} folds: expected at least as many different sentences, got {len(groups)}. Use fewer folds."
        )
    if contiguous:
        return [i * folds // len(sentences) for i in range(len(sentences))]
    hashed = sorted(groups, key=lambda words: group_hash(words, seed))
    fold_of = {words: i % folds for i, words in enumerate(hashed)}
    return [fold_of[tuple(sentence.words)] for sentence in sentences]


def cross_validate(
    make: TaggerFactory,
    sentences: Iterable[Any],
    folds: int,
    seed: int = 0,
    run: Executor = ONE_PROCESS,
    contiguous: bool = False,
) -> Iterator[Fold]:
    """Train on all folds but one, in turn, and yield each `Fold` as it completes; `run` shares out the work."""
    sentences = tagged_sentences(sentences, None, ("sentences", "tags"))
    numbers = fold_numbers(sentences, folds, seed, contiguous)
    blocks = ((([i for i, n in enumerate(numbers) if n == fold]), False) for fold in range(folds))
    return run(partial(partial, evaluate_fold, make, sentences), blocks)  # the inner one is a worker's function


def evaluate_fold(make: TaggerFactory, sentences: list[Sentence], members: list[int]) -> Fold:
    """Train on all sentences but the `members` of a fold, and predict the tags of those."""
    left_out = set(members)
    test = [sentences[i] for i in members]
    train = [sentence for i, sentence in enumerate(sentences) if i not in left_out]
    model = make.fit(train)
    tags = model.predict(test)
    probable = [most_probable(model.classes_, P) for P in model.predict_marginals(test)]
    return Fold(members, tags, probable, accuracy(test, tags) or 0.0)


@dataclass(frozen=True)
class CurvePoint:
    """A point of a learning curve."""

    tokens: int  # of the training sentences
    score: float  # accuracy, or another metric, on the dev set
    interval: Interval | None


class LearningCurve(list[CurvePoint], Displayable):
    """The points of a learning curve, smallest corpus first, and the metric of their scores."""

    def __init__(self, points: Iterable[CurvePoint], metric: str = "accuracy") -> None:
        super().__init__(points)
        self.metric = metric


def learning_curve(
    make: TaggerFactory,
    sentences: Iterable[Any],
    dev: Iterable[Any],
    points: int,
    run: Executor = ONE_PROCESS,
    contiguous: bool = False,
    metric: str = "accuracy",
) -> Iterator[CurvePoint]:
    """Train on growing parts of the sentences, each twice the one before, the last the whole corpus.

    A part is a sample of all sentences or, if `contiguous`, the beginning of the corpus.
    """
    sentences, dev = (tagged_sentences(X, None, (name, "tags")) for X, name in ((sentences, "sentences"), (dev, "dev")))
    order = list(range(len(sentences)))
    if not contiguous:
        order.sort(key=lambda i: group_hash((str(i), *sentences[i].words), 0))
    sizes = [max(1, len(order) >> power) for power in range(points)][::-1]
    blocks = (([sentences[i] for i in order[:size]], False) for size in dict.fromkeys(sizes))
    work = partial(curve_point, make, dev, metric)  # a worker's function
    return run(partial(partial, work), blocks)


def curve_point(make: TaggerFactory, dev: list[Sentence], metric: str, sentences: list[Sentence]) -> CurvePoint:
    """Train on sentences and measure the score on the dev set."""
    guesses = make.fit(sentences).predict(dev)
    score = score_by(metric, dev, guesses) or 0.0
    return CurvePoint(sum(map(len, sentences)), score, interval(*METRICS[metric](dev, guesses)))


def most_probable(classes: Sequence[str], P: np.ndarray) -> list[tuple[str, float]]:
    """Return the most probable tag of each token and its probability, from P (T, K)."""
    best = P.argmax(axis=1)
    return [(classes[k], min(1.0, float(row[k]))) for k, row in zip(best.tolist(), P, strict=True)]
