"""Summary of a CRF for `tagger inspect`: sizes of its templates, strongest features of each tag, transitions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from tagger.features.encoder import Features
from tagger.models.summary import FormattedNumber, Section, extreme_steps

if TYPE_CHECKING:
    from tagger.crf.tagger import CRFTagger
    from tagger.hmm.tagger import HMMTagger

FEATURES_SHOWN = 5  # of a tag
STEPS_SHOWN = 10  # highest and lowest weights of features of steps


def crf_summary(model: CRFTagger) -> list[Section]:
    """Return the sections of the summary."""
    columns = [*model.classes_, *model.tag_parts_.names]  # of the weights
    sections = [templates(model.features_), strongest(columns, model.features_, model.weights_)]
    sections += extreme_steps(model.classes_, model.transitions_, model.start_)
    if model.features_.step_templates:
        sections.append(strongest_of_steps(model))
    if model.proposer_ is not None:
        sections += proposer_summary(model.proposer_, model.threshold_, float(model.posterior_weight_[0]))
    return sections


def weight_rows(model: CRFTagger) -> Iterator[tuple[str, str, float]]:
    """List all weights of a CRF as (feature, tag, weight): features, steps between tags, the HMM's probability.

    A weight that belongs to a part of a tag has the name of the part, that of a step is named by the tag before, too.
    The mark before and after a sentence is ·.
    """
    K, names, features = len(model.classes_), [*model.classes_, "·"], model.features_
    columns = [("", name) for name in (*model.classes_, *model.tag_parts_.names)]
    columns += [(f" & previous tag {u}", v) for u in model.classes_ for v in model.classes_]
    owners, tags, weights = features.rows.owners.tolist(), features.rows.tags.tolist(), model.weights_.tolist()
    last, text = -1, ""
    for owner, tag, weight in zip(owners, tags, weights, strict=True):
        if owner != last:
            last, text = owner, features.text(owner)
        step, name = columns[tag]
        yield text + step, name, weight
    steps = model.transition_table().values
    for u, v in np.argwhere(steps).tolist():
        yield f"previous tag {names[u]}", names[v], float(steps[u, v])
    for key, weight in zip(model.trigrams_.keys.tolist(), model.trigrams_.weights.tolist(), strict=True):
        pair, w = divmod(key, K + 1)
        yield f"previous tags {names[pair // (K + 1)]} {names[pair % (K + 1)]}", names[w], weight
    for weight in model.posterior_weight_.tolist():
        yield "log-probability by the HMM", "·", weight


def proposer_summary(hmm: HMMTagger, threshold: float | None, weight: float) -> list[Section]:
    """Return the sections about the HMM that proposes candidates: its settings, and its own tables."""
    from tagger.hmm.summary import hmm_summary

    facts: list[list[Any]] = [
        ["lowest probability of a candidate", threshold],
        ["weight of its log-probability", weight],
    ]
    settings = [[name, value] for name, value in hmm.stored_settings().items()]
    own = hmm_summary(hmm.classes_, hmm.transition_model_, hmm.emission_model_)
    named = [Section(f"HMM: {section.title}", section.rows, section.head) for section in own]
    return [Section("HMM that proposes candidates", [*facts, *settings]), *named]


def templates(features: Features) -> Section:
    """Count the features and weights of each template."""
    per_feature = features.rows.widths
    rows = []
    for t, template in enumerate(features.templates):
        begin, end = features.bases[t], features.bases[t + 1]
        rows.append([str(template), int(end - begin), int(per_feature[begin:end].sum())])
    total = ["all", len(per_feature), int(per_feature.sum())]
    return Section("templates", [*rows, total], ["template", "features", "weights"])


def strongest_of_steps(model: CRFTagger) -> Section:
    """List the features of steps with the highest and the lowest weights."""
    features, K, names = model.features_, len(model.classes_), model.classes_
    weights, owners = model.weights_[features.steps_begin :], features.rows.owners[features.steps_begin :]
    before, after = np.divmod(features.rows.tags[features.steps_begin :] - model.tag_parts_.columns, K)
    order = np.argsort(-weights, kind="stable")
    shown = np.unique(np.concatenate([np.arange(len(order))[:STEPS_SHOWN], np.arange(len(order))[-STEPS_SHOWN:]]))
    rows = [
        [features.text(int(owners[i])), names[before[i]], names[after[i]], FormattedNumber(weights[i], "+.2f")]
        for i in order[shown].tolist()
    ]
    return Section("strongest features of steps", rows, ["feature", "from", "to", "weight"])


def strongest(columns: list[str], features: Features, weights: np.ndarray) -> Section:
    """List the features with the highest weights for each tag and tag part."""
    owners, tags = features.rows.owners, features.rows.tags
    rows = []
    for k, name in enumerate(columns):
        params = np.flatnonzero(tags == k)
        best = params[np.argsort(-weights[params], kind="stable")[:FEATURES_SHOWN]].tolist()
        rows.append([name, [(features.text(int(owners[i])), FormattedNumber(weights[i], "+.2f")) for i in best]])
    return Section("strongest features", rows)
