"""README cannot lie: its sessions are run and compared, its Python is executed."""

import io
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


def alike(shown, real):
    """Equal but for figures, which may differ by a point between kinds of processors."""
    number = re.compile(r"\d[\d,]*\.?\d*")
    if number.sub("#", shown).split() != number.sub("#", real).split():
        return False
    figures = zip(number.findall(shown), number.findall(real), strict=True)
    return all(abs(float(a.replace(",", "")) - float(b.replace(",", ""))) <= 1.0 for a, b in figures)


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
    from tagger.template import parse_templates

    assert all(parse_templates(block) for block in blocks("text"))


def test_every_command_is_listed():
    from tagger.cli import COMMANDS

    assert all(f"| `tagger {name} " in TEXT for name in COMMANDS)
