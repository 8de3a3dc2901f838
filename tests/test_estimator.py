"""The conventions of scikit-learn that need no scikit-learn."""

import numpy as np
import pytest

from tagger import BiLSTMTagger, CRFTagger, HMMTagger, PooledTagger
from tagger.models.estimator import Taggings


@pytest.mark.parametrize(
    "tagger, text",
    [
        (HMMTagger(), "HMMTagger()"),
        (HMMTagger(order=1), "HMMTagger(order=1)"),
        (CRFTagger(l2=0.5, features="chunking"), "CRFTagger(features='chunking', l2=0.5)"),
        (PooledTagger(), "PooledTagger()"),
        (BiLSTMTagger(), "BiLSTMTagger()"),
    ],
)
def test_repr_is_the_call(tagger, text):
    assert repr(tagger) == text
    again = eval(text)
    assert again.get_params() == tagger.get_params()


def test_unknown_settings_are_named():
    with pytest.raises(ValueError, match="ordre"):
        HMMTagger().set_params(ordre=1)


@pytest.mark.parametrize("tags", [[], [["A"]], [["A", "B"], ["C"]], [["A", "B"], ["C", "D"]]])
def test_taggings_are_a_list_and_an_array_of_lists(tags):
    taggings = Taggings(tags)
    assert taggings == tags and np.asarray(taggings).shape == (len(tags),)
    assert list(np.concatenate([taggings, taggings])) == tags + tags
