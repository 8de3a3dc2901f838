"""Tags made of parts: found where a tag set has them, learned with, tagged with, stored."""

import json

import numpy as np
import pytest

from tagger import CRFTagger, Sentence, load_model, save_model
from tagger.chain.pack import Pack
from tagger.crf.objective import PenalizedLikelihood
from tagger.crf.scorer import FeatureScorer
from tagger.errors import ModelError
from tagger.features.functions import WordForms, jamo, length
from tagger.features.tag_parts import TagParts, separator_of

CORPUS = [
    Sentence(w.split(), t.split())
    for w, t in [
        ("seoulneun bapeul", "NNP+JX NNG+JKO"),
        ("bapneun johda", "NNG+JX VA+EF"),
        ("goyangineun jakda .", "NNG+JX VA+EF SF"),
        ("busanneun seouleul bonda", "NNP+JX NNP+JKO VV+EF"),
    ]
]


@pytest.mark.parametrize(
    "tags, expected",
    [
        (["NNG+JX", "NNG", "VV+EF"], "+"),
        (["Case=Nom|Number=Sing", "Case=Acc|Number=Sing", "_"], "|"),
        (["NN", "VB", "VBG|NN", "+", "|"], None),  # a mark that is the whole tag joins nothing
        (["NN", "VB", "DT", "A+B"], None),
    ],
)
def test_a_separator_joins_half_of_the_tags(tags, expected):
    assert separator_of(tags) == expected


def test_scores_of_tags_are_those_of_whole_and_parts():
    parts = TagParts(["N+J", "N", "V+J"], "+")
    assert parts.names == ["+J", "+N", "N+", "V+"] and parts.columns == 7
    scores = np.array([[1.0, 2.0, 3.0, 10.0, 20.0, 30.0, 40.0]])
    assert parts.spread(scores).tolist() == [[1 + 10 + 30, 2 + 20 + 30, 3 + 10 + 40]]
    columns = np.array([[0.5, 0.25, 0.125, 0, 0, 0, 0]])
    parts.gather(columns)
    assert columns.tolist() == [[0.5, 0.25, 0.125, 0.625, 0.25, 0.75, 0.125]]
    places, found = parts.events(np.array([1, 0]))
    assert sorted(zip(places.tolist(), found.tolist(), strict=True)) == [(0, 1), (0, 4), (0, 5), (1, 0), (1, 3), (1, 5)]
    assert parts.columns_by_tag.tolist() == [[0, 3, 5], [1, 4, 5], [2, 3, 6]]


def test_without_a_separator_nothing_changes():
    parts = TagParts(["N+J", "N"], None)
    scores = np.ones((3, 2))
    assert parts.spread(scores) is scores and parts.columns == 2
    assert [array.tolist() for array in parts.events(np.array([1, 0]))] == [[0, 1], [1, 0]]
    assert parts.columns_by_tag.tolist() == [[0], [1]]


def test_the_gradient_agrees_with_differences():
    corpus, layout = CRFTagger(features="comparison").encode(CORPUS)
    assert corpus.tag_parts.names and (corpus.features.rows.tags >= corpus.K).any()
    loss = PenalizedLikelihood(corpus, layout, 0.3, dtype=np.float64)
    weights = np.random.default_rng(0).normal(size=layout.size)
    gradient = loss(weights)[1].copy()
    for i in np.random.default_rng(1).choice(layout.size, 60, replace=False):
        step = np.zeros(layout.size)
        step[i] = 1e-5
        assert gradient[i] == pytest.approx((loss(weights + step)[0] - loss(weights - step)[0]) / 2e-5, abs=1e-6)


def test_training_and_tagging_give_the_same_scores():
    """The loss where training ended equals -Σ log p + l2·‖w‖² of the model as it tags, but for rounded weights."""
    words = [Sentence([w], [t]) for s in CORPUS for w, t in zip(s.words, s.tags, strict=True)]
    model = CRFTagger(l2=0.01).fit(words)
    found = model.predict_marginals([s.words for s in words])
    gold = [P[0, model.classes_.index(s.tags[0])] for P, s in zip(found, words, strict=True)]
    norm = sum((w.astype(np.float64) ** 2).sum() for w in (model.weights_, model.start_, model.end_))
    assert model.summary_["loss"] == pytest.approx(0.01 * norm - np.log(gold).sum(), rel=1e-3)


STEMS = [("seoul", "NNP"), ("busan", "NNP"), ("jeju", "NNP"), ("bab", "NNG"), ("mul", "NNG"), ("jib", "NNG")]
ENDINGS = [("-neun", "JX"), ("-eul", "JKO"), ("-ui", "JKG")]
WORDS = [Sentence([stem + end], [f"{a}+{b}"]) for stem, a in STEMS for end, b in ENDINGS]


@pytest.fixture
def template(tmp_path):
    (tmp_path / "t.txt").write_text("prefix:3[0]\nending:3[0]\n")
    return str(tmp_path / "t.txt")


def test_a_stem_speaks_for_tags_never_seen_with_it(template, tmp_path):
    """Each stem is seen with two of three endings; its tag with the third follows from its kind and the ending."""
    seen = [sentence for i, sentence in enumerate(WORDS) if i % 3 != i // 3 % 3]
    assert len(seen) == 12 and {sentence.tags for sentence in seen} == {sentence.tags for sentence in WORDS}
    model = CRFTagger(features=template, l2=0.05).fit(seen)
    assert model.score(WORDS) == 1.0
    save_model(model, tmp_path / "m.npz")
    assert load_model(tmp_path / "m.npz").score(WORDS) == 1.0
    adapted = CRFTagger(l2=0.05).fit([Sentence(["AAA"], ["AA"]), Sentence(["qqq"], ["IC"])], init=model)
    assert adapted.tag_parts_.separator == "+" and adapted.score(WORDS) == 1.0  # with all columns in other places


def test_explanations_add_up_to_the_scores():
    model = CRFTagger(max_iterations=20).fit(CORPUS)
    words = ["busaneul"]
    emissions = FeatureScorer(model.features_, model.weights_, model.tag_parts_)([words], Pack.of([1]))[0]
    terms = model.score_terms(words)
    for k in range(len(model.classes_)):
        expected = emissions[k] + model.start_[k] + model.end_[k]
        assert sum(terms([k], 0).values()) == pytest.approx(float(expected), abs=1e-5)


def test_an_unknown_separator_is_refused(tmp_path):
    save_model(CRFTagger(max_iterations=2).fit(CORPUS), tmp_path / "m.npz")
    with np.load(tmp_path / "m.npz") as members:
        arrays = {name: members[name] for name in members}
    meta = json.loads(arrays["meta"].tobytes())
    for wrong in ("a", 7, ["+"], None):
        changed = json.dumps(meta | {"separator": wrong}).encode()
        np.savez(tmp_path / "x.npz", **arrays | {"meta": np.frombuffer(changed, np.uint8)})
        with pytest.raises(ModelError, match="npz"):
            load_model(tmp_path / "x.npz")


def test_pairs_seen_once_are_left_out(tmp_path):
    (tmp_path / "t.txt").write_text("word[0]\nword[-1] & word[0]\n")
    text = [Sentence(["a", "b"], ["X", "Y"]), Sentence(["a", "b"], ["X", "Y"]), Sentence(["c", "b"], ["X", "Y"])]
    few, every = (
        CRFTagger(features=str(tmp_path / "t.txt"), min_pair_count=n, max_iterations=1).fit(text).features_
        for n in (2, 1)
    )
    assert [len(keys) for keys in few.keys] == [3, 2] and [len(keys) for keys in every.keys] == [3, 4]


def test_letters_of_syllables():
    words = WordForms(["간", "가n", "gan", "が"])
    assert jamo(1, words).strings() == ["\u11ab", "n", None, None]
    assert jamo(2, words).strings()[0] == "\u1161\u11ab" and jamo(4, words).strings()[0] is None
    assert length(WordForms(["abc", "a" * 30])).strings() == ["3", "10"]
