"""What tests of several files share."""

import signal

import pytest
from browser import chromium, installed
from hypothesis import settings

settings.register_profile("tests", deadline=None)  # a busy machine is no failure
settings.load_profile("tests")

# Tests send signals to programs they start, which would inherit that a shell or nohup let them be ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """One for all, as wide as a telephone."""
    pytest.importorskip("selenium")
    if not all(installed()):
        pytest.skip("no Chromium with its chromedriver on PATH: pages are not tried in a browser")
    with chromium(tmp_path_factory.mktemp("profile"), width=390, height=800) as browser:
        yield browser
