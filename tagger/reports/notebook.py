"""Objects as HTML for notebooks: taggers, sentences, explanations, evaluations, learning curves.

Everything is inside the returned text: no style sheet, no script, no request. Colours come from the page around it
where that matters (text), and are given where they carry meaning (tags).
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from functools import singledispatch
from html import escape
from typing import Any

from tagger.escaping import visible
from tagger.evaluation.metrics import Evaluation
from tagger.experiments.crossval import LearningCurve
from tagger.models.base import Tagger
from tagger.models.explain import Explanation
from tagger.reports.figures import confusion_figure, curve_figure
from tagger.reports.text import headline, percent
from tagger.sentence import Sentence

REASONS_SHOWN = 8
TAGS_SHOWN = 15
HUES = 12  # of tags; tags with the same hue differ in name
CELL = 'style="text-align:left;padding:.1em .6em"'


@singledispatch
def html_of(value: Any) -> str | None:
    """Return an object as HTML; None for one that has no picture."""
    return None


@html_of.register
def _(model: Tagger) -> str:
    rows: list[tuple[Any, Any]] = [("model", repr(model))]
    if hasattr(model, "classes_"):
        rows += [("tags", f"{len(model.classes_):,}"), ("words", f"{len(model.lexicon_.words):,}")]
        rows += [(name, shown(value)) for name, value in model.summary_.items()]
    else:
        rows += [("state", "not fitted")]
    return table(rows)


@html_of.register
def _(sentence: Sentence) -> str:
    if sentence.tags is None:
        return f"<div>{escape(visible(' '.join(sentence.words)))}</div>"
    probabilities: Sequence[float | None] = sentence.probabilities or [None] * len(sentence)
    tokens = zip(sentence.words, sentence.tags, probabilities, strict=True)
    return f'<div style="line-height:2.6">{"".join(token(*parts) for parts in tokens)}</div>'


def token(word: str, tag: str, probability: float | None) -> str:
    """Return a word above its tag in the tag's colour; its probability appears on hovering."""
    title = "" if probability is None else f' title="{escape(tag)}: probability {probability:.4f}"'
    colour = f"background:hsl({zlib.crc32(tag.encode('utf-8', 'replace')) % HUES * 360 // HUES} 60% 82%);color:#111"
    label = f'<span style="{colour};border-radius:.3em;padding:0 .3em;font-size:.75em">{escape(visible(tag))}</span>'
    inline = "display:inline-block;text-align:center;line-height:1.3;margin-right:.5em;vertical-align:top"
    return f'<span style="{inline}"{title}>{escape(visible(word))}<br>{label}</span>'


@html_of.register
def _(explanation: Explanation) -> str:
    word, tag = escape(visible(explanation.word)), escape(visible(explanation.tag))
    head = f"<b>{word}</b> is {tag} ({percent(explanation.probability, 1)})"
    if explanation.runner_up is None:
        return f"<div>{head}; no other tag is possible.</div>"
    rival = f"{escape(visible(explanation.runner_up))} ({percent(explanation.runner_up_probability, 1)})"
    rows = [(visible(reason.name), f"{reason.value:+.2f}") for reason in explanation.reasons[:REASONS_SHOWN]]
    return f"<div>{head}, not {rival}. Score difference {explanation.difference:+.2f}:</div>{table(rows)}"


@html_of.register
def _(evaluation: Evaluation) -> str:
    figures = table([row[:2] for row in headline(evaluation, None) if row[1] != "–"])
    heads = ("tag", "precision", "recall", "F1", "tokens")
    scores = [
        (row.tag, *(percent(value, 1) for value in (row.precision, row.recall, row.f1)), f"{row.support:,}")
        for row in evaluation.tags[:TAGS_SHOWN]
    ]
    drawn = f'<div style="max-width:32em">{confusion_figure(evaluation)}</div>' if evaluation.confusions else ""
    return figures + table(scores, heads) + drawn


@html_of.register
def _(curve: LearningCurve) -> str:
    return f'<div style="max-width:28em">{curve_figure(curve, curve.metric)}</div>'


def shown(value: Any) -> str:
    """Write a value of a summary."""
    if isinstance(value, float):
        return f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def table(rows: Iterable[Sequence[Any]], heads: Sequence[str] = ()) -> str:
    """Return rows as a table."""
    head = "".join(f"<th {CELL}>{escape(name)}</th>" for name in heads)
    body = (f"<tr>{''.join(f'<td {CELL}>{escape(visible(str(cell)))}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table>{f'<tr>{head}</tr>' if heads else ''}{''.join(body)}</table>"
