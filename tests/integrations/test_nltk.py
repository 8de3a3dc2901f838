"""NLTK's own evaluation, on a model as a tagger of NLTK."""

import pytest
from paths import TEST, TRAIN

from tagger import HMMTagger, evaluate, read_corpus, save_model

api = pytest.importorskip("nltk.tag.api")
adapter = pytest.importorskip("tagger.integrations.nltk")
GOLD = [list(zip(s.words, s.tags, strict=True)) for s in read_corpus(TEST)]


@pytest.fixture(scope="module")
def tagger():
    return adapter.ModelTagger(HMMTagger().fit(read_corpus(TRAIN)))


def test_it_is_a_tagger_of_nltk(tagger):
    assert isinstance(tagger, api.TaggerI)
    assert tagger.tag(["They", "can", "fish", "."]) == tagger.tag_sents([["They", "can", "fish", "."]])[0]
    assert [word for word, _ in tagger.tag(("It", "rains"))] == ["It", "rains"]
    assert tagger.tag([]) == [] and tagger.tag_sents([]) == []
    assert "HMMTagger()" in repr(tagger)


def test_accuracy_and_confusion_are_ours(tagger):
    sentences = read_corpus(TEST)
    ours = evaluate(sentences, tagger.model.predict(sentences))
    assert tagger.accuracy(GOLD) == pytest.approx(ours.accuracy)
    confusion = tagger.confusion(GOLD)
    assert confusion["NN", "NN"] == sum(
        gold == guess == "NN"
        for sentence, tags in zip(sentences, tagger.model.predict(sentences), strict=True)
        for gold, guess in zip(sentence.tags, tags, strict=True)
    )
    f1 = {score.tag: score.f1 for score in ours.tags}
    assert tagger.f_measure(GOLD)["NN"] == pytest.approx(f1["NN"])
    assert "NN" in tagger.evaluate_per_tag(GOLD)


def test_it_trains_on_sentences_of_nltk():
    trained = adapter.ModelTagger.train(iter(GOLD), HMMTagger())
    words = [list(s.words) for s in read_corpus(TEST)]
    assert trained.model.predict(words) == HMMTagger().fit(read_corpus(TEST)).predict(words)


def test_the_shipped_model_is_the_default():
    assert adapter.ModelTagger().tag(["It", "rains", "."]) == [("It", "PRP"), ("rains", "VBZ"), (".", ".")]


def test_what_is_no_list_of_words_is_named(tagger):
    """A text would be taken for a list of its characters."""
    with pytest.raises(TypeError, match=r"sentences\[0\]: expected a list of words, got the string 'It rains'"):
        tagger.tag("It rains")
    with pytest.raises(
        TypeError, match=r"sentences\[1\]\[0\]: expected a pair of word and tag, got the string 'rains'"
    ):
        adapter.ModelTagger.train([[("It", "PRP")], ["rains"]])
    with pytest.raises(TypeError, match="model: expected a model, its path or its name, got 3"):
        adapter.ModelTagger(3)


def test_a_model_may_be_a_path(tagger, tmp_path):
    save_model(tagger.model, tmp_path / "model.npz")
    assert adapter.ModelTagger(tmp_path / "model.npz").tag(["It"]) == tagger.tag(["It"])
