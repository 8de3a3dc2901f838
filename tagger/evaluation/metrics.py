"""Accuracy and other metrics: gold tags against predicted tags, for dev sets in training and for `eval` alike.

Rates are fractions from 0 to 1, and None where there is nothing to divide by. A gold tag that the model has never seen
counts as an error like any other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tagger.corpus.labels import tagged_sentences
from tagger.errors import several
from tagger.escaping import Displayable
from tagger.evaluation.score_table import ScoreTable
from tagger.evaluation.significance import Interval, interval, p_value
from tagger.sentence import Sentence, tag_lists
from tagger.words.lexicon import Lexicon

Rate = float | None


def rate(count: int, total: int | None) -> Rate:
    """Divide, with None if the total is 0 or None."""
    return count / total if total else None


@dataclass(frozen=True)
class TagScore:
    """Precision, recall and F1 of one tag; `support` is its number of gold tokens."""

    tag: str
    precision: Rate
    recall: Rate
    f1: Rate
    support: int


@dataclass(frozen=True)
class Confusion:
    """A confusion of two tags: its count, and its first example as (sentence, token), counted from 0."""

    gold: str
    guess: str
    count: int
    example: tuple[int, int]


@dataclass(frozen=True)
class Macro:
    """Macro averages over all tags of gold or guess; undefined values count as 0."""

    precision: Rate
    recall: Rate
    f1: Rate


@dataclass(frozen=True)
class Evaluation(ScoreTable, Displayable):
    """The metrics of predicted tags; those of known and unknown words are None without a lexicon."""

    tokens: int
    sentences: int
    accuracy: Rate
    accuracy_interval: Interval | None  # 95 %, resampled by sentence
    known_accuracy: Rate
    unknown_accuracy: Rate
    ambiguous_accuracy: Rate  # of words seen with several tags in training
    known_tokens: int | None
    unknown_tokens: int | None
    ambiguous_tokens: int | None
    sentence_accuracy: Rate
    macro: Macro
    kappa: Rate  # Cohen's (1960): agreement beyond chance, as a share of the most possible
    tags: list[TagScore]
    unseen_tags: list[str]  # in gold, but not in the model's tag set
    confusions: list[Confusion]
    not_considered: int | None = None  # tokens whose gold tag was no candidate; None if that was not counted


def accuracy(gold: Iterable[Any], guesses: Iterable[Any]) -> Rate:
    """Compute the share of tokens with the correct tag."""
    right, lengths = by_sentence(*aligned(gold, guesses))
    return rate(int(right.sum()), int(lengths.sum()))


def aligned(gold: Iterable[Any], guesses: Iterable[Any]) -> tuple[list[Sentence], list[Sequence[str]]]:
    """List tagged sentences and predicted tags, which come in any containers, one list of tags per sentence."""
    sentences, tags = tagged_sentences(gold, None, ("gold", "gold tags")), tag_lists(guesses, "guesses")
    if len(sentences) != len(tags):
        raise ValueError(f"guesses: expected the tags of {several(len(sentences), 'sentence')}, got {len(tags):,}")
    return sentences, tags


def by_sentence(gold: Sequence[Sentence], guesses: Sequence[Sequence[str]]) -> tuple[np.ndarray, np.ndarray]:
    """Count the correct tags (B,) and the tokens (B,) of each sentence."""
    right = [sum(a == b for _, a, b in triples(sentence, tags)) for sentence, tags in pairs(gold, guesses)]
    return np.array(right, np.int64), np.array([len(sentence) for sentence in gold], np.int64)


def evaluate(
    gold: Iterable[Any],
    guesses: Iterable[Any],
    lexicon: Lexicon | None = None,
    classes: Sequence[str] | None = None,
) -> Evaluation:
    """Compare tagged sentences with predicted tags.

    Parameters
    ----------
    gold : iterable of Sentence
        Sentences with their gold tags.
    guesses : iterable of lists of str
        The predicted tags of each sentence, as `predict` returns them.
    lexicon : Lexicon, optional
        The words of the training corpus, `lexicon_` of a tagger. Without it, metrics of known and unknown words are
        None.
    classes : sequence of str, optional
        The tag set of the tagger, `classes_`, for `unseen_tags`.

    Returns
    -------
    Evaluation

    Raises
    ------
    ValueError
        If sentences and tags differ in number or length, or a gold sentence has no tags.

    Examples
    --------
    >>> from tagger import Sentence, evaluate
    >>> evaluate([Sentence(["Time", "flies"], ["NN", "VBZ"])], [["NN", "NNS"]]).accuracy
    0.5
    """
    gold, guesses = aligned(gold, guesses)
    cells: Counter[tuple[str, str]] = Counter()  # (gold, guess)
    examples: dict[tuple[str, str], tuple[int, int]] = {}
    by_word: Counter[tuple[str, bool]] = Counter()  # (word, right)
    for number, (sentence, tags) in enumerate(pairs(gold, guesses)):
        for place, (word, a, b) in enumerate(triples(sentence, tags)):
            cells[a, b] += 1
            by_word[word, a == b] += 1
            examples.setdefault((a, b), (number, place))
    right, lengths = by_sentence(gold, guesses)
    tokens, sentences = int(lengths.sum()), int((lengths > 0).sum())
    known, unknown, ambiguous = word_groups(by_word, lexicon) if lexicon else [(0, None)] * 3
    scores = tag_scores(cells)
    return Evaluation(
        tokens=tokens,
        sentences=sentences,
        accuracy=rate(int(right.sum()), tokens),
        accuracy_interval=interval(right, lengths),
        known_accuracy=rate(*known),
        unknown_accuracy=rate(*unknown),
        ambiguous_accuracy=rate(*ambiguous),
        known_tokens=known[1],
        unknown_tokens=unknown[1],
        ambiguous_tokens=ambiguous[1],
        sentence_accuracy=rate(int(((right == lengths) & (lengths > 0)).sum()), sentences),
        macro=macro_average(scores),
        kappa=kappa(cells),
        tags=scores,
        unseen_tags=sorted({a for a, _ in cells} - set(classes)) if classes is not None else [],
        confusions=[
            Confusion(a, b, count, examples[a, b])
            for (a, b), count in sorted(cells.items(), key=lambda cell: (-cell[1], cell[0]))
            if a != b
        ],
    )


def mean(values: Sequence[float]) -> Rate:
    """Compute the mean, None of no values."""
    return sum(values) / len(values) if values else None


@dataclass(frozen=True)
class Comparison:
    """The difference in accuracy between two taggers."""

    accuracy: Rate  # of the second
    difference: Rate  # accuracy of the first minus that of the second
    interval: Interval | None  # of the difference, 95 %
    p_value: float


def compare(gold: Iterable[Any], first: Iterable[Any], second: Iterable[Any]) -> Comparison:
    """Compare two sets of predicted tags for the same sentences."""
    sentences, tags = aligned(gold, first)
    (a, lengths), (b, _) = by_sentence(sentences, tags), by_sentence(*aligned(sentences, second))
    tokens = int(lengths.sum())
    difference = rate(int((a - b).sum()), tokens)
    return Comparison(rate(int(b.sum()), tokens), difference, interval(a - b, lengths), p_value(a - b))


def marginal_counts(cells: Counter[tuple[str, str]]) -> tuple[Counter[str], Counter[str]]:
    """Count each tag in gold and in guess."""
    gold: Counter[str] = Counter()
    guess: Counter[str] = Counter()
    for (a, b), count in cells.items():
        gold[a] += count
        guess[b] += count
    return gold, guess


def tag_scores(cells: Counter[tuple[str, str]]) -> list[TagScore]:
    """Score every tag of gold or guess, most frequent first."""
    right = Counter({tag: count for (tag, guess), count in cells.items() if tag == guess})
    return score_counts(right, *marginal_counts(cells))


def score_counts(right: Counter[str], gold: Counter[str], guess: Counter[str]) -> list[TagScore]:
    """Compute precision, recall and F1 of everything counted, most frequent first.

    F1 = 2 · right / (gold + guess), the harmonic mean of precision and recall
    """
    return [
        TagScore(
            tag,
            rate(right[tag], guess[tag]),
            rate(right[tag], gold[tag]),
            rate(2 * right[tag], gold[tag] + guess[tag]),
            gold[tag],
        )
        for tag in sorted(gold.keys() | guess.keys(), key=lambda tag: (-gold[tag], tag))
    ]


def macro_average(scores: Sequence[TagScore]) -> Macro:
    """Average scores; undefined ones count as 0."""
    return Macro(*(mean([getattr(row, name) or 0.0 for row in scores]) for name in ("precision", "recall", "f1")))


def kappa(cells: Counter[tuple[str, str]]) -> Rate:
    """Compute Cohen's κ = (p - q) / (1 - q): p is the share of tokens with equal tags, q the same by chance."""
    gold, guess = marginal_counts(cells)
    tokens = cells.total()
    equal = sum(count for (a, b), count in cells.items() if a == b)
    by_chance = sum(gold[tag] * guess[tag] for tag in gold)  # q · tokens²
    return rate(equal * tokens - by_chance, tokens**2 - by_chance)


def word_groups(by_word: Counter[tuple[str, bool]], lexicon: Lexicon) -> list[tuple[int, int | None]]:
    """Count (correct tokens, tokens) of known words, of unknown words, and of words known with several tags."""
    words = [word for word, _ in by_word]
    right = np.array([correct for _, correct in by_word], bool)
    counts = np.array(list(by_word.values()), np.int64)
    known = lexicon.known(words)
    groups = (known, ~known, lexicon.ambiguous(words))
    return [(int(counts[group & right].sum()), int(counts[group].sum())) for group in groups]


def pairs(gold: Sequence[Sentence], guesses: Sequence[Sequence[str]]) -> zip[tuple[Sentence, Sequence[str]]]:
    """Pair sentences with their predicted tags."""
    return zip(gold, guesses, strict=True)


def triples(sentence: Sentence, tags: Sequence[str]) -> zip[tuple[str, str, str]]:
    """Iterate over (word, gold tag, predicted tag)."""
    if sentence.tags is None:
        raise ValueError("gold: expected sentences with tags, got one without")
    if len(sentence) != len(tags):
        raise ValueError(f"guesses: expected a tag for each of {several(len(sentence), 'word')}, got {len(tags):,}")
    return zip(sentence.words, sentence.tags, tags, strict=True)
