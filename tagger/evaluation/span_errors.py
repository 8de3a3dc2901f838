"""Errors by spans: what was missed, what was invented, and what has the wrong type or a wrong border.

A gold span that was not found is one of three things: another type was predicted for exactly its words (*wrong type*),
a predicted span overlaps it (*wrong border*, whatever its type), or nothing does (*missed*). A predicted span that
overlaps no gold span is *invented*.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tagger.corpus.span_schemes import Span
from tagger.evaluation.spans import SpanPair, span_pairs
from tagger.sentence import Sentence

KINDS = ("missed", "invented", "wrong type", "wrong border")


@dataclass(frozen=True)
class SpanError:
    """An error of one of the KINDS, in a sentence counted from 0."""

    kind: str
    sentence: int
    gold: Span | None  # None if it is invented
    guess: Span | None  # None if it is missed


def find_span_errors(gold: Sequence[Sentence], guesses: Sequence[Sequence[str]]) -> dict[str, list[SpanError]]:
    """List the errors of each of the KINDS, in the order of the corpus."""
    errors: dict[str, list[SpanError]] = {kind: [] for kind in KINDS}
    for number, pair in enumerate(span_pairs(gold, guesses)):
        for error in sentence_errors(number, pair):
            errors[error.kind].append(error)
    return errors


def sentence_errors(number: int, pair: SpanPair) -> list[SpanError]:
    """List the errors of a sentence."""
    gold, guesses = (sorted(side - other, key=borders) for side, other in (pair, pair[::-1]))
    errors, used = [], set()
    for span in gold:
        others = [guess for guess in guesses if overlap(span, guess)]
        same = [guess for guess in others if borders(guess) == borders(span)]
        kind = "wrong type" if same else "wrong border" if others else "missed"
        guess = next(iter(same or others), None)
        errors.append(SpanError(kind, number, span, guess))
        used.add(guess)
    for guess in guesses:
        if guess not in used:
            right = next((span for span in gold if overlap(span, guess)), None)
            errors.append(SpanError("wrong border" if right else "invented", number, right, guess))
    return errors


def borders(span: Span) -> tuple[int, int]:
    """Return the first token of a span, and the one after its last."""
    return span.begin, span.end


def overlap(a: Span, b: Span) -> bool:
    """Return whether two spans share a token."""
    return a.begin < b.end and b.begin < a.end
