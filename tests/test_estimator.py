"""The conventions of scikit-learn that need no scikit-learn, and settings as `fit` checks them."""

from fractions import Fraction

import numpy as np
import pytest

from tagger import BiLSTMTagger, CRFTagger, HMMTagger, PooledTagger, Sentence, load_model, save_model
from tagger.errors import TrainingError
from tagger.models.estimator import Taggings

CORPUS = [Sentence(["the", "dog"], ["D", "N"]), Sentence(["a", "cat"], ["D", "N"])]
QUICK = {"max_iterations": 2, "threads": 1}


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


@pytest.mark.parametrize(
    "setting",
    [
        {"order": 2.0}, {"rare_count": 1.5}, {"rare_count": "3"}, {"rare_count": None}, {"rare_count": np.float64(2)},
        {"rare_count": True}, {"rare_count": 10**30}, {"partial": "no"}, {"partial": 1}, {"scheme": None},
        {"scheme": b"bio"}, {"floor": "0.1"}, {"floor": True}, {"floor": float("nan")}, {"floor": Fraction(1, 4)},
        {"pseudo_count": 10**30},
    ],
    ids=repr,
)  # fmt: skip
def test_a_setting_of_a_wrong_type_is_named(setting):
    """A model file could not hold it: the training would be lost."""
    (name,) = setting
    with pytest.raises(ValueError, match=f"^{name}: expected (a|True) .*, got "):
        HMMTagger(**setting).fit(CORPUS)


@pytest.mark.parametrize(
    "tagger, name",
    [
        (CRFTagger(min_count=1.5), "min_count"), (CRFTagger(threads=float("nan")), "threads"),
        (CRFTagger(tolerance=float("inf")), "tolerance"), (CRFTagger(features=None), "features"),
        (PooledTagger(l2="0.5"), "l2"), (PooledTagger(metric=None), "metric"),
    ],
    ids=repr,
)  # fmt: skip
def test_all_taggers_check_their_settings(tagger, name):
    with pytest.raises(TrainingError, match=f"^{name}: expected "):
        tagger.fit(CORPUS)


@pytest.mark.parametrize(
    "setting", [{"suffix_length": -1}, {"suffix_length": 201}, {"rare_count": -1}, {"em_iterations": -1}]
)
def test_settings_of_an_hmm_have_bounds(setting):
    with pytest.raises(ValueError, match=f"^expected numbers from 0 up .*{next(iter(setting))}="):
        HMMTagger(**setting).fit(CORPUS)


def test_numbers_of_numpy_are_settings(tmp_path):
    """A search takes them from arrays."""
    settings = {"l2": np.float32(0.5), "l1": 0, "min_count": np.int64(1), "partial": np.True_}
    save_model(CRFTagger(**QUICK, **settings).fit(CORPUS), tmp_path / "crf.npz")
    assert load_model(tmp_path / "crf.npz").l2 == 0.5


@pytest.mark.parametrize("init", [HMMTagger().fit(CORPUS), CRFTagger(), "crf.npz"], ids=repr)
@pytest.mark.parametrize("kind", [CRFTagger, PooledTagger])
def test_a_training_continues_from_fitted_crfs_only(kind, init):
    with pytest.raises(TrainingError, match=r"^init: expected a fitted CRF, got "):
        kind(**QUICK).fit(CORPUS, init=init)


@pytest.mark.parametrize("tags", [[], [["A"]], [["A", "B"], ["C"]], [["A", "B"], ["C", "D"]]])
def test_taggings_are_a_list_and_an_array_of_lists(tags):
    taggings = Taggings(tags)
    assert taggings == tags and np.asarray(taggings).shape == (len(tags),)
    assert list(np.concatenate([taggings, taggings])) == tags + tags
