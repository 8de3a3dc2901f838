"""All that needs no PyTorch: the packed LSTM, the alphabet, vectors from outside, tagging with a stored model."""

import bz2
import gzip
import subprocess
import sys

import numpy as np
import pytest

import tagger.neural
from tagger import TaggerError, load_model, save_model
from tagger.arrays.string_spans import ByteStrings
from tagger.chain.pack import Pack
from tagger.chain.scores import path_scores
from tagger.errors import ModelError
from tagger.models.explain import explain
from tagger.neural import BiLSTMTagger
from tagger.neural.characters import MAX_WORD_LENGTH, CharacterSet
from tagger.neural.lookup import InputLookup
from tagger.neural.lstm import LSTMDirection
from tagger.neural.numpy_network import NumpyNetwork, Sizes
from tagger.neural.occlusion import MAX_DISTANCE, occlusion_terms
from tagger.neural.word_vectors import WordVectors, read_vectors
from tagger.words.lexicon import Lexicon

LENGTHS = [3, 1, 0, 5, 5]
D, H = 4, 3


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


def one_by_one(x, input, recurrent, bias):
    """The textbook, for one sequence x (T, D); gates in the order i, f, g, o."""
    h = c = np.zeros(H)
    states = []
    for row in x:
        i, f, g, o = np.split(row @ input + h @ recurrent + bias, 4)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        states.append(h)
    return np.array(states).reshape(-1, H), h


@pytest.mark.parametrize("backwards", [False, True])
def test_the_packed_lstm_equals_the_textbook(backwards):
    random = np.random.default_rng(1)
    weights = [random.normal(size=shape).astype(np.float32) for shape in ((D, 4 * H), (H, 4 * H), (4 * H,))]
    table = random.normal(size=(6, D)).astype(np.float32)  # distinct inputs, which come back
    rows = random.integers(0, 6, sum(LENGTHS))
    pack, way = Pack.of(LENGTHS), LSTMDirection.of(*weights)
    states, last = way.run(pack, way.project(table), rows[pack.tokens], backwards)
    found = np.split(pack.unpack(states), np.cumsum(LENGTHS)[:-1])
    for i, own in enumerate(np.split(rows, np.cumsum(LENGTHS)[:-1])):
        turn = slice(None, None, -1 if backwards else None)
        expected, end = one_by_one(table[own][turn], *weights)
        np.testing.assert_allclose(found[i], expected[turn], atol=1e-6)
        np.testing.assert_allclose(last[pack.order.tolist().index(i)], end, atol=1e-6)


def test_letters_of_one_word_only_are_unknown():
    alphabet = CharacterSet.of(["ab", "ba", "cc", "é𝔸"])
    numbers, lengths = alphabet.encode(["abc", "", "𝔸b"])
    unknown = len(alphabet) - 1
    assert lengths.tolist() == [3, 0, 2] and len(alphabet) == 3
    assert numbers.tolist() == [0, 1, unknown, unknown, 1]


def test_of_very_long_words_the_ends_are_read():
    alphabet = CharacterSet.of(["ab", "abc", "cb"])
    numbers, lengths = alphabet.encode(["a" * 100 + "b" * 100, "a" * MAX_WORD_LENGTH])
    assert lengths.tolist() == [MAX_WORD_LENGTH, MAX_WORD_LENGTH]
    assert numbers[:MAX_WORD_LENGTH].tolist() == [0] * (MAX_WORD_LENGTH // 2) + [1] * (MAX_WORD_LENGTH // 2)


def random_network(layers=1, vectors=None, seed=2):
    random = np.random.default_rng(seed)
    lookup = InputLookup.of(["The", "the", "To", "to", "dog", "barks", "."], vectors or WordVectors.none())
    sizes = Sizes(word=6, letter=5, spelling=4, hidden=7, layers=layers)
    shapes = sizes.shapes(len(lookup.words) + 1, len(lookup.alphabet), lookup.vectors.size, 3)
    return NumpyNetwork(lookup, sizes, {n: random.normal(size=s).astype(np.float32) * 0.5 for n, s in shapes.items()})


@pytest.mark.parametrize("layers", [1, 2])
def test_emissions_do_not_depend_on_the_company(layers):
    sentences = [["the", "dog", "barks"], ["Zebra"], [], ["dog", "", "x" * 99, "the"]]
    together = np.split(random_network(layers)(sentences), np.cumsum([3, 1, 0]))
    for words, E in zip(sentences, together, strict=True):
        alone = random_network(layers)([words])
        np.testing.assert_allclose(E, alone, atol=1e-5)


def test_case_is_told_by_the_letters_alone():
    network = random_network()
    a, b = network.represent(["The", "the"])
    np.testing.assert_array_equal(a[:6], b[:6])
    assert not np.allclose(a[6:], b[6:])


VECTORS = "the 0.5 -1.5\nDog 1 2\n. . 3 4\nzebra 5 6\ngnu 7 8\n"


@pytest.mark.parametrize(
    "name, content",
    [
        ("glove.txt", VECTORS.encode()),
        ("word2vec.txt", b"5 2\n" + VECTORS.replace("\n", " \n").encode()),
        ("fasttext.vec.gz", gzip.compress(b"5 2\n" + VECTORS.encode())),
        ("tabs.bz2", bz2.compress(VECTORS.replace(" ", "\t").replace(".\t.", ". .").encode())),
    ],
    ids=lambda given: given if isinstance(given, str) else "",
)
def test_vectors_are_read_as_others_write_them(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    vectors = read_vectors(tmp_path / name, {"the", "Dog", ". ."}, others=1)
    assert vectors.size == 2 and len(vectors.words) == 4  # the gnu is one too many
    found = vectors(["the", "THE", "Dog", "dog", ". .", "zebra", "gnu"])
    assert found.tolist() == [[0.5, -1.5], [0.5, -1.5], [1, 2], [0, 0], [3, 4], [5, 6], [0, 0]]


@pytest.mark.parametrize(
    "content, message",
    [
        (b"the 1 2\ndog 1\n", "v.txt:2: .*'1'"),
        (b"the 1 2\ndog 1 x\n", "v.txt:2: .*'1 x'"),
        (b"the 1 nan\n", "v.txt:1: "),
        (b"the\n", "v.txt:1: .*'the'"),
        (b"", "v.txt: "),
        (b"\xff 1 2\n", "v.txt:1"),
        (b"\xff\xfe1\x00 \x002\x00", "v.txt: .*utf-16"),
    ],
)
def test_vectors_that_are_none_are_refused(tmp_path, content, message):
    (tmp_path / "v.txt").write_bytes(content)
    with pytest.raises(TaggerError, match=message):
        read_vectors(tmp_path / "v.txt", {"the", "dog"}, others=10)


def test_a_vector_stands_beside_the_embedding(tmp_path):
    (tmp_path / "v.txt").write_text(VECTORS)
    network = random_network(vectors=read_vectors(tmp_path / "v.txt", {"the"}, others=9))
    assert network.represent(["zebra", "quagga"])[:, -2:].tolist() == [[5, 6], [0, 0]]


def made_by_hand():
    """A fitted tagger that nobody has trained."""
    network = random_network()
    sizes = {"word_size": 6, "letter_size": 5, "spelling_size": 4, "hidden_size": 7, "layers": 1}
    model = BiLSTMTagger(**sizes)
    model.classes_ = ["D", "N", "V"]
    words = ["The", "the", "To", "to", "dog", "barks", "."]
    model.lexicon_ = Lexicon.of(ByteStrings.of(words), np.arange(7), np.array([0, 0, 1, 1, 1, 2, 2]), 3)
    model.lookup_, model.seen_, model.summary_ = network.lookup, np.empty(0, np.uint32), {"tokens": 7}
    model.set_weights(network.weights)
    return model


def without_torch(folder, *arguments, text=""):
    """A command where PyTorch cannot be imported."""
    code = f"import sys; sys.modules['torch'] = None; from tagger.cli import main; main({list(map(str, arguments))!r})"
    return subprocess.run(
        [sys.executable, "-c", code], cwd=folder, input=text, capture_output=True, text=True, timeout=120
    )


def test_everything_but_training_works_without_pytorch(tmp_path):
    save_model(made_by_hand(), tmp_path / "model.npz")
    expected = made_by_hand().predict([["The", "zebra", "barks"]])[0]
    tagged = " ".join(f"{w}/{t}" for w, t in zip(["The", "zebra", "barks"], expected, strict=True))
    run = without_torch(tmp_path, "tag", text="The zebra barks\n")
    assert run.stdout == tagged + "\n", run.stderr
    (tmp_path / "gold.txt").write_text(tagged + "\n")
    assert "100.00 %" in without_torch(tmp_path, "eval", "gold.txt").stdout
    for options in (["tag", "--nbest", "3"], ["tag", "--keep-tags"], ["explain"], ["inspect"]):
        run = without_torch(tmp_path, *options, text="The dog barks\n" if options[0] != "inspect" else "")
        assert run.returncode == 0 and run.stdout, run.stderr
    assert without_torch(tmp_path, "explain", text="The dog\n").stderr


def test_training_without_pytorch_names_the_extra(tmp_path):
    (tmp_path / "corpus.txt").write_text("the/D dog/N\n")
    run = without_torch(tmp_path, "train-bilstm", "corpus.txt")
    assert run.returncode == 1 and run.stderr.count("\n") == 1
    assert "pip install 'hmm-crf-tagger[neural]'" in run.stderr
    code = "import sys; sys.modules['torch'] = None; from tagger.neural import CRF"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert "hmm-crf-tagger[neural]" in run.stderr.splitlines()[-1]


def test_the_parts_of_an_explanation_add_up():
    model, words = made_by_hand(), ["The", "dog", "barks", "quagga"]
    (lattice,) = (lattice for _, lattice in model.lattices([words]))
    for t, token in enumerate(explain(model, [words])[0]):
        tags = lattice.best()
        other = [*tags[:t], model.classes_.index(token.runner_up), *tags[t + 1 :]]
        a, b = path_scores(lattice.chain, tags), path_scores(lattice.chain, np.array(other))
        assert token.difference == pytest.approx((a - b)[0], abs=1e-4)
        assert {"word[0]=" + words[t], "all words together"} <= {reason.name for reason in token.reasons}


def test_a_hidden_word_is_what_the_part_is_about():
    network, words = random_network(), ["The", "dog", "barks"]
    parts, whole = occlusion_terms(network, words), network([words])
    without = network([["The", "", "barks"]])
    np.testing.assert_allclose(parts[2]["word[-1]=dog"], whole[2] - without[2], atol=1e-5)
    words = ["the"] * 70 + ["dog"] * 5
    long = occlusion_terms(network, words)
    assert len(long[15]) == 2 * MAX_DISTANCE + 2 and "word[-10]=the" in long[15] and "word[-11]=the" not in long[15]
    without = network([[*words[:72], "", *words[73:]]])
    np.testing.assert_allclose(long[71]["word[+1]=dog"], (network([words]) - without)[71], atol=1e-5)


@pytest.mark.parametrize("size", [0, -1, 1 << 40])
def test_settings_that_no_network_has_are_refused(tmp_path, size):
    model = made_by_hand()
    model.hidden_size = size
    save_model(model, tmp_path / "m.npz")
    with pytest.raises(ModelError, match=r"m.npz"):
        load_model(tmp_path / "m.npz")


@pytest.mark.parametrize("name", ["words", "letters", "context.0.forward.recurrent", "output", "transitions"])
def test_weights_of_another_shape_are_refused(tmp_path, name):
    model = made_by_hand()
    model.weights_[name] = model.weights_[name][:-1]
    save_model(model, tmp_path / "m.npz")
    with pytest.raises(ModelError, match=f"net.{name}"):
        load_model(tmp_path / "m.npz")


def test_numbers_beyond_all_bounds_are_refused(tmp_path):
    model = made_by_hand()
    model.weights_["output"] = np.full((14, 3), 1e5, np.float32)
    save_model(model, tmp_path / "m.npz")
    with pytest.raises(ModelError, match=r"m.npz.*65,504"):
        load_model(tmp_path / "m.npz")


# Without PyTorch


def test_a_pytorch_that_does_not_load_is_told_with_the_reason(tmp_path, monkeypatch):
    (tmp_path / "torch.py").write_text("raise ImportError('libcudart.so.12: cannot open shared object file')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    with pytest.raises(TaggerError, match=r"PyTorch.*libcudart\.so\.12"):
        BiLSTMTagger().fit([])


@pytest.mark.parametrize("package", [tagger, tagger.neural])
def test_an_unknown_name_is_no_attribute_of_a_lazy_package(package):
    with pytest.raises(AttributeError, match=rf"'{package.__name__}'.*'Perceptron'"):
        _ = package.Perceptron
