"""A representative sample of errors, for when there are too many to show: some of every confusion, evenly spaced.

A confusion is a pair of gold tag and predicted tag. If the limit allows, all errors are in the sample; otherwise every
confusion gets the same share, and what rare ones do not use goes to the frequent ones. The errors of a confusion are
taken at equal distances, so that the whole corpus is covered. The sample is not random.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tagger.evaluation.metrics import pairs, triples
from tagger.sentence import Sentence


@dataclass(frozen=True)
class ErrorExample:
    """A wrong tag, and its sentence and token, counted from 0."""

    sentence: int
    token: int
    gold: str
    guess: str


def error_examples(gold: Sequence[Sentence], guesses: Sequence[Sequence[str]], limit: int) -> list[ErrorExample]:
    """Sample at most `limit` errors, the most frequent confusion first, each in the order of the corpus."""
    by_confusion: dict[tuple[str, str], list[ErrorExample]] = {}
    for number, (sentence, tags) in enumerate(pairs(gold, guesses)):
        for place, (_, a, b) in enumerate(triples(sentence, tags)):
            if a != b:
                by_confusion.setdefault((a, b), []).append(ErrorExample(number, place, a, b))
    groups = [group for _, group in sorted(by_confusion.items(), key=lambda item: (-len(item[1]), item[0]))]
    shares = fair_shares([len(group) for group in groups], limit)
    return [group[i * len(group) // share] for group, share in zip(groups, shares, strict=True) for i in range(share)]


def fair_shares(counts: Sequence[int], limit: int) -> list[int]:
    """Divide `limit` fairly among groups with these counts, given in descending order."""
    shares = [0] * len(counts)
    left = limit
    for i in range(len(counts) - 1, -1, -1):  # the smallest first: what it does not use is left for the others
        shares[i] = min(counts[i], left // (i + 1))
        left -= shares[i]
    return shares
