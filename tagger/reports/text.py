"""Numbers to text: the table people put in papers, and JSON for programs."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from tagger.escaping import visible
from tagger.evaluation.metrics import Comparison, Evaluation, Rate
from tagger.evaluation.significance import Interval
from tagger.sentence import Sentence

CONFUSIONS = 10  # shown in the table
AROUND = 5  # words shown on either side of an example


def as_json(found: Evaluation) -> dict[str, Any]:
    """Rates as fractions, undefined as null."""
    whole = asdict(found)
    whole["tags"] = {row.pop("tag"): row for row in whole["tags"]}
    return whole


def as_table(found: Evaluation, gold: Sequence[Sentence] = (), tokens_per_second: float | None = None) -> str:
    """What a person wants to see; the sentences `gold` serve as examples."""
    lines = [f"{name:<20} {value:>9}{more}" for name, value, more in headline(found, tokens_per_second)]
    if found.unseen_tags:
        lines.append(f"gold tags that the model does not have: {visible(' '.join(found.unseen_tags))}")
    return "\n".join([*lines, *tag_table(found), *confusion_table(found, gold)]) + "\n"


def headline(found: Evaluation, tokens_per_second: float | None) -> list[tuple[str, str, str]]:
    def of(tokens: int | None) -> str:
        return "" if tokens is None else f"   of {tokens:,}"

    rows = [
        ("tokens", f"{found.tokens:,}", ""),
        ("sentences", f"{found.sentences:,}", ""),
        ("accuracy", percent(found.accuracy), between(found.accuracy_interval)),
        ("  known words", percent(found.known_accuracy), of(found.known_tokens)),
        ("  unknown words", percent(found.unknown_accuracy), of(found.unknown_tokens)),
        ("  ambiguous words", percent(found.ambiguous_accuracy), of(found.ambiguous_tokens)),
        ("sentences all right", percent(found.sentence_accuracy), ""),
        ("macro precision", percent(found.macro.precision), ""),
        ("macro recall", percent(found.macro.recall), ""),
        ("macro F1", percent(found.macro.f1), ""),
        ("Cohen's kappa", "–" if found.kappa is None else f"{found.kappa:.4f}", ""),
    ]
    return rows if tokens_per_second is None else [*rows, ("tokens/s", f"{tokens_per_second:,.0f}", "")]


def between(interval: Interval | None) -> str:
    return f"   95 % interval {100 * interval[0]:.2f} to {100 * interval[1]:.2f}" if interval else ""


def tag_table(found: Evaluation) -> list[str]:
    tags = [visible(row.tag) for row in found.tags]
    columns = max(map(width, [*tags, "guess"]))
    lines = ["", f"{'tag':<{columns}} {'precision':>10} {'recall':>9} {'F1':>9} {'support':>8}"]
    for tag, row in zip(tags, found.tags, strict=True):
        rates = f"{percent(row.precision):>10} {percent(row.recall):>9} {percent(row.f1):>9}"
        lines.append(f"{padded(tag, columns)} {rates} {row.support:>8,}")
    return lines


def confusion_table(found: Evaluation, gold: Sequence[Sentence]) -> list[str]:
    shown = found.confusions[:CONFUSIONS]
    if not shown:
        return []
    columns = max(width(visible(tag)) for c in shown for tag in ("guess", c.gold, c.guess))
    lines = ["", f"{'gold':<{columns}} {'guess':<{columns}} {'times':>7}" + "   for example" * bool(gold)]
    for c in shown:
        example = f"   {excerpt(gold[c.example[0]], c.example[1])}" if gold else ""
        tags = " ".join(padded(visible(tag), columns) for tag in (c.gold, c.guess))
        lines.append(f"{tags} {c.count:>7,}{example}")
    return lines


def excerpt(sentence: Sentence, place: int) -> str:
    """Show the words around a token, which is put in brackets."""
    begin, end = max(0, place - AROUND), place + AROUND + 1
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


def in_words(found: Comparison, first: str, second: str) -> str:
    """A difference as a sentence."""
    difference = found.difference or 0.0
    if not difference:
        return f"{first} and {second} are equally accurate."
    sign = 1 if difference > 0 else -1
    better, worse = (first, second)[::sign]
    low, high = sorted(100 * sign * bound for bound in found.interval or (difference, difference))
    chance = "less than 0.0002" if found.p_value < 0.0002 else f"{found.p_value:.4f}"
    hardly = "this one is hardly chance"
    meaning = hardly if found.p_value < 0.05 else "this one may well be chance"
    return (
        f"{better} is better than {worse} by {abs(100 * difference):.2f} points "
        f"(95 % interval {low:.2f} to {high:.2f}).\n"
        f"If both were equally good, a difference like this would come up with probability {chance}; {meaning}."
    )


def percent(rate: Rate) -> str:
    return "–" if rate is None else f"{100 * rate:.2f} %"
