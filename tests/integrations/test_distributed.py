"""Work on a Dask cluster: the digits of one process, whatever the number of workers, and whichever of them dies."""

import os
import signal

import pytest
from paths import TEST

from tagger import CRFTagger, HMMTagger, read_corpus
from tagger.errors import TaggerError
from tagger.experiments.crossval import TaggerFactory, cross_validate, learning_curve
from tagger.experiments.search import Setting
from tagger.experiments.trials import SettingTrials

pytest.importorskip("distributed")

from tagger.integrations.distributed.cluster import check_scheduler, connect
from tagger.integrations.distributed.executor import DaskExecutor
from tagger.integrations.distributed.placement import assign

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
    assert check_scheduler("tcp://10.0.0.1:8786") is None
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
        assert there.judge(setting) == here.judge(setting)
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
