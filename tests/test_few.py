"""Few sentences take a path of their own: its scores and answers are those of the path for many, bit by bit."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tagger import CRFTagger
from tagger.chain.kernels import DenseMax
from tagger.chain.pack import Pack
from tagger.chain.pruning import PrunedStep
from tagger.chain.scores import Chain
from tagger.chain.single import best_path
from tagger.chain.viterbi import viterbi
from tagger.crf import few_tokens
from tagger.crf.scorer import FeatureScorer
from tagger.features.keys import JointIndex
from tagger.features.template import parse_templates

WORDS = [
    *["the", "The", "dog", "dogs", "barks", "bark", "at", "cat", "cat's", "1,000", "re-run", "a", "i", ".", "!", "x"],
    "\u00e9t\u00e9",
    "e\u0301te\u0301",
    "개가",
    "짖는다",
]


def sentences(count, seed=0, new=0.2):
    """Sentences of 0 to 30 words, some of them new."""
    draw = random.Random(seed)

    def word():
        return (
            "".join(draw.choices("abcdeXY-1é개", k=draw.randint(1, 8))) if draw.random() < new else draw.choice(WORDS)
        )

    return [[word() for _ in range(draw.choice([0, 1, 1, 2, 5, 15, 30]))] for _ in range(count)]


def tagged(count, tags, seed=1):
    draw = random.Random(seed)
    own = [words for words in sentences(count, seed) if words]
    return own, [
        [
            tags[(WORDS.index(word) if word in WORDS else 7) * 3 % len(tags)]
            if draw.random() < 0.8
            else draw.choice(tags)
            for word in words
        ]
        for words in own
    ]


TEMPLATES = {
    "default": "default",
    "three words": "bias[0]\nlower[0]\nshape[1] & suffix:2[1]\nlower[-1] & lower[0] & lower[1]\nshape[0] & shape[3]\n",
    "one word": "word[0]\nsuffix:1-3[0]\nlower[-1]\n",
}


@pytest.fixture(scope="module", params=[(name, parts) for name in TEMPLATES for parts in (False, True)], ids=str)
def model(request, tmp_path_factory):
    name, parts = request.param
    path = tmp_path_factory.mktemp("template") / "t.txt"
    path.write_text(TEMPLATES[name])
    tags = ["N+J", "N+X", "V+E", "V+J", "M"] if parts else ["N", "V", "D", "J", "."]
    features = "default" if name == "default" else str(path)
    return CRFTagger(features=features, max_iterations=8, min_pair_count=1).fit(*tagged(80, tags))


# Emissions


def test_emissions_of_few_tokens_are_those_of_many(model):
    few = FeatureScorer(model.features_, model.weights_, model.tag_parts_)
    many = FeatureScorer(model.features_, model.weights_, model.tag_parts_)
    assert few.few is not None
    many.few = None
    for words in sentences(60, seed=2):
        pack = Pack.of([len(words)])
        np.testing.assert_array_equal(few([words], pack), many([words], pack))


def test_keys_too_large_for_one_index_are_looked_up_template_by_template(model, monkeypatch):
    expected = model.predict(sentences(30, seed=3))
    huge = JointIndex(parse_templates("lower[-1] & lower[0] & lower[1]"), [np.arange(3)], 2**21)
    assert not huge.fits
    monkeypatch.setattr(few_tokens.FewTokens, "of", lambda *rest: None)
    assert [model.predict([words])[0] for words in sentences(30, seed=3)] == expected


# Viterbi


@given(st.data())
@settings(max_examples=60)
def test_the_best_path_of_one_sentence_is_that_of_a_pack(data):
    draw = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    K, T = data.draw(st.integers(1, 12) | st.just(210)), data.draw(st.integers(1, 20))
    spread, forbidden = data.draw(st.sampled_from([0.1, 3.0, 50.0])), data.draw(st.sampled_from([0.0, 0.1, 0.6]))
    scores = [(draw.normal(size=shape) * spread).astype(np.float32) for shape in (K, (K, K), K, (T, K))]
    for array in scores:
        array[draw.random(array.shape) < forbidden] = -np.inf
    start, A, end, E = scores
    step = PrunedStep(A)
    chain = Chain(Pack.of([T]), start, A, end, E)
    with np.errstate(all="raise", under="ignore"):
        found = best_path(step, start, end, E)
    assert found == viterbi(DenseMax(chain, step)).tolist()


# Whole models


def test_one_by_one_is_as_all_at_once(model):
    text = sentences(300, seed=4)
    together = model.predict(text)
    assert [model.predict([words])[0] for words in text] == together
    for words, P in zip(text[:100], model.predict_marginals(text[:100]), strict=True):
        np.testing.assert_allclose(model.predict_marginals([words])[0], P, atol=1e-5)  # float32
