"""Numbers to text: the table people put in papers, and JSON for programs."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from tagger.metrics import Evaluation, Rate

CONFUSIONS = 10  # shown in the table


def as_json(found: Evaluation) -> dict[str, Any]:
    """Rates as fractions, undefined as null."""
    whole = asdict(found)
    whole["tags"] = {row.pop("tag"): row for row in whole["tags"]}
    return whole


def as_table(found: Evaluation) -> str:
    """What a person wants to see."""
    head = [
        ("tokens", f"{found.tokens:,}"),
        ("sentences", f"{found.sentences:,}"),
        ("accuracy", percent(found.accuracy)),
        ("  known words", percent(found.known_accuracy)),
        ("  unknown words", percent(found.unknown_accuracy)),
        ("sentences all right", percent(found.sentence_accuracy)),
    ]
    lines = [f"{name:<20} {value:>9}" for name, value in head]
    width = max([len(row.tag) for row in found.tags] + [len("guess")])
    lines += ["", f"{'tag':<{width}} {'precision':>10} {'recall':>9} {'F1':>9} {'support':>8}"]
    for row in found.tags:
        rates = f"{percent(row.precision):>10} {percent(row.recall):>9} {percent(row.f1):>9}"
        lines.append(f"{row.tag:<{width}} {rates} {row.support:>8,}")
    if found.confusions:
        lines += ["", f"{'gold':<{width}} {'guess':<{width}} {'times':>7}"]
        lines += [f"{c.gold:<{width}} {c.guess:<{width}} {c.count:>7,}" for c in found.confusions[:CONFUSIONS]]
    return "\n".join(lines) + "\n"


def percent(rate: Rate) -> str:
    return "–" if rate is None else f"{100 * rate:.2f} %"
