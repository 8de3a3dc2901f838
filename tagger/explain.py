"""Why a token got its tag: what tipped the balance against the runner-up, part by part.

The score of a path is a sum. Take the best path, and beside it the same path with only this token's tag replaced by the
runner-up, the second most probable tag there. All parts of the sum that do not look at this tag are equal; the others
differ, each in its own direction, and the differences add up to exactly the difference of the two scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tagger.model import Tagger, words_of
from tagger.sentence import Sentence


@dataclass(frozen=True)
class Reason:
    """A part of the score, and how much it speaks for the tag and against the runner-up."""

    name: str
    value: float


@dataclass(frozen=True)
class Explanation:
    word: str
    tag: str
    probability: float
    runner_up: str | None  # None if the model has one tag only
    runner_up_probability: float
    difference: float  # of the two paths' scores
    reasons: list[Reason]  # strongest first


def explain(
    model: Tagger, X: Sequence[Sentence | Sequence[str]], places: Sequence[Sequence[int]] | None = None
) -> list[list[Explanation]]:
    """For each sentence, an explanation of each token, or only of those at the `places` given for it."""
    numbers = {tag: k for k, tag in enumerate(model.classes_)}
    asked = places if places is not None else [range(len(x)) for x in X]
    tagged = zip(X, model.predict(X), model.predict_marginals(X), asked, strict=True)
    return [explain_sentence(model, words_of(x), [numbers[tag] for tag in tags], P, at) for x, tags, P, at in tagged]


def explain_sentence(
    model: Tagger, words: Sequence[str], path: list[int], P: np.ndarray, places: Sequence[int]
) -> list[Explanation]:
    """Of the words with their best path and the probabilities (T, K) of all tags."""
    terms = model.anatomy(words)
    out = []
    for t in places:
        best = path[t]
        order = [k for k in np.argsort(-P[t], kind="stable").tolist() if k != best]
        reasons = []
        if order:
            mine, other = terms(path, t), terms([*path[:t], order[0], *path[t + 1 :]], t)
            reasons = [Reason(name, value - other[name]) for name, value in mine.items() if value != other[name]]
        out.append(
            Explanation(
                word=words[t],
                tag=model.classes_[best],
                probability=min(1.0, float(P[t, best])),
                runner_up=model.classes_[order[0]] if order else None,
                runner_up_probability=float(P[t, order[0]]) if order else 0.0,
                difference=sum(reason.value for reason in reasons),
                reasons=sorted(reasons, key=lambda reason: -abs(reason.value)),
            )
        )
    return out
