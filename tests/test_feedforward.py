"""The feed-forward network of a pool: features, gradient, training without a fold, model files, the command."""

import numpy as np
import pytest
from program import run
from test_pooled import CORPUS, TEXT

from tagger import PooledTagger, Sentence, load_model, save_model, write_corpus
from tagger.errors import ModelError
from tagger.features.clustering import learn_classes
from tagger.features.word_classes import WordClasses
from tagger.models.explain import explain
from tagger.models.store import load_classes, save_classes
from tagger.neural.feedforward.gradient import Batch, loss_and_gradient
from tagger.neural.feedforward.training import RATE, NetworkTraining
from tagger.neural.feedforward.word_features import FUNCTIONS, NOTHING, WordFeatures

NAMES = [function.function for function in FUNCTIONS]
WORDS = [list(sentence.words) for sentence in CORPUS]


@pytest.fixture(scope="module")
def classes():
    return learn_classes(lambda: [*WORDS, ["rawword", "any1"], ["rawword", "any0"]], sizes=[4], vectors=True)


def training(classes, corpus=CORPUS):
    words = list(dict.fromkeys(word for sentence in corpus for word in sentence.words))
    numbers = {word: i for i, word in enumerate(words)}
    tags = sorted({tag for sentence in CORPUS for tag in sentence.tags})
    return NetworkTraining(
        words,
        np.array([numbers[word] for sentence in corpus for word in sentence.words]),
        np.array([tags.index(tag) for sentence in corpus for tag in sentence.tags]),
        np.array([len(sentence.words) for sentence in corpus]),
        classes,
        len(tags),
    )


# Features


def test_frequent_features_have_rows_of_their_own():
    features = WordFeatures.learn(["Walking", "walking", "x"], np.array([1, 1, 3]))
    rows = dict(zip(NAMES, features.rows(["Walking", "Talking", "x"]).T.tolist(), strict=True))
    rare = 1 + NAMES.index("word")
    assert rows["word"][:2] == [rare, rare] and rows["word"][2] > len(NAMES)  # "Walking" occurs once, "x" three times
    assert rows["lower"][0] > len(NAMES) and rows["lower"][1] == 1 + NAMES.index("lower")
    assert rows["ending:3"][0] == rows["ending:3"][1] > len(NAMES)
    assert rows["digit"] == [NOTHING] * 3
    assert features.rare_rows[rows["ending:3"][0]] == 1 + NAMES.index("ending:3")


# The vectors


def test_vectors_change_no_classes_and_stay_with_their_words(classes):
    plain = learn_classes(lambda: [*WORDS, ["rawword", "any1"], ["rawword", "any0"]], sizes=[4])
    assert plain.vectors is None and (plain.classes[4] == classes.classes[4]).all()
    np.testing.assert_allclose(np.linalg.norm(classes.vectors.astype(float), axis=1), 1, atol=1e-2)
    vectors = {word: classes.vectors[row] for row, word in enumerate(classes.words.strings())}
    composed = WordClasses.of(["e\u0301", "any1"], {4: np.array([0, 1])}, np.array([[1.0, 0], [0, 1]])).normalized(
        "NFC"
    )
    assert composed.vectors[composed.find(["\u00e9", "any1"])].tolist() == [[1, 0], [0, 1]]
    kept = classes.restricted([4])
    assert (kept.vectors[kept.find(["Rawword"])[0]] == vectors["rawword"]).all()


# The gradient


@pytest.mark.parametrize("name", ["E", "R", "W", "b", "V", "c", "U", "a"])
def test_the_gradient_equals_central_differences(name):
    random = np.random.default_rng(1)
    shapes = {"E": (9, 3), "R": (2, 3), "W": (9, 5), "b": (5,), "V": (5, 4), "c": (4,), "U": (4, 3), "a": (3,)}
    weights = {key: random.normal(size=shape) for key, shape in shapes.items()}
    places = np.array([[4, 0, 1], [0, 1, 2], [1, 2, 4], [3, 3, 0]])  # 4 is a mark
    batch = Batch(random.integers(9, size=(4, 3)), random.normal(size=(4, 2)), places, np.array([0, 2, 1, 1]))

    def dropout():  # the same factors each time
        factors = np.random.default_rng(2)

        def drop(array):
            kept = 2.0 * (factors.random(array.shape) < 0.5)
            array *= kept
            return kept

        return drop

    _, gradient, (rows, dE) = loss_and_gradient(weights, batch, dropout())
    gradient["E"] = np.zeros(shapes["E"])
    gradient["E"][rows] = dE
    numeric, step = np.zeros(shapes[name]), 1e-6
    for cell in np.ndindex(shapes[name]):
        values = []
        for sign in (1, -1):
            weights[name][cell] += sign * step
            values.append(loss_and_gradient(weights, batch, dropout())[0])
            weights[name][cell] -= sign * step
        numeric[cell] = (values[0] - values[1]) / (2 * step)
    assert np.abs(numeric).max() > 1e-3
    np.testing.assert_allclose(gradient[name], numeric, atol=1e-7)


# The network


def test_probabilities_are_those_of_the_formula(classes):
    trained = training(classes)
    trained.run(np.arange(len(CORPUS)), 1, RATE)
    network = trained.network()
    w, words = network.weights, ["any0", "never", "two00", "Rawword", "any1"]
    X = [w["E"][rows].sum(axis=0) for rows in network.features.rows(words)]
    X = [x + (w["vectors"][row] if row >= 0 else 0) for x, row in zip(X, classes.find(words), strict=True)]
    assert classes.find(words).tolist()[1] == -1 != classes.find(words).tolist()[3]
    nothing = [np.zeros_like(X[0])] * 3
    padded = [*nothing, *X, *nothing]
    P = np.exp(network.log_probabilities([["x"], words], np.arange(1, 6)))
    for t in range(len(words)):
        u = np.maximum(np.concatenate(padded[t : t + 7]) @ w["W"] + w["b"], 0)
        scores = np.maximum(u @ w["V"] + w["c"], 0) @ w["U"] + w["a"]
        np.testing.assert_allclose(P[t], np.exp(scores) / np.exp(scores).sum(), rtol=1e-4)


def test_it_learns(classes):
    trained = training(classes)
    trained.run(np.arange(len(CORPUS)), 5, RATE)
    sentences = [sentence.words for sentence in CORPUS]
    log_P = trained.network().log_probabilities(sentences, np.arange(len(trained.tags)))
    frequent = np.bincount(trained.tags).max()
    assert (log_P.argmax(axis=1) == trained.tags).sum() > 1.3 * frequent


def test_sentences_left_out_leave_no_trace(classes):
    """Neither their tags nor their words are known to the network; with more epochs on all, they are."""
    others, fold = CORPUS[:150], CORPUS[150:]
    changed = [Sentence(s.words, [*s.tags[1:], *s.tags[:1]]) for s in fold]
    strange = [Sentence([f"new{i}" for i in range(len(s.words))], s.tags) for s in fold]
    networks = []
    for rest in (fold, changed, strange):
        trained = training(classes, others + rest)
        trained.run(np.arange(150), 2, RATE)
        networks.append(trained.network())
    plain, relabelled, renamed = networks
    for name, array in plain.weights.items():
        assert (array == relabelled.weights[name]).all(), name
    own = renamed.features.rows(["new0"])[0][[NAMES.index("word"), NAMES.index("lower")]]
    rare = renamed.features.rare_rows[own]
    assert (own != rare).any() and (renamed.weights["E"][own] == renamed.weights["E"][rare]).all()
    trained.run(np.arange(200), 1, RATE)
    assert (trained.network().weights["E"][own] != trained.network().weights["E"][rare]).any()


def test_tokens_without_a_tag_are_not_trained_on(classes):
    open_tokens = training(classes)
    open_tokens.tags[::2] = -1
    for tokens in open_tokens.batches(np.arange(len(CORPUS))):
        assert (tokens % 2 == 1).all()


# In a pool


@pytest.fixture(scope="module")
def model(classes):
    return PooledTagger(max_iterations=8, threads=1).fit(CORPUS, classes=classes)


def test_the_network_has_a_weight(model):
    weights = dict(model.member_weights())
    assert len(weights) == 4 and model.network_.weight == weights["network"] > 0


def test_its_probabilities_join_the_scores_of_candidates(model):
    alone = PooledTagger(max_iterations=8, threads=1).fit(CORPUS, classes=None)
    assert alone.network_ is None
    lattice = model.scorer()(TEXT)
    candidates = lattice.candidates
    P = model.network_.probabilities(TEXT, candidates)
    rows = np.concatenate([model.network_.marginals(words) for words in TEXT])
    wide = candidates.widths[candidates.tokens] > 1
    assert wide.any() and (P[~wide] == 1).all()
    np.testing.assert_allclose(P[wide], rows[candidates.tokens, candidates.tags][wide], rtol=1e-5)
    np.testing.assert_allclose(rows.sum(axis=1), 1, rtol=1e-5)


def test_a_model_file_holds_it(model, tmp_path):
    save_model(model, tmp_path / "a.npz")
    loaded = load_model(tmp_path / "a.npz")
    assert loaded.predict(TEXT) == model.predict(TEXT) and loaded.member_weights() == model.member_weights()
    for a, b in zip(loaded.predict_marginals(TEXT), model.predict_marginals(TEXT), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6)
    save_model(loaded, tmp_path / "b.npz")
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


@pytest.mark.parametrize(
    ("name", "change"),
    [
        *((name, None) for name in ("E", "vectors", "W", "b", "V", "c", "U", "a", "strings.blob", "values.0")),
        ("W", lambda W: W[:-1]),
        ("W", lambda W: np.zeros((64 * 6, W.shape[1]), np.float16)),
        ("V", lambda V: V[:, :0]),
        ("E", lambda E: E[:-1]),
        ("E", lambda E: np.full_like(E, np.nan)),
        ("a", lambda a: np.full(a.shape, 1e6)),
        ("weight", lambda weight: -weight),
        ("values.1", lambda values: values + np.uint32(1 << 20)),
    ],
)
def test_a_damaged_network_is_refused(model, tmp_path, name, change):
    save_model(model, tmp_path / "model.npz")
    with np.load(tmp_path / "model.npz") as stored:
        arrays = dict(stored)
    array = arrays.pop(f"network.{name}")
    if change:
        arrays[f"network.{name}"] = change(array)
    np.savez(tmp_path / "forged.npz", **arrays)
    with pytest.raises(ModelError, match=r"forged\.npz"):
        load_model(tmp_path / "forged.npz")


@pytest.mark.usefixtures("threads_for_all")
def test_threads_change_no_byte(classes, model, tmp_path):
    save_model(model, tmp_path / "1.npz")
    save_model(PooledTagger(max_iterations=8, threads=2).fit(CORPUS, classes=classes), tmp_path / "2.npz")
    assert (tmp_path / "1.npz").read_bytes() == (tmp_path / "2.npz").read_bytes()


def test_the_terms_of_an_explanation_add_up(model):
    compared = 0
    for words, tokens in zip(TEXT, explain(model, TEXT), strict=True):
        lattice = model.scorer()([words])
        tags = model.classes_
        path = np.array([tags.index(token.tag) for token in tokens], np.int64)
        for t, token in enumerate(tokens):
            other = path.copy()
            other[t] = tags.index(token.runner_up)
            if lattice.considers(other).all():
                difference = (lattice.path_scores(path) - lattice.path_scores(other))[0]
                assert token.difference == pytest.approx(difference, abs=1e-3)
                compared += any("network" in reason.name for reason in token.reasons)
    assert compared


def test_further_members_join_it(classes, model):
    joined = PooledTagger(max_iterations=8, threads=1).fit(CORPUS, classes=classes, add=[model.proposer_])
    before, after = dict(model.member_weights()), dict(joined.member_weights())
    members = sum(weight > 0 for weight in before.values())
    assert after["network"] == pytest.approx(before["network"] * members / (members + 1))
    assert sum(after.values()) == pytest.approx(sum(before.values()))


def test_there_is_none_beside_columns_or_in_an_adapted_model(classes, model):
    columns = [Sentence(s.words, s.tags, columns={"pos": ["x"] * len(s.words)}) for s in CORPUS if s.words]
    with_column = PooledTagger(features="chunking", max_iterations=4, threads=1).fit(columns, classes=classes)
    assert with_column.network_ is None and with_column.predict(columns[:2])
    adapted = PooledTagger(max_iterations=4, threads=1).fit(CORPUS, init=model)
    assert adapted.network_ is None and adapted.predict(TEXT)


def test_the_command_trains_one_with_raw_text_only(tmp_path):
    write_corpus(tmp_path / "corpus.txt", CORPUS)
    (tmp_path / "raw.txt").write_text("".join(" ".join(words) + "\n" for words in WORDS))
    common = "train", "corpus.txt", "--max-iterations", 8, "-q", "--threads", 1
    assert run(tmp_path, *common, "--unlabeled", "raw.txt", "-o", "with.npz").code == 0
    assert run(tmp_path, *common, "-o", "without.npz").code == 0
    assert load_model(tmp_path / "with.npz").network_ and load_model(tmp_path / "without.npz").network_ is None
    assert "network" in run(tmp_path, "inspect", "with.npz").out
    tagged = run(tmp_path, "tag", "-m", "with.npz", "--nbest", 2, input="any0 not11 two00\n")
    assert tagged.code == 0 and tagged.out.startswith("1\t")


def test_a_file_of_classes_brings_vectors_if_asked(tmp_path):
    write_corpus(tmp_path / "corpus.txt", CORPUS)
    (tmp_path / "raw.txt").write_text("".join(" ".join(words) + "\n" for words in WORDS))
    common = "train", "corpus.txt", "--max-iterations", 8, "-q", "--threads", 1
    for name, options in (("with", ["--vectors"]), ("without", [])):
        assert run(tmp_path, "learn-classes", "raw.txt", *options, "-q", "-o", f"{name}.classes").code == 0
        assert run(tmp_path, *common, "--classes", f"{name}.classes", "-o", f"{name}.npz").code == 0
    assert load_classes(tmp_path / "with.classes").vectors.shape[1] > 1
    assert load_model(tmp_path / "with.npz").network_ and load_model(tmp_path / "without.npz").network_ is None


def test_damaged_vectors_of_classes_are_refused(classes, tmp_path):
    for name, vectors in (("short", classes.vectors[1:]), ("nan", np.full_like(classes.vectors, np.nan))):
        save_classes(WordClasses(classes.words, classes.classes, vectors), tmp_path / name)
        with pytest.raises(ModelError, match=name):
            load_classes(tmp_path / name)
