"""Runs the command line, for tests of what it prints, how it ends and what it leaves behind.

`run` has the command forked by a server (see forkserver.py): it takes milliseconds and still has file descriptors,
signals, limits and a working directory of its own. What `monkeypatch` sets does not reach it; the fixture `patch`
sets it there, too. `run_process` and `start` begin a new interpreter, which takes half a second, for tests of the
process itself: signals, encodings, limits of memory, what is imported.
"""

from __future__ import annotations

import atexit
import os
import pickle
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from forkserver import call
from paths import TESTS

PROGRAM = [sys.executable, "-m", "tagger"]
PATCHES: dict[tuple[str, str], Any] = {}  # what (module, name) is in commands that `run` runs
WAIT = 60  # seconds, for what takes less than one on an idle machine


class Result(NamedTuple):
    """Exit code and output of a command that has ended."""

    code: int
    out: str
    err: str


def environment(**changes: str) -> dict[str, str]:
    """The environment of a command: ours, without settings that would change what it does."""
    clean = {k: v for k, v in os.environ.items() if k != "TAGGER_MODEL" and not k.startswith("PYTHON")}
    return clean | changes


def as_bytes(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode()


@cache
def server() -> str:
    """Start the server that `run` has its commands from, once; return the path of its socket."""
    seed = {name: value for name, value in os.environ.items() if name == "PYTHONHASHSEED"}
    command = [sys.executable, str(TESTS / "forkserver.py")]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    process = subprocess.Popen(command, env=environment(**seed), text=True, **pipes)
    atexit.register(process.communicate)  # which closes its input
    assert process.stdout
    return process.stdout.readline().strip()


def run(
    folder: Any,
    *args: Any,
    input: str | bytes = "",
    stdin: Any = None,
    stdout: Any = None,
    keep: Sequence[int] = (),
    encoding: str = "utf-8",
    **env: str,
) -> Result:
    """Run a command in a fork of the server, with `input` on its standard input.

    `stdin` and `stdout` are open files or pipes to use instead, as a shell redirects; `keep` are descriptors that it
    inherits; `encoding` is that of standard output, as if set by PYTHONIOENCODING.
    """
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        given.write(as_bytes(input))
        given.seek(0)
        streams = enumerate([stdin or given, stdout or out, err])
        files = {number: stream.fileno() for number, stream in streams} | dict(zip(keep, keep, strict=True))
        place, words = str(Path(folder).absolute()), [str(arg) for arg in args]
        patches = pickle.dumps(PATCHES)
        code = call(server(), "tagger", words, place, environment(**env), files, encoding, patches)
        out.seek(0)
        err.seek(0)
        return Result(code, out.read().decode(encoding), err.read().decode())


def stand_ins(folder: Path) -> Path:
    """Write programs `tagger` and `python` into the folder which the server runs; return the folder.

    `python` takes `-c` only. They are for shell sessions, in which every command would be a new interpreter.
    """
    for name in ("tagger", "python"):
        words = [sys.executable, "-IS", str(TESTS / "forkserver.py"), server(), name]
        (folder / name).write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
        (folder / name).chmod(0o755)
    return folder


def run_process(
    folder: Any,
    *args: Any,
    input: str | bytes = "",
    command: list[str] = PROGRAM,
    decode: str = "utf-8",
    **env: str,
) -> Result:
    """Run a command in a new interpreter, or behind another `command` such as a shell."""
    done = subprocess.run(
        [*command, *map(str, args)],
        cwd=folder,
        env=environment(**env),
        input=as_bytes(input),
        capture_output=True,
        timeout=2 * WAIT,
        check=False,
    )
    return Result(done.returncode, done.stdout.decode(decode), done.stderr.decode())


def start(folder: Any, *args: Any, env: dict[str, str] | None = None, **settings: Any) -> subprocess.Popen[Any]:
    """Start a command in a new interpreter and return at once; all three streams are pipes unless set otherwise."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    command = [*PROGRAM, *map(str, args)]
    return subprocess.Popen(command, cwd=folder, env=environment(**(env or {})), **(pipes | settings))


def wait_for(condition: Any, seconds: float = WAIT) -> None:
    """Wait until a condition holds."""
    limit = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < limit, "waited in vain"
        time.sleep(0.01)
