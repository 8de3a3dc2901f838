"""The terms of a CRF's score, for `explain`: weights of features, of steps, and the HMM's probability."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tagger.models.base import Terms
from tagger.models.explain import added, step_terms
from tagger.sentence import Words

if TYPE_CHECKING:
    from tagger.crf.tagger import CRFTagger


def crf_terms(model: CRFTagger, words: Words) -> Terms:
    """Make the function that splits the score of a path into terms (`Tagger.score_terms`)."""
    present, rows = model.features_.present(words), model.features_.rows
    of_steps = step_weights(model, words)
    posterior = log_posterior(model, words)  # (T, K), times its weight

    def weight(feature: int, k: int) -> float:
        """Add up the weights of a feature for tag k and its parts."""
        begin, end = rows.bounds[feature : feature + 2]
        of_tag = np.isin(rows.tags[begin:end], model.tag_parts_.columns_by_tag[k])
        return float(model.weights_[begin:end][of_tag].sum(dtype=np.float64))

    def terms(path: Sequence[int], t: int) -> dict[str, float]:
        weights: dict[str, float] = {}
        for text, feature, value in present[t]:
            weights[text] = weights.get(text, 0.0) + value * weight(feature, path[t])
        parts = [step_terms(model.classes_, model.start_, model.transitions_, model.end_, path, t), of_steps(path, t)]
        if posterior is not None:
            parts.append({"probability by the HMM": float(posterior[t, path[t]])})
        if model.order == 2:
            parts.append(trigram_terms(model, path, t))
        return added(weights, *parts)

    return terms


def step_weights(model: CRFTagger, words: Words) -> Terms:
    """Make the function that returns the weights of features of the steps to token t and to the next one."""
    features, names, K = model.features_, model.classes_, len(model.classes_)
    present = features.present(words, of_steps=True) if features.step_templates else [[] for _ in words]

    def weight(feature: int, before: int, tag: int) -> float:
        begin, end = features.rows.bounds[feature : feature + 2]
        of_pair = features.rows.tags[begin:end] == model.tag_parts_.columns + before * K + tag
        return float(model.weights_[begin:end][of_pair].sum(dtype=np.float64))

    def terms(path: Sequence[int], t: int) -> dict[str, float]:
        to_here = {f"{text}, after {names[path[t - 1]]}": weight(f, path[t - 1], path[t]) for text, f, _ in present[t]}
        onward = present[t + 1] if t + 1 < len(path) else []
        return added(
            to_here,
            *(
                {f"{text} of the next token, {names[path[t + 1]]}": weight(f, path[t], path[t + 1])}
                for text, f, _ in onward
            ),
        )

    return terms


def log_posterior(model: CRFTagger, words: Words) -> np.ndarray | None:
    """Compute the term of the HMM's probability for all tags, (T, K); None without candidates."""
    if model.proposer_ is None or model.threshold_ is None:
        return None
    from tagger.crf.candidates.proposal import log_posteriors

    P = model.proposer_.scorer_in_form()(model.observer().words([words])).marginals()
    return np.asarray(model.posterior_weight_[0] * log_posteriors(P, model.threshold_))


def trigram_terms(model: CRFTagger, path: Sequence[int], t: int) -> dict[str, float]:
    """Return the weights of the tag trigrams that the tag of token t is in, by names that do not depend on it."""
    K, width, lookup = len(model.classes_), len(model.classes_) + 1, model.trigrams_.lookup()
    names = ("tags before", "tags on both sides", "tags after")
    marked = np.array([K, K, *path, K])  # the tag of token t is marked[t + 2]
    terms = {}
    for name, last in zip(names, range(t + 2, min(t + 5, len(marked))), strict=False):
        u, v, w = marked[last - 2 : last + 1]
        terms[name] = float(lookup(np.array([(u * width + v) * width + w]))[0])
    return terms
