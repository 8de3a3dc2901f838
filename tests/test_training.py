"""The course of a training: the dev set, checkpoints, interruptions, the L1 penalty."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from zipfile import ZipFile

import numpy as np
import program
import pytest
from paths import TEST, TRAIN
from program import run, wait_for

from tagger import CRFTagger, Sentence, cli, load_model, read_corpus, save_model
from tagger.errors import TrainingError
from tagger.models.checkpoint import Checkpoint, State


@pytest.fixture(scope="module")
def corpus():
    return read_corpus(TRAIN)[:60]


@pytest.fixture(scope="module")
def dev():
    return read_corpus(TEST)[:40]


def test_the_best_weights_on_the_dev_set_are_kept(corpus, dev):
    seen = []
    model = CRFTagger(features="comparison", l2=0.01, patience=3, tolerance=0.0).fit(
        corpus, X_dev=dev, watch=seen.append
    )
    scores = {p.iteration: p.dev_accuracy for p in seen if p.dev_accuracy is not None}
    best = max(scores.values())
    assert model.summary_["dev_accuracy"] >= best and model.score(dev) == model.summary_["dev_accuracy"]
    assert model.summary_["best_iteration"] in scores or model.summary_["dev_accuracy"] > best
    assert model.summary_["iterations"] - model.summary_["best_iteration"] == 3 * 5


def stop_at(iteration):
    def watch(progress):
        if progress.iteration == iteration:
            raise KeyboardInterrupt

    return watch


def interrupted(corpus, path, after, **settings):
    """A training that dies in the middle, leaving its checkpoint behind."""
    with pytest.raises(KeyboardInterrupt):
        CRFTagger(**settings).fit(corpus, watch=stop_at(after), checkpoint=Checkpoint(path, every=4))


RESUMED = {"features": "comparison", "max_iterations": 300}


@pytest.fixture(scope="module")
def whole(corpus):
    return CRFTagger(**RESUMED).fit(corpus)


@pytest.mark.parametrize("after", [4, 13, 30])
def test_a_resumed_training_ends_where_an_uninterrupted_one_does(corpus, whole, tmp_path, after):
    settings = RESUMED
    interrupted(corpus, tmp_path / "c", after, **settings)
    seen = []
    checkpoint = Checkpoint(tmp_path / "c", resume=True)
    resumed = CRFTagger(**settings).fit(corpus, watch=seen.append, checkpoint=checkpoint)
    assert seen[0].iteration == after // 4 * 4 + 1
    assert resumed.summary_["loss"] == pytest.approx(whole.summary_["loss"], rel=1e-3)
    assert not (tmp_path / "c").exists()


def test_the_best_weights_survive_an_interruption(corpus, dev, tmp_path, monkeypatch):
    """Found before the checkpoint and never beaten after it, they are still the ones kept."""
    settings = {"features": "comparison", "max_iterations": 12}
    save = Checkpoint.save

    def save_perfect(self, state, prints):
        save(self, State(state.iteration, state.weights, 5, 1.0, np.zeros(len(state.weights))), prints)

    monkeypatch.setattr(Checkpoint, "save", save_perfect)
    with pytest.raises(KeyboardInterrupt):
        CRFTagger(**settings).fit(corpus, X_dev=dev, watch=stop_at(10), checkpoint=Checkpoint(tmp_path / "c"))
    resumed = CRFTagger(**settings).fit(corpus, X_dev=dev, checkpoint=Checkpoint(tmp_path / "c", resume=True))
    assert resumed.summary_["best_iteration"] == 5 and not resumed.weights_.any()


@pytest.fixture(scope="module")
def interrupted_early(corpus, tmp_path_factory):
    """The checkpoint of a training without a dev set."""
    path = tmp_path_factory.mktemp("early") / "c"
    interrupted(corpus, path, 5, features="comparison")
    return path.read_bytes()


@pytest.mark.parametrize(
    "change",
    [
        {"corpus": True},
        {"features": "default"},
        {"min_count": 2},
        {"tags": True},
        {"l2": 3.0},
    ],
)
def test_resuming_something_else_is_refused(corpus, interrupted_early, tmp_path, change):
    (tmp_path / "c").write_bytes(interrupted_early)
    other = corpus
    if change.pop("corpus", False):
        other = corpus[1:] + corpus[:1]
    if change.pop("tags", False):
        other = [*corpus[:-1], corpus[-1].with_tags(["ODD"] * len(corpus[-1]))]
    with pytest.raises(TrainingError):
        CRFTagger(**{"features": "comparison"} | change).fit(other, checkpoint=Checkpoint(tmp_path / "c", resume=True))


@pytest.mark.parametrize("content", [None, b"", b"PK garbage", "truncated"])
def test_a_broken_checkpoint_is_refused(corpus, interrupted_early, tmp_path, content):
    path = tmp_path / "c"
    if content is not None:
        path.write_bytes(interrupted_early[:5000] if content == "truncated" else content)
    with pytest.raises(TrainingError):
        CRFTagger(features="comparison").fit(corpus, checkpoint=Checkpoint(path, resume=True))


def test_l1_drops_features_and_keeps_the_scores_of_the_rest(corpus, dev, tmp_path):
    sparse = CRFTagger(features="default", l1=0.3, l2=0.05, max_iterations=60).fit(corpus)
    dense = CRFTagger(features="default", l1=0.0, l2=0.05, max_iterations=60).fit(corpus)
    assert (sparse.weights_ != 0).all() and 0 < len(sparse.weights_) < len(dense.weights_) / 4
    assert len(sparse.features_.strings) < len(dense.features_.strings)
    assert sparse.score(dev) > 0.6
    save_model(sparse, tmp_path / "sparse.npz")
    assert load_model(tmp_path / "sparse.npz").predict(dev) == sparse.predict(dev)


def test_leaving_out_zeros_changes_no_score(corpus, dev):
    model = CRFTagger(features="default", max_iterations=5).fit(corpus)
    model.weights_[np.random.default_rng(0).random(len(model.weights_)) < 0.7] = 0.0
    before = model.predict_marginals(dev)
    model.drop_zeros()
    assert (model.weights_ != 0).all()
    for a, b in zip(before, model.predict_marginals(dev), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6)


def test_warming_up_shows_no_loss_and_reaches_the_same_minimum(monkeypatch):
    """A corpus large enough to have parts worth training on."""
    sentences = read_corpus(TRAIN)
    settings = {"features": "comparison", "max_iterations": 200, "tolerance": 1e-4}
    plain = CRFTagger(**settings).fit(sentences)
    monkeypatch.setattr("tagger.crf.trainer.WARM_UP_TOKENS", 300)
    seen = []
    warm = CRFTagger(**settings).fit(sentences, watch=seen.append)
    assert [p.loss for p in seen[:35]] == [None] * 35 and seen[35].loss is not None
    assert [p.iteration for p in seen] == list(range(1, len(seen) + 1))
    assert warm.summary_["loss"] == pytest.approx(plain.summary_["loss"], rel=1e-3)


def test_without_a_penalty_training_goes_on_after_warming_up(monkeypatch):
    """Some weights have no curvature then."""
    monkeypatch.setattr("tagger.crf.trainer.WARM_UP_TOKENS", 300)
    model = CRFTagger(features="comparison", l2=0.0, max_iterations=45).fit(read_corpus(TRAIN))
    assert np.isfinite(model.summary_["loss"]) and model.score(read_corpus(TRAIN)) > 0.95


def test_iterations_of_warming_up_count(monkeypatch):
    monkeypatch.setattr("tagger.crf.trainer.WARM_UP_TOKENS", 300)
    model = CRFTagger(features="comparison", max_iterations=25).fit(read_corpus(TRAIN))
    assert model.summary_["iterations"] == 25


def start(folder, *options, corpus=TEST):
    """Start a training on the smaller corpus."""
    return program.start(folder, "train-crf", corpus, "--log", "log", "--tolerance", "0", *options, text=True)


def wait_for_lines(path, lines):
    wait_for(lambda: path.exists() and path.read_text().count("\n") >= lines)


@pytest.mark.parametrize("number, code", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interruption_saves_the_model_so_far_and_what_to_go_on_from(tmp_path, number, code):
    process = start(tmp_path, "--max-iterations", "100000", "--checkpoint-every", "100000")
    wait_for_lines(tmp_path / "log", 3)
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    assert process.returncode == code
    assert "model.npz.checkpoint" in said and "--resume" in said
    reached = load_model(tmp_path / "model.npz").summary_["iterations"]
    assert reached >= 3
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log", "model.npz", "model.npz.checkpoint"]
    again = start(tmp_path, "--max-iterations", str(reached + 2), "--resume")
    assert "checkpoint" not in again.communicate(timeout=60)[1] and again.returncode == 0
    rows = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert [row["iteration"] for row in rows] == [reached + 1, reached + 2]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log", "model.npz"]


def test_a_checkpoint_that_will_be_replaced_is_named(tmp_path):
    Checkpoint(tmp_path / "model.npz.checkpoint").save(State(1, np.zeros(3)), {})
    _, said = start(tmp_path, "--max-iterations", "2").communicate(timeout=60)
    assert said.startswith("hint: model.npz.checkpoint ")
    assert "hint" not in start(tmp_path, "--max-iterations", "2").communicate(timeout=60)[1]


def test_killed_at_any_moment_it_can_be_resumed(tmp_path):
    random.seed(4)
    options = ["--max-iterations", "30", "--checkpoint-every", "1", "--features", "comparison"]
    process = start(tmp_path, *options, corpus=TRAIN)
    for _ in range(4):
        wait_for_lines(tmp_path / "log", random.randint(1, 3))
        time.sleep(random.random() / 20)
        process.kill()
        process.communicate()
        (tmp_path / "log").unlink()
        process = start(tmp_path, *options, "--resume", corpus=TRAIN)
    assert process.wait(timeout=60) == 0, process.communicate()
    process.communicate()
    assert load_model(tmp_path / "model.npz").summary_["iterations"] == 30
    assert not (tmp_path / "model.npz.checkpoint").exists()


SAVE_AND_BE_KILLED = """
import os, random, signal, sys, time
from tagger import CRFTagger, Sentence, load_model, save_model
from tagger.models.checkpoint import Checkpoint, State
import numpy as np

model = CRFTagger(max_iterations=3).fit([Sentence(["a", "b"], ["X", "Y"])])
checkpoint = Checkpoint("state", resume=True)
def save(number):
    model.summary_["iterations"] = number
    save_model(model, "model.npz")
    checkpoint.save(State(number, np.full(5000, float(number))), {})

paces = []
for _ in range(5):  # of a disk that others use, too
    begin = time.perf_counter()
    save(0)
    paces.append(time.perf_counter() - begin)
pace = min(paces)
random.seed(7)
reached = rounds = 0
while rounds < 15 or (not reached and rounds < 200):  # scripts/torture.py does it more often
    rounds += 1
    child = os.fork()
    if not child:
        for number in range(reached + 1, 1 << 30):
            save(number)
    time.sleep(3 * pace * random.random())
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    state = checkpoint.load({}, 5000, 5000)
    assert (state.weights == state.iteration).all()
    assert load_model("model.npz").summary_["iterations"] in (state.iteration, state.iteration + 1)
    reached = state.iteration
    pace *= 1 if reached else 1.1  # a fork may take long to start, as under coverage
assert reached > 0
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork to be killed often and cheaply")
def test_killed_while_saving_again_and_again_every_file_stays_whole(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", SAVE_AND_BE_KILLED], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr


NEVER_LEARNS = """
import sys, time
from tagger.cli import main
from tagger.crf import encode

assert encode.learn_features
encode.learn_features = lambda *args, **options: (print(1, flush=True), time.sleep(60))
main(["train-crf", sys.argv[1]])
"""


@pytest.mark.parametrize("number, code", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_interrupted_before_anything_was_learned_it_ends_at_once(tmp_path, number, code):
    process = subprocess.Popen(
        [sys.executable, "-c", NEVER_LEARNS, TRAIN],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "1\n"
    process.send_signal(number)
    _, said = process.communicate(timeout=30)
    assert process.returncode == code and said.count("\n") == 1 and list(tmp_path.iterdir()) == []


def test_the_log_tells_of_dev_and_loss(tmp_path):
    process = start(tmp_path, "--max-iterations", "10", "--dev", str(TEST), "-q", corpus=TRAIN)
    assert process.communicate(timeout=60)[1] == "" and process.returncode == 0
    rows = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert [list(row) for row in rows] == [["iteration", "loss", "seconds", "dev_accuracy"]] * 10
    assert [row["iteration"] for row in rows if row["dev_accuracy"] is not None] == [5, 10]


def test_a_sentence_alone_is_enough():
    model = CRFTagger().fit([Sentence(["a", "b"], ["X", "Y"])])
    assert model.predict([["a", "b"]]) == [["X", "Y"]]


def test_a_dev_set_of_another_tag_set_is_refused(corpus):
    other = [sentence.with_tags(["NOUN"] * len(sentence)) for sentence in corpus]
    with pytest.raises(TrainingError):
        CRFTagger().fit(corpus, X_dev=other)


def test_a_corpus_that_teaches_little_is_named(tmp_path):
    (tmp_path / "one.txt").write_text("a/X b/X\n")
    for kind in ("hmm", "crf"):
        said = run(tmp_path, f"train-{kind}", "one.txt").err
        assert said.count("warning: ") == 2


def test_one_iteration_is_one(tmp_path):
    said = run(tmp_path, "train-crf", TEST, "--max-iterations", 1).err
    assert said.startswith("1 iteration, loss ") and "1 iterations" not in said


@pytest.mark.parametrize("command", ["train-hmm", "train-crf", "train-bilstm", "learn-classes"])
def test_a_model_replaces_models_and_nothing_else(tmp_path, command):
    if command == "train-bilstm":
        pytest.importorskip("torch")
    small = ["--epochs", 1, "--hidden-size", 4] if command == "train-bilstm" else []
    (tmp_path / "corpus.txt").write_text("a/D dog/N barks/V\na/D cat/N sleeps/V\n" * 2)
    (tmp_path / "dev.tsv").write_text("a\tD\n")
    done = run(tmp_path, command, "corpus.txt", "-o", "dev.tsv", *small)
    assert done.code == 1 and "dev.tsv" in done.err and done.err.count("\n") == 1
    assert (tmp_path / "dev.tsv").read_text() == "a\tD\n"
    with ZipFile(tmp_path / "thesis.docx", "w") as archive:
        archive.writestr("word/document.xml", "years of work")
    assert "thesis.docx" in run(tmp_path, command, "corpus.txt", "-o", "thesis.docx", *small).err
    (tmp_path / "empty").touch()
    for _ in range(2):  # an empty file, then the model
        assert run(tmp_path, command, "corpus.txt", "-o", "empty", "-q", *small).code == 0
    assert (tmp_path / "empty").read_bytes().startswith(b"PK")


def test_a_model_of_other_tags_to_go_on_from_is_named(tmp_path):
    (tmp_path / "corpus.txt").write_text("a/DET dog/NOUN\na/DET cat/NOUN\n")
    (tmp_path / "near.txt").write_text("a/DT dog/NOUN\na/DET cat/NOUN\n")
    options = ["--max-iterations", 2, "--init", "old.npz"]
    run(tmp_path, "train-crf", TEST, "-q", "-o", "old.npz", "--max-iterations", 2)
    warning = "warning: "
    assert warning in run(tmp_path, "train-crf", "corpus.txt", *options).err
    assert "warning" not in run(tmp_path, "train-crf", "near.txt", *options).err


def test_options_that_contradict_each_other_are_wrong_usage(tmp_path):
    assert run(tmp_path, "train-hmm", TRAIN, "-q", "-o", "hmm.npz").code == 0
    patience = run(tmp_path, "train-crf", TRAIN, "--patience", 3)
    assert patience.code == 2 and "--dev" in patience.err
    features = run(tmp_path, "train-crf", TRAIN, "--init", "hmm.npz", "--features", "default")
    assert features.code == 2 and "--features" in features.err
    kind = run(tmp_path, "train-crf", TRAIN, "--init", "hmm.npz")
    assert kind.code == 1 and "hmm.npz" in kind.err


def test_without_a_penalty_a_corpus_learned_by_heart_is_named(tmp_path):
    (tmp_path / "separable.txt").write_text("a/X b/Y\nb/Y a/X\na/X a/X\n")
    said = run(tmp_path, "train-crf", "separable.txt", "--l2", 0).err
    assert "warning: " in said and "-0.0" not in said
    weights = load_model(tmp_path / "model.npz").weights_
    assert np.isfinite(weights).all() and np.abs(weights).max() < 100
    assert "warning" not in run(tmp_path, "train-crf", "separable.txt").err


def test_a_gradient_of_zero_ends_training_at_once():
    model = CRFTagger().fit([Sentence(["a", "b"], ["X", "X"])])
    assert model.summary_["stopped"] == "the gradient is zero" and model.summary_["iterations"] == 0


def test_a_loss_that_is_no_number_is_named(monkeypatch):
    from tagger.crf.objective import PenalizedLikelihood

    monkeypatch.setattr(PenalizedLikelihood, "__call__", lambda self, weights: (float("nan"), np.ones_like(weights)))
    with pytest.raises(TrainingError, match="nan"):
        CRFTagger().fit([Sentence(["a", "b"], ["X", "Y"])])


def test_the_checkpoint_stays_until_the_model_is_saved(tmp_path, monkeypatch):
    """Whoever dies in between can go on."""
    monkeypatch.chdir(tmp_path)
    options = ["--max-iterations", "3", "--checkpoint-every", "1", "-q"]

    def die(model, path):
        assert (tmp_path / "model.npz.checkpoint").exists()
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("tagger.cli.training.save_model", die)
        assert cli.run(["train-crf", str(TEST), *options]) == 1
    assert (tmp_path / "model.npz.checkpoint").exists()
    assert cli.run(["train-crf", str(TEST), *options, "--resume"]) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.npz"]


def test_two_trainings_do_not_write_into_one_log(tmp_path):
    first = start(tmp_path, "--max-iterations", "100000", "-o", "a.npz")
    wait_for_lines(tmp_path / "log", 3)
    second = start(tmp_path, "--max-iterations", "5", "-o", "b.npz", "-q")
    assert second.wait(timeout=60) == 0
    second.communicate()
    first.send_signal(signal.SIGTERM)
    first.communicate(timeout=60)
    rows = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert [row["iteration"] for row in rows] == [1, 2, 3, 4, 5]


def test_sighup_saves_the_model_and_nohup_is_heeded(tmp_path):
    process = start(tmp_path, "--max-iterations", "100000")
    wait_for_lines(tmp_path / "log", 3)
    process.send_signal(signal.SIGHUP)
    assert "model.npz" in process.communicate(timeout=60)[1] and process.returncode == 129
    command = ["sh", "-c", 'trap "" HUP; exec "$@"', "sh", sys.executable, "-m", "tagger", "train-crf", str(TEST)]
    process = subprocess.Popen([*command, "--log", "log2", "--max-iterations", "30", "-q"], cwd=tmp_path)
    wait_for_lines(tmp_path / "log2", 3)
    process.send_signal(signal.SIGHUP)
    assert process.wait(timeout=60) == 0


def test_two_trainings_that_write_one_model_do_not_mix(tmp_path):
    """The last one wins; whoever looks in between sees a whole model."""
    both = [start(tmp_path, "-o", "model.npz", "--max-iterations", n, "--log", f"log{n}", "-q") for n in ("8", "25")]
    for process in both:
        assert process.communicate(timeout=60)[1] == "" and process.returncode == 0
    assert load_model(tmp_path / "model.npz").summary_["iterations"] in (8, 25)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log25", "log8", "model.npz"]


@pytest.fixture(scope="module")
def left_behind(corpus, dev, tmp_path_factory):
    """The checkpoint of a training with a dev set."""
    path, tagger = tmp_path_factory.mktemp("left") / "c", CRFTagger(features="comparison", max_iterations=10)
    with pytest.raises(KeyboardInterrupt):
        tagger.fit(corpus, X_dev=dev, watch=stop_at(10), checkpoint=Checkpoint(path, every=5))
    return path.read_bytes()


def changed_checkpoint(path, **changes):
    """Replace parts of a checkpoint: members if they are arrays, else numbers of its description."""
    with np.load(path) as members:
        arrays = {name: members[name] for name in members}
    arrays |= {name: value for name, value in changes.items() if isinstance(value, np.ndarray)}
    meta = json.loads(arrays["meta"].tobytes())
    meta |= {name: value for name, value in changes.items() if not isinstance(value, np.ndarray)}
    arrays["meta"] = np.frombuffer(json.dumps(meta).encode(), np.uint8)
    with path.open("wb") as stream:
        np.savez(stream, **arrays)


@pytest.mark.parametrize(
    "changes",
    [
        {"best_accuracy": float("nan")},
        {"best_accuracy": 2.0},
        {"best_accuracy": -0.5},
        {"best_accuracy": True},
        {"best_accuracy": None},
        {"best": np.zeros(0)},
        {"best": np.zeros((2, 2))},
        {"best": np.array(1.0)},
        {"weights": np.zeros((1, 0, 3))},
        {"weights": np.zeros(0)},
        {"weights": np.full(5, np.nan)},
        {"iteration": 10**400},
        {"iteration": 1, "best_iteration": 3},
    ],
    ids=str,
)
def test_a_forged_checkpoint_is_refused_by_name(corpus, dev, left_behind, tmp_path, changes):
    path = tmp_path / "made.checkpoint"
    path.write_bytes(left_behind)
    tagger = CRFTagger(features="comparison", max_iterations=10)
    changed_checkpoint(path, **changes)
    with pytest.raises(TrainingError, match=r"made\.checkpoint"):
        tagger.fit(corpus, X_dev=dev, checkpoint=Checkpoint(path, resume=True))


def test_a_checkpoint_of_other_precision_is_taken_as_it_is(corpus, dev, left_behind, tmp_path):
    tagger = CRFTagger(features="comparison", max_iterations=10)
    (tmp_path / "c").write_bytes(left_behind)
    with np.load(tmp_path / "c") as members:
        halves = {name: members[name].astype(np.float16) for name in ("weights", "best")}
    changed_checkpoint(tmp_path / "c", **halves)
    assert tagger.fit(corpus, X_dev=dev, checkpoint=Checkpoint(tmp_path / "c", resume=True)).weights_.any()


@pytest.mark.parametrize("now", ["another", "none"])
def test_resuming_with_another_dev_set_is_refused(corpus, dev, tmp_path, now):
    """The best accuracy so far was that of the other set."""
    tagger, saved = CRFTagger(features="comparison"), Checkpoint(tmp_path / "c", every=5)
    with pytest.raises(KeyboardInterrupt):
        tagger.fit(corpus, X_dev=dev, watch=stop_at(10), checkpoint=saved)
    with pytest.raises(TrainingError):
        other = None if now == "none" else dev[1:]
        tagger.fit(corpus, X_dev=other, checkpoint=Checkpoint(tmp_path / "c", resume=True))


SAVED = b'{"prints": {}, "iteration": %d, "best_iteration": 0, "best_accuracy": null}'
BAD = [b"[]", b"{", b"3", b'{"prints": []}', b"[" * 100_000, SAVED % -5, SAVED % 10**30]


def test_where_something_else_is_no_checkpoint_is_saved_nor_removed(corpus, tmp_path):
    """A checkpoint is written over and removed in the end, so its place must hold another one, or nothing."""
    for name in ("text", "model.npz"):
        path = tmp_path / name
        path.write_text("precious") if name == "text" else save_model(CRFTagger(max_iterations=1).fit(corpus), path)
        before = path.read_bytes()
        with pytest.raises(TrainingError, match=name):
            CRFTagger(max_iterations=3).fit(corpus, checkpoint=Checkpoint(path, every=1))
        with pytest.raises(TrainingError):
            Checkpoint(path).remove()
        assert path.read_bytes() == before
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(TrainingError):
        Checkpoint(tmp_path / "pipe").check_place()
    Checkpoint(tmp_path / "none").check_place()


@pytest.mark.parametrize(
    "options, complaint",
    [
        (["--features", "feat.txt", "--checkpoint", "feat.txt"], "feat.txt"),
        (["--features", "feat.txt", "-o", "feat.txt"], "feat.txt"),
        (["--init", "old.npz", "--log", "old.npz"], "old.npz"),
        (
            ["--init", "old.npz", "--checkpoint", "old.npz"],
            "old.npz",
        ),
        (["--log", "same", "--checkpoint", "same"], "same"),
        (["--log", "model.npz.checkpoint"], "model.npz.checkpoint"),
        (["-o", ""], ""),
        (["-o", "x" * 250], f"{'x' * 250}.checkpoint"),
        (["--log", "/dev/full"], "/dev/full"),
    ],
)
def test_no_file_of_the_command_is_taken_for_another(tmp_path, options, complaint):
    (tmp_path / "corpus.txt").write_text("a/D dog/N barks/V\n")
    (tmp_path / "feat.txt").write_text("word[0]\n")
    run(tmp_path, "train-crf", "corpus.txt", "-q", "-o", "old.npz", "--max-iterations", "2")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    done = run(tmp_path, "train-crf", "corpus.txt", "-q", *options)
    assert done.code == 1 and done.err.startswith("tagger: ") and complaint in done.err and done.err.count("\n") == 1
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("meta", BAD)
def test_a_forged_checkpoint_is_refused(tmp_path, meta):
    np.savez(tmp_path / "c.npz", meta=np.frombuffer(meta, np.uint8), weights=np.zeros(3), best=np.zeros(0))
    with pytest.raises(TrainingError):
        Checkpoint(tmp_path / "c.npz").load({}, 3, 3)


@pytest.mark.parametrize("penalty", ["--l1=1e308", "--l2=1e308", "--l2=1e6"])
def test_a_penalty_that_leaves_no_weight_is_warned_of(tmp_path, penalty):
    (tmp_path / "corpus.txt").write_text("the/D dog/N barks/V\n" * 5)
    done = run(tmp_path, "train-crf", "corpus.txt", penalty)
    name, value = penalty.split("=")
    assert done.code == 0 and "RuntimeWarning" not in done.err
    assert f"warning: {name} {float(value):g} " in done.err


@pytest.mark.parametrize(
    "options",
    ["--l2 nan", "--l2 inf", "--l1 -1", "--tolerance -1", "--tolerance nan", "--max-iterations 0", "--threads 100000"],
)
def test_extreme_settings_are_wrong_usage(tmp_path, options):
    (tmp_path / "corpus.txt").write_text("the/D dog/N barks/V\n")
    done = run(tmp_path, "train-crf", "corpus.txt", *options.split())
    assert done.code == 2 and options.split()[0] in done.err
