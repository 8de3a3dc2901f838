"""Why a token got its tag: what tipped the balance against the runner-up, part by part.

The score of a path is a sum. Take the best path, and beside it the same path with only this token's tag replaced by the
runner-up, the second most probable tag there. All parts of the sum that do not look at this tag are equal; the others
differ, each in its own direction, and the differences add up to exactly the difference of the two scores.

An HMM considers only a few tags of each word, and every other one has probability 0. Where nothing but the best tag was
considered, the runner-up is the tag with which the same path scores highest; if it is impossible with every other tag,
there is no runner-up.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tagger.models.base import Tagger, Terms
from tagger.normalization import normalized
from tagger.sentence import sentence_list, words_of


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
    runner_up: str | None  # None if no other tag is possible
    runner_up_probability: float
    difference: float  # of the two paths' scores
    reasons: list[Reason]  # strongest first


def explain(model: Tagger, X: Iterable[Any], places: Sequence[Sequence[int]] | None = None) -> list[list[Explanation]]:
    """For each sentence, an explanation of each token, or only of those at the `places` given for it."""
    numbers = {tag: k for k, tag in enumerate(model.classes_)}
    sentences = sentence_list(X)
    asked = places if places is not None else [range(len(sentence)) for sentence in sentences]
    tagged = zip(sentences, model.predict(sentences), model.predict_marginals(sentences), asked, strict=True)
    return [explain_sentence(model, words_of(x), [numbers[tag] for tag in tags], P, at) for x, tags, P, at in tagged]


def explain_sentence(
    model: Tagger, words: Sequence[str], path: list[int], P: np.ndarray, places: Sequence[int]
) -> list[Explanation]:
    """Of the words with their best path and the probabilities (T, K) of all tags."""
    terms = model.score_terms(normalized(words, model.lexicon_.form))
    out = []
    for t in places:
        other = runner_up(terms, path, t, P[t])
        reasons = []
        if other is not None:
            mine, its = terms(path, t), terms(replaced(path, t, other), t)
            reasons = [Reason(name, value - its[name]) for name, value in mine.items() if value != its[name]]
        out.append(
            Explanation(
                word=words[t],
                tag=model.classes_[path[t]],
                probability=min(1.0, float(P[t, path[t]])),
                runner_up=None if other is None else model.classes_[other],
                runner_up_probability=0.0 if other is None else float(P[t, other]),
                difference=sum(reason.value for reason in reasons),
                reasons=sorted(reasons, key=lambda reason: -abs(reason.value)),
            )
        )
    return out


def runner_up(terms: Terms, path: list[int], t: int, probabilities: np.ndarray) -> int | None:
    """Of token t, whose tags have these probabilities (K,)."""
    others = np.delete(np.arange(len(probabilities)), path[t])
    if not len(others):
        return None
    worth = probabilities[others]
    if not worth.any():
        worth = np.array([sum(terms(replaced(path, t, k), t).values()) for k in others.tolist()])
    best = int(worth.argmax())
    return int(others[best]) if np.isfinite(worth[best]) else None


def replaced(path: list[int], t: int, tag: int) -> list[int]:
    return [*path[:t], tag, *path[t + 1 :]]


def step_terms(
    names: Sequence[str], start: np.ndarray, transitions: np.ndarray, end: np.ndarray, path: Sequence[int], t: int
) -> dict[str, float]:
    """The score of the step to the tag of token t and of that away from it, by names that do not tell the tag."""
    k, found = path[t], {}
    if t == 0:
        found["start of sentence"] = float(start[k])
    else:
        found[f"previous tag {names[path[t - 1]]}"] = float(transitions[path[t - 1], k])
    if t + 1 == len(path):
        found["end of sentence"] = float(end[k])
    else:
        found[f"next tag {names[path[t + 1]]}"] = float(transitions[k, path[t + 1]])
    return found
