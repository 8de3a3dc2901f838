"""Work on a Dask cluster: the digits of one process, whatever the number of workers, and whichever of them dies."""

import os
import signal
from dataclasses import replace
from functools import partial
from io import BytesIO
from pathlib import Path
from threading import Timer

import numpy as np
import pytest
from paths import TEST
from program import run

from tagger import CRFTagger, HMMTagger, load_model, read_corpus, save_model, write_corpus
from tagger.arrays.npz import write_archive
from tagger.crf.trainer import Trainer
from tagger.errors import CorpusError, TaggerError, TrainingError
from tagger.experiments.crossval import TaggerFactory, cross_validate, learning_curve
from tagger.experiments.search import Setting
from tagger.experiments.trials import SettingTrials
from tagger.files.writing import open_output
from tagger.models.checkpoint import Checkpoint
from tagger.tagging.folder import TaggingFolder, run_all

pytest.importorskip("distributed")

from tagger.integrations.distributed.cluster import check_scheduler, connect
from tagger.integrations.distributed.executor import DaskExecutor
from tagger.integrations.distributed.objective import ShardedObjective
from tagger.integrations.distributed.placement import assign
from tagger.integrations.distributed.shard_cache import ShardCache, forget
from tagger.integrations.distributed.shards import ReadOptions, cut
from tagger.integrations.distributed.tagging import tag
from tagger.integrations.distributed.training import encode_shards, fit, training

SETTINGS = {"candidates": "all", "features": "comparison", "max_iterations": 8, "threads": 1}
HMM = TaggerFactory(HMMTagger, {"order": 1})


@pytest.fixture(scope="module")
def client():
    """A cluster of two processes on the loopback interface."""
    with connect("local:2") as client:
        yield client


def die(block):
    """Kill the worker that runs this, once."""
    path, number = block
    if number == 1 and not path.exists():
        path.write_text("")
        os.kill(os.getpid(), signal.SIGKILL)
    return number**2


def start_dying():
    return die


# The seam


def test_an_address_or_a_number_of_processes_is_expected():
    assert check_scheduler("local:3") == 3
    assert check_scheduler("tcp://scheduler:8786") is None
    for wrong in ("local", "local:0", "local:-1", "10.0.0.1:8786", "http://x"):
        with pytest.raises(TaggerError, match="scheduler"):
            check_scheduler(wrong)


def test_all_ports_of_a_local_cluster_are_on_the_loopback_interface(client):
    addresses = [client.scheduler.address, *client.scheduler_info(n_workers=-1)["workers"]]
    assert len(addresses) == 3 and all(address.startswith("tcp://127.0.0.1:") for address in addresses)


def test_folds_as_tasks_have_the_digits_of_one_process(client):
    sentences, run = read_corpus(TEST), DaskExecutor(client)
    assert list(cross_validate(HMM, sentences, 4, run=run)) == list(cross_validate(HMM, sentences, 4))
    dev = sentences[:50]
    here = list(learning_curve(HMM, sentences[50:], dev, 3))
    assert list(learning_curve(HMM, sentences[50:], dev, 3, run=run)) == here


def test_trials_as_tasks_have_the_digits_of_one_process(client):
    sentences = read_corpus(TEST)[:60]
    model, calls = CRFTagger(max_iterations=4, features="comparison"), []
    here = SettingTrials(model, sentences)
    there = SettingTrials(model, sentences, watch=lambda: calls.append(1), run=DaskExecutor(client))
    for setting in (Setting(0.5, 0.0, 1), Setting(0.5, 0.125, 2)):
        assert there.evaluate(setting) == here.evaluate(setting)
        for fold, result in here.results.items():
            assert (there.results[fold].x == result.x).all()
    assert len(calls) == 10


def test_the_block_of_a_worker_that_dies_is_done_again(client, tmp_path):
    blocks = [((tmp_path / "died", number), False) for number in range(6)]
    assert list(DaskExecutor(client)(start_dying, blocks)) == [0, 1, 4, 9, 16, 25]
    assert (tmp_path / "died").exists()


def test_shards_stay_where_they_are_and_are_shared_out_evenly():
    sizes = [10] * 12
    first = assign({}, sizes, ["a", "b"])
    assert sorted(first.values()) == ["a"] * 6 + ["b"] * 6
    assert assign(first, sizes, ["a", "b"]) == first
    after = assign(first, sizes, ["a", "c"])  # b has died
    assert after == {number: "a" if worker == "a" else "c" for number, worker in first.items()}
    more = assign(first, sizes, ["a", "b", "c"])
    assert sorted(more.values()) == ["a"] * 4 + ["b"] * 4 + ["c"] * 4
    assert sum(more[number] == first[number] for number in first) == 8


# Training on shards


def model_bytes(model):
    stream = BytesIO()
    write_archive(stream, model.arrays())
    return stream.getvalue()


@pytest.fixture(scope="module")
def shards(tmp_path_factory):
    """A corpus, its sentences, and the same in five files of different sizes, one without sentences."""
    folder = tmp_path_factory.mktemp("shards")
    sentences = read_corpus(TEST)
    bounds = [0, 10, 70, 70, 100, len(sentences)]
    files = [str(folder / f"{i}.txt") for i in range(5)]
    for path, begin, end in zip(files, bounds, bounds[1:], strict=False):
        write_corpus(path, sentences[begin:end])
    return sentences, files


@pytest.fixture(scope="module")
def trained_on_shards(client, shards):
    """A model trained on two workers."""
    return fit(client, CRFTagger(**SETTINGS), shards[1])


def test_what_is_counted_on_shards_is_that_of_the_whole_corpus(shards, trained_on_shards):
    """Every array but the weights is the same, and all parameters have their counts."""
    whole = CRFTagger(**SETTINGS).fit(shards[0])
    assert trained_on_shards.summary_["parameters"] == whole.summary_["parameters"]
    assert {name: trained_on_shards.summary_[name] for name in ("sentences", "tokens")} == {
        name: whole.summary_[name] for name in ("sentences", "tokens")
    }
    theirs = trained_on_shards.arrays()
    for name, array in whole.arrays().items():
        if name.startswith(("words", "lexicon", "strings", "seen")):
            assert np.array_equal(theirs[name], array), name


def test_loss_gradient_and_curvature_are_those_of_the_whole_corpus(client, shards):
    """Equal up to float32 residuals, whose order of addition differs; samples too."""
    sentences, files = shards
    model = CRFTagger(**SETTINGS)
    corpus, layout = model.encode(sentences)
    weights = np.random.default_rng(0).normal(size=layout.size) / 4
    with training(client, files, ReadOptions(), False) as (workers, job):
        parts, encoding, _ = encode_shards(workers, job, CRFTagger(**SETTINGS), None)
        assert np.array_equal(encoding.layout.counts, layout.counts)
        assert np.array_equal(encoding.layout.seen, layout.seen)
        assert [a.tolist() for a in encoding.corpus.features.keys] == [a.tolist() for a in corpus.features.keys]
        for sample in (None, np.arange(3, len(sentences), 7)):
            whole = Trainer(corpus, layout, 0.25, 0.0, 1, 0.0, 1).likelihood(sample)
            sharded = ShardedObjective(parts, encoding.layout, 0.25, sample)
            (loss, gradient), (ours, sums) = whole(weights), sharded(weights)
            assert ours == pytest.approx(loss, rel=1e-6)
            assert np.abs(sums - gradient).max() < 1e-5 * np.abs(gradient).max()
            curvature = whole.curvature(weights)
            assert sharded.curvature(weights) == pytest.approx(curvature, rel=1e-4, abs=1e-4)


def test_workers_that_have_lost_their_shards_get_the_numbering_again(client, shards):
    with training(client, shards[1], ReadOptions(), False) as (workers, job):
        parts, encoding, _ = encode_shards(workers, job, CRFTagger(**SETTINGS), None)
        objective = ShardedObjective(parts, encoding.layout, 1.0)
        weights = np.zeros(encoding.layout.size)
        loss, gradient = objective(weights)
        assert parts.is_encoded and parts.numbering.sent is None  # no worker keeps it
        client.run(forget, job.token)
        again, same = objective(weights)
    assert again == loss and (same == gradient).all()


def test_any_number_of_workers_gives_the_same_bytes(shards, trained_on_shards):
    with connect("local:1") as one:
        assert model_bytes(fit(one, CRFTagger(**SETTINGS), shards[1])) == model_bytes(trained_on_shards)


def test_shards_on_disk_give_the_same_bytes(client, shards, trained_on_shards):
    assert model_bytes(fit(client, CRFTagger(**SETTINGS), shards[1], on_disk=True)) == model_bytes(trained_on_shards)


def test_a_worker_that_dies_is_replaced_and_the_bytes_stay(client, shards, trained_on_shards):
    """Killed between two evaluations, and in the middle of one."""
    for delay in (0.0, 0.05):
        killed = []

        def kill(killed=killed):
            killed.append(sorted(client.run(os.getpid).values())[0])
            os.kill(killed[0], signal.SIGKILL)

        def watch(progress, kill=kill, delay=delay):
            if progress.iteration == 3:
                Timer(delay, kill).start() if delay else kill()

        model = fit(client, CRFTagger(**SETTINGS), shards[1], watch=watch)
        assert len(killed) == 1 and model_bytes(model) == model_bytes(trained_on_shards)


def test_a_training_on_shards_stops_and_resumes(client, shards, trained_on_shards, tmp_path):
    checkpoint = Checkpoint(tmp_path / "c.checkpoint", every=2)
    stop = fit(client, CRFTagger(**SETTINGS), shards[1], watch=stop_at(4), checkpoint=replace(checkpoint, keep=True))
    assert stop.summary_["iterations"] == 4
    resumed = fit(client, CRFTagger(**SETTINGS), shards[1], checkpoint=replace(checkpoint, resume=True))
    assert resumed.summary_["iterations"] == SETTINGS["max_iterations"]
    assert resumed.summary_["loss"] == pytest.approx(trained_on_shards.summary_["loss"], rel=0.2)
    with pytest.raises(TrainingError, match="corpus"):
        stop.summary_.clear()
        fit(client, CRFTagger(**SETTINGS), shards[1], watch=stop_at(2), checkpoint=replace(checkpoint, keep=True))
        fit(client, CRFTagger(**SETTINGS), shards[1][1:], checkpoint=replace(checkpoint, resume=True))


def stop_at(iteration):
    return lambda progress: "enough" if progress.iteration == iteration else None


def test_a_faulty_line_of_a_shard_is_named(client, tmp_path):
    path = tmp_path / "bad.txt"
    path.write_text("a/X b/Y\n" * 3 + "c\n")
    with pytest.raises(CorpusError, match=r"bad\.txt:4"):
        fit(client, CRFTagger(**SETTINGS), [str(path)])


def test_settings_that_need_the_whole_corpus_are_refused(client, shards):
    for settings in ({"order": 0}, {"partial": True}, {"features": len}):
        with pytest.raises(TrainingError, match="shards"):
            fit(client, CRFTagger(**settings), shards[1])


# Shards and stores


@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize("format", ["slash", "conllu", "jsonl"])
def test_a_large_file_is_cut_between_sentences(tmp_path, monkeypatch, format, suffix):
    sentences = read_corpus(TEST)[:40]
    path = str(tmp_path / f"corpus.{format}{suffix}")
    write_corpus(path, sentences, format)
    monkeypatch.setattr("tagger.integrations.distributed.shards.SHARD_BYTES", {format: 700})
    monkeypatch.setattr("tagger.integrations.distributed.shards.BLOCK", 97)
    options = ReadOptions()
    shards = cut([path], options)
    assert len(shards) > 5 and [shard.number for shard in shards] == list(range(len(shards)))
    read = [list(shard.sentences(options)) for shard in shards]
    assert all(read) and [s.words for part in read for s in part] == [s.words for s in sentences]
    assert [s.line for part in read for s in part] == [s.line for s in read_corpus(path)]


def test_objects_of_a_store_come_back_from_disk_as_they_were(tmp_path):
    value = {"a": np.arange(5), "b": [np.zeros((2, 3), np.float32), "text", np.empty(0)]}
    cache = ShardCache(str(tmp_path))
    for _ in range(2):
        found = cache.get(("x", 1), lambda: value)
        assert found["a"].tolist() == [0, 1, 2, 3, 4] and found["b"][0].shape == (2, 3) and found["b"][1] == "text"
    assert not found["a"].flags.writeable
    cache.drop(lambda key: True)
    assert list(cache.folder.iterdir()) == [] and cache.get(("x", 1), lambda: 7) == 7


# Tagging


@pytest.fixture
def texts(tmp_path):
    """A folder with twelve texts and a model."""
    save_model(HMMTagger().fit(read_corpus(TEST)), tmp_path / "hmm.npz")
    sentences = [" ".join(sentence.words) for sentence in read_corpus(TEST)]
    for i in range(12):
        (tmp_path / f"{i}.txt").write_text("\n".join(sentences[i * 5 : i * 5 + 30]) + "\n")
    return tmp_path


def written(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_files_as_tasks_give_the_files_of_one_process(client, texts):
    inputs = sorted(map(str, texts.glob("*.txt")))
    assert run(texts, "tag", *inputs, "-m", "hmm.npz", "-o", "here/").code == 0
    done = tag(client, texts / "hmm.npz", inputs, str(texts / "there"))
    assert done == sum(len(line.split()) for path in inputs for line in Path(path).read_text().splitlines())
    here, there = written(texts / "here"), written(texts / "there")
    assert {name: text for name, text in here.items() if not name.startswith("manifest")} == {
        name: text for name, text in there.items() if not name.startswith("manifest")
    }
    (texts / "there" / "3.txt").unlink()
    again = tag(client, texts / "hmm.npz", inputs, str(texts / "there"))
    assert 0 < again < done and written(texts / "there") == there


def test_the_files_of_a_worker_that_dies_are_tagged_by_others(client, texts):
    inputs = sorted(map(str, texts.glob("*.txt")))
    whole = tag(client, texts / "hmm.npz", inputs, str(texts / "whole"))
    folder = TaggingFolder(str(texts / "out"), [str(texts / "hmm.npz")], {"encoding": "utf-8"}, "slash")
    counts = run_all(folder.tasks(inputs), partial(dying_copy, str(texts / "died")), DaskExecutor(client))
    assert sum(done.tokens for done in counts) == len(inputs) and (texts / "died").exists() and whole > 0
    assert {Path(name).name for name in written(texts / "out")} >= {Path(name).name for name in inputs}


def dying_copy(marker, source, target):
    """Copy a file instead of tagging it; the first that comes kills its worker after half of it."""
    with open_output(target) as stream:
        text = Path(source).read_bytes()
        stream.write(text[: len(text) // 2])
        if not Path(marker).exists():
            Path(marker).write_text("")
            os.kill(os.getpid(), signal.SIGKILL)
        stream.write(text[len(text) // 2 :])
    return 1


# The command line


def test_a_folder_of_shards_is_trained_on_by_the_command(shards, tmp_path):
    folder = Path(shards[1][0]).parent
    args = ("--features", "comparison", "--max-iterations", 5, "--dev", TEST, "--candidates", "all", "-q")
    done = run(tmp_path, "train-crf", folder, "-o", "m.npz", *args, "--scheduler", "local:1", "--max-memory", "3G")
    assert (done.code, done.err) == (0, "")
    here = run(tmp_path, "train-crf", TEST, "-o", "here.npz", *args)
    assert here.code == 0
    ours, theirs = (load_model(tmp_path / name).summary_ for name in ("m.npz", "here.npz"))
    assert ours["loss"] == pytest.approx(theirs["loss"], rel=1e-4) and ours["parameters"] == theirs["parameters"]


@pytest.mark.parametrize(
    "args",
    [
        ("train-crf", TEST, "--scheduler", "nowhere"),
        ("train-crf", "-", "--scheduler", "local:1"),
        ("train-crf", TEST, "--scheduler", "local:1", "--partial"),
        ("crossval", TEST, "--scheduler", "local:1", "--jobs", 2),
        ("tag", TEST, "--scheduler", "local:1"),
    ],
)
def test_options_that_do_not_go_with_a_scheduler_are_refused(tmp_path, args):
    done = run(tmp_path, *args)
    assert done.code == 2 and "--scheduler" in done.err
