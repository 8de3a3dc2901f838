"""Runs the command line, for tests of what it prints, how it ends and what it leaves behind.

`run` forks this process, which has numpy and the package loaded already, and calls `tagger.cli.main` in the child: a
command takes milliseconds instead of the half second of a new interpreter, and still has file descriptors, signals,
limits and a working directory of its own. `run_process` and `start` begin a new interpreter, for tests of the process
itself: signals, encodings, limits of memory, what is imported, and everything that uses torch, whose threads do not
survive a fork.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple, NoReturn

from tagger.cli import COMMANDS, main

PROGRAM = [sys.executable, "-m", "tagger"]
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
def preload() -> None:
    """Import what commands import when they need it, once for all forks."""
    commands = [f"tagger.cli.commands.{name}" for name in COMMANDS.values()]
    lazy = [
        "scipy.sparse",
        "threadpoolctl",
        "tqdm",
        "tagger.crf.objective",
        "tagger.crf.lbfgs",
        "tagger.tagging.workers",
    ]
    for name in [*commands, *lazy]:
        import_module(name)


def run(
    folder: Any,
    *args: Any,
    input: str | bytes = "",
    stdin: Any = None,
    stdout: Any = None,
    encoding: str = "utf-8",
    **env: str,
) -> Result:
    """Run a command in a fork of this process, with `input` on its standard input.

    `stdin` and `stdout` are open files or pipes to use instead, as a shell redirects; `encoding` is that of standard
    output, as if set by PYTHONIOENCODING.
    """
    preload()
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        given.write(as_bytes(input))
        given.seek(0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # on forks beside the threads of pytest-xdist
            child = os.fork()
        if not child:
            streams = (stdin or given, stdout or out, err)
            become_program(folder, [str(arg) for arg in args], environment(**env), streams, encoding)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        out.seek(0)
        err.seek(0)
        return Result(code, out.read().decode(encoding), err.read().decode())


def become_program(
    folder: Any, args: list[str], env: dict[str, str], streams: tuple[Any, Any, Any], encoding: str
) -> NoReturn:
    """Turn a fork of the tests into the program; never comes back."""
    status: Any = 70  # an internal error, as in sysexits.h
    try:
        for descriptor, stream in enumerate(streams):
            os.dup2(stream.fileno(), descriptor)
        sys.stdin, sys.stdout = open(0, encoding="utf-8"), open(1, "w", encoding=encoding)  # noqa: SIM115
        sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace")  # noqa: SIM115
        os.environ.clear()
        os.environ.update(env)
        os.chdir(folder)
        sys.argv = ["tagger", *args]
        warnings.resetwarnings()
        warnings.simplefilter("default")
        main()
    except SystemExit as leaving:
        status = leaving.code
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


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
