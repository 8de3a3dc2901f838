"""The section about spans of an evaluation's page: scores by type, and examples of each kind of error."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tagger.evaluation.span_errors import SpanError, find_span_errors
from tagger.evaluation.spans import SpanEvaluation
from tagger.reports.html import short
from tagger.sentence import Sentence

EXAMPLES_SHOWN = 50  # of each kind of error
CONTEXT_WORDS = 8  # on either side of a span

MEANINGS = {
    "missed": "gold spans of which no word was predicted to be in a span",
    "invented": "predicted spans of which no word is in a gold span",
    "wrong type": "spans with the right words and another type",
    "wrong border": "predicted spans that overlap a gold span, but have other words",
}


def span_section(scores: SpanEvaluation, gold: Sequence[Sentence], guesses: Sequence[Sequence[str]]) -> dict[str, Any]:
    """Collect what the template shows: scores, and the errors of each kind with examples from the whole corpus."""
    errors = find_span_errors(gold, guesses)
    kinds = [
        {
            "name": kind,
            "meaning": MEANINGS[kind],
            "count": len(found),
            "examples": [example(error, gold[error.sentence].words) for error in spread(found)],
        }
        for kind, found in errors.items()
    ]
    return {"scores": scores, "kinds": kinds}


def spread(errors: Sequence[SpanError]) -> list[SpanError]:
    """Choose at most EXAMPLES_SHOWN errors, at equal distances."""
    count = min(len(errors), EXAMPLES_SHOWN)
    return [errors[i * len(errors) // count] for i in range(count)]


def example(error: SpanError, words: Sequence[str]) -> dict[str, Any]:
    """Show the words around both spans as pieces (text, in gold, in guess), cut where that changes."""
    spans = [span for span in (error.gold, error.guess) if span]
    begin = max(0, min(span.begin for span in spans) - CONTEXT_WORDS)
    end = min(len(words), max(span.end for span in spans) + CONTEXT_WORDS)
    pieces: list[tuple[list[str], bool, bool]] = []
    for i in range(begin, end):
        in_gold, in_guess = (span is not None and span.begin <= i < span.end for span in (error.gold, error.guess))
        if not pieces or pieces[-1][1:] != (in_gold, in_guess):
            pieces.append(([], in_gold, in_guess))
        pieces[-1][0].append(short(words[i]))
    return {
        "sentence": error.sentence + 1,
        "gold": error.gold and error.gold.type,
        "guess": error.guess and error.guess.type,
        "pieces": [(" ".join(text), in_gold, in_guess) for text, in_gold, in_guess in pieces],
        "before": begin > 0,
        "after": end < len(words),
    }
