"""Run the examples of README.md and docs/ again and write down what they print now.

python scripts/readme_sessions.py [PAGE …]

A `console` block is a session: commands after `$ `, each with its output. A `python` block is a program; a `text` block
right after it is what it prints. The examples of a page run from top to bottom in a folder of their own with a copy of
data/. Other blocks (`sh`, `text`) are not run: they are for commands on corpora that cannot be shipped.
`tests/test_readme.py` runs the same examples and compares.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

SESSION = re.compile(r"^```console\n(?P<session>.*?)^```$", re.M | re.S)
STEP = re.compile(r"^\$ (?P<command>.*)\n(?P<output>(?:(?!\$ ).*\n)*)", re.M)
PROGRAM = re.compile(r"^```python\n(?P<program>.*?)^```\n(?:\n```text\n(?P<prints>.*?)^```$)?", re.M | re.S)


class Example(NamedTuple):
    """Something to run, the output that the page shows, and the place of that output in the page."""

    run: list[str]
    source: str
    shown: str | None  # None: the page does not show it
    span: tuple[int, int]


def examples(page: str) -> list[Example]:
    """All examples of a page, in its order."""
    found = [*sessions(page), *programs(page)]
    return sorted(found, key=lambda example: example.span)


def sessions(page: str) -> Iterator[Example]:
    for session in SESSION.finditer(page):
        for step in STEP.finditer(page, *session.span("session")):
            command = step["command"]
            yield Example(["bash", "-o", "pipefail", "-c", command], command, step["output"], step.span("output"))


def programs(page: str) -> Iterator[Example]:
    for block in PROGRAM.finditer(page):
        place = block.span("prints" if block["prints"] is not None else "program")
        yield Example(["python", "-c", block["program"]], block["program"], block["prints"], place)


def prepare(folder: Path) -> None:
    """Make the folder one in which examples can run."""
    shutil.copytree(ROOT / "data", folder / "data")


def run(example: Example, folder: Path, programs: Path = Path(sys.executable).parent) -> str:
    """Run an example with `tagger` and `python` of the folder `programs`.

    Return its output, or raise RuntimeError with the reason why it failed.
    """
    path = os.pathsep.join([str(programs), os.environ["PATH"]])
    environment = os.environ | {"PATH": path, "PYTHONUTF8": "1"}
    command = [shutil.which(example.run[0], path=path) or sys.executable, *example.run[1:]]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, encoding="utf-8")
    if done.returncode:
        raise RuntimeError(f"{example.source}\n{done.stderr}")
    return done.stdout


def renewed(page: str) -> str:
    """The page with the output that its examples have now."""
    parts, end = [], 0
    with tempfile.TemporaryDirectory() as name:
        prepare(Path(name))
        for example in examples(page):
            output = run(example, Path(name))
            if example.shown is not None:
                start, after = example.span
                parts += [page[end:start], output]
                end = after
    return "".join([*parts, page[end:]])


def main() -> None:
    for page in [Path(name) for name in sys.argv[1:]] or PAGES:
        text = page.read_text("utf-8")
        if renewed_text := renewed(text) if examples(text) else "":
            page.write_text(renewed_text, "utf-8")
        print(page, "is up to date" if renewed_text in ("", text) else "has changed")


if __name__ == "__main__":
    main()
