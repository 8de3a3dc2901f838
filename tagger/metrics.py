"""Gold and guess to numbers: the one ruler, for dev sets in training and for `eval`.

Rates are fractions from 0 to 1, and None where there is nothing to divide by. A gold tag that the model has never seen
counts as an error like any other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from tagger.lexicon import Lexicon
from tagger.sentence import Sentence

Rate = float | None


def rate(part: int, whole: int) -> Rate:
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
    """How often one tag was taken for another."""

    gold: str
    guess: str
    count: int


@dataclass(frozen=True)
class Evaluation:
    tokens: int
    sentences: int
    accuracy: Rate
    known_accuracy: Rate
    unknown_accuracy: Rate
    sentence_accuracy: Rate
    tags: list[TagScore]
    confusions: list[Confusion]


def accuracy(gold: Sequence[Sentence], guesses: Sequence[Sequence[str]]) -> Rate:
    """The share of tokens whose tag is right."""
    right = sum(a == b for sentence, tags in pairs(gold, guesses) for _, a, b in triples(sentence, tags))
    return rate(right, sum(map(len, gold)))


def evaluate(gold: Sequence[Sentence], guesses: Sequence[Sequence[str]], lexicon: Lexicon | None = None) -> Evaluation:
    """Compare tagged sentences with guessed tags. `lexicon` tells known words; without it those rates are None."""
    cells: Counter[tuple[str, str]] = Counter()  # (gold, guess)
    by_word: Counter[tuple[str, bool]] = Counter()  # (word, right)
    whole = 0
    for sentence, tags in pairs(gold, guesses):
        rows = list(triples(sentence, tags))
        cells.update((a, b) for _, a, b in rows)
        by_word.update((word, a == b) for word, a, b in rows)
        whole += all(a == b for _, a, b in rows) and bool(rows)
    tokens, sentences = sum(map(len, gold)), sum(len(sentence) > 0 for sentence in gold)
    known, unknown = known_rates(by_word, lexicon) if lexicon else (None, None)
    return Evaluation(
        tokens=tokens,
        sentences=sentences,
        accuracy=rate(sum(count for (a, b), count in cells.items() if a == b), tokens),
        known_accuracy=known,
        unknown_accuracy=unknown,
        sentence_accuracy=rate(whole, sentences),
        tags=tag_scores(cells),
        confusions=[
            Confusion(a, b, count)
            for (a, b), count in sorted(cells.items(), key=lambda cell: (-cell[1], cell[0]))
            if a != b
        ],
    )


def tag_scores(cells: Counter[tuple[str, str]]) -> list[TagScore]:
    """Of every tag in gold or guess, most frequent first."""
    right: Counter[str] = Counter()
    gold: Counter[str] = Counter()
    guess: Counter[str] = Counter()
    for (a, b), count in cells.items():
        gold[a] += count
        guess[b] += count
        right[a] += count * (a == b)
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


def known_rates(by_word: Counter[tuple[str, bool]], lexicon: Lexicon) -> tuple[Rate, Rate]:
    """Accuracy on words of the lexicon, and on all others."""
    words = [word for word, _ in by_word]
    totals: Counter[bool] = Counter()
    rights: Counter[bool] = Counter()
    for known, ((_, right), count) in zip(lexicon.known(words).tolist(), by_word.items(), strict=True):
        totals[known] += count
        rights[known] += count * right
    return rate(rights[True], totals[True]), rate(rights[False], totals[False])


def pairs(gold: Sequence[Sentence], guesses: Sequence[Sequence[str]]) -> zip[tuple[Sentence, Sequence[str]]]:
    return zip(gold, guesses, strict=True)


def triples(sentence: Sentence, tags: Sequence[str]) -> zip[tuple[str, str, str]]:
    """(word, gold tag, guessed tag)"""
    if sentence.tags is None:
        raise ValueError("a sentence to compare with has no tags")
    return zip(sentence.words, sentence.tags, tags, strict=True)
