"""Precision, recall and F1 of spans: a span is right if its type and both of its borders are.

The spans of gold and predicted tags are read by the rules of conlleval, also where tags break the rules of their scheme
(`schemes.find_spans`); seqeval's default mode gives the same figures. Over all spans, and for each type,

    precision = right / predicted        recall = right / gold        F1 = 2 · right / (gold + predicted)

The micro average counts all spans alike, the macro average all types.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from tagger.corpus.span_schemes import Span, find_spans
from tagger.errors import TrainingError
from tagger.evaluation.metrics import (
    Macro,
    Rate,
    TagScore,
    aligned,
    by_sentence,
    macro_average,
    pairs,
    rate,
    score_counts,
    triples,
)
from tagger.evaluation.significance import Interval, Ratio, interval, paired_interval, paired_p_value
from tagger.sentence import Sentence


@dataclass(frozen=True)
class SpanEvaluation:
    """The metrics of predicted spans."""

    gold: int  # spans
    predicted: int
    right: int
    precision: Rate  # over all spans, as are recall and F1
    recall: Rate
    f1: Rate
    f1_interval: Interval | None  # 95 %, resampled by sentence
    macro: Macro
    types: list[TagScore]  # by type of span; `tag` is the type, `support` its number of gold spans


@dataclass(frozen=True)
class SpanCounts:
    """The spans of each of B sentences."""

    right: np.ndarray  # (B,)
    gold: np.ndarray  # (B,)
    predicted: np.ndarray  # (B,)

    @property
    def f1_terms(self) -> Ratio:
        """The numerator 2 · right (B,) and the denominator gold + predicted (B,) of F1; both are summed first."""
        return 2 * self.right, self.gold + self.predicted


SpanPair = tuple[set[Span], set[Span]]  # of a sentence, gold and predicted


def span_pairs(gold: Sequence[Sentence], guesses: Sequence[Sequence[str]], scheme: str | None = None) -> list[SpanPair]:
    """Find the gold and predicted spans of each sentence."""
    find_spans((), scheme)  # which refuses an unknown scheme
    found = []
    for sentence, tags in pairs(gold, guesses):
        rows = list(triples(sentence, tags))
        found.append((set(find_spans([a for _, a, _ in rows], scheme)), set(find_spans([b for *_, b in rows], scheme))))
    return found


def count_spans(found: Sequence[SpanPair]) -> SpanCounts:
    """Count the spans of each sentence."""
    counts = np.array([[len(a & b), len(a), len(b)] for a, b in found], np.int64).reshape(-1, 3)
    return SpanCounts(*counts.T)


def evaluate_spans(gold: Iterable[Any], guesses: Iterable[Any], scheme: str | None = None) -> SpanEvaluation:
    """Compare the spans of tagged sentences with those of predicted tags.

    Parameters
    ----------
    gold : iterable of Sentence
        Sentences with their gold tags.
    guesses : iterable of lists of str
        The predicted tags of each sentence, as `predict` returns them.
    scheme : str, optional
        Count only spans that this scheme allows, on both sides (seqeval's strict mode); without it spans are those of
        conlleval.

    Returns
    -------
    SpanEvaluation

    Raises
    ------
    ValueError
        If sentences and tags differ in number or length, or a gold sentence has no tags.

    Examples
    --------
    >>> from tagger import Sentence, evaluate_spans
    >>> gold = [Sentence(["Ada", "Lovelace", "wrote"], ["B-PER", "I-PER", "O"])]
    >>> evaluate_spans(gold, [["B-PER", "O", "O"]]).f1
    0.0
    """
    found = span_pairs(*aligned(gold, guesses), scheme)
    counts = count_spans(found)
    sides = ([a & b for a, b in found], [a for a, _ in found], [b for _, b in found])  # right, gold, predicted
    scores = score_counts(*(Counter(span.type for spans in side for span in spans) for side in sides))
    right, gold_spans, predicted = (int(array.sum()) for array in (counts.right, counts.gold, counts.predicted))
    return SpanEvaluation(
        gold=gold_spans,
        predicted=predicted,
        right=right,
        precision=rate(right, predicted),
        recall=rate(right, gold_spans),
        f1=rate(2 * right, gold_spans + predicted),
        f1_interval=interval(*counts.f1_terms),
        macro=macro_average(scores),
        types=scores,
    )


def span_terms(gold: Sequence[Sentence], guesses: Sequence[Sequence[str]]) -> Ratio:
    """Return the numerators and denominators of F1 (B,), by sentence."""
    return count_spans(span_pairs(gold, guesses)).f1_terms


@dataclass(frozen=True)
class SpanComparison:
    """The difference in span F1 between two taggers."""

    f1: Rate  # of the second
    difference: Rate  # F1 of the first minus that of the second
    interval: Interval | None  # of the difference, 95 %
    p_value: float


def compare_spans(gold: Iterable[Any], first: Iterable[Any], second: Iterable[Any]) -> SpanComparison:
    """Compare the span F1 of two sets of predicted tags for the same sentences."""
    sentences, tags = aligned(gold, first)
    a, b = (span_terms(sentences, guesses) for guesses in (tags, aligned(sentences, second)[1]))
    of_first, of_second = (rate(int(values.sum()), int(totals.sum())) for values, totals in (a, b))
    difference = None if of_first is None or of_second is None else of_first - of_second
    return SpanComparison(of_second, difference, paired_interval(a, b), paired_p_value(a, b))


METRICS: dict[str, Callable[[Sequence[Sentence], Sequence[Sequence[str]]], Ratio]] = {
    "accuracy": by_sentence,
    "span-f1": span_terms,
}  # what dev sets and experiments can go by: of each sentence (B,), what is summed above and below the line


def score_by(metric: str, gold: Iterable[Any], guesses: Iterable[Any]) -> Rate:
    """Compute one of the METRICS."""
    if metric not in METRICS:
        raise ValueError(f"metric: expected {' or '.join(METRICS)}, got {metric!r}.")
    values, totals = METRICS[metric](*aligned(gold, guesses))
    return rate(int(values.sum()), int(totals.sum()))


def check_metric(metric: str, scheme: str | None) -> None:
    """Refuse an unknown metric, and span F1 for tags that mark no spans."""
    possible = [name for name in METRICS if scheme or name == "accuracy"]
    if metric not in possible:
        tags = "" if scheme else " for tags without a span scheme"
        raise TrainingError(f"metric: expected {' or '.join(possible)}{tags}, got {metric}")


def as_json(scores: SpanEvaluation) -> dict[str, Any]:
    """Convert an evaluation of spans to JSON values; rates are fractions, undefined ones null."""
    values = asdict(scores)
    values["types"] = {row.pop("tag"): row for row in values["types"]}
    return values
