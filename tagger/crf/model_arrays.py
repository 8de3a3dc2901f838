"""The arrays of a CRF in a model file.

A model with candidates holds the arrays of its HMM too, under names that begin with `hmm.`. Both were trained on one
corpus and share their words and word classes, which are stored once, with the HMM.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tagger.arrays.npz import Archive, Arrays, narrow_floats
from tagger.crf.settings import MAX_THRESHOLD, MIN_THRESHOLD, stored_features
from tagger.crf.trigrams import TagTrigrams
from tagger.errors import TemplateError
from tagger.features.encoder import Features
from tagger.features.phrases import PhraseList
from tagger.features.tag_parts import PART_SEPARATORS, TagParts
from tagger.features.template import class_sizes, column_names, list_names, parse_templates
from tagger.features.word_classes import WordClasses
from tagger.words.lexicon import Lexicon

if TYPE_CHECKING:
    from tagger.crf.tagger import CRFTagger
    from tagger.hmm.tagger import HMMTagger

PREFIX = "hmm."
LEVELS = 512  # of a stored weight's size


def used_settings(model: CRFTagger, settings: dict[str, Any]) -> dict[str, Any]:
    """Choose from all settings those that change the model, and write them so that a file can hold them."""
    here = {"threads", "partial"}  # they belong to the machine and to the corpus
    used = {name: value for name, value in settings.items() if name not in here}
    return used | {"features": stored_features(model), "candidates": str(model.candidates)}


def description(model: CRFTagger) -> dict[str, Any]:
    """Return the entries of the model file's description that only CRFs have."""
    proposer = model.proposer_.stored_settings() if model.proposer_ else None
    template = {"template": model.template_, "separator": model.tag_parts_.separator}
    return template | {"threshold": model.threshold_, "proposer": proposer}


def model_arrays(model: CRFTagger) -> Arrays:
    """Return all that a CRF has learned, as named arrays."""
    arrays = {
        "weights": narrow_floats(model.weights_),
        "start": model.start_,
        "transitions": model.transitions_,
        "end": model.end_,
    }
    arrays |= model.features_.arrays()
    for i, phrases in enumerate(model.lists_.values()):
        arrays |= phrases.arrays(f"list.{i}")
    if model.order == 2:
        arrays |= model.trigrams_.arrays()
    hmm, classes = model.proposer_, model.features_.classes
    if hmm is not None:
        arrays |= {"posterior": model.posterior_weight_}
        arrays |= {PREFIX + name: array for name, array in hmm.arrays().items()}
    if hmm is None or hmm.lexicon_ is not model.lexicon_:
        arrays |= model.lexicon_.arrays()
    if classes is not None and (hmm is None or hmm.word_classes is not classes):
        arrays |= classes.arrays()
    return arrays


def restore_model(model: CRFTagger, archive: Archive) -> None:
    """Set the attributes of a CRF from the arrays of a file; settings and `classes_` are set already."""
    K = len(model.classes_)
    archive.check(model.order in (0, 1, 2), f"expected its order as 0, 1 or 2, got {model.order}")
    model.template_ = archive.setting("template", str)
    model.proposer_, model.threshold_ = restore_proposer(model, archive), archive.meta.get("threshold")
    if model.proposer_ is None or archive.has("words.blob"):
        model.lexicon_ = Lexicon.restore(archive, K)
    else:
        model.lexicon_ = model.proposer_.lexicon_
    try:
        templates = parse_templates(model.template_)
    except TemplateError as error:
        raise archive.error(str(error)) from None
    separator = archive.meta.get("separator")
    archive.check(
        separator in (None, *PART_SEPARATORS), f"expected tags joined by one of {PART_SEPARATORS}, or by nothing"
    )
    model.tag_parts_ = TagParts(model.classes_, separator)
    classes = restore_classes(archive, class_sizes(templates), model.proposer_)
    model.features_ = Features.restore(archive, templates, model.tag_parts_, classes)
    check_columns(model, archive)
    model.wanted_columns_ = column_names(templates)
    model.lists_ = {name: PhraseList.restore(archive, f"list.{i}") for i, name in enumerate(list_names(templates))}
    model.weights_ = archive.take("weights", "f", len(model.features_.rows.tags)).astype(np.float32)
    model.start_, model.end_ = (archive.take(name, "f", K).astype(np.float32) for name in ("start", "end"))
    model.transitions_ = archive.take("transitions", "f", K, K).astype(np.float32)
    model.trigrams_ = TagTrigrams.restore(archive, K) if model.order == 2 else TagTrigrams.none(K)


def check_columns(model: CRFTagger, archive: Archive) -> None:
    """Check that features of several words, and those with values, have weights of whole tags only."""
    features = model.features_
    archive.check(model.order > 0 or not features.step_templates, "expected no features of steps with order 0")
    whole = by_parameter(features, [not t.of_steps and t.offset is None for t in features.templates])
    fits = not (features.rows.tags[whole] >= len(model.classes_)).any()
    archive.check(fits, "expected weights of whole tags for its features of several words, and for those with values")


def by_parameter(features: Features, marks: list[bool]) -> np.ndarray:
    """Spread marks of templates over their parameters, (P,)."""
    return np.repeat(np.array(marks, bool), np.diff(features.rows.bounds[features.bases]))


def restore_classes(archive: Archive, sizes: list[int], hmm: HMMTagger | None) -> WordClasses | None:
    """Read exactly the word classes that the template names, or take those of the HMM."""
    if not sizes:
        return None
    classes = (hmm and hmm.word_classes) or WordClasses.restore(archive)
    archive.check(classes.sizes == sizes, f"it has word classes {classes.sizes}, where its template needs {sizes}")
    return classes


def restore_proposer(model: CRFTagger, archive: Archive) -> HMMTagger | None:
    """Read the HMM of a model with candidates, and its weight; None for a model without."""
    settings, threshold = archive.meta.get("proposer"), archive.meta.get("threshold")
    if settings is None:
        archive.check(model.order < 2 and threshold is None, "expected the HMM that proposes its candidates")
        model.posterior_weight_ = np.empty(0, np.float32)
        return None
    from tagger.hmm.tagger import HMMTagger

    archive.check(model.order > 0, "expected no HMM with order 0")
    fits = isinstance(threshold, float) and MIN_THRESHOLD <= threshold < MAX_THRESHOLD
    archive.check(fits, f"expected a threshold from {MIN_THRESHOLD:g} to {MAX_THRESHOLD}")
    model.posterior_weight_ = archive.take("posterior", "f", 1).astype(np.float32)
    hmm = HMMTagger(**archive.checked_settings(settings, HMMTagger))
    archive.check(hmm.order == 2, "expected an HMM of second order to propose its candidates")
    hmm.classes_, hmm.column_, hmm.seen_, hmm.summary_ = model.classes_, model.column_, model.seen_, {}
    hmm.scheme_ = model.scheme_
    arrays = archive.inside(PREFIX)
    hmm.restore(arrays)
    arrays.check_empty()
    return hmm


def set_rounded(model: CRFTagger, weights: np.ndarray) -> None:
    """Set the weights of a CRF's features, rounded but for those that are multiplied by values.

    A number may be in the thousands, and so would be the error of its weight.
    """
    valued = by_parameter(model.features_, [bool(template.valued) for template in model.features_.templates])
    model.weights_ = weights.astype(np.float32)
    model.weights_[~valued] = rounded(weights[~valued])


def rounded(weights: np.ndarray) -> np.ndarray:
    """Round to whole multiples of a power of two, the largest of them at most LEVELS.

    A model file takes a third of the room, and no accuracy is lost (docs/lab-notes/training.md).
    """
    highest = np.abs(weights).max(initial=0.0)
    step = np.exp2(np.ceil(np.log2(highest / LEVELS))) if highest else 1.0
    return np.asarray(np.round(weights / step) * step, np.float32)
