"""Word classes in the guesser of an HMM, alone and as the proposer of a CRF's candidates."""

import random

import numpy as np
import pytest

import tagger.crf.encode as encode
import tagger.hmm.guesser as guesser
from tagger import CRFTagger, HMMTagger, load_model, save_model
from tagger.arrays.npz import open_archive
from tagger.crf.candidates.proposal import cross_fit
from tagger.errors import ModelError
from tagger.features.clustering import learn_classes
from tagger.features.word_classes import WordClasses
from tagger.hmm.affixes import NO_KEY, Letters
from tagger.sentence import Sentence

CHANCE = random.Random(3)
NONSENSE = ["".join(CHANCE.choices("bcdfgh", k=4)) for _ in range(80)]
NOUNS, VERBS = NONSENSE[:40], NONSENSE[40:]


def made_up(sentences, known):
    """A language whose words say nothing by their spelling: nouns stand after `the`, verbs after `they`."""
    for _ in range(sentences):
        noun, verb = CHANCE.choice(NOUNS[:known]), CHANCE.choice(VERBS[:known])
        yield Sentence(["the", noun, "there", "they", verb, "now"], ["D", "N", "R", "P", "V", "R"])


RAW = [sentence.words for sentence in made_up(2000, known=40)]
FEW = list(made_up(30, known=20))
UNKNOWN = [Sentence([word], [tag]) for words, tag in ((NOUNS, "N"), (VERBS, "V")) for word in words[20:]]


@pytest.fixture(scope="module")
def classes():
    return learn_classes(lambda: RAW, sizes=(4, 12))


def marginals(model, words):
    return np.concatenate(model.predict_marginals([words]))


def members(path):
    with open_archive(str(path)) as archive:
        return set(archive.left)


@pytest.mark.parametrize("order", [1, 2])
def test_words_that_the_corpus_lacks_are_tagged_better(classes, order):
    plain, better = HMMTagger(order=order).fit(FEW), HMMTagger(order=order).fit(FEW, classes=classes)
    assert plain.score(UNKNOWN) < 0.7 and better.score(UNKNOWN) == 1.0


def test_descriptions_go_from_few_classes_to_many_and_to_the_case():
    table = WordClasses.of(["dog", "cat", "runs", "Dog"], {2: np.array([0, 0, 1, 0]), 3: np.array([0, 2, 1, 0])})
    words = ["dog", "cat", "runs", "Dog", "DOG", "zzz"]
    letters = Letters(words)
    few, many, with_case = guesser.spelling_keys(letters, 2, table)["word class"]
    assert few[0] == few[1] == few[3] == few[4] != few[2]  # DOG has the class of dog
    assert many[0] == many[3] == many[4] and len({*many[:3].tolist()}) == 3
    assert len({*with_case[:5].tolist()}) == 5  # dog, Dog and DOG differ
    assert few[5] == many[5] == with_case[5] == NO_KEY
    assert "word class" not in guesser.spelling_keys(letters, 2)


def test_the_class_of_a_word_is_smoothed_towards_the_class_among_fewer():
    """One spelling model of two levels and a case, by hand."""
    words, tags = ["b", "d", "f", "h"], ["N", "N", "V", "V"]
    table = WordClasses.of([*words, "z"], {1: np.zeros(5, int), 2: np.array([0, 0, 1, 1, 0])})
    model = HMMTagger().fit([[word] for word in words], [[tag] for tag in tags], classes=table)
    learned = model.emission_model_.guesser
    P = learned.prior  # (2,) of N and V
    for level, counts in zip(learned.spelling_models[-1], [(2, 2), (2, 0), (2, 0)], strict=True):
        P = (np.array(counts) + level.kappa * P) / (sum(counts) + level.kappa)
    scores = learned.expert_scores(guesser.take_words(learned.keys(Letters(["z"])).values(), slice(None)), None)[0]
    assert np.allclose(scores[-1], np.log(P / learned.prior), rtol=1e-6)


def test_few_and_many_tags_get_the_same_guess(classes, monkeypatch):
    dense = HMMTagger().fit(FEW, classes=classes)
    words = [word for sentence in UNKNOWN for word in sentence.words] + ["Zzz", "the"]
    expected = marginals(dense, words)
    monkeypatch.setattr(guesser, "DENSE_TAGS", 0)
    assert np.allclose(marginals(HMMTagger().fit(FEW, classes=classes), words), expected, atol=1e-12)


def test_a_file_keeps_the_classes(classes, tmp_path):
    model = HMMTagger().fit(FEW, classes=classes)
    for name in ("a.npz", "b.npz"):
        save_model(model, tmp_path / name)
        model = load_model(tmp_path / name)
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    assert model.word_classes.sizes == [4, 12] and model.score(UNKNOWN) == 1.0


def test_words_and_classes_are_in_one_normal_form():
    decomposed, composed = "cafe\u0301", "caf\u00e9"
    table = WordClasses.of([decomposed], {2: np.array([1])})
    model = HMMTagger().fit(FEW, classes=table)
    assert model.word_classes.words.strings() == [composed]


@pytest.fixture
def crf(tmp_path):
    (tmp_path / "template.txt").write_text("bias[0]\nword[0]\nclass:4[0]\n")
    return CRFTagger(order=2, features=str(tmp_path / "template.txt"), max_iterations=20)


def test_the_hmm_of_a_crf_has_its_classes_which_are_stored_once(crf, classes, tmp_path):
    crf.fit(FEW, classes=classes)
    save_model(crf, tmp_path / "crf.npz")
    assert {name for name in members(tmp_path / "crf.npz") if "classes.sizes" in name} == {"hmm.classes.sizes.npy"}
    loaded = load_model(tmp_path / "crf.npz")
    assert loaded.features_.classes is loaded.proposer_.word_classes
    assert loaded.features_.classes.sizes == [4]  # those of the template
    assert loaded.proposer_.score(UNKNOWN) == 1.0
    words = [word for sentence in UNKNOWN for word in sentence.words]
    assert np.array_equal(marginals(loaded, words), marginals(crf, words))
    adapted = CRFTagger(order=2).fit(FEW, init=loaded)
    save_model(adapted, tmp_path / "adapted.npz")
    assert load_model(tmp_path / "adapted.npz").proposer_.word_classes.sizes == [4]


def test_an_earlier_file_has_an_hmm_without_classes(crf, classes, tmp_path, monkeypatch):
    monkeypatch.setattr(encode, "cross_fit", lambda *args: cross_fit(*args[:-1]))  # the last are the classes
    crf.fit(FEW, classes=classes)
    save_model(crf, tmp_path / "crf.npz")
    loaded = load_model(tmp_path / "crf.npz")
    assert loaded.proposer_.word_classes is None and loaded.features_.classes.sizes == [4]
    assert loaded.predict([FEW[0].words]) == crf.predict([FEW[0].words])


def test_classes_that_do_not_fit_the_guesser_are_refused(classes, tmp_path):
    model = HMMTagger().fit(FEW, classes=classes)
    learned = model.emission_model_.guesser
    for wrong in (None, classes.restricted([4])):
        learned.classes = wrong
        save_model(model, tmp_path / "wrong.npz")
        with pytest.raises(ModelError, match=r"guesser"):
            load_model(tmp_path / "wrong.npz")


def test_a_corpus_without_classed_words_learns_nothing_from_them():
    table = WordClasses.of(["elsewhere"], {2: np.array([1])})
    plain, same = HMMTagger().fit(FEW), HMMTagger().fit(FEW, classes=table)
    sentence = Sentence(["the", "zzz"], ["D", "N"])
    assert np.allclose(marginals(plain, sentence.words), marginals(same, sentence.words), atol=1e-6)
