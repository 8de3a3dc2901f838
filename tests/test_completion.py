"""Completion in shells: bash is run, the scripts of the others are looked at."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from program import run

FOLDER = Path(sys.executable).parent
ENVIRONMENT = os.environ | {"PATH": os.pathsep.join([str(FOLDER), os.environ["PATH"]])}


def tagger(*args, **env):
    result = run("/", *args, **env)
    assert result.code == 0, result.err
    return result.out


def test_without_a_shell_the_shells_are_listed():
    result = run("/", "completion")
    assert result.code == 2 and result.err.endswith("Choose from:\n\tbash,\n\tzsh,\n\tfish\n")


def candidates(line):
    words = line.split(" ")
    return tagger(COMP_WORDS=line, COMP_CWORD=str(len(words) - 1), _TAGGER_COMPLETE="bash_complete").splitlines()


@pytest.mark.skipif(not shutil.which("bash"), reason="needs bash")
@pytest.mark.parametrize(
    "words, expected",
    [
        (["tagger", "tr"], ["train", "train-hmm", "train-crf", "train-bilstm", "trellis"]),
        (["tagger", "split", "--out"], ["--output-folder"]),
        (["tagger", "convert", "--output-format", "j"], ["jsonl"]),
    ],
)
def test_bash_completes_with_the_printed_script(words, expected):
    if not (FOLDER / "tagger").exists():
        pytest.skip("the program is not installed")
    listed = " ".join(f"'{word}'" for word in words)
    code = f"""
        eval "$(tagger completion bash)"
        COMP_WORDS=({listed}); COMP_CWORD={len(words) - 1}
        _tagger_completion tagger
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(["bash", "-c", code], env=ENVIRONMENT, capture_output=True, text=True, timeout=60)
    assert (done.stdout.split(), done.stderr) == (expected, "")


def test_languages_files_and_commands_are_candidates():
    assert candidates("tagger tag --tokenize ") == ["plain,english", "plain,chinese", "plain,model"]
    assert candidates("tagger tag -m ") == ["file,"]
    assert {"plain,tag", "plain,convert", "plain,completion"} <= set(candidates("tagger "))


def test_names_of_commands_are_completed_without_loading_them():
    code = "import sys; from tagger.cli import run; run([]); print(*sys.modules)"
    env = ENVIRONMENT | {"COMP_WORDS": "tagger ", "COMP_CWORD": "1", "_TAGGER_COMPLETE": "bash_complete"}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert "plain,tag" in done.stdout and "numpy" not in done.stdout.split()


@pytest.mark.parametrize("shell, sign", [("zsh", "#compdef tagger"), ("fish", "complete --no-files --command tagger")])
def test_other_shells_get_a_script_that_asks_us(shell, sign):
    script = tagger("completion", shell)
    assert sign in script and f"_TAGGER_COMPLETE={shell}_complete" in script
