"""What tests of several files share."""

import gc
import signal

import pytest
from browser import chromium, installed
from forkserver import keep_memory
from hypothesis import settings
from paths import TEST, TESTS, TRAIN
from program import PATCHES, run

from tagger.files import resources

settings.register_profile("tests", deadline=None)  # a busy machine is no failure
settings.load_profile("tests")

keep_memory()

# Tests send signals to programs they start, which would inherit that a shell or nohup let them be ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

# Tests of the work with other people's libraries are in integrations/. So are, by their mark, the tests of other files
# that open a browser, and the cases that learn a network; cases with that name that are not in this list only read one,
# which takes no PyTorch. Others are marked where they are.
INTEGRATIONS = TESTS / "integrations"
LEARN_NETWORKS = {
    "test_containers",
    "test_ensemble",
    "test_hints",
    "test_models",
    "test_normalization",
    "test_one_viterbi",
    "test_text",
    "test_threads",
    "test_training",
}


def pytest_ignore_collect(collection_path, config):
    """To look for tests in that folder would load the libraries."""
    without = config.option.markexpr.startswith("not integration")
    return True if without and collection_path == INTEGRATIONS else None


def pytest_collection_finish():
    """Exempt what has been imported and collected from garbage collection, which takes a third of a second else."""
    gc.freeze()


def pytest_collection_modifyitems(items):
    for item in items:
        learns_network = item.path.stem in LEARN_NETWORKS and "bilstm" in item.name.partition("[")[2].lower()
        if learns_network or "browser" in item.fixturenames or INTEGRATIONS in item.path.parents:
            item.add_marker("integration")


@pytest.fixture
def patch(monkeypatch):
    """Set a variable of a module for a test, here and in commands that `run` runs."""

    def set_variable(module, name, value):
        monkeypatch.setattr(module, name, value)
        monkeypatch.setitem(PATCHES, (module.__name__, name), value)

    return set_variable


@pytest.fixture
def threads_for_all(patch):
    """Let threads share the work on a corpus of any size."""
    patch(resources, "LARGE", 0)


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
