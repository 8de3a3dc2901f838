"""Why a token got its tag: the terms in which its score differs from the score of the runner-up.

The score of a path is a sum of terms. Compare the best path with the path in which only this token's tag is replaced by
the runner-up, the second most probable tag there. Terms that do not depend on this tag are equal; the differences of
the others add up to exactly the difference of the two scores.

A span scheme may forbid that path: `O` before `I-PER`. Then the rival is the best path with the runner-up there, and
other tags change too, one after the other; the terms of those tokens begin with their word.

An HMM, and a CRF with candidates, consider only a few tags of each word; all others have probability 0. Where only the
best tag is considered, the runner-up is the tag with which the path scores highest; if every other tag is impossible,
there is no runner-up.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tagger.chain.lattice import Lattice
from tagger.escaping import Displayable
from tagger.models.base import Tagger, Terms
from tagger.sentence import Sentence, Words, words_of


@dataclass(frozen=True)
class Reason:
    """A term of the score, and its difference: positive is in favour of the tag, negative of the runner-up."""

    name: str
    value: float


@dataclass(frozen=True)
class Explanation(Displayable):
    """The tag of one token, the runner-up, and the reasons for the difference."""

    word: str
    tag: str
    probability: float
    runner_up: str | None  # None if no other tag is possible
    runner_up_probability: float
    difference: float  # of the two paths' scores
    reasons: list[Reason]  # strongest first
    is_candidate: bool = True  # whether the model considers the runner-up
    changes: tuple[tuple[str, str], ...] = ()  # other words whose tags the scheme changes too, and these tags


def explain(model: Tagger, X: Iterable[Any], places: Sequence[Sequence[int]] | None = None) -> list[list[Explanation]]:
    """Explain the tags of all tokens of each sentence, or only of the tokens at the `places` given for it."""
    numbers = {tag: k for k, tag in enumerate(model.classes_)}
    sentences = model.sentence_list(X)
    tokens = places if places is not None else [range(len(sentence)) for sentence in sentences]
    tagged = zip(sentences, model.predict(sentences), model.predict_marginals(sentences), tokens, strict=True)
    return [explain_sentence(model, x, [numbers[tag] for tag in tags], P, at) for x, tags, P, at in tagged]


def explain_sentence(
    model: Tagger, sentence: Sentence | Words, path: list[int], P: np.ndarray, places: Sequence[int]
) -> list[Explanation]:
    """Explain tokens of a sentence, from its best path and the probabilities (T, K) of all tags."""
    _, lattice = next(model.lattices([sentence]))
    terms = model.score_terms(model.observer()([sentence])[0])
    out = []
    words, allowed = words_of(sentence), model.allowed_steps()
    for t in places:
        other = runner_up(terms, path, t, P[t])
        rival = path if other is None else rival_path(lattice, allowed, path, t, other)
        if rival is None:
            rival, other = path, None
        reasons = differences(terms, path, rival, t, words)
        out.append(
            Explanation(
                word=words[t],
                tag=model.classes_[path[t]],
                probability=min(1.0, float(P[t, path[t]])),
                runner_up=None if other is None else model.classes_[other],
                runner_up_probability=0.0 if other is None else float(P[t, other]),
                difference=sum(reason.value for reason in reasons),
                reasons=sorted(reasons, key=lambda reason: -abs(reason.value)),
                is_candidate=other is None or bool(lattice.considers(np.full(len(path), other))[t]),
                changes=tuple(
                    (words[s], model.classes_[rival[s]]) for s in range(len(path)) if s != t and rival[s] != path[s]
                ),
            )
        )
    return out


def runner_up(terms: Terms, path: list[int], t: int, probabilities: np.ndarray) -> int | None:
    """Find the runner-up of token t, whose tags have these probabilities (K,); None if there is no other tag."""
    others = np.delete(np.arange(len(probabilities)), path[t])
    if not len(others):
        return None
    values = probabilities[others]
    if not values.any():
        values = np.array([sum(terms(replace_tag(path, t, k), t).values()) for k in others.tolist()])
    best = int(values.argmax())
    return int(others[best]) if np.isfinite(values[best]) else None


def rival_path(lattice: Lattice, allowed: np.ndarray | None, path: list[int], t: int, other: int) -> list[int] | None:
    """Return the path with another tag at token t; if its steps are not `allowed`, the best one with it, or None."""
    rival = replace_tag(path, t, other)
    marked = [-1, *rival, -1]
    if allowed is None or allowed[marked[:-1], marked[1:]].all():
        return rival
    tags = np.ones((len(path), len(allowed) - 1), bool)
    tags[t] = np.arange(len(allowed) - 1) == other
    bound = lattice.restrict(tags)
    best = bound.best()
    return best.tolist() if np.isfinite(bound.path_scores(best)[0]) else None


def differences(terms: Terms, path: list[int], rival: list[int], t: int, words: Sequence[str]) -> list[Reason]:
    """List the terms in which two paths differ, from token t on changing one tag after the other."""
    sums: dict[str, float] = {}
    for s in sorted((s for s in range(len(path)) if path[s] != rival[s]), key=lambda s: s != t):
        changed = replace_tag(path, s, rival[s])
        before, after = terms(path, s), terms(changed, s)
        for name, value in before.items():
            if value != after[name]:
                full = name if s == t else f"{words[s]}: {name}"
                sums[full] = sums.get(full, 0.0) + value - after[name]
        path = changed
    return [Reason(name, value) for name, value in sums.items()]


def replace_tag(path: list[int], t: int, tag: int) -> list[int]:
    """Return the path with another tag at token t."""
    return [*path[:t], tag, *path[t + 1 :]]


def step_terms(
    names: Sequence[str], start: np.ndarray, transitions: np.ndarray, end: np.ndarray, path: Sequence[int], t: int
) -> dict[str, float]:
    """Return the scores of the steps to token t and from it, in a first-order chain, by name (`Tagger.score_terms`)."""
    k, terms = path[t], {}
    if t == 0:
        terms["start of sentence"] = float(start[k])
    else:
        terms[f"previous tag {names[path[t - 1]]}"] = float(transitions[path[t - 1], k])
    if t + 1 == len(path):
        terms["end of sentence"] = float(end[k])
    else:
        terms[f"next tag {names[path[t + 1]]}"] = float(transitions[k, path[t + 1]])
    return terms


def added(*parts: dict[str, float]) -> dict[str, float]:
    """Join terms; those with the same name are added up, since a feature may have the name of a step."""
    sums: dict[str, float] = {}
    for part in parts:
        for name, value in part.items():
            sums[name] = sums.get(name, 0.0) + value
    return sums
