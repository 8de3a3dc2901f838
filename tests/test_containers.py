"""Sentences come in lists, generators, columns of data frames and of Arrow tables: the answers are the same."""

import numpy as np
import pytest
from test_models import TAGS, WORDS

from tagger import CRFTagger, HMMTagger, Sentence, evaluate, read_corpus, write_corpus
from tagger.evaluation.metrics import accuracy, compare
from tagger.experiments.crossval import TaggerFactory, cross_validate
from tagger.models.ensemble import Ensemble
from tagger.models.explain import explain


class Labelled:
    """Like a column of a data frame that was filtered: iteration gives the values, [i] looks up a label."""

    def __init__(self, values):
        self.values = list(values)

    def __iter__(self):
        return iter(self.values)

    def __len__(self):
        return len(self.values)

    def __getitem__(self, label):
        return self.values[::-1][label - 3]


class Scalar:
    """Like a scalar of Arrow."""

    def __init__(self, value):
        self.value = value

    def as_py(self):
        return self.value


class Column:
    """Like an array of Arrow."""

    def __init__(self, values):
        self.values = list(values)

    def to_pylist(self):
        return [list(value) for value in self.values]

    def __iter__(self):
        return map(Scalar, self.to_pylist())


def object_array(values):
    out = np.empty(len(values), object)
    out[:] = values
    return out


def shuffled_series(values):
    pandas = pytest.importorskip("pandas")
    return pandas.Series([[], *values], index=range(len(values) + 1)[::-1])[lambda series: series.str.len() > 0]


def arrow(values, chunked=False):
    pyarrow = pytest.importorskip("pyarrow")
    return pyarrow.chunked_array([values[:2], values[2:]]) if chunked else pyarrow.array(values)


CONTAINERS = {
    "tuple": tuple,
    "generator": lambda values: (value for value in values),
    "tuples": lambda values: [tuple(value) for value in values],
    "generators": lambda values: (iter(value) for value in values),
    "labelled": Labelled,
    "NumPy objects": object_array,
    "NumPy strings": lambda values: [np.array(value) for value in values],
    "Arrow-like": Column,
    "scalars": lambda values: [Scalar(value) for value in values],
    "lists of scalars": lambda values: [[Scalar(item) for item in value] for value in values],
    "pandas": shuffled_series,
    "Arrow": arrow,
    "chunked Arrow": lambda values: arrow(values, chunked=True),
    "list of Arrow": lambda values: list(arrow(values)),
    "Arrow in lists": lambda values: [list(value) for value in arrow(values)],
}


def marks(name):
    return [pytest.mark.integration] if "pandas" in name or "Arrow" in name.split() else []


@pytest.fixture(params=[pytest.param(name, marks=marks(name)) for name in CONTAINERS])
def contain(request):
    return CONTAINERS[request.param]


def both():
    return Ensemble([HMMTagger().fit(WORDS, TAGS), HMMTagger(order=1).fit(WORDS, TAGS)], ["a", "b"])


MODELS = {"hmm": HMMTagger().fit(WORDS, TAGS), "crf": CRFTagger(max_iterations=20).fit(WORDS, TAGS), "both": both()}


@pytest.mark.parametrize("model", MODELS.values(), ids=list(MODELS))
def test_every_method_takes_any_container(model, contain):
    assert model.predict(contain(WORDS)) == model.predict(WORDS)
    assert model.predict_nbest(contain(WORDS), 2) == model.predict_nbest(WORDS, 2)
    assert model.score(contain(WORDS), contain(TAGS)) == model.score(WORDS, TAGS)
    for a, b in zip(model.predict_marginals(contain(WORDS)), model.predict_marginals(WORDS), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("make", [lambda: HMMTagger(), lambda: CRFTagger(max_iterations=5)], ids=["hmm", "crf"])
def test_fit_takes_any_container(make, contain):
    dev = {"X_dev": contain(WORDS), "y_dev": contain(TAGS)}
    found = make().fit(contain(WORDS), contain(TAGS), **dev)
    expected = make().fit(WORDS, TAGS, WORDS, TAGS)
    assert found.predict(WORDS) == expected.predict(WORDS) and found.summary_ == expected.summary_


def test_other_functions_take_any_container(contain, tmp_path):
    model, gold = MODELS["hmm"], [Sentence(*pair) for pair in zip(WORDS, TAGS, strict=True)]
    guesses = [["N"] * len(words) for words in WORDS]
    assert explain(model, contain(WORDS)) == explain(model, WORDS)
    assert evaluate(iter(gold), contain(guesses)) == evaluate(gold, guesses)
    assert accuracy(iter(gold), contain(guesses)) == accuracy(gold, guesses)
    assert compare(iter(gold), contain(TAGS), contain(guesses)) == compare(gold, TAGS, guesses)
    write_corpus(tmp_path / "words.txt", contain(WORDS))
    assert (tmp_path / "words.txt").read_text() == "".join(" ".join(words) + "\n" for words in WORDS)


def test_sentences_come_in_any_container(tmp_path):
    gold = [Sentence(*pair) for pair in zip(WORDS, TAGS, strict=True)]
    for contain in (tuple, iter, Labelled, object_array):
        assert MODELS["crf"].score(contain(gold)) == 1.0
        assert HMMTagger().fit(contain(gold)).predict(contain(gold)) == TAGS
        write_corpus(tmp_path / "corpus.txt", contain(gold))
        assert read_corpus(tmp_path / "corpus.txt") == gold
        folds = list(cross_validate(TaggerFactory(HMMTagger, {}), contain(gold), 3))
        assert folds == list(cross_validate(TaggerFactory(HMMTagger, {}), gold, 3))


STRANGE = {
    "number": (5, r"^X: expected a list of sentences.* got 5 \(int\)"),
    "none": (None, "^X: expected a list of sentences"),
    "string": ("She left .", "^X: expected a list of sentences.* got the string 'She left .'"),
    "mapping": ({"a": ["b"]}, "^X: expected a list of sentences"),
    "set": ({("a", "b")}, "^X: expected a list of sentences"),
    "Sentence": (Sentence(["a"]), "^X: expected a list of sentences"),
    "words": (["She", "left"], r"^X\[0\]: expected a list of words, got the string 'She'"),
    "bytes": ([["a"], b"left"], r"^X\[1\]: expected a list of words"),
    "numbers": ([["a"], [], ["b", 7]], r"^X\[2\]\[1\]: .*7"),
    "missing": ([["a"], None], r"^X\[1\]: .*None"),
    "missing word": ([["a", None]], r"^X\[0\]\[1\]: "),
    "unhashable": ([["a", ["b"]]], r"^X\[0\]\[1\]: "),
    "Sentence of numbers": ([Sentence([1, 2])], r"^X\[0\]\[0\]: "),
    "array": (np.zeros((2, 3)), r"^X\[0\]\[0\]: "),
    "Arrow number": ([Scalar(5)], r"^X\[0\]: .*5"),
}


@pytest.mark.parametrize("X, message", STRANGE.values(), ids=list(STRANGE))
@pytest.mark.parametrize("method", ["predict", "predict_marginals", "predict_nbest", "score", "fit"])
def test_what_is_no_list_of_sentences_is_refused_with_its_place(method, X, message):
    more = {"predict_nbest": (2,), "score": ([["A"]],), "fit": ([["A"]],)}
    for make in (HMMTagger, CRFTagger):
        model = make() if method == "fit" else MODELS[make.kind]
        with pytest.raises(TypeError, match=message):
            getattr(model, method)(X, *more.get(method, ()))


@pytest.mark.parametrize("y", [5, "A", ["A"], [["A", 1]], [Sentence(["A", "B"])], [{"A": 1, "B": 2}]])
def test_what_are_no_lists_of_tags_is_refused(y):
    for name, arguments in {"y": ([["a", "b"]], y), "y_dev": ([["a", "b"]], [["A", "B"]], [["a", "b"]], y)}.items():
        with pytest.raises(TypeError, match=rf"^{name}(\[0\])?(\[1\])?: "):
            HMMTagger().fit(*arguments)
    with pytest.raises(TypeError, match=r"^guesses"):
        evaluate([Sentence(["a", "b"], ["A", "B"])], y)
    with pytest.raises(ValueError, match=r"1 .*0"):
        evaluate([Sentence(["a"], ["A"])], [])
    with pytest.raises(ValueError, match=r"1 .*2"):
        evaluate([Sentence(["a"], ["A"])], [["A", "B"]])


def test_a_corpus_of_something_else_is_not_written(tmp_path):
    for strange in (5, ["She"], [["a", 1]]):
        with pytest.raises(TypeError, match=r"^sentences"):
            write_corpus(tmp_path / "corpus.txt", strange)
    assert not list(tmp_path.iterdir())
