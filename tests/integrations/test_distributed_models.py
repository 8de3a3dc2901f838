"""HMMs, CRFs on candidates and pools, trained on shards: the same bytes for any number of workers."""

import os
import signal
from io import BytesIO
from pathlib import Path

import pytest
from paths import TEST
from program import run

from tagger import CRFTagger, HMMTagger, load_model, read_corpus, write_corpus
from tagger.arrays.npz import write_archive
from tagger.errors import TrainingError

pytest.importorskip("distributed")

from tagger.integrations.distributed import hmm
from tagger.integrations.distributed.cluster import connect
from tagger.integrations.distributed.training import fit


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
    with pytest.raises(ValueError, match="classes|lexicon"):
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
    for option in ("--partial", "--unlabeled=x.txt"):
        (tmp_path / "x.txt").write_text("a\n")
        refused = run(tmp_path, "train-hmm", folder, "--scheduler", "local:2", option)
        assert refused.code == 2 and option.split("=")[0] in refused.err
