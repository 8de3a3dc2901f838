"""Evaluations and comparisons as tables and sentences for a terminal, and as JSON."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from tagger.escaping import visible
from tagger.evaluation.calibration import ConfidenceGroup, calibration_error
from tagger.evaluation.metrics import Comparison, Evaluation, Macro, Rate, TagScore
from tagger.evaluation.significance import Interval
from tagger.evaluation.spans import SpanComparison, SpanEvaluation
from tagger.models.summary import Section
from tagger.sentence import Sentence

CONFUSIONS_SHOWN = 10  # in the table
CONTEXT_WORDS = 5  # on either side of an example
SIGNIFICANCE_LEVEL = 0.05


def as_json(scores: Evaluation) -> dict[str, Any]:
    """Convert an evaluation to JSON values; rates are fractions, undefined ones null."""
    values = asdict(scores)
    values["tags"] = {row.pop("tag"): row for row in values["tags"]}
    return values


def as_table(
    scores: Evaluation,
    gold: Sequence[Sentence] = (),
    tokens_per_second: float | None = None,
    bins: Sequence[ConfidenceGroup] | None = None,
    verdicts: Sequence[str] = (),
    spans: SpanEvaluation | None = None,
) -> str:
    """Format an evaluation as text: figures, tags, and confusions with examples from the sentences `gold`.

    The reliability table follows if there are `bins`, the scores of `spans`, then the `verdicts` of comparisons.
    """
    lines = [f"{name:<23} {value:>9}{more}" for name, value, more in headline(scores, tokens_per_second)]
    if scores.unseen_tags:
        lines.append(f"gold tags that the model does not have: {visible(' '.join(scores.unseen_tags))}")
    lines += [*tag_table(scores), *confusion_table(scores, gold), *calibration_table(bins or ())]
    lines += span_table(spans) if spans else []
    return "\n".join(lines) + "\n" + "".join(f"\n{verdict}\n" for verdict in verdicts)


def headline(scores: Evaluation, tokens_per_second: float | None) -> list[tuple[str, str, str]]:
    """List the figures as (name, value, remark)."""

    def of(tokens: int | None) -> str:
        return "" if tokens is None else f"   of {tokens:,}"

    missed = [] if not scores.not_considered else [("gold tag no candidate", f"{scores.not_considered:,}", " tokens")]
    rows = [
        ("tokens", f"{scores.tokens:,}", ""),
        ("sentences", f"{scores.sentences:,}", ""),
        ("accuracy", percent(scores.accuracy), between(scores.accuracy_interval)),
        ("  known words", percent(scores.known_accuracy), of(scores.known_tokens)),
        ("  unknown words", percent(scores.unknown_accuracy), of(scores.unknown_tokens)),
        ("  ambiguous words", percent(scores.ambiguous_accuracy), of(scores.ambiguous_tokens)),
        *missed,
        ("sentences fully correct", percent(scores.sentence_accuracy), ""),
        ("macro precision", percent(scores.macro.precision), ""),
        ("macro recall", percent(scores.macro.recall), ""),
        ("macro F1", percent(scores.macro.f1), ""),
        ("Cohen's kappa", "–" if scores.kappa is None else f"{scores.kappa:.4f}", ""),
    ]
    return rows if tokens_per_second is None else [*rows, ("tokens/s", f"{tokens_per_second:,.0f}", "")]


def between(interval: Interval | None) -> str:
    """Write an interval in percent."""
    return f"   95 % interval {100 * interval[0]:.2f} to {100 * interval[1]:.2f}" if interval else ""


def tag_table(scores: Evaluation) -> list[str]:
    """Format precision, recall, F1 and support of each tag."""
    return score_table("tag", [(row.tag, row, f"{row.support:>9,}") for row in scores.tags])


def span_table(scores: SpanEvaluation) -> list[str]:
    """Format precision, recall, F1 and support of each type of span, of all spans, and the mean of the types."""
    rows = [(row.tag, row, f"{row.support:>9,}") for row in scores.types]
    total = ("all spans", scores, f"{scores.gold:>9,}{between(scores.f1_interval)}")
    return score_table("type", [*rows, total, ("mean of types", scores.macro, "")])


def score_table(head: str, rows: Sequence[tuple[str, TagScore | Macro | SpanEvaluation, str]]) -> list[str]:
    """Format rows of (name, scores, support) under a head."""
    columns = max(map(width, [*(visible(name) for name, _, _ in rows), "guess"]))
    lines = ["", f"{head:<{columns}} {'precision':>10} {'recall':>9} {'F1':>9} {'support':>8}"]
    for name, row, support in rows:
        rates = f"{percent(row.precision):>10} {percent(row.recall):>9} {percent(row.f1):>9}"
        lines.append(f"{padded(visible(name), columns)} {rates}{support}")
    return lines


def confusion_table(scores: Evaluation, gold: Sequence[Sentence]) -> list[str]:
    """Format the most frequent confusions, with examples."""
    shown = scores.confusions[:CONFUSIONS_SHOWN]
    if not shown:
        return []
    columns = max(width(visible(tag)) for c in shown for tag in ("guess", c.gold, c.guess))
    lines = ["", f"{'gold':<{columns}} {'guess':<{columns}} {'times':>7}" + "   for example" * bool(gold)]
    for c in shown:
        example = f"   {excerpt(gold[c.example[0]], c.example[1])}" if gold else ""
        tags = " ".join(padded(visible(tag), columns) for tag in (c.gold, c.guess))
        lines.append(f"{tags} {c.count:>7,}{example}")
    return lines


def calibration_table(bins: Sequence[ConfidenceGroup]) -> list[str]:
    """Format the reliability table, the expected calibration error, and which bins are off."""
    if not bins:
        return []
    lines = ["", f"{'confidence':<10} {'tokens':>9} {'mean':>9} {'accuracy':>9}"]
    for row in bins:
        if row.tokens:
            rates = f"{percent(row.confidence):>9} {percent(row.accuracy):>9}"
            lines.append(f"{row.label:<10} {row.tokens:>9,} {rates}{between(row.interval)}")
    off = ", ".join(row.label for row in bins if row.tokens and not row.is_calibrated)
    verdict = f"off in {off}" if off else "every mean is within 1 point of the accuracy, or in its interval"
    return [*lines, f"expected calibration error {percent(calibration_error(bins))}; {verdict}"]


def calibration_json(bins: Sequence[ConfidenceGroup]) -> dict[str, Any]:
    """Convert the reliability table to JSON values; `from` and `to` are the bounds of a bin."""
    rows = [
        {
            "from": i / len(bins),
            "to": (i + 1) / len(bins),
            "tokens": row.tokens,
            "confidence": row.confidence if row.tokens else None,
            "accuracy": row.accuracy,
            "interval": row.interval if row.tokens else None,
            "calibrated": row.is_calibrated if row.tokens else None,
        }
        for i, row in enumerate(bins)
    ]
    return {"error": calibration_error(bins), "bins": rows}


def excerpt(sentence: Sentence, place: int) -> str:
    """Show the words around a token, which is put in brackets."""
    begin, end = max(0, place - CONTEXT_WORDS), place + CONTEXT_WORDS + 1
    words = [*sentence.words[begin:place], f"[{sentence.words[place]}]", *sentence.words[place + 1 : end]]
    return "… " * (begin > 0) + visible(" ".join(words)) + " …" * (end < len(sentence))


def width(text: str) -> int:
    """Count the columns that text takes on a terminal: two for wide letters, none for marks and joiners."""
    if text.isascii():
        return len(text)
    columns = {letter: 2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in set(text)}
    columns |= {letter: 0 for letter in columns if unicodedata.category(letter) in ("Mn", "Me", "Cf")}
    return sum(columns[letter] for letter in text)


def padded(text: str, columns: int) -> str:
    """Fill text with spaces up to a width."""
    return text + " " * (columns - width(text))


def in_words(comparison: Comparison | SpanComparison, first: str, second: str) -> str:
    """Describe a comparison of two taggers in sentences."""
    difference = comparison.difference or 0.0
    unit = " of span F1" if isinstance(comparison, SpanComparison) else ""
    if not difference:
        return f"{first} and {second} are equally {'good at spans' if unit else 'accurate'}."
    sign = 1 if difference > 0 else -1
    better, worse = (first, second)[::sign]
    low, high = sorted(100 * sign * bound for bound in comparison.interval or (difference, difference))
    p = "p < 0.0002" if comparison.p_value < 0.0002 else f"p = {comparison.p_value:.2g}"
    meaning = "significant" if comparison.p_value < SIGNIFICANCE_LEVEL else "not significant"
    return (
        f"{better} is better than {worse} by {abs(100 * difference):.2f} points{unit} "
        f"(95 % interval {low:.2f} to {high:.2f}).\n"
        f"The difference is {meaning} ({p})."
    )


def percent(rate: Rate, digits: int = 2) -> str:
    """Write a rate in percent, or a dash if it is undefined."""
    return "–" if rate is None else f"{100 * rate:.{digits}f} %"


def section_text(section: Section) -> str:
    """Format a section about a model as text, in columns."""
    rows = [list(map(visible, row)) for row in [*([section.head] if section.head else []), *section.texts]]
    widths = [max(map(width, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(padded(cell, columns) for cell, columns in zip(row, widths, strict=True)) for row in rows]
    return "\n".join([f"# {section.title}", *(line.rstrip() for line in lines), ""])
