"""Checks of the settings of a CRF before a training begins, and fingerprints of all that a checkpoint belongs to."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tagger.corpus.labels import check_dev
from tagger.errors import CorpusError, TrainingError
from tagger.escaping import quote, shortened
from tagger.features.syntax import ATTRIBUTES_PREFIX
from tagger.features.template import FEATURES_TEMPLATE, Template, token_values
from tagger.sentence import FEATURES, Sentence, is_featured, is_wordless

if TYPE_CHECKING:
    from tagger.crf.tagger import CRFTagger
    from tagger.features.token_values import TokenValues

FUNCTION = "function"  # begins the name of a function that makes features, in model files
MIN_THRESHOLD, MAX_THRESHOLD = 1e-9, 0.5  # of a candidate's probability


def check_initial(init: object) -> None:
    """Refuse a model to continue from that is no fitted CRF."""
    from tagger.crf.tagger import CRFTagger

    if init is not None and not (isinstance(init, CRFTagger) and hasattr(init, "classes_")):
        raise TrainingError(f"init: expected a fitted CRF, got {shortened(repr(init))}")


def check_settings(model: CRFTagger, init: CRFTagger | None = None) -> None:
    """Refuse settings that are of a wrong type or out of range, and an initial model that is no fitted CRF."""
    model.check_types()
    check_initial(init)
    if not (isinstance(model.features, str) or callable(model.features)):
        expected = "expected the name of a template, that of a file, or a function"
        raise TrainingError(f"features: {expected}, got {shortened(repr(model.features))}")
    check_chain(model.order, model.candidates, model.orders)
    if not (0 <= model.l2 < np.inf and 0 <= model.l1 < np.inf and model.tolerance >= 0):
        settings = f"l1={model.l1}, l2={model.l2}, tolerance={model.tolerance}"
        raise TrainingError(f"expected l1, l2 and tolerance from 0 up, got {settings}")
    if min(model.max_iterations, model.min_count, model.min_pair_count, model.patience) < 1 or model.threads < 0:
        names = ("max_iterations", "min_count", "min_pair_count", "patience", "threads")
        settings = ", ".join(f"{name}={getattr(model, name)}" for name in names)
        raise TrainingError(f"expected whole numbers from 1 up (threads from 0), got {settings}")


def check_dev_set(model: CRFTagger, dev: Sequence[Sentence] | None) -> None:
    """Refuse a dev set that cannot be scored, before training begins."""
    from tagger.evaluation.spans import check_metric

    check_dev(model.classes_, dev)
    check_metric(model.metric, model.scheme_)
    if dev and model.features_.valued:
        try:
            token_values(model.features_.templates, model.observer()(dev))
        except CorpusError as error:
            raise CorpusError(f"dev set: {error}") from None


def check_chain(order: int, candidates: str | float, orders: Sequence[int] = (0, 1, 2)) -> None:
    """Refuse an order and candidates that are invalid, alone or together."""
    if isinstance(order, bool | float) or order not in orders:
        raise TrainingError(f"order: expected {', '.join(map(str, orders[:-1]))} or {orders[-1]}, got {order!r}")
    if order == 0 and candidates not in ("auto", "all"):
        raise TrainingError(f"candidates: expected auto or all with order 0, got {candidates!r}. Use order 1.")
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


def features_name(features: Any) -> str:
    """Return the name of a template, or of a function that makes features."""
    return features if isinstance(features, str) else f"{FUNCTION} {getattr(features, '__name__', 'features')}"


def stored_features(model: CRFTagger) -> str:
    """Return the name of a model's features for its file, without the folder of a template."""
    if model.template_ == FEATURES_TEMPLATE and model.features == "default":
        return FEATURES
    return Path(model.features).name if isinstance(model.features, str) else features_name(model.features)


def function_of(features: Any) -> Any:
    """Return the function that makes features; of a model that was loaded without it, its name; None for templates."""
    return features if callable(features) or features.startswith(FUNCTION) else None


def uses_feature_dicts(model: CRFTagger, first: Sentence) -> bool:
    """Return whether a corpus, given by its first sentence, has dicts of features, or a function makes them.

    Raises an error for settings that need words.
    """
    if is_wordless(first):
        name, chain = features_name(model.features), f"order={model.order} and candidates={model.candidates!r}"
        if name not in ("default", FEATURES):
            raise TrainingError(
                f"features: expected 'default' with dicts of features, got {quote(name)}. Leave it out."
            )
        if model.order == 2 or model.candidates not in ("auto", "all"):
            expected = "expected order 0 or 1 and candidates='all' with dicts of features: an HMM needs words"
            raise TrainingError(f"{expected}, got {chain}")
    return callable(model.features) or (is_featured(first) and model.features in ("default", FEATURES))


def check_words(sentences: Sequence[Sentence], sources: Sequence[str]) -> None:
    """Refuse sentences without words if no template, whose sources of values are given, looks at dicts."""
    if any(source.startswith(ATTRIBUTES_PREFIX) for source in sources):
        return
    for number, sentence in enumerate(sentences, 1):
        if is_wordless(sentence):
            expected = f"sentence {number}: expected words, as in the sentences or the model before"
            raise CorpusError(f"{expected}, got dicts of features. Give dicts for all sentences, or for none.")


def check_templates(order: int, templates: Sequence[Template]) -> None:
    """Refuse templates of steps where there are no steps."""
    steps = [str(template) for template in templates if template.of_steps]
    if order == 0 and steps:
        raise TrainingError(f"features: expected no lines with @ with order 0, got {quote(steps[0])}. Use order 1.")


def training_fingerprints(
    model: CRFTagger,
    sentences: Sequence[Sentence] | None,
    dev: Sequence[Sentence] | None,
    init: CRFTagger | None,
    valued: TokenValues | None = None,
) -> dict[str, str]:
    """Hash everything that a checkpoint of this training belongs to; `valued` are the numbers and dicts of the corpus.

    Dicts of features count as they were encoded: no file holds the function that made them.
    """
    from tagger.models.checkpoint import corpus_fingerprint, fingerprint

    features, classes = model.features_, model.features_.classes
    dicts = [source.removeprefix(ATTRIBUTES_PREFIX) for source in features.valued]
    columns = [name for name in model.wanted_columns_ if name not in dicts]
    prints = {"corpus": corpus_fingerprint(sentences, columns), "dev set": corpus_fingerprint(dev, columns)}
    if features.valued:
        dev_values = token_values(features.templates, model.observer()(dev)) if dev else None
        prints["set of features"] = fingerprint(value_digests(own) for own in (valued, dev_values))
    of_classes = {} if classes is None else classes.arrays(with_vectors=True)
    return prints | {
        "metric": model.metric,
        "template": fingerprint([model.template_, model.min_count, model.min_pair_count]),
        "tag set": fingerprint([*model.classes_, *filter(None, [model.scheme_])]),
        "chain": fingerprint([model.order, model.threshold_]),
        "penalty": fingerprint([model.l1, model.l2]),
        "word classes": fingerprint(map(np.ndarray.tobytes, of_classes.values())),
        "lists": fingerprint(phrases.phrases.hashes.tobytes() for phrases in model.lists_.values()),
        "initial model": fingerprint([] if init is None else [init.weights_.tobytes(), init.template_]),
    }


def value_digests(valued: TokenValues | None) -> list[bytes]:
    """Hash the numbers and dicts of a corpus, source by source."""
    return [
        sha256(part).digest() for own in (valued.sources.values() if valued else ()) for part in own.in_fixed_order()
    ]
