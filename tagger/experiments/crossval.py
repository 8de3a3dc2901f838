"""Many trainings on parts of a corpus: on all folds but one in turn, or on more and more of it.

Cross-validation judges every sentence by a model that has not seen it. Sentences with the same words are in the same
fold, whatever their tags, so that nothing is tested on what was learned by heart. Folds are dealt out by a hash of the
words: the order of the corpus does not matter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tagger.corpus.labels import tagged_sentences
from tagger.corpus.split import group_hash
from tagger.errors import TrainingError
from tagger.evaluation.metrics import accuracy, by_sentence
from tagger.evaluation.significance import Interval, interval
from tagger.models.base import Tagger
from tagger.sentence import Sentence
from tagger.tagging.workers import in_order


@dataclass(frozen=True)
class TaggerFactory:
    """Makes a tagger of a kind with settings; it travels to other processes."""

    kind: type[Tagger]
    settings: dict[str, Any]

    def __call__(self) -> Tagger:
        return self.kind(**self.settings)


@dataclass(frozen=True)
class Fold:
    """What a model said of the sentences it had not seen."""

    members: list[int]  # their places in the corpus
    tags: list[list[str]]
    sure: list[list[tuple[str, float]]]  # the most probable tag of each token, and how probable it is
    accuracy: float
    trained_on: int  # tokens


def fold_numbers(sentences: Sequence[Sentence], folds: int, seed: int) -> list[int]:
    """The fold of each sentence: groups of equal ones, by turns, in the order of their hashes."""
    groups = sorted({tuple(sentence.words) for sentence in sentences}, key=lambda words: group_hash(words, seed))
    if len(groups) < folds:
        raise TrainingError(f"{folds} folds need as many different sentences, got {len(groups)}")
    place = {words: i % folds for i, words in enumerate(groups)}
    return [place[tuple(sentence.words)] for sentence in sentences]


def cross_validate(
    make: TaggerFactory, sentences: Iterable[Any], folds: int, seed: int = 0, jobs: int = 1
) -> Iterator[Fold]:
    """The folds, one after the other."""
    sentences = tagged_sentences(sentences, None, ("sentences", "tags"))
    numbers = fold_numbers(sentences, folds, seed)
    blocks = ((([i for i, n in enumerate(numbers) if n == fold]), False) for fold in range(folds))
    return in_order(FoldTrainer(make, sentences), blocks, jobs)


@dataclass(frozen=True)
class FoldTrainer:
    """Starts what trains on all sentences but some, and judges by those."""

    make: TaggerFactory
    sentences: list[Sentence]

    def __call__(self) -> Callable[[list[int]], Fold]:
        return self.judge

    def judge(self, members: list[int]) -> Fold:
        held = set(members)
        own = [self.sentences[i] for i in members]
        others = [sentence for i, sentence in enumerate(self.sentences) if i not in held]
        model = self.make().fit(others)
        tags = model.predict(own)
        sure = [most_probable(model.classes_, P) for P in model.predict_marginals(own)]
        return Fold(members, tags, sure, accuracy(own, tags) or 0.0, sum(map(len, others)))


@dataclass(frozen=True)
class CurvePoint:
    """Of a learning curve."""

    tokens: int  # trained on
    accuracy: float  # on the dev set
    interval: Interval | None


def learning_curve(
    make: TaggerFactory, sentences: Iterable[Any], dev: Iterable[Any], points: int, jobs: int = 1
) -> Iterator[CurvePoint]:
    """For a part of the sentences, twice as many, …, all of them."""
    sentences, dev = (tagged_sentences(X, None, (name, "tags")) for X, name in ((sentences, "sentences"), (dev, "dev")))
    order = sorted(range(len(sentences)), key=lambda i: group_hash((str(i), *sentences[i].words), 0))
    sizes = [max(1, len(order) >> power) for power in range(points)][::-1]
    blocks = (([sentences[i] for i in order[:size]], False) for size in dict.fromkeys(sizes))
    return in_order(CurveTrainer(make, dev), blocks, jobs)


@dataclass(frozen=True)
class CurveTrainer:
    """Starts what trains on some sentences, and judges by the dev set."""

    make: TaggerFactory
    dev: list[Sentence]

    def __call__(self) -> Callable[[list[Sentence]], CurvePoint]:
        return self.judge

    def judge(self, sentences: list[Sentence]) -> CurvePoint:
        guesses = self.make().fit(sentences).predict(self.dev)
        rate = accuracy(self.dev, guesses) or 0.0
        return CurvePoint(sum(map(len, sentences)), rate, interval(*by_sentence(self.dev, guesses)))


def most_probable(classes: Sequence[str], P: np.ndarray) -> list[tuple[str, float]]:
    """Of each row of P (T, K)."""
    best = P.argmax(axis=1)
    return [(classes[k], min(1.0, float(row[k]))) for k, row in zip(best.tolist(), P, strict=True)]
