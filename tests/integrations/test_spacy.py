"""A model as a component of spaCy: tags, batches, processes, files."""

import shutil

import pytest
from paths import TRAIN

from tagger import HMMTagger, load_model, read_corpus, save_model
from tagger.corpus.tag_map import TagMap

spacy = pytest.importorskip("spacy")
adapter = pytest.importorskip("tagger.integrations.spacy")
TEXTS = ["She left early. They can fish.", "  It   rains.\n", "", "The old door opened slowly."] * 5
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "hmm.npz"
    save_model(HMMTagger().fit(read_corpus(TRAIN)), path)
    return str(path)


@pytest.fixture
def nlp(path):
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    nlp.add_pipe("hmm_crf_tagger", config={"model": path})
    return nlp


def tags(docs):
    return [[(token.text, token.tag_, token.pos_) for token in doc] for doc in docs]


def test_tags_are_those_of_the_model_sentence_by_sentence(nlp, path):
    doc = nlp(TEXTS[0])
    sentences = [[token.text for token in sentence] for sentence in doc.sents]
    assert len(sentences) == 2
    expected = [tag for sentence in load_model(path).predict(sentences) for tag in sentence]
    assert [token.tag_ for token in doc] == expected
    assert [token.pos_ for token in doc] == [adapter.PENN[tag] for tag in expected]


def test_white_space_is_no_word(nlp):
    doc = nlp("  It   rains.\n")
    assert [(token.tag_, token.pos_) for token in doc if token.is_space] == [("_SP", "SPACE")] * 3
    assert [token.tag_ for token in doc if not token.is_space] == [token.tag_ for token in nlp("It rains.")]


def test_without_sentences_a_document_is_one(path):
    nlp = spacy.blank("en")
    nlp.add_pipe("hmm_crf_tagger", config={"model": path})
    doc = nlp(TEXTS[0])
    assert [token.tag_ for token in doc] == load_model(path).predict([[token.text for token in doc]])[0]


def test_batches_and_processes_give_the_same(nlp):
    one_by_one = tags(map(nlp, TEXTS))
    assert tags(nlp.pipe(TEXTS, batch_size=3)) == one_by_one
    assert tags(nlp.pipe(TEXTS, batch_size=3, n_process=2)) == one_by_one


def test_a_pipeline_comes_back_from_disk_and_from_bytes(nlp, tmp_path):
    nlp.to_disk(tmp_path / "pipeline")
    (tmp_path / "pipeline" / "hmm_crf_tagger").joinpath("model.npz").stat()
    again = spacy.load(tmp_path / "pipeline", config={"components.hmm_crf_tagger.model": "english"})
    assert tags(map(again, TEXTS[:4])) == tags(map(nlp, TEXTS[:4]))
    data = nlp.get_pipe("hmm_crf_tagger").to_bytes()
    other = adapter.TaggerComponent(load_model("english")).from_bytes(data)
    assert other.predictor.classes_ == nlp.get_pipe("hmm_crf_tagger").predictor.classes_


def test_a_pipeline_needs_no_file_but_its_own(nlp, path, tmp_path):
    shutil.copy(path, tmp_path / "moved.npz")
    own = spacy.blank("en")
    own.add_pipe("hmm_crf_tagger", config={"model": str(tmp_path / "moved.npz")})
    expected = tags(map(own, TEXTS[:4]))
    own.to_disk(tmp_path / "pipeline")
    (tmp_path / "moved.npz").unlink()
    assert tags(map(spacy.load(tmp_path / "pipeline"), TEXTS[:4])) == expected


def test_nothing_is_loaded_when_spacy_looks_for_networks():
    """It asks components for attributes in an order that differs from run to run."""
    component = adapter.TaggerComponent("nowhere.npz")
    assert not any(hasattr(component, name) for name in ("model", "listeners", "listener_map", "listening_components"))


def test_universal_tags_go_to_pos():
    universal = TagMap(adapter.PENN)
    model = HMMTagger().fit([universal.sentence(sentence) for sentence in read_corpus(TRAIN)])
    component = adapter.TaggerComponent(model)
    doc = component(spacy.blank("en")("It rains."))
    assert [token.pos_ for token in doc] == model.predict([["It", "rains", "."]])[0]
    assert {token.tag_ for token in doc} == {""}


def test_the_english_model_is_the_default():
    nlp = spacy.blank("en")
    nlp.add_pipe("hmm_crf_tagger")
    assert [token.tag_ for token in nlp("It rains.")] == ["PRP", "VBZ", "."]


def test_a_model_must_be_named():
    with pytest.raises(Exception, match="model"):
        spacy.blank("en").add_pipe("hmm_crf_tagger", config={"model": 3})
