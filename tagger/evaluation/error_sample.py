"""Which errors to show when there are too many to show them all: some of every kind, from all over the corpus.

An error's kind is its confusion, gold tag and guess. If the limit allows, everything is shown; otherwise no kind gets
more than any other, except that what the rare kinds leave over goes to the frequent ones. Within a kind the errors are
taken at equal distances, so that the end of the corpus is heard like its beginning. There is no chance in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tagger.evaluation.metrics import pairs, triples
from tagger.sentence import Sentence


@dataclass(frozen=True)
class ErrorExample:
    """A wrong tag, and where: sentence and token, from 0."""

    sentence: int
    token: int
    gold: str
    guess: str


def error_examples(gold: Sequence[Sentence], guesses: Sequence[Sequence[str]], limit: int) -> list[ErrorExample]:
    """At most so many of them, the most frequent confusion first, each in the order of the corpus."""
    kinds: dict[tuple[str, str], list[ErrorExample]] = {}
    for number, (sentence, tags) in enumerate(pairs(gold, guesses)):
        for place, (_, a, b) in enumerate(triples(sentence, tags)):
            if a != b:
                kinds.setdefault((a, b), []).append(ErrorExample(number, place, a, b))
    found = [kinds[kind] for kind in sorted(kinds, key=lambda kind: (-len(kinds[kind]), kind))]
    shares = fair_shares([len(own) for own in found], limit)
    return [own[i * len(own) // share] for own, share in zip(found, shares, strict=True) for i in range(share)]


def fair_shares(counts: Sequence[int], limit: int) -> list[int]:
    """How many of each to take; `counts` fall."""
    shares = [0] * len(counts)
    left = limit
    for i in range(len(counts) - 1, -1, -1):  # the rarest first: what it does not need is for the others
        shares[i] = min(counts[i], left // (i + 1))
        left -= shares[i]
    return shares
