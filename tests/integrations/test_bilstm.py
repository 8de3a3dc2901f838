"""Learning a BiLSTM-CRF: the two networks agree, two sentences are learned, nothing is lost on the way."""

import json
import signal

import numpy as np
import pytest
from paths import TRAIN
from program import run_process, start, wait_for

torch = pytest.importorskip("torch", reason="learning a BiLSTM needs PyTorch: pip install torch")

from tagger import TaggerError, load_model, read_corpus, save_model  # noqa: E402
from tagger.errors import TrainingError  # noqa: E402
from tagger.models.checkpoint import Checkpoint  # noqa: E402
from tagger.neural import BiLSTMTagger  # noqa: E402
from tagger.neural.lookup import InputLookup  # noqa: E402
from tagger.neural.numpy_network import NumpyNetwork, Sizes  # noqa: E402
from tagger.neural.trainer import NetworkCorpus, NetworkTrainer, new_module  # noqa: E402
from tagger.neural.word_vectors import WordVectors, read_vectors  # noqa: E402
from tagger.words.windows import Windows  # noqa: E402

SMALL = {"word_size": 8, "letter_size": 6, "spelling_size": 5, "hidden_size": 9}
WORDS = [["The", "old", "man", "the", "boat", "."], ["Time", "flies", "like", "an", "arrow"]]
TAGS = [["DT", "NN", "VBP", "DT", "NN", "."], ["NN", "VBZ", "IN", "DT", "NN"]]


def learner(sentences, tags, sizes, vectors=None, seed=3):
    windows = Windows.of(sentences, 0)
    lookup = InputLookup.of(windows.words, vectors or WordVectors.none())
    names = sorted({tag for own in tags for tag in own})
    numbers = np.array([names.index(tag) for own in tags for tag in own])
    corpus = NetworkCorpus.of(windows, np.array([len(words) for words in sentences]), numbers, lookup)
    module = new_module(sizes, lookup, len(names), 0.3, seed)
    return NetworkTrainer(corpus, lookup, module, 0.01, len(sentences), 10, seed)


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("outside", [False, True])
@pytest.mark.parametrize("letters", [True, False])
def test_numpy_says_what_pytorch_says(layers, outside, letters, tmp_path):
    sizes = Sizes(8, 6, 5, 9, layers) if letters else Sizes(8, 0, 0, 9, layers)
    (tmp_path / "v.txt").write_text("time 1 2 3\nboat 0 0 1\n")
    vectors = read_vectors(tmp_path / "v.txt", {"time", "boat"}, 0) if outside else None
    words = [*WORDS, ["x"], ["The", "a" * 90, "", "日本"]]
    found = learner(words, [*TAGS, ["."], ["DT"] * 4], sizes, vectors)
    found.epoch(1, lambda part: False)
    found.module.eval()
    batch = found.batch([0, 1, 2, 3])
    with torch.no_grad():
        theirs = found.module.emissions(batch)
    ours = NumpyNetwork(found.lookup, sizes, found.module.export())(words)
    np.testing.assert_allclose(ours[batch.pack.tokens], theirs.numpy(), atol=1e-5)


def test_weights_that_went_out_come_back():
    a, b = (learner(WORDS, TAGS, Sizes(8, 6, 5, 9, 2), seed=seed) for seed in (1, 2))
    sizes = Sizes(8, 6, 5, 9, 2).shapes(len(a.lookup.words) + 1, len(a.lookup.alphabet), 0, 6)
    assert {name: array.shape for name, array in a.module.export().items()} == sizes
    b.module.load_weights(a.module.export())
    with torch.no_grad():
        assert torch.equal(a.module.eval().emissions(a.batch([0, 1])), b.module.eval().emissions(b.batch([0, 1])))


def test_two_sentences_are_learned():
    losses = []
    model = BiLSTMTagger(**SMALL, epochs=200, learning_rate=0.01).fit(
        WORDS, TAGS, watch=lambda progress: losses.append(progress.loss)
    )
    assert len(losses) == 200 and losses[-1] < 0.02 * losses[0]
    assert np.mean(losses[100:]) < np.mean(losses[50:100]) < np.mean(losses[:50])
    assert model.predict(WORDS) == TAGS
    assert all(P.max(axis=1).min() > 0.9 for P in model.predict_marginals(WORDS))


TOY = (
    "the wall street journal reported today that apple corporation made money",
    "georgia tech is a university in georgia",
)
TOY_TAGS = [["B", *"III", *"OOO", "B", "I", *"OO"], ["B", "I", *"OOOO", "B"]]
TOY_SETTINGS = {"word_size": 5, "hidden_size": 2, "letters": False, "optimizer": "sgd", "learning_rate": 0.1}
TOY_SETTINGS |= {"weight_decay": 1e-4, "dropout": 0.0, "batch_size": 1}


@pytest.mark.parametrize("seed", [1, 2])
def test_the_sentences_of_pytorchs_tutorial_are_learned_by_its_network(seed, tmp_path):
    X = [text.split() for text in TOY]
    model = BiLSTMTagger(**TOY_SETTINGS, epochs=300, seed=seed).fit(X, TOY_TAGS)
    assert model.predict(X) == TOY_TAGS
    assert not any(name.startswith(("letters", "spelling")) for name in model.weights_)
    save_model(model, tmp_path / "model.npz")
    loaded = load_model(tmp_path / "model.npz")
    assert loaded.predict(X) == TOY_TAGS and loaded.stored_settings() == model.stored_settings()
    assert loaded.trellis(X[0]).best.tags == TOY_TAGS[0]


def test_weights_decay_and_gradient_descent_is_plain():
    """One step of SGD by hand: w - rate · (clipped gradient + decay · w)."""
    found = learner(WORDS, TAGS, Sizes(8, 0, 0, 9, 1))
    options = (0.01, len(WORDS), 10, 3, "sgd", 0.5)
    plain = NetworkTrainer(found.corpus, found.lookup, found.module, *options)
    before = plain.weights.detach().clone()
    plain.train_batch(plain.batch([0, 1]), 0)  # leaves its gradient, clipped
    expected = before - 0.01 * (plain.weights.grad + 0.5 * before)
    torch.testing.assert_close(plain.weights.detach(), expected)


def test_the_default_network_is_stored_as_before():
    settings = BiLSTMTagger(**SMALL, epochs=1).fit(WORDS, TAGS).stored_settings()
    assert not {"letters", "optimizer", "weight_decay"} & settings.keys()


def test_a_seed_decides_everything_and_the_callers_chance_is_not_touched():
    torch.manual_seed(5)
    before = torch.random.get_rng_state()
    threads = torch.get_num_threads()
    a, b, c = (BiLSTMTagger(**SMALL, epochs=3, seed=seed).fit(WORDS, TAGS) for seed in (1, 1, 2))
    assert all(np.array_equal(a.weights_[name], b.weights_[name]) for name in a.weights_)
    assert not np.array_equal(a.weights_["output"], c.weights_["output"])
    assert torch.equal(torch.random.get_rng_state(), before) and torch.get_num_threads() == threads


def killed_after(epochs):
    def watch(progress):
        if progress.iteration == epochs:
            raise KeyboardInterrupt

    return watch


@pytest.mark.parametrize("optimizer", ["adam", "sgd"])
def test_resumed_it_ends_where_it_would_have_ended(tmp_path, optimizer):
    settings = SMALL | {"epochs": 6, "learning_rate": 0.01, "optimizer": optimizer}
    whole = BiLSTMTagger(**settings).fit(WORDS, TAGS, WORDS, TAGS)
    with pytest.raises(KeyboardInterrupt):
        saved = Checkpoint(tmp_path / "state", every=1)
        BiLSTMTagger(**settings).fit(WORDS, TAGS, WORDS, TAGS, watch=killed_after(4), checkpoint=saved)
    assert (tmp_path / "state").exists()
    resumed = BiLSTMTagger(**settings).fit(
        WORDS, TAGS, WORDS, TAGS, checkpoint=Checkpoint(tmp_path / "state", every=1, resume=True)
    )
    assert resumed.summary_ == whole.summary_ and not (tmp_path / "state").exists()
    assert all(np.array_equal(whole.weights_[name], resumed.weights_[name]) for name in whole.weights_)


def test_stopped_within_an_epoch_it_goes_on_from_the_one_before(tmp_path):
    settings = SMALL | {"epochs": 4, "batch_size": 1, "learning_rate": 0.01}
    whole = BiLSTMTagger(**settings).fit(WORDS, TAGS)
    parts = iter([False] * 4 + [True])  # in the third epoch
    kept = Checkpoint(tmp_path / "state", every=100, keep=True)
    BiLSTMTagger(**settings).fit(WORDS, TAGS, checkpoint=kept, pulse=lambda part: next(parts))
    resumed = BiLSTMTagger(**settings).fit(WORDS, TAGS, checkpoint=Checkpoint(tmp_path / "state", resume=True))
    assert all(np.array_equal(whole.weights_[name], resumed.weights_[name]) for name in whole.weights_)


def test_a_checkpoint_of_another_training_is_refused(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        saved = Checkpoint(tmp_path / "state", every=1)
        BiLSTMTagger(**SMALL).fit(WORDS, TAGS, watch=killed_after(1), checkpoint=saved)
    resume = Checkpoint(tmp_path / "state", resume=True)
    with pytest.raises(TrainingError):
        BiLSTMTagger(**SMALL, dropout=0.1).fit(WORDS, TAGS, checkpoint=resume)
    with pytest.raises(TrainingError):
        BiLSTMTagger(**SMALL).fit(WORDS[:1], TAGS[:1], checkpoint=resume)


def test_the_best_epoch_on_the_dev_set_is_kept():
    seen = []
    model = BiLSTMTagger(**SMALL, epochs=60, patience=4, learning_rate=0.02).fit(
        WORDS, TAGS, WORDS[:1], TAGS[:1], watch=lambda progress: seen.append(progress.dev_accuracy)
    )
    best = max(seen)
    assert model.score(WORDS[:1], TAGS[:1]) == model.summary_["dev_accuracy"] == best
    assert model.summary_["best_iteration"] == seen.index(best) + 1 == len(seen) - 4


def test_stopped_within_an_epoch_it_keeps_the_best():
    calls = []

    def pulse(part):
        calls.append(part)
        return len(calls) == 7

    model = BiLSTMTagger(**SMALL, epochs=9, batch_size=1).fit(WORDS, TAGS, WORDS, TAGS, pulse=pulse)
    assert calls == [0.5, 1.0] * 3 + [0.5] and model.summary_["iterations"] == 3
    assert model.summary_["stopped"] == "it was interrupted"
    assert model.score(WORDS, TAGS) == model.summary_["dev_accuracy"]


def test_vectors_from_outside_speak_for_words_that_the_corpus_lacks(tmp_path):
    lines = {"dog": 3, "cat": 3, "boat": 3, "quagga": 3, "runs": -3, "flies": -3, "sleeps": -3, "gallops": -3}
    (tmp_path / "v.txt").write_text("".join(f"{word} {x} {-x}\n" for word, x in lines.items()))
    words = [[a] for a in lines if a not in ("quagga", "gallops")]
    tags = [["N"] if lines[a] > 0 else ["V"] for (a,) in words]
    vectors = read_vectors(tmp_path / "v.txt", {a for (a,) in words}, others=2)
    model = BiLSTMTagger(**SMALL, epochs=60, learning_rate=0.02).fit(words, tags, vectors=vectors)
    assert model.predict([["quagga"], ["gallops"]]) == [["N"], ["V"]]


@pytest.mark.parametrize(
    "line, complaint",
    [
        ("dog 1e9 2", "v.txt:1: .*'1e9 2'"),
        ("dog 1 x", "v.txt:1: .*'1 x'"),
        ("dog" + " 1" * 20_000, "v.txt:1: .*10,000.*20,000"),
    ],
)
def test_a_line_that_is_no_vector_is_refused(tmp_path, line, complaint):
    (tmp_path / "v.txt").write_text(line + "\n")
    with pytest.raises(TaggerError, match=complaint):
        read_vectors(tmp_path / "v.txt", {"dog"}, 0)


@pytest.mark.parametrize(
    "settings",
    [
        {"dropout": 1.0},
        {"hidden_size": 0},
        {"learning_rate": 0.0},
        {"learning_rate": 2.0},
        {"epochs": 0},
        {"optimizer": "newton"},
        {"weight_decay": -1.0},
    ],
)
def test_settings_without_sense_are_refused(settings):
    with pytest.raises(TaggerError):
        BiLSTMTagger(**settings).fit(WORDS, TAGS)


def test_numbers_beyond_all_bounds_are_refused(monkeypatch):
    with pytest.raises(TrainingError):
        BiLSTMTagger().set_weights({"words": np.array([1.0, -1e5])})
    monkeypatch.setattr(NetworkTrainer, "epoch", lambda self, number, pulse: float("nan"))
    with pytest.raises(TrainingError, match="nan"):
        BiLSTMTagger(**SMALL).fit(WORDS, TAGS)


OPTIONS = ["--word-size", "8", "--letter-size", "6", "--spelling-size", "5", "--hidden-size", "9"]


def test_the_command_trains_logs_and_tags(tmp_path):
    corpus = read_corpus(TRAIN)[:40]
    (tmp_path / "train.txt").write_text(
        "".join(" ".join(f"{w}/{t}" for w, t in zip(s.words, s.tags, strict=True)) + "\n" for s in corpus)
    )
    (tmp_path / "v.txt").write_text("2 3\nthe 1 2 3\ndog 4 5 6\n")
    options = [*OPTIONS, "--epochs", "3", "--log", "log", "--vectors", "v.txt", "--dev", "train.txt"]
    result = run_process(tmp_path, "train-bilstm", "train.txt", *options)
    assert result.code == 0, result.err
    assert "3 epochs" in result.err and "model.npz" in result.err
    rows = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert [list(row) for row in rows] == [["iteration", "loss", "seconds", "dev_accuracy"]] * 3
    assert rows[1]["loss"] < rows[0]["loss"] and not (tmp_path / "model.npz.checkpoint").exists()
    assert load_model(tmp_path / "model.npz").lookup_.vectors.size == 3
    plain = ["--no-letters", "--optimizer", "sgd", "--weight-decay", "1e-4", "--learning-rate", "0.1", "--epochs", "1"]
    assert run_process(tmp_path, "train-bilstm", "train.txt", *OPTIONS, *plain, "-o", "plain.npz").code == 0
    assert load_model(tmp_path / "plain.npz").weights_.keys().isdisjoint({"letters"})
    assert run_process(tmp_path, "tag", input="the dog\n").out.startswith("the/")
    result = run_process(
        tmp_path, "crossval", "train.txt", "--kind", "bilstm", "--folds", "2", *OPTIONS, "--epochs", "1"
    )
    assert result.code == 0 and "mean" in result.out, result.err


def test_wrong_usage_is_named(tmp_path):
    (tmp_path / "c.txt").write_text("a/X\n")
    for options, message in (
        (["--patience", "3"], "--dev"),
        (["--resume"], "model.npz.checkpoint"),
        (["--vectors", "none.txt"], "none.txt"),
        (["--dropout", "1"], "0<=x<1"),
        (["-o", "c.txt"], "c.txt"),
    ):
        result = run_process(tmp_path, "train-bilstm", "c.txt", *options)
        assert result.code in (1, 2) and message in result.err, result.err
    assert [path.name for path in tmp_path.iterdir()] == ["c.txt"]


@pytest.mark.parametrize("number, code", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interruption_saves_the_best_so_far(tmp_path, number, code):
    process = start(tmp_path, "train-bilstm", TRAIN, "--log", "log", *OPTIONS, "--epochs", "1000", text=True)
    wait_for(lambda: (tmp_path / "log").exists(), 100)
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    assert process.returncode == code and "model.npz" in said
    assert load_model(tmp_path / "model.npz").summary_["iterations"] >= 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log", "model.npz", "model.npz.checkpoint"]
