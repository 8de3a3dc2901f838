"""Words are the same word in every Unicode normalisation form, and text is written back in the form it came in."""

import json
from pathlib import Path
from unicodedata import is_normalized, normalize

import numpy as np
import program
import pytest
from test_models import MODELS
from test_store import meta_of, with_meta

from tagger import CRFTagger, HMMTagger, Sentence, load_model, save_model
from tagger.errors import ModelError
from tagger.features.clustering import blocks
from tagger.features.word_classes import WordClasses
from tagger.models.ensemble import Ensemble
from tagger.models.explain import explain
from tagger.neural.word_vectors import read_vectors
from tagger.normalization import NFC, normalized, normalized_keys, normalized_sentences
from tagger.tagging.constraints import Constraints
from tagger.words.overlap import overlap

# French, Vietnamese and Korean in one corpus, so that no model knows a tag without a look at the letters
CORPUS = [
    Sentence([normalize("NFC", word) for word in words.split()], tags.split())
    for words, tags in [
        ("la fenêtre étroite était fermée .", "D N J V J ."),
        ("le café du marché était fermé .", "D N P N V J ."),
        ("élève et maître ont mangé .", "N C N V V ."),
        ("Tôi thích cà phê sữa đá .", "R V N N N N ."),
        ("Hà Nội rất đẹp .", "N N A J ."),
        ("나는 학교에 갔다 .", "R N V ."),
        ("그는 밥을 먹었다 .", "R N V ."),
    ]
]
TEXT = [
    normalize("NFC", text).split() for text in ("le maître a fermé", "Tôi rất thích Đà Lạt", "그녀는 학교를 갔다 .")
]


def decomposed(sentences):
    return [[normalize("NFD", word) for word in words] for words in sentences]


def nfd(corpus):
    return [Sentence(words, s.tags) for words, s in zip(decomposed(s.words for s in corpus), corpus, strict=True)]


@pytest.fixture(scope="module", params=[("hmm",), ("hmm-first-order",), ("crf",), ("bilstm",), ("hmm", "crf")], ids=str)
def model(request):
    members = [MODELS[kind]().fit(CORPUS) for kind in request.param]
    return Ensemble(members, request.param) if len(members) > 1 else members[0]


def test_both_forms_get_the_same_tags_and_probabilities(model):
    assert decomposed(TEXT) != TEXT
    assert model.predict(decomposed(TEXT)) == model.predict(TEXT)
    for a, b in zip(model.predict_marginals(decomposed(TEXT)), model.predict_marginals(TEXT), strict=True):
        np.testing.assert_array_equal(a, b)
    assert model.predict_nbest(decomposed(TEXT), 3) == model.predict_nbest(TEXT, 3)


@pytest.mark.parametrize("kind", MODELS)
def test_both_forms_train_the_same_bytes(kind, tmp_path):
    for name, corpus in (("nfc", CORPUS), ("nfd", nfd(CORPUS))):
        save_model(MODELS[kind]().fit(corpus), tmp_path / name)
    assert (tmp_path / "nfc").read_bytes() == (tmp_path / "nfd").read_bytes()
    assert meta_of(tmp_path / "nfc")["normalization"] == "NFC"


def test_known_words_and_training_sentences_are_found_in_both_forms(model):
    words = decomposed([["fenêtre", "갔다", "đá", "Đá"]])[0]
    assert model.lexicon_.known(words).tolist() == [True, True, True, False]
    assert model.lexicon_.frequency(words).tolist() == [1, 1, 1, 0]
    long = [sentence.words for sentence in nfd(CORPUS) if len(sentence) >= 5]
    assert overlap(long, model.seen_, model.lexicon_.form) == len(long)


def test_reasons_are_those_of_the_same_words():
    model = CRFTagger(max_iterations=20).fit(CORPUS)
    here, there = explain(model, TEXT), explain(model, decomposed(TEXT))
    assert [[e.reasons for e in own] for own in here] == [[e.reasons for e in own] for own in there]
    assert [[e.word for e in own] for own in there] == decomposed(TEXT)


def test_open_words_and_lexica_are_read_in_both_forms(tmp_path):
    lexicon = {"phở": ["N"], "bánh": ["N", "V"]}
    words_of_open = ["phở", "rất", "đẹp"]
    for name, form in (("nfc", "NFC"), ("nfd", "NFD")):
        words = {normalize(form, word): tags for word, tags in lexicon.items()}
        partly = Sentence([normalize(form, word) for word in words_of_open], ["?"] * 3)
        save_model(HMMTagger(partial=True).fit([*CORPUS, partly], lexicon=words), tmp_path / name)
    assert (tmp_path / "nfc").read_bytes() == (tmp_path / "nfd").read_bytes()


def test_words_of_a_lexicon_that_become_equal_have_the_tags_of_both():
    both = {normalize("NFC", "é"): ("A", "B"), normalize("NFD", "é"): ("C", "B")}
    assert normalized_keys(both) == {"é": ("A", "B", "C")}
    constraints = Constraints(["A", "B", "C", "D"], {normalize("NFD", "é"): ("A", "D")})
    assert constraints.allowed_tags("é", "") == constraints.allowed_tags(normalize("NFD", "é"), "") == {0, 3}


def test_word_classes_are_those_of_the_normalised_word():
    words = [normalize("NFD", "é"), "è", "e"]
    table = WordClasses.of(words, {4: np.array([1, 2, 3])})
    found = table.normalized(NFC)
    assert found.names(4, found.find(["é", "è", "e", words[0]])).strings() == ["1", "2", "3", None]
    assert found.normalized(NFC) is found and len(table.normalized(None)) == 3
    assert list(blocks([words, ["e"]])) == [[["é", "è", "e"], ["e"]]]
    twice = WordClasses.of(["é", words[0]], {4: np.array([1, 2])})
    assert len(twice.normalized(NFC)) == 1


def test_a_crf_with_classes_finds_them_in_both_forms():
    table = WordClasses.of([normalize("NFD", "fermée")], {4: np.array([1])})
    model = CRFTagger(max_iterations=5).fit(CORPUS, classes=table)
    assert model.features_.classes.find(["fermée"]).tolist() == [0]


def test_vectors_are_those_of_the_normalised_word(tmp_path):
    (tmp_path / "v.txt").write_text(normalize("NFD", "é 1 2\n") + "e 3 4\n", encoding="utf-8")
    vectors = read_vectors(tmp_path / "v.txt", {"é"}, 0)
    np.testing.assert_array_equal(vectors(["é", "e"]), [[1, 2], [0, 0]])


def run(*args, text=""):
    """What the command writes on standard output."""
    done = program.run("/", *args, input=text)
    assert done.code == 0, done.err
    return done.out


def test_what_is_normalised_is_passed_on_as_it_is():
    for words in ([], ["plain"], ["é", "한글"], ["\ud800", "é"]):
        assert normalized(words, NFC) is words
    strange = [["e", "\u0301"], [normalize("NFD", "é")]]
    assert normalized_sentences(strange, NFC) == [["e", "\u0301"], ["é"]]  # words are never joined
    assert normalized_sentences(strange, None) is strange


def test_a_model_without_a_form_takes_words_as_they_are_written():
    """Those of format 1, and those that go on from one."""
    old = load_model(Path(__file__).parent / "models" / "format-1-crf.npz")
    assert old.lexicon_.form is None
    corpus = [Sentence([normalize("NFD", "é"), "dog"], ["D", "N"])]
    new = CRFTagger().fit(corpus, init=old)
    assert new.lexicon_.form is None
    assert new.lexicon_.known([normalize("NFD", "é"), "é"]).tolist() == [True, False]
    assert dict(new.summarize()[0].rows)["normalization"].startswith("none")


def test_an_unknown_form_is_refused(tmp_path):
    save_model(HMMTagger().fit(CORPUS), tmp_path / "model.npz")
    with_meta(tmp_path / "model.npz", normalization="NFX")
    with pytest.raises(ModelError, match="'NFX'"):
        load_model(tmp_path / "model.npz")


@pytest.mark.parametrize("options", [[], ["--output-format", "jsonl"], ["--probabilities", "--output-format", "tsv"]])
def test_the_command_writes_the_form_it_reads(tmp_path, options):
    save_model(HMMTagger().fit(CORPUS), tmp_path / "model.npz")
    text = "".join(" ".join(words) + "\n" for words in TEXT)
    told = {}
    for form in ("NFC", "NFD"):
        told[form] = run("tag", "-q", "-m", tmp_path / "model.npz", *options, text=normalize(form, text))
        assert is_normalized(form, told[form])
    assert normalize("NFC", told["NFD"]) == told["NFC"] != told["NFD"]


def test_inspect_shows_the_form(tmp_path):
    save_model(HMMTagger().fit(CORPUS), tmp_path / "model.npz")
    found = json.loads(run("inspect", "--json", tmp_path / "model.npz"))
    assert ["normalization", "NFC"] in found["model"]["rows"]
