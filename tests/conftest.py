"""What tests of several files share."""

import signal
from importlib.util import find_spec

import pytest
from browser import chromium, installed
from hypothesis import settings
from paths import TEST, TRAIN
from program import run

settings.register_profile("tests", deadline=None)  # a busy machine is no failure
settings.load_profile("tests")

# Tests send signals to programs they start, which would inherit that a shell or nohup let them be ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

# Tests that learn a network: all of some files, and the cases of others that are named after the network. Cases of
# other files with that name only read one, or its options, which takes no PyTorch.
NETWORKS = {"test_bilstm", "test_crf_layer"}
NETWORKS_AMONG_OTHERS = {
    "test_containers",
    "test_ensemble",
    "test_hints",
    "test_models",
    "test_normalization",
    "test_one_viterbi",
    "test_threads",
    "test_training",
}


def pytest_configure(config):
    if config.option.markexpr == "torch" and find_spec("torch") is None:
        raise pytest.UsageError("these tests need PyTorch, which is not installed: pip install torch")


def pytest_ignore_collect(collection_path, config):
    """To look for tests in these files would load PyTorch."""
    return True if config.option.markexpr == "not torch" and collection_path.stem in NETWORKS else None


def pytest_collection_modifyitems(items):
    for item in items:
        case = item.name.partition("[")[2].lower()
        if item.path.stem in NETWORKS or (item.path.stem in NETWORKS_AMONG_OTHERS and "bilstm" in case):
            item.add_marker("torch")


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """One for all, as wide as a telephone."""
    pytest.importorskip("selenium")
    if not all(installed()):
        pytest.skip("no Chromium with its chromedriver on PATH: pages are not tried in a browser")
    with chromium(tmp_path_factory.mktemp("profile"), width=390, height=800) as browser:
        yield browser


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    """A folder with hmm.npz, crf.npz and log.jsonl, and the results of the two trainings. Tests only read it."""
    folder = tmp_path_factory.mktemp("trained")
    hmm = run(folder, "train-hmm", TRAIN, "-o", "hmm.npz")
    crf = run(folder, "train-crf", TRAIN, "-o", "crf.npz", "--dev", TEST, "--log", "log.jsonl", "--max-iterations", 10)
    return folder, {"hmm": hmm, "crf": crf}


@pytest.fixture(scope="session")
def models(trained):
    """The folder with hmm.npz and crf.npz, both trained on the English corpus."""
    return trained[0]
