"""An evaluation as an HTML page: figures, charts, confusions, and errors with the reasons for them.

The script only filters the list of errors; without it the page is complete. The page stays small: it lists at most
`ERRORS_LISTED` errors, chosen by `error_examples`, each with a limited context and a limited number of reasons. Charts
are inline SVG (`svg`), the heat map and the scores per tag are tables with coloured cells.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tagger.evaluation import breakdown
from tagger.evaluation.calibration import ConfidenceGroup, calibration_error, reliability
from tagger.evaluation.error_sample import ErrorExample, error_examples
from tagger.evaluation.metrics import Evaluation
from tagger.evaluation.spans import SpanEvaluation
from tagger.models.base import Tagger
from tagger.models.explain import Explanation, explain
from tagger.models.predictor import Predictor
from tagger.models.sentence_results import by_sentence
from tagger.reports import svg
from tagger.reports.html import PageTemplate, short
from tagger.reports.span_section import span_section
from tagger.reports.text import headline
from tagger.sentence import Sentence
from tagger.words.lexicon import Lexicon

ERRORS_LISTED = 1000
REASONS_SHOWN = 8  # for each error
TAGS_SHOWN = 100  # in the table of tags
CONTEXT_LENGTH = 80  # characters on either side of an error
SHADES = 6  # of the heat map


@dataclass(frozen=True)
class EvaluationRun:
    """An evaluation with everything that its page shows."""

    title: str
    gold: Sequence[Sentence]
    guesses: Sequence[Sequence[str]]
    scores: Evaluation
    model: Predictor | None  # the source of the guesses; None if they come from a file
    lexicon: Lexicon | None
    confidence: np.ndarray | None  # of each guess (N,), by `confidences`; None if they come from a file
    tokens_per_second: float | None
    messages: Sequence[str]  # warnings and comparisons, as sentences
    spans: SpanEvaluation | None = None  # of tags that mark spans


def evaluation_page(render: PageTemplate, run: EvaluationRun) -> str:
    """Render the page of an evaluation."""
    scores = run.scores
    examples = error_examples(run.gold, run.guesses, ERRORS_LISTED)
    gold_options, guess_options = (options([getattr(one, side) for one in examples]) for side in ("gold", "guess"))
    grid = breakdown.confusion_grid(scores)
    return render(
        title=run.title,
        headline=[row for row in headline(scores, run.tokens_per_second) if row[1] != "–"],
        messages=run.messages,
        unseen=scores.unseen_tags,
        guessed_by_model=run.model is not None,
        words_known=run.lexicon is not None,
        **charts(run),
        grid=grid,
        shades=shades(grid),
        tags=scores.tags[:TAGS_SHOWN],
        tag_count=len(scores.tags),
        errors=sum(c.count for c in scores.confusions),
        kinds=len(scores.confusions),
        listed=error_rows(run, examples, gold_options, guess_options),
        reasons_shown=REASONS_SHOWN,
        gold_options=gold_options,
        guess_options=guess_options,
        spans=span_section(run.spans, run.gold, run.guesses) if run.spans else None,
    )


def charts(run: EvaluationRun) -> dict[str, Any]:
    """Draw the charts that the data allow, and compute the calibration."""
    right = breakdown.correct_tokens(run.gold, run.guesses)
    rows = [("Accuracy by sentence length", "tokens in the sentence", breakdown.by_length(run.gold, right))]
    if run.lexicon:
        groups = breakdown.by_frequency(run.gold, right, run.lexicon)
        rows.insert(0, ("Accuracy by word frequency", "occurrences of the word in training", groups))
    bins: list[ConfidenceGroup] = []
    if run.confidence is not None:
        groups = breakdown.by_confidence(run.confidence, right)
        rows.append(("Accuracy by confidence", "confidence of the model, %", groups))
        bins = reliability(run.confidence, right)
    return {
        "bars": [(row[0], svg.accuracy_bars(f"bars-{i}", *row)) for i, row in enumerate(rows)],
        "curve": svg.calibration_curve("calibration", bins) if bins else None,
        "bins": bins,
        "calibration_error": calibration_error(bins),
    }


def shades(grid: breakdown.ConfusionGrid) -> list[list[int]]:
    """Shade each confusion from 0 to SHADES by the logarithm of its count; correct guesses have no shade."""
    size = range(len(grid.counts))
    confusions = [[0 if i == j < len(grid.tags) else grid.counts[i][j] for j in size] for i in size]
    most = max((count for row in confusions for count in row), default=0)
    scale = SHADES / math.log1p(max(1, most))
    return [[math.ceil(scale * math.log1p(count) - 1e-9) for count in row] for row in confusions]


def options(tags: Sequence[str]) -> dict[str, int]:
    """Count the tags for a filter, most frequent first."""
    return dict(sorted(Counter(tags).items(), key=lambda item: (-item[1], item[0])))


def error_rows(
    run: EvaluationRun, examples: Sequence[ErrorExample], gold_options: dict[str, int], guess_options: dict[str, int]
) -> list[dict[str, Any]]:
    """List the errors for the template; filters use the number of a tag, as its text may be shortened."""
    why = explanations(run, examples)
    gold_number = {tag: i for i, tag in enumerate(gold_options, 1)}
    guess_number = {tag: i for i, tag in enumerate(guess_options, 1)}
    rows = []
    for one in examples:
        words = run.gold[one.sentence].words
        rows.append(
            {
                "error": one,
                "gold_number": gold_number[one.gold],
                "guess_number": guess_number[one.guess],
                "before": nearest(words[: one.token][::-1])[::-1],
                "word": short(words[one.token]),
                "after": nearest(words[one.token + 1 :]),
                "why": why.get((one.sentence, one.token)),
            }
        )
    return rows


def explanations(run: EvaluationRun, examples: Sequence[ErrorExample]) -> dict[tuple[int, int], Explanation]:
    """Explain the errors of a model, by sentence and token."""
    if not isinstance(run.model, Tagger):
        return {}
    tokens_of: dict[int, list[int]] = {}  # by sentence
    for one in examples:
        tokens_of.setdefault(one.sentence, []).append(one.token)
    explained = explain(run.model, [run.gold[i] for i in tokens_of], list(tokens_of.values()))
    return {
        (i, t): explanation
        for (i, tokens), sentence in zip(tokens_of.items(), explained, strict=True)
        for t, explanation in zip(tokens, sentence, strict=True)
    }


def nearest(words: Sequence[str]) -> list[str]:
    """Return the first words, up to CONTEXT_LENGTH characters."""
    kept: list[str] = []
    room = CONTEXT_LENGTH
    for word in map(short, words):
        room -= len(word) + 1
        if room < 0:
            return [*kept, "…"]
        kept.append(word)
    return kept


def confidences(
    model: Predictor, gold: Sequence[Sentence], guesses: Sequence[Sequence[str]], names: Sequence[str]
) -> np.ndarray:
    """Return the posterior probability (N,) of each guess; `names` are those of the K tags in the guesses."""
    number = {name: k for k, name in enumerate(dict.fromkeys(names))}
    columns = np.array([number[name] for name in names])  # (K,)

    # Tags may share a name after renaming: p(guess) = Σ_k marginals[k] over the tags k of that name.
    def of(group: np.ndarray, marginals: np.ndarray) -> np.ndarray:
        chosen = np.array([number[tag] for i in group.tolist() for tag in guesses[i]], np.int64)
        return np.minimum(1.0, np.where(columns == chosen[:, None], marginals, 0.0).sum(axis=1))

    rows = by_sentence(gold, ((group, of(group, lattice.marginals())) for group, lattice in model.lattices(gold)))
    return np.concatenate([np.zeros(0), *rows])
