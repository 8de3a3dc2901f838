"""HMMs, CRFs on candidates and pools, trained on shards: the same bytes for any number of workers."""

import json
import os
import signal
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from paths import TEST, TRAIN
from program import run

from tagger import CRFTagger, HMMTagger, load_model, read_corpus, save_model, write_corpus
from tagger.arrays.npz import write_archive
from tagger.crf.trainer import Trainer
from tagger.errors import TrainingError
from tagger.features import clustering
from tagger.models.checkpoint import Checkpoint
from tagger.models.monitor import INTERRUPTED
from tagger.pooled.tagger import PooledTagger

pytest.importorskip("distributed")

from tagger.integrations.distributed import classes, hmm
from tagger.integrations.distributed.cluster import connect
from tagger.integrations.distributed.objective import ShardedObjective
from tagger.integrations.distributed.pooled import ShardedPooledTrainer
from tagger.integrations.distributed.shards import ReadOptions
from tagger.integrations.distributed.training import encode_shards, fit, training


@pytest.fixture(scope="module")
def client():
    """A cluster of two processes on the loopback interface."""
    with connect("local:2") as client:
        yield client


@pytest.fixture(scope="module")
def shards(tmp_path_factory):
    """A corpus, its sentences, and the same in files of different sizes, one without sentences."""
    folder = tmp_path_factory.mktemp("shards")
    sentences = read_corpus(TEST)
    bounds = [0, 10, 25, 25, 40, 55, 75, len(sentences)]
    files = [str(folder / f"{i}.txt") for i in range(7)]
    for path, begin, end in zip(files, bounds, bounds[1:], strict=False):
        write_corpus(path, sentences[begin:end])
    return sentences, files


def model_bytes(model):
    stream = BytesIO()
    write_archive(stream, model.arrays() | {"seen": model.seen_})
    return stream.getvalue(), model.classes_, model.summary_


def kill_one(client):
    """Kill a worker of a cluster on this machine."""
    os.kill(min(client.run(os.getpid).values()), signal.SIGKILL)


# HMMs


@pytest.mark.parametrize(
    "settings", [{}, {"rare_count": 2}, {"order": 1}, {"order": 1, "smoothing": "add-k", "unknown": "suffix"}]
)
def test_an_hmm_of_shards_has_the_bytes_of_an_ordinary_one(client, shards, settings, monkeypatch):
    sentences, files = shards
    monkeypatch.setattr("tagger.hmm.smoothing.SAMPLE_SIZE", 50)  # so that few tokens of frequent words count
    lexicon = {} if settings.get("smoothing") else {"lexicon": {"Chopin": ["NNP"]}}
    whole = HMMTagger(**settings).fit(sentences, **lexicon)
    assert model_bytes(fit(client, HMMTagger(**settings), files, **lexicon)) == model_bytes(whole)


def test_an_hmm_has_the_same_bytes_for_one_and_three_workers_and_on_disk(shards):
    whole = model_bytes(HMMTagger().fit(shards[0]))
    for workers, on_disk in ((1, True), (3, False)):
        with connect(f"local:{workers}") as client:
            assert model_bytes(fit(client, HMMTagger(), shards[1], on_disk=on_disk)) == whole


def test_an_hmm_survives_the_death_of_a_worker(client, shards, monkeypatch):
    """Killed between the count of words and that of frequent words."""
    count, killed = hmm.ShardedText.count_entries, []

    def count_after_death(text, counts, entries):
        kill_one(client)
        killed.append(1)
        return count(text, counts, entries)

    monkeypatch.setattr(hmm.ShardedText, "count_entries", count_after_death)
    assert model_bytes(fit(client, HMMTagger(), shards[1])) == model_bytes(HMMTagger().fit(shards[0])) and killed


def test_what_an_hmm_of_shards_cannot_do_is_refused(client, shards, tmp_path):
    with pytest.raises(TrainingError, match="partial"):
        fit(client, HMMTagger(partial=True), shards[1])
    with pytest.raises(TrainingError, match="lexicon"):
        fit(client, HMMTagger(), shards[1], lexicon={"dog": ["no such tag"]})
    with pytest.raises(TrainingError, match="lexicon"):
        fit(client, CRFTagger(), shards[1], lexicon={"dog": ["NN"]})
    with pytest.raises(ValueError, match="lexicon"):
        fit(client, HMMTagger(unknown="floor", order=1), shards[1], lexicon={"dog": ["NN"]})
    (tmp_path / "empty.txt").write_text("")
    with pytest.raises(TrainingError, match="empty"):
        fit(client, HMMTagger(), [str(tmp_path / "empty.txt")])


def test_the_command_counts_a_folder(shards, tmp_path):
    folder = Path(shards[1][0]).parent
    done = run(tmp_path, "train-hmm", folder, "-o", "m.npz", "--scheduler", "local:2")
    assert done.code == 0 and "wrote m.npz" in done.err
    assert run(tmp_path, "train-hmm", TEST, "-o", "here.npz", "-q").code == 0
    assert (tmp_path / "m.npz").read_bytes() == (tmp_path / "here.npz").read_bytes()
    assert load_model(tmp_path / "m.npz").summary_["sentences"] == len(shards[0])
    refused = run(tmp_path, "train-hmm", folder, "--scheduler", "local:2", "--partial")
    assert refused.code == 2 and "--partial" in refused.err


# Word classes


def test_word_classes_of_shards_are_those_of_one_process(client, shards, tmp_path, monkeypatch):
    """Raw text in two files, one of them in parts, and the words of a corpus."""
    sentences, files = shards
    raw = [str(tmp_path / name) for name in ("a.txt", "b.conllu")]
    write_corpus(raw[0], [s.words for s in read_corpus(TRAIN)[:150]])
    write_corpus(raw[1], read_corpus(TRAIN)[150:200], "conllu")
    text = [s.words for s in [*sentences, *read_corpus(TRAIN)[:200]]]
    whole = clustering.learn_classes(lambda: text, [4, 8])
    monkeypatch.setattr("tagger.integrations.distributed.shards.SHARD_BYTES", {"slash": 2000, "conllu": 1 << 24})
    ours = classes.learn_classes(client, raw, [4, 8], corpora=files)
    assert {name: array.tolist() for name, array in ours.arrays().items()} == {
        name: array.tolist() for name, array in whole.arrays().items()
    }


def test_the_commands_learn_word_classes_on_a_cluster(shards, tmp_path):
    folder, scheduler = Path(shards[1][0]).parent, ("--scheduler", "local:2")
    (tmp_path / "raw.txt").write_text("\n".join(" ".join(s.words) for s in read_corpus(TRAIN)[:150]) + "\n")
    for name, more in (("here", ()), ("there", scheduler)):
        assert run(tmp_path, "learn-classes", "raw.txt", "--size", 8, "--vectors", "-o", f"{name}.npz", *more).code == 0
    assert (tmp_path / "here.npz").read_bytes() == (tmp_path / "there.npz").read_bytes()
    for corpus, name, more in ((TEST, "hmm-here", ()), (folder, "hmm-there", scheduler)):
        assert run(tmp_path, "train-hmm", corpus, "--unlabeled", "raw.txt", "-o", f"{name}.npz", *more).code == 0
    assert (tmp_path / "hmm-here.npz").read_bytes() == (tmp_path / "hmm-there.npz").read_bytes()
    refused = run(tmp_path, "learn-classes", "-", "--size", 8, *scheduler)
    assert refused.code == 2 and "--scheduler" in refused.err


# CRFs over candidates


CANDIDATES = {"order": 2, "features": "comparison", "max_iterations": 8, "threads": 1}


@pytest.fixture(scope="module")
def of_candidates(client, shards):
    """A CRF of second order, trained on two workers."""
    return fit(client, CRFTagger(**CANDIDATES), shards[1])


def test_candidates_on_shards_are_those_of_the_whole_corpus(shards, of_candidates):
    """Their HMM, trigrams and figures are the same; the loss up to the rounding of float32."""
    whole = CRFTagger(**CANDIDATES).fit(shards[0])
    assert model_bytes(of_candidates.proposer_) == model_bytes(whole.proposer_)
    assert of_candidates.trigram_keys_.tolist() == whole.trigram_keys_.tolist()
    assert of_candidates.summary_ == whole.summary_ | {"loss": pytest.approx(whole.summary_["loss"], rel=1e-4)}


@pytest.mark.parametrize("settings", [{"order": 2}, {"order": 1, "candidates": 0.01}])
def test_loss_and_gradient_over_candidates_are_those_of_the_whole_corpus(client, shards, settings):
    """Equal up to float32, and to the quantum, samples too."""
    sentences, files = shards
    model = CRFTagger(**CANDIDATES | settings)
    corpus, layout = model.encode(sentences)
    weights = np.random.default_rng(0).normal(size=layout.size) / 4
    with training(client, files, ReadOptions(), False) as (workers, job):
        parts, encoding, _ = encode_shards(workers, job, CRFTagger(**CANDIDATES | settings), None)
        assert np.array_equal(encoding.layout.counts, layout.counts) and encoding.missed == model.missed_
        for sample in (None, np.arange(3, len(sentences), 7)):
            whole = Trainer(corpus, layout, 0.25, 0.0, 1, 0.0, 1).likelihood(sample)
            sharded = ShardedObjective(parts, encoding.layout, 0.25, sample)
            (loss, gradient), (ours, sums) = whole(weights), sharded(weights)
            assert ours == pytest.approx(loss, rel=1e-6)
            assert np.abs(sums - gradient).max() < 1e-5 * np.abs(gradient).max()
            assert sharded.curvature(weights) == pytest.approx(whole.curvature(weights), rel=1e-4, abs=1e-4)


def test_candidates_have_the_same_bytes_for_any_workers_and_on_disk(shards, of_candidates):
    for workers, on_disk in ((1, False), (3, True)):
        with connect(f"local:{workers}") as client:
            model = fit(client, CRFTagger(**CANDIDATES), shards[1], on_disk=on_disk)
            assert model_bytes(model) == model_bytes(of_candidates)


def test_a_crf_over_candidates_survives_the_death_of_a_worker(client, shards, of_candidates):
    def watch(progress):
        if progress.iteration == 3:
            kill_one(client)

    assert model_bytes(fit(client, CRFTagger(**CANDIDATES), shards[1], watch=watch)) == model_bytes(of_candidates)


def test_one_sentence_has_candidates_too(client, tmp_path):
    (tmp_path / "one.txt").write_text("the/D dog/N barks/V\n")
    model = fit(client, CRFTagger(order=2, max_iterations=3), [str(tmp_path / "one.txt")])
    assert model.predict([["the", "dog", "barks"]]) == [["D", "N", "V"]]


def test_a_span_scheme_is_obeyed_on_shards(client, tmp_path):
    text = "Ann/B-PER Lee/I-PER met/O Bob/B-PER\n" * 5 + "in/O Rome/B-LOC\n" * 5
    (tmp_path / "spans.txt").write_text(text)
    for model in (HMMTagger(), CRFTagger(order=2, max_iterations=3)):
        trained = fit(client, model, [str(tmp_path / "spans.txt")])
        assert trained.scheme_ == "bio"
    with pytest.raises(TrainingError, match="scheme bioes"):
        fit(client, HMMTagger(scheme="bioes"), [str(tmp_path / "spans.txt")])


# Pools


POOL = {"features": "comparison", "max_iterations": 12, "threads": 1}


@pytest.fixture(scope="module", autouse=True)
def few_folds():
    """Two folds are left out for the weights of a pool, not all five."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tagger.pooled.trainer.HELD_OUT_TOKENS", 400)
        yield


@pytest.fixture(scope="module")
def pool_of_shards(client, shards):
    """A pool, trained on two workers."""
    return fit(client, PooledTagger(**POOL), shards[1])


def test_a_pool_of_shards_is_that_of_the_whole_corpus(shards, pool_of_shards):
    """The HMM and the coverage are the same; the weights of the pool as far as unfinished CRFs are."""
    whole = PooledTagger(**POOL).fit(shards[0])
    assert model_bytes(pool_of_shards.proposer_) == model_bytes(whole.proposer_)
    assert pool_of_shards.coverage_.tolist() == whole.coverage_.tolist()
    assert pool_of_shards.pool_ == pytest.approx(whole.pool_, abs=0.02)
    for name in ("evaluations", "iterations", "parameters", "right tag no candidate"):
        assert pool_of_shards.summary_[name] == whole.summary_[name], name
    ours, theirs = (model.predict([s.words for s in shards[0]]) for model in (pool_of_shards, whole))
    same = [a == b for x, y in zip(ours, theirs, strict=True) for a, b in zip(x, y, strict=True)]
    assert np.mean(same) > 0.995


def test_a_pool_has_the_same_bytes_with_one_worker_and_if_one_dies(client, shards, pool_of_shards):
    with connect("local:1") as one:
        assert model_bytes(fit(one, PooledTagger(**POOL), shards[1])) == model_bytes(pool_of_shards)

    def watch(progress):
        if progress.iteration == 2:
            kill_one(client)

    assert model_bytes(fit(client, PooledTagger(**POOL), shards[1], watch=watch)) == model_bytes(pool_of_shards)


def test_the_occurrences_of_parameters_are_those_of_the_whole_corpus(client, shards):
    sentences, files = shards
    model, others = PooledTagger(**POOL), np.arange(0, len(shards[0]), 3)
    counts = model.trainer(*model.encode(sentences), sentences).counts_of(others)
    with training(client, files, ReadOptions(), False) as (workers, job):
        own = PooledTagger(**POOL)
        parts, encoding, _ = encode_shards(workers, job, own, None)
        settings = own.trainer_settings() | {"shards": parts, "model": own, "corpus_sentences": ()}
        sharded = ShardedPooledTrainer(*own.keep(encoding), **settings)
        assert np.array_equal(sharded.counts_of(others), counts)


def test_the_command_trains_a_pool_stops_and_resumes(shards, tmp_path):
    folder = Path(shards[1][0]).parent
    args = ("train", folder, "-o", "m.npz", "--features", "comparison", "--scheduler", "local:2")
    save_model(HMMTagger(order=1).fit(shards[0]), tmp_path / "hmm.npz")
    more = ("--dev", TEST, "--log", "log.jsonl", "--add", "hmm.npz", "-q")
    done = run(tmp_path, *args, "--max-iterations", 6, *more)
    assert (done.code, done.err) == (0, "")
    lines = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    model = load_model(tmp_path / "m.npz")
    assert len(lines) == model.summary_["iterations"] and len(model.members_) == 1
    checkpoint = Checkpoint(tmp_path / "c", every=1, keep=True)
    with connect("local:1") as client:
        stopped = fit(
            client, PooledTagger(**POOL), shards[1], watch=lambda p: INTERRUPTED if p.iteration >= 3 else None,
            checkpoint=checkpoint,
        )  # fmt: skip
        assert stopped.summary_["stopped"] == INTERRUPTED
        resumed = fit(client, PooledTagger(**POOL), shards[1], checkpoint=replace(checkpoint, resume=True))
    assert resumed.summary_["iterations"] == POOL["max_iterations"]
