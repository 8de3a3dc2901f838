"""Going on from a model: nothing it knows is lost, what is new is learned."""

import numpy as np
import pytest

from tagger import CRFTagger, Sentence, load_model, save_model
from tagger.crf.warm_start import FeatureUnion

OLD = [
    Sentence(w.split(), t.split()) for w, t in [("the dog barks", "D N V"), ("a cat sleeps", "D N V"), ("dogs", "N")]
]
NEW = [Sentence(w.split(), t.split()) for w, t in [("lol cat", "UH N"), ("the meme slaps", "D N V"), ("lol", "UH")]]


@pytest.fixture(scope="module")
def old():
    return CRFTagger(l2=0.05).fit(OLD * 3)


def test_a_union_keeps_every_feature_and_weight_of_both(old):
    new = CRFTagger(l2=0.05).fit(NEW)
    K = 5  # any set of tags that holds both
    union = FeatureUnion(old.features_, new.features_, K)
    assert len(union.features.rows.tags) == len({*named(old.features_), *named(new.features_)})
    for side in (old.features_, new.features_):
        names, every = list(named(side)), list(named(union.features))
        assert [every[place] for place in union.places[side].tolist()] == names


def named(features):
    """Each parameter as (template, its values as text, tag)."""
    texts = [*features.strings.strings(), "<", ">"]
    for t, template in enumerate(features.templates):
        for n, key in enumerate(features.keys[t].tolist()):
            values = [texts[key // features.radix**i % features.radix] for i in range(len(template.conjuncts))]
            entries, _ = features.rows.entries(features.bases[t] + np.array([n]))
            yield from ((str(template), *values, int(tag)) for tag in features.rows.tags[entries])


def test_with_a_heavy_penalty_the_old_model_stays_as_it_is(old):
    same = CRFTagger(l2=1e6).fit(NEW, init=old)
    words = [sentence.words for sentence in OLD]
    for a, b in zip(old.predict_marginals(words), same.predict_marginals(words), strict=True):
        columns = [same.classes_.index(tag) for tag in old.classes_]
        np.testing.assert_allclose(a / a.sum(axis=1, keepdims=True), renormalised(b[:, columns]), atol=1e-3)


def renormalised(P):
    return P / P.sum(axis=1, keepdims=True)


def test_adapting_learns_the_new_and_keeps_the_old(old, tmp_path):
    adapted = CRFTagger(l2=0.05).fit(NEW, init=old)
    assert adapted.classes_ == ["D", "N", "UH", "V"]
    assert adapted.predict(NEW) == [list(sentence.tags) for sentence in NEW]
    assert adapted.predict(OLD) == [list(sentence.tags) for sentence in OLD]
    assert adapted.predict([["a", "dog", "slaps"]]) == [["D", "N", "V"]]
    assert adapted.lexicon_.known(["dog", "meme", "zebra"]).tolist() == [True, True, False]
    assert adapted.template_ == old.template_
    save_model(adapted, tmp_path / "adapted.npz")
    assert load_model(tmp_path / "adapted.npz").predict(OLD + NEW) == adapted.predict(OLD + NEW)


def test_counts_of_words_add_up(old):
    adapted = CRFTagger(l2=0.05).fit(OLD, init=old)
    assert adapted.lexicon_.counts.sum() == 4 * sum(map(len, OLD))
    assert len(adapted.weights_) == len(old.weights_)


def test_partial_text_adapts_too(old):
    text = [Sentence(["the", "zig", "barks"], ["D", "?", "V"]), Sentence(["lol"], ["UH"])]
    adapted = CRFTagger(partial=True, l2=0.05).fit(text, init=old)
    assert adapted.predict([["the", "zig", "barks"]]) == [["D", "N", "V"]]
