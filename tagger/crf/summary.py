"""What a CRF has learned, told to a person: how large its parts are, the strongest features of a tag, transitions."""

from __future__ import annotations

import numpy as np

from tagger.features.encoder import Features
from tagger.models.summary import FormattedNumber, Section, steps

SHOWN = 5  # features of a tag


def crf_summary(
    classes: list[str],
    parts: list[str],
    features: Features,
    weights: np.ndarray,
    transitions: np.ndarray,
    start: np.ndarray,
) -> list[Section]:
    """`parts` are those of the tags, numbered behind them."""
    return [
        templates(features),
        strongest([*classes, *parts], features, weights),
        steps("transitions that are liked most", classes, transitions, start, best=True),
        steps("transitions that are liked least", classes, transitions, start, best=False),
    ]


def templates(features: Features) -> Section:
    """How many features and weights each template has."""
    per_feature = features.rows.widths
    rows = []
    for t, template in enumerate(features.templates):
        begin, end = features.bases[t], features.bases[t + 1]
        rows.append([str(template), int(end - begin), int(per_feature[begin:end].sum())])
    total = ["all", len(per_feature), int(per_feature.sum())]
    return Section("templates", [*rows, total], ["template", "features", "weights"])


def strongest(classes: list[str], features: Features, weights: np.ndarray) -> Section:
    """For each tag, and each part of tags, the features that speak for it most."""
    owners, tags = features.rows.owners, features.rows.tags
    rows = []
    for k, tag in enumerate(classes):
        own = np.flatnonzero(tags == k)
        best = own[np.argsort(-weights[own], kind="stable")[:SHOWN]]
        rows.append(
            [tag, [(features.text(int(owners[i])), FormattedNumber(weights[i], "+.2f")) for i in best.tolist()]]
        )
    return Section("strongest features", rows)
