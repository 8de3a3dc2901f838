"""The arrays and settings of an HMM in a model file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tagger.arrays.npz import Archive, Arrays
from tagger.hmm.emissions import EmissionModel
from tagger.hmm.lexicalized import LexicalizedTransitions
from tagger.hmm.transitions import Transitions

if TYPE_CHECKING:
    from tagger.hmm.tagger import HMMTagger


def model_arrays(model: HMMTagger) -> Arrays:
    """Return all that an HMM has learned, as named arrays."""
    return model.transitions_.arrays() | model.transition_model_.arrays() | model.emission_model_.arrays()


def restore_model(model: HMMTagger, archive: Archive) -> None:
    """Set the attributes of an HMM from the arrays of a file; settings and `classes_` are set already."""
    K, textbook = len(model.classes_), model.textbook
    archive.check(model.order in (1, 2) and isinstance(model.rare_count, int), "expected the settings of an HMM")
    try:
        textbook.check({"partial": model.partial})
    except ValueError as error:
        raise archive.error(str(error)) from None
    if textbook.is_default:
        model.emission_model_ = EmissionModel.restore(archive, K, model.rare_count)
    else:
        from tagger.hmm.textbook.emissions import TextbookEmissions

        model.emission_model_ = TextbookEmissions.restore(archive, K, textbook)
    model.lexicon_ = model.emission_model_.lexicon
    transitions = Transitions.restore(archive, K, with_zeros=textbook.counts_only)
    words = len(model.lexicon_.words)
    model.transition_model_ = LexicalizedTransitions.restore(archive, transitions, words)
