"""Checks of the settings of a CRF before a training begins, and fingerprints of all that a checkpoint belongs to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tagger.errors import TrainingError
from tagger.models.checkpoint import corpus_fingerprint, fingerprint
from tagger.sentence import Sentence

if TYPE_CHECKING:
    from tagger.crf.tagger import CRFTagger

MIN_THRESHOLD, MAX_THRESHOLD = 1e-9, 0.5  # of a candidate's probability


def check_settings(model: CRFTagger) -> None:
    """Refuse settings that are out of range."""
    check_chain(model.order, model.candidates)
    if not (0 <= model.l2 < np.inf and 0 <= model.l1 < np.inf and model.tolerance >= 0):
        settings = f"l1={model.l1}, l2={model.l2}, tolerance={model.tolerance}"
        raise TrainingError(f"expected l1, l2 and tolerance from 0 up, got {settings}")
    if min(model.max_iterations, model.min_count, model.min_pair_count, model.patience) < 1 or model.threads < 0:
        names = ("max_iterations", "min_count", "min_pair_count", "patience", "threads")
        settings = ", ".join(f"{name}={getattr(model, name)}" for name in names)
        raise TrainingError(f"expected whole numbers from 1 up (threads from 0), got {settings}")


def check_chain(order: int, candidates: str | float) -> None:
    """Refuse an order and candidates that are invalid, alone or together."""
    if order not in (1, 2):
        raise TrainingError(f"order: expected 1 or 2, got {order!r}")
    if candidates == "all" and order == 2:
        raise TrainingError("candidates: expected auto or a number with order 2, got all. Use order 1.")
    if candidates in ("auto", "all"):
        return
    try:
        fits = MIN_THRESHOLD <= float(candidates) < MAX_THRESHOLD
    except (TypeError, ValueError):
        fits = False
    if not fits:
        expected = f"expected auto, all or a number from {MIN_THRESHOLD:g} to {MAX_THRESHOLD}"
        raise TrainingError(f"candidates: {expected}, got {candidates!r}")


def training_fingerprints(
    model: CRFTagger, sentences: Sequence[Sentence] | None, dev: Sequence[Sentence] | None, init: CRFTagger | None
) -> dict[str, str]:
    """Hash everything that a checkpoint of this training belongs to."""
    classes = model.features_.classes
    return {
        "corpus": corpus_fingerprint(sentences, model.wanted_columns_),
        "dev set": corpus_fingerprint(dev, model.wanted_columns_),
        "metric": model.metric,
        "template": fingerprint([model.template_, model.min_count, model.min_pair_count]),
        "tag set": fingerprint([*model.classes_, *filter(None, [model.scheme_])]),
        "chain": fingerprint([model.order, model.threshold_]),
        "penalty": fingerprint([model.l1, model.l2]),
        "word classes": fingerprint(() if classes is None else map(np.ndarray.tobytes, classes.arrays().values())),
        "lists": fingerprint(phrases.phrases.hashes.tobytes() for phrases in model.lists_.values()),
        "initial model": fingerprint([] if init is None else [init.weights_.tobytes(), init.template_]),
    }
