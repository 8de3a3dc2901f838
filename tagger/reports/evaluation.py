"""An evaluation as one HTML page that needs nothing else: figures, pictures, and errors that say why they were made.

The script only hides the errors that a filter does not want; without it everything is still there. However many
errors there are, the page stays small: at most `LISTED` of them are shown, chosen by `error_examples`, with as much around
them and as many reasons as a reader wants. Pictures are inline SVG of our own (`svg`), the heat map and the figures per
tag are real tables with colours.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tagger.evaluation import breakdown
from tagger.evaluation.error_sample import ErrorExample, error_examples
from tagger.evaluation.metrics import Evaluation
from tagger.models.base import Predictor, Tagger, by_sentence
from tagger.models.explain import Explanation, explain
from tagger.reports import svg
from tagger.reports.html import short
from tagger.reports.text import headline
from tagger.sentence import Sentence
from tagger.words.lexicon import Lexicon

LISTED = 1000  # errors
REASONS = 8  # for each of them
TAGS = 100  # in the table of tags
AROUND = 80  # characters of a sentence on either side of an error
SHADES = 6  # of the heat map


@dataclass(frozen=True)
class EvaluationRun:
    """What was compared with what, and what came out."""

    title: str
    gold: Sequence[Sentence]
    guesses: Sequence[Sequence[str]]
    found: Evaluation
    model: Predictor | None  # that made the guesses; None if they come from elsewhere
    lexicon: Lexicon | None
    names: Sequence[str]  # the names in the guesses of the model's tags
    tokens_per_second: float | None
    remarks: Sequence[str]  # warnings and comparisons, as sentences


def evaluation_page(template: Any, judged: EvaluationRun) -> str:
    found = judged.found
    listed = error_examples(judged.gold, judged.guesses, LISTED)
    errors = sum(c.count for c in found.confusions)
    gold_options, guess_options = options([one.gold for one in listed]), options([one.guess for one in listed])
    grid = breakdown.confusion_grid(found)
    page: str = template.render(
        title=judged.title,
        headline=[row for row in headline(found, judged.tokens_per_second) if row[1] != "–"],
        remarks=judged.remarks,
        unseen=found.unseen_tags,
        guessed_by_model=judged.model is not None,
        words_known=judged.lexicon is not None,
        **pictures(judged),
        grid=grid,
        shades=shades(grid),
        tags=found.tags[:TAGS],
        tag_count=len(found.tags),
        errors=errors,
        kinds=len(found.confusions),
        listed=error_rows(judged, listed, gold_options, guess_options),
        most_reasons=REASONS,
        gold_options=gold_options,
        guess_options=guess_options,
    )
    return page


def pictures(judged: EvaluationRun) -> dict[str, Any]:
    """Those there are data for, and the calibration's numbers."""
    right = breakdown.correct_tokens(judged.gold, judged.guesses)
    rows = [("Accuracy by sentence length", "tokens in the sentence", breakdown.by_length(judged.gold, right))]
    if judged.lexicon:
        groups = breakdown.by_frequency(judged.gold, right, judged.lexicon)
        rows.insert(0, ("Accuracy by word frequency", "occurrences of the word in training", groups))
    bins: list[breakdown.ConfidenceGroup] = []
    if judged.model:
        sure = confidences(judged.model, judged.gold, judged.guesses, judged.names)
        rows.append(("Accuracy by confidence", "how sure the model is, %", breakdown.by_confidence(sure, right)))
        bins = breakdown.calibration(sure, right)
    return {
        "bars": [(row[0], svg.accuracy_bars(f"bars-{i}", *row)) for i, row in enumerate(rows)],
        "curve": svg.calibration_curve("calibration", bins) if bins else None,
        "bins": bins,
        "calibration_error": breakdown.calibration_error(bins),
    }


def shades(grid: breakdown.ConfusionGrid) -> list[list[int]]:
    """How dark each cell is, from 0: by the logarithm, as few confusions make up most errors. Right is not shaded."""
    size = range(len(grid.counts))
    wrong = [[0 if i == j < len(grid.tags) else grid.counts[i][j] for j in size] for i in size]
    most = max((count for row in wrong for count in row), default=0)
    scale = SHADES / math.log1p(max(1, most))
    return [[math.ceil(scale * math.log1p(count) - 1e-9) for count in row] for row in wrong]


def options(tags: Sequence[str]) -> dict[str, int]:
    """To choose from, with how often each is there, most frequent first."""
    return dict(sorted(Counter(tags).items(), key=lambda item: (-item[1], item[0])))


def error_rows(
    judged: EvaluationRun, listed: Sequence[ErrorExample], gold_options: dict[str, int], guess_options: dict[str, int]
) -> list[dict[str, Any]]:
    """The filter knows tags by their number among the options, as shown they may be shortened."""
    why = explanations(judged, listed)
    gold_number = {tag: i for i, tag in enumerate(gold_options, 1)}
    guess_number = {tag: i for i, tag in enumerate(guess_options, 1)}
    rows = []
    for one in listed:
        words = judged.gold[one.sentence].words
        rows.append(
            {
                "mistake": one,
                "gold_number": gold_number[one.gold],
                "guess_number": guess_number[one.guess],
                "before": nearest(words[: one.token][::-1])[::-1],
                "word": short(words[one.token]),
                "after": nearest(words[one.token + 1 :]),
                "why": why.get((one.sentence, one.token)),
            }
        )
    return rows


def explanations(judged: EvaluationRun, listed: Sequence[ErrorExample]) -> dict[tuple[int, int], Explanation]:
    """By sentence and token."""
    if not isinstance(judged.model, Tagger):
        return {}
    places: dict[int, list[int]] = {}
    for one in listed:
        places.setdefault(one.sentence, []).append(one.token)
    told = explain(judged.model, [judged.gold[i] for i in places], list(places.values()))
    return {
        (i, place): token
        for (i, own), tokens in zip(places.items(), told, strict=True)
        for place, token in zip(own, tokens, strict=True)
    }


def nearest(words: Sequence[str]) -> list[str]:
    """The first of the words, as many as there is room for."""
    kept: list[str] = []
    room = AROUND
    for word in map(short, words):
        room -= len(word) + 1
        if room < 0:
            return [*kept, "…"]
        kept.append(word)
    return kept


def confidences(
    model: Predictor, gold: Sequence[Sentence], guesses: Sequence[Sequence[str]], names: Sequence[str]
) -> np.ndarray:
    """(N,) how probable the guesses of the model are; `names` are the names in the guesses of its K tags."""
    number = {name: k for k, name in enumerate(dict.fromkeys(names))}
    columns = np.array([number[name] for name in names])  # (K,)

    def of(group: np.ndarray, marginals: np.ndarray) -> np.ndarray:
        chosen = np.array([number[tag] for i in group.tolist() for tag in guesses[i]], np.int64)
        return np.minimum(1.0, np.where(columns == chosen[:, None], marginals, 0.0).sum(axis=1))

    found = by_sentence(gold, ((group, of(group, lattice.marginals())) for group, lattice in model.lattices(gold)))
    return np.concatenate([np.zeros(0), *found])
