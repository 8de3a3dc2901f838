"""README cannot lie: its sessions are run and compared, its Python is executed."""

import io
import itertools
import os
import re
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "README.md").read_text("utf-8")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", TEXT, re.M | re.S)


def steps(session):
    """[(command, output)] of a console session."""
    parts = re.split(r"^\$ ", session, flags=re.M)[1:]
    return [part.split("\n", 1) for part in parts]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("readme")
    (path / "data").symlink_to(ROOT / "data")
    return path


NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")


def alike(shown, real):
    """Equal but for figures with a point, which differ a little between libraries and kinds of processors."""
    pairs = itertools.zip_longest(shown.strip().splitlines(), real.strip().splitlines(), fillvalue="")
    return all(lines_alike(*pair) for pair in pairs)


def lines_alike(shown, real):
    if NUMBER.sub("#", shown).split() != NUMBER.sub("#", real).split():
        return False
    # A word more or less that is right moves percentages by up to a point, and what is chance by up to a fifth.
    slack = 1.0 if "%" in real or "points" in real else 0.2 if "chance" in real else 0.0
    figures = zip(NUMBER.findall(shown), NUMBER.findall(real), strict=True)
    return all(a == b or close(a, b, slack) for a, b in figures)


def close(shown, real, slack):
    """Counts are equal. Others have as many digits (0.4120 may be 0.412), and differ by 2 % or by the last digit."""
    digits = sorted(len(figure.partition(".")[2]) for figure in (shown, real))
    if digits[0] == 0 or digits[1] - digits[0] > 1:
        return False
    a, b = (float(figure.replace(",", "")) for figure in (shown, real))
    return abs(a - b) <= max(0.02 * max(a, b), 1.01 * 10.0 ** -digits[1], slack)


@pytest.mark.parametrize(
    ("shown", "real", "same"),
    [
        ("fish\tVB\t0.4174", "fish\tVB\t0.4157", True),
        ("fish\tVB\t0.4174", "fish\tVB\t0.3997", False),
        ("fish\tVB\t0.4174", "fish\tNN\t0.4174", False),
        ("1\t0.41\tfish/VB", "1\t0.4122\tfish/VB", False),
        ("not VBD 0.016: +6.70", "not VBD 0.017: +6.69", True),
        ("not VBD 0.016: +6.70", "not VBD 0.016: -6.70", False),
        ("accuracy  90.48 %  of 298", "accuracy  90.75 %  of 298", True),
        ("accuracy  90.48 %  of 298", "accuracy  90.48 %  of 299", False),
        ("accuracy  90.48 %  of 298", "accuracy  91.58 %  of 298\n", True),
        ("accuracy  90.48 %  of 298", "accuracy  92.58 %  of 298\n", False),
        ("a line", "a line\nanother", False),
    ],
)
def test_figures_are_compared_as_closely_as_they_can_be(shown, real, same):
    assert alike(shown, real) == same


NEURAL = [session for session in blocks("console") if "train-bilstm" in session]
PLAIN = [session for session in blocks("console") if session not in NEURAL]


def test_sessions_show_what_happens(folder):
    assert len(PLAIN) >= 2
    run(PLAIN, folder)


def test_sessions_with_a_network_show_what_happens(folder):
    pytest.importorskip("torch", reason="learning a BiLSTM needs PyTorch: pip install torch")
    assert NEURAL
    run(NEURAL, folder)


def run(sessions, folder):
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    for session in sessions:
        for command, shown in steps(session):
            done = subprocess.run(
                ["bash", "-o", "pipefail", "-c", command],
                cwd=folder, env=os.environ | {"PATH": path}, capture_output=True, text=True, encoding="utf-8",
            )  # fmt: skip
            assert done.returncode == 0, done.stderr
            assert alike(shown, done.stdout), f"{command}\n--- README\n{shown}\n--- now\n{done.stdout}"


def test_python_examples_run(folder, monkeypatch):
    monkeypatch.chdir(folder)
    examples = blocks("python")
    assert examples
    for example in examples:
        out = io.StringIO()
        with redirect_stdout(out):
            exec(compile(example, "README.md", "exec"), {})
        assert "PRP" in out.getvalue() and "(3, 44)" in out.getvalue()


def test_template_examples_parse():
    from tagger.features.template import parse_templates

    assert all(parse_templates(block) for block in blocks("text"))


def test_every_command_is_listed():
    from tagger.cli import COMMANDS

    assert all(f"| `tagger {name} " in TEXT for name in COMMANDS)


def anchors(page):
    """The names that a page's headings have in links."""
    text = re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.M | re.S)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in re.findall(r"^#+ (.+)$", text, re.M)}


PAGES = [path for pattern in ("*.md", "data/*.md", "docs/*.md") for path in sorted(ROOT.glob(pattern))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_pages_lead_somewhere(page):
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text("utf-8")):
        if not link.startswith("http"):
            path, _, anchor = link.partition("#")
            target = page.parent / path if path else page
            assert target.exists(), link
            assert not anchor or anchor in anchors(target), link
