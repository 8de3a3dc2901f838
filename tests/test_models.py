"""The contract: what every model does, in one table. A new model joins with one line."""

import copy
import multiprocessing
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from tagger import CRFTagger, HMMTagger, PooledTagger, Sentence, TaggerError, load_model, save_model
from tagger.errors import TrainingError
from tagger.neural import BiLSTMTagger


def bilstm(**settings):
    pytest.importorskip("torch", reason="learning a BiLSTM needs PyTorch: pip install torch")
    sizes = {"word_size": 16, "letter_size": 8, "spelling_size": 8, "hidden_size": 16}
    return BiLSTMTagger(**sizes, epochs=40, dropout=0.0, learning_rate=0.02, **settings)


MODELS = {
    "hmm": lambda: HMMTagger(),
    "hmm-first-order": lambda: HMMTagger(order=1),
    "hmm-textbook": lambda: HMMTagger(order=1, smoothing="none", unknown="floor"),
    "hmm-suffixes": lambda: HMMTagger(smoothing="interpolation", unknown="suffix"),
    "crf": lambda: CRFTagger(max_iterations=30, l2=0.05),
    "crf-order-0": lambda: CRFTagger(max_iterations=30, l2=0.05, order=0),
    "crf-comparison": lambda: CRFTagger(max_iterations=30, l2=0.05, features="comparison"),
    "crf-candidates": lambda: CRFTagger(max_iterations=30, l2=0.05, candidates=0.001),
    "crf-second-order": lambda: CRFTagger(max_iterations=30, l2=0.05, order=2),
    "pooled": lambda: PooledTagger(max_iterations=20, l2=0.05),
    "bilstm": bilstm,
    "bilstm-without-letters": lambda: bilstm(letters=False),
}
WORDS = [
    s.split() for s in ("the dog barks .", "a cat sleeps", "dogs bark at the big cat", "Stop !", "the cat", "stop")
]
TAGS = [s.split() for s in ("D N V .", "D N V", "N V P D J N", "V .", "D N", "V")]
STRANGE = [[], ["x"], ["unseen", "日本", "1/2", "\u2028", "a" * 300], ["the"] * 50]


@pytest.fixture(params=list(MODELS), scope="module")
def model(request):
    return MODELS[request.param]().fit(WORDS, TAGS)


def test_learns_its_training_sentences(model):
    assert model.predict(WORDS) == TAGS
    assert model.score(WORDS, TAGS) == 1.0


def test_classes_are_the_sorted_tags(model):
    assert model.classes_ == sorted({tag for tags in TAGS for tag in tags})


def test_takes_sentences_as_well_as_lists(model):
    sentences = [Sentence(words, tags) for words, tags in zip(WORDS, TAGS, strict=True)]
    assert model.predict(sentences) == model.predict(WORDS)
    assert model.score(sentences) == model.score(WORDS, TAGS)
    again = type(model)(**model.get_params()).fit(sentences)
    assert again.predict(STRANGE) == model.predict(STRANGE)


def test_every_input_gets_one_tag_a_word(model):
    found = model.predict(STRANGE)
    assert [len(tags) for tags in found] == [len(words) for words in STRANGE]
    assert model.predict([]) == [] and model.predict([[]]) == [[]]


def test_many_sentences_equal_one_by_one(model):
    assert model.predict(WORDS + STRANGE) == [model.predict([words])[0] for words in WORDS + STRANGE]


def test_marginals_are_probabilities_in_the_order_of_classes(model):
    for words, P in zip(WORDS + STRANGE, model.predict_marginals(WORDS + STRANGE), strict=True):
        assert P.shape == (len(words), len(model.classes_))
        np.testing.assert_allclose(P.sum(axis=1), 1.0, atol=1e-5)
    sure = model.predict_marginals(WORDS[:1])[0].argmax(axis=1)
    assert [model.classes_[k] for k in sure] == TAGS[0]


def test_n_best_are_ordered_distinct_and_add_up(model):
    for words, found in zip(WORDS[:2], model.predict_nbest(WORDS[:2], 2000), strict=True):
        p = [probability for probability, _ in found]
        every = min(2000, len(model.classes_) ** len(words))
        few = getattr(model, "order", 1) == 2 or getattr(model, "threshold_", None) is not None  # candidates only
        assert 0 < len(found) <= every if few else len(found) == every
        assert p == sorted(p, reverse=True) and len({tuple(tags) for _, tags in found}) == len(found)
        outside = 0.4 if model.kind == "pooled" else 0.05  # taggings that are not listed; a pool counts on others
        assert 1 - outside < sum(p) <= 1 + 1e-5
        assert found[0][1] == model.predict([words])[0]
    assert model.predict_nbest([[]], 3) == [[(1.0, [])]]


def test_saved_and_loaded_it_is_the_same(model, tmp_path):
    save_model(model, tmp_path / "a.npz")
    loaded = load_model(tmp_path / "a.npz")
    assert type(loaded) is type(model)
    assert loaded.predict(WORDS + STRANGE) == model.predict(WORDS + STRANGE)
    again = load_model(tmp_path / "a.npz")  # words that were met before may be rounded another way
    for a, b in zip(again.predict_marginals(WORDS), copy.deepcopy(model).predict_marginals(WORDS), strict=True):
        np.testing.assert_array_equal(a, b)
    assert loaded.lexicon_.known(["dog", "Dog", "zebra"]).tolist() == [True, False, False]
    save_model(loaded, tmp_path / "b.npz")
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


def test_the_same_corpus_gives_the_same_bytes(model, tmp_path):
    for name in ("a.npz", "b.npz"):
        save_model(type(model)(**model.get_params()).fit(WORDS, TAGS), tmp_path / name)
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


def test_pickles_and_copies(model):
    for twin in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert twin.predict(WORDS) == model.predict(WORDS)


def test_several_threads_may_share_it(model):
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: model.predict(WORDS + STRANGE), range(16)))
    assert all(result == results[0] for result in results)


def alike(given):
    """Must live here, so that a spawned process finds it."""
    model, sentences = given
    return model.predict(sentences)


@pytest.mark.parametrize("method", sorted({"fork", "spawn"}.intersection(multiprocessing.get_all_start_methods())))
def test_it_works_in_another_process(model, method):
    with multiprocessing.get_context(method).Pool(1) as pool:
        assert pool.map(alike, [(model, WORDS + STRANGE)]) == [model.predict(WORDS + STRANGE)]


def test_settings_follow_scikit_learn(model):
    settings = model.get_params()
    twin = type(model)().set_params(**settings)
    assert twin.get_params() == settings
    with pytest.raises(ValueError):
        twin.set_params(nonsense=1)


@pytest.mark.parametrize("make", MODELS.values(), ids=list(MODELS))
def test_fit_leaves_the_callers_lists_alone(make):
    words, tags = [list(w) for w in WORDS], [list(t) for t in TAGS]
    make().fit(words, tags)
    assert words == WORDS and tags == TAGS


@pytest.mark.parametrize("X", ["She left .", ["She left ."], ["She", "left", "."]])
def test_a_string_is_no_sentence(X):
    model = HMMTagger().fit(WORDS, TAGS)
    with pytest.raises(TypeError, match="'S"):
        model.predict(X)


@pytest.mark.parametrize("make", MODELS.values(), ids=list(MODELS))
def test_nothing_to_learn_from_is_refused(make):
    for X, y in (([], []), ([[]], [[]])):
        with pytest.raises(TrainingError):
            make().fit(X, y)
    with pytest.raises(ValueError, match=r"y\[0\]: .* 2 .*1$"):
        make().fit([["a", "b"]], [["X"]])
    with pytest.raises(ValueError, match=r"1 .*0"):
        make().fit([["a"]], [])
    with pytest.raises(ValueError):
        make().fit([["a"]])
    assert issubclass(TrainingError, TaggerError)


@pytest.mark.parametrize("make", MODELS.values(), ids=list(MODELS))
def test_one_tag_only(make):
    model = make().fit([["a", "b"], ["c"]], [["X", "X"], ["X"]])
    assert model.predict([["a", "zzz"], []]) == [["X", "X"], []]


@pytest.mark.parametrize("make", MODELS.values(), ids=list(MODELS))
def test_constraints_hold_on_the_lattice(make):
    model = make().fit(WORDS, TAGS)
    words = WORDS[0]
    group, lattice = next(model.lattices([words]))
    allowed = np.ones((len(words), len(model.classes_)), bool)
    allowed[1] = False
    allowed[1, model.classes_.index("V")] = True
    narrowed = lattice.restrict(allowed)
    tags = narrowed.best()
    scores = narrowed.path_scores(tags)
    assert group.tolist() == [0] and model.classes_[tags[1]] == "V" and np.isfinite(scores[0])
    np.testing.assert_allclose(narrowed.marginals()[1], allowed[1], atol=1e-6)
    if getattr(model, "threshold_", None) is None:  # else the HMM's probabilities, a feature, hold the constraint too
        assert narrowed.log_z()[0] < lattice.log_z()[0]
    assert all(model.classes_[path[1]] == "V" for _, path in narrowed.n_best(5)[0])
    nothing = lattice.restrict(np.zeros_like(allowed))
    assert nothing.path_scores(nothing.best())[0] == -np.inf
