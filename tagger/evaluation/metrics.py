"""Gold and guess to numbers: the one ruler, for dev sets in training and for `eval`.

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
from tagger.evaluation.significance import Interval, chance, interval
from tagger.sentence import Sentence, tag_lists
from tagger.words.lexicon import Lexicon

Rate = float | None


def rate(part: int, whole: int | None) -> Rate:
    return part / whole if whole else None


@dataclass(frozen=True)
class TagScore:
    """How well one tag is found."""

    tag: str
    precision: Rate
    recall: Rate
    f1: Rate
    support: int


@dataclass(frozen=True)
class Confusion:
    """How often one tag was taken for another, and the first place where it was: sentence and token, from 0."""

    gold: str
    guess: str
    count: int
    example: tuple[int, int]


@dataclass(frozen=True)
class Macro:
    """Means over all tags of gold or guess, each counting alike; what cannot be divided counts as 0."""

    precision: Rate
    recall: Rate
    f1: Rate


@dataclass(frozen=True)
class Evaluation:
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
    kappa: Rate  # Cohen's (1960): agreement beyond chance, as a share of all there could be
    tags: list[TagScore]
    unseen_tags: list[str]  # in gold, but nothing that the model could guess
    confusions: list[Confusion]


def accuracy(gold: Iterable[Any], guesses: Iterable[Any]) -> Rate:
    """The share of tokens whose tag is right."""
    right, lengths = by_sentence(*aligned(gold, guesses))
    return rate(int(right.sum()), int(lengths.sum()))


def aligned(gold: Iterable[Any], guesses: Iterable[Any]) -> tuple[list[Sentence], list[Sequence[str]]]:
    """List tagged sentences and guessed tags, which come in any containers."""
    sentences, tags = tagged_sentences(gold, None, ("gold", "gold tags")), tag_lists(guesses, "guesses")
    if len(sentences) != len(tags):
        raise ValueError(f"{several(len(sentences), 'sentence')}, but the guessed tags of {len(tags):,}")
    return sentences, tags


def by_sentence(gold: Sequence[Sentence], guesses: Sequence[Sequence[str]]) -> tuple[np.ndarray, np.ndarray]:
    """(B,) how many tags of each sentence are right, and (B,) how many it has."""
    right = [sum(a == b for _, a, b in triples(sentence, tags)) for sentence, tags in pairs(gold, guesses)]
    return np.array(right, np.int64), np.array([len(sentence) for sentence in gold], np.int64)


def evaluate(
    gold: Iterable[Any],
    guesses: Iterable[Any],
    lexicon: Lexicon | None = None,
    classes: Sequence[str] | None = None,
) -> Evaluation:
    """Compare tagged sentences with guessed tags.

    `lexicon` tells known words, without it those figures are None; `classes` are the tags that could be guessed.
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
        macro=Macro(*(mean([getattr(row, name) or 0.0 for row in scores]) for name in ("precision", "recall", "f1"))),
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
    return sum(values) / len(values) if values else None


@dataclass(frozen=True)
class Comparison:
    """How much better the first of two taggers is."""

    accuracy: Rate  # of the second
    difference: Rate  # the first's accuracy less the second's
    interval: Interval | None
    p_value: float


def compare(gold: Iterable[Any], first: Iterable[Any], second: Iterable[Any]) -> Comparison:
    """Two sets of guesses for the same sentences."""
    sentences, tags = aligned(gold, first)
    (a, lengths), (b, _) = by_sentence(sentences, tags), by_sentence(*aligned(sentences, second))
    tokens = int(lengths.sum())
    difference = rate(int((a - b).sum()), tokens)
    return Comparison(rate(int(b.sum()), tokens), difference, interval(a - b, lengths), chance(a - b))


def margins(cells: Counter[tuple[str, str]]) -> tuple[Counter[str], Counter[str]]:
    """How often each tag stands in gold, and how often in guess."""
    gold: Counter[str] = Counter()
    guess: Counter[str] = Counter()
    for (a, b), count in cells.items():
        gold[a] += count
        guess[b] += count
    return gold, guess


def tag_scores(cells: Counter[tuple[str, str]]) -> list[TagScore]:
    """Of every tag in gold or guess, most frequent first."""
    gold, guess = margins(cells)
    right = Counter({tag: cells[tag, tag] for tag in gold})
    # F1 = 2 · right / (gold + guess), the harmonic mean of precision and recall
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


def kappa(cells: Counter[tuple[str, str]]) -> Rate:
    """(p - q) / (1 - q): p is the share of tokens with equal tags, q what it would be if both sides threw dice."""
    gold, guess = margins(cells)
    tokens = cells.total()
    equal = sum(count for (a, b), count in cells.items() if a == b)
    by_chance = sum(gold[tag] * guess[tag] for tag in gold)  # q · tokens²
    return rate(equal * tokens - by_chance, tokens**2 - by_chance)


def word_groups(by_word: Counter[tuple[str, bool]], lexicon: Lexicon) -> list[tuple[int, int | None]]:
    """Tokens that are right and all tokens: of known words, of unknown ones, of those known with several tags."""
    words = [word for word, _ in by_word]
    right = np.array([ok for _, ok in by_word], bool)
    counts = np.array(list(by_word.values()), np.int64)
    known = lexicon.known(words)
    groups = (known, ~known, lexicon.ambiguous(words))
    return [(int(counts[own & right].sum()), int(counts[own].sum())) for own in groups]


def pairs(gold: Sequence[Sentence], guesses: Sequence[Sequence[str]]) -> zip[tuple[Sentence, Sequence[str]]]:
    return zip(gold, guesses, strict=True)


def triples(sentence: Sentence, tags: Sequence[str]) -> zip[tuple[str, str, str]]:
    """(word, gold tag, guessed tag)"""
    if sentence.tags is None:
        raise ValueError("a sentence to compare with has no tags")
    if len(sentence) != len(tags):
        raise ValueError(f"{several(len(sentence), 'word')}, but {several(len(tags), 'guessed tag')}")
    return zip(sentence.words, sentence.tags, tags, strict=True)
