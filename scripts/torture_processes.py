"""What becomes of files and processes when the program is killed, hit by a signal, or the disk is full.

Each trial starts with good files of an earlier run and ends with a look at the folder: the old file or the new one,
whole, and nothing else; and with a look for processes that outlived their parent. A full disk is played in two ways: by
a limit on the size of files, set at every size that the output passes through, and where we may mount one, by a disk
that is too small.
"""

from __future__ import annotations

import contextlib
import errno
import os
import random
import resource
import signal
import subprocess
import sys
import time
import warnings
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from judges import CORRECT, REFUSED, check_message

from tagger import CRFTagger, HMMTagger, load_model, read_corpus, save_model
from tagger.errors import FileError
from tagger.models.checkpoint import Checkpoint, State

DATA = Path(__file__).parent.parent / "data"
PROGRAM = [sys.executable, "-m", "tagger"]
WAIT = 60.0  # seconds for anything to end
TRAIN = ["train-crf", "train.txt", "--checkpoint-every", "1", "--max-iterations", "40", "--tolerance", "0", "-q"]
TAG = ["tag", "text.txt", "-m", "hmm.npz", "-o", "out.txt", "--jobs", "2", "-q"]
GIVEN = {"train.txt", "text.txt", "hmm.npz", "model.npz", "out.txt", "done.txt"}
DOCUMENTED = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}
SLEEPING = {signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU}
FATAL_TO_ALL = {signal.SIGKILL, signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGABRT}


def prepare(folder: Path) -> Path:
    """A folder with corpora, models and outputs of an earlier run."""
    home = folder / "home"
    home.mkdir(exist_ok=True)
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))  # that is litter, too
    sentences = read_corpus(DATA / "english-train.txt")[:150]
    lines = (DATA / "english-train.txt").read_text("utf-8").split("\n")
    (home / "train.txt").write_text("\n".join(lines[:150]) + "\n", "utf-8")
    (home / "text.txt").write_text("\n".join(" ".join(s.words) for s in sentences * 60) + "\n", "utf-8")
    save_model(HMMTagger().fit(sentences), home / "hmm.npz")
    save_model(CRFTagger(max_iterations=3).fit(sentences[:20]), home / "model.npz")
    subprocess.run([*PROGRAM, *TAG], cwd=home, check=True, timeout=WAIT)
    (home / "out.txt").rename(home / "done.txt")
    (home / "out.txt").write_text("old\n")
    return home


def check_folder(home: Path, *more: str) -> None:
    """All files whole, old or new, and no others; but one on its way from its first name to its last may be caught."""
    for path in home.glob(".tagger-*.tmp"):
        assert path.read_bytes() == (home / "done.txt").read_bytes() or zipfile.ZipFile(path).testzip() is None
        path.unlink()
    strange = {path.name for path in home.iterdir()} - GIVEN - set(more)
    assert not strange, f"litter: {strange}"
    load_model(home / "model.npz")
    written = (home / "out.txt").read_bytes()
    assert written in (b"old\n", (home / "done.txt").read_bytes()), f"out.txt is half-written: {len(written)} bytes"
    (home / "out.txt").write_text("old\n")


def started(home: Path, arguments: list[str]) -> subprocess.Popen[bytes]:
    """In a session of its own, so that its children can be found when it is gone."""
    return subprocess.Popen(
        [*PROGRAM, *arguments], cwd=home, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True
    )


def wait(process: subprocess.Popen[bytes], seconds: float) -> None:
    """Wait, but not for what has ended."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(seconds)


def fork() -> int:
    """Newer Pythons warn where there are threads; those of BLAS, which sleep, do no harm."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def check_no_children(session: int) -> None:
    deadline = time.monotonic() + WAIT
    while time.monotonic() < deadline:
        try:
            os.killpg(session, 0)
        except ProcessLookupError:
            return
        time.sleep(0.01)
    raise AssertionError("a worker has outlived its parent")


# --- kill -9 ---------------------------------------------------------------------------------------------------------


def kill_training(home: Path, rng: random.Random) -> str:
    """Killed at any moment, the model is the old one or a new one, and the checkpoint can be gone on from."""
    checkpoint = home / "model.npz.checkpoint"
    process = started(home, [*TRAIN, *(["--resume"] if checkpoint.exists() else [])])
    wait(process, rng.random() * 3.0)
    process.kill()
    said = process.communicate(timeout=WAIT)[1].decode()
    check_no_children(process.pid)
    assert process.returncode in (0, -signal.SIGKILL), said
    check_folder(home, "model.npz.checkpoint")
    return CORRECT


def kill_tagging(home: Path, rng: random.Random) -> str:
    process = started(home, TAG)
    wait(process, rng.random() * 1.5)
    process.kill()
    process.communicate(timeout=WAIT)
    check_no_children(process.pid)
    check_folder(home, "model.npz.checkpoint")
    return CORRECT


def kill_saving(home: Path, rng: random.Random, model: CRFTagger) -> str:
    """Model and checkpoint are saved again and again until death comes; both are whole, one save apart at most."""
    checkpoint = Checkpoint(home / "model.npz.checkpoint")
    child = fork()
    if not child:
        for number in range(1, 1 << 30):
            model.summary_["iterations"] = number
            save_model(model, home / "model.npz")
            checkpoint.save(State(number, model.weights_.astype(float) * 0 + number), {})
    time.sleep(0.01 + rng.random() / 10)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    check_folder(home, "model.npz.checkpoint")
    if (home / "model.npz.checkpoint").exists():
        state = checkpoint.load({}, len(model.weights_), 0)
        assert (state.weights == state.iteration).all()
        assert load_model(home / "model.npz").summary_["iterations"] - state.iteration in (0, 1)
        checkpoint.remove()
    return CORRECT


# --- signals ---------------------------------------------------------------------------------------------------------


def send_signal(home: Path, rng: random.Random, number: signal.Signals, arguments: list[str]) -> str:
    """What a signal does is what is documented, or what the system does by default; and no file suffers."""
    process = started(home, arguments)
    wait(process, 0.15 + rng.random() * 1.5)
    if process.poll() is None:
        os.killpg(process.pid, number) if rng.random() < 0.5 else process.send_signal(number)
        if number in SLEEPING:
            time.sleep(rng.random() / 5)
            os.killpg(process.pid, signal.SIGCONT)
    said = process.communicate(timeout=WAIT)[1].decode()
    check_no_children(process.pid)
    assert "Traceback" not in said, said[-500:]
    # 1: the signal went to the workers too, and one of them was gone first.
    assert process.returncode in (0, DOCUMENTED.get(number, -number), -number, 1), f"{process.returncode}: {said}"
    assert process.returncode != 1 or "a worker process died" in said, said
    check_folder(home, "model.npz.checkpoint")
    (home / "model.npz.checkpoint").unlink(missing_ok=True)
    return CORRECT if process.returncode == 0 else REFUSED


# --- full disks ------------------------------------------------------------------------------------------------------


def in_child(function: Callable[[], str]) -> str:
    """The verdict of a function that runs in a copy of this process, whose limits die with it."""
    reading, writing = os.pipe()
    child = fork()
    if not child:
        os.close(reading)
        try:
            verdict = function()
        except BaseException as error:
            verdict = f"{type(error).__name__}: {error}"
        os.write(writing, verdict.encode("utf-8", "backslashreplace")[:4000])
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as stream:
        verdict = stream.read().decode()
    os.waitpid(child, 0)
    assert verdict in (REFUSED, CORRECT), verdict
    return verdict


def fill_up(home: Path, write: Callable[[], None], path: Path, old: bytes, size: int) -> str:
    """No file can grow beyond `size` bytes."""

    def attempt() -> str:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        try:
            write()
        except FileError as error:
            check_message(str(error), str(path))
            assert "cannot write" in str(error)
            return REFUSED
        return CORRECT

    before = {found.name for found in home.iterdir()}
    verdict = in_child(attempt)
    assert {found.name for found in home.iterdir()} == before, "litter"
    assert verdict == CORRECT or path.read_bytes() == old, "the old file is gone"
    path.write_bytes(old)
    return verdict


def fail_at(home: Path, write: Callable[[], None], path: Path, old: bytes, call: str, after: int) -> str:
    """The system refuses the n-th flush, rename or link."""

    def attempt() -> str:
        real, left = getattr(os, call), [after]

        def failing(*args: Any, **named: Any) -> Any:
            left[0] -= 1
            if left[0] < 0:
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            return real(*args, **named)

        setattr(os, call, failing)
        try:
            write()
        except FileError as error:
            check_message(str(error), str(path))
            return REFUSED
        return CORRECT

    before = {found.name for found in home.iterdir()}
    verdict = in_child(attempt)
    assert {found.name for found in home.iterdir()} == before, "litter"
    assert verdict == CORRECT or path.read_bytes() == old, "the old file is gone"
    path.write_bytes(old)
    return verdict


@contextlib.contextmanager
def tiny_disk(folder: Path, size: int) -> Iterator[Path | None]:
    """A disk of so many bytes, if we may have one."""
    place = folder / "disk"
    place.mkdir(exist_ok=True)
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)], capture_output=True, check=False
    )
    try:
        yield place if mounted.returncode == 0 else None
    finally:
        if mounted.returncode == 0:
            subprocess.run(["umount", str(place)], check=True)


def full_disk(folder: Path, home: Path, size: int, arguments: list[str]) -> str:
    """A command that writes to a disk too small for its output: one line, and the disk as it was."""
    with tiny_disk(folder, size) as disk:
        assert disk is not None
        (disk / "old").write_text("old\n")
        command = [*PROGRAM, *arguments, str(disk / "old")]
        done = subprocess.run(command, cwd=home, capture_output=True, text=True, timeout=WAIT)
        assert "Traceback" not in done.stderr and done.returncode in (0, 1), done.stderr
        if done.returncode == 0:
            return CORRECT
        assert [path.name for path in disk.iterdir()] == ["old"] and (disk / "old").read_text() == "old\n"
        check_message(done.stderr.rstrip("\n"), str(disk / "old"))
        return REFUSED


# --- the rows of the table -------------------------------------------------------------------------------------------


def rows(folder: Path, count: int, seed: int, make: Callable[[str], Any]) -> Iterator[Any]:
    home = prepare(folder)
    model = CRFTagger(max_iterations=3).fit(read_corpus(home / "train.txt"))
    yield from kill_rows(home, count, seed, make, model)
    yield signal_row(home, count, seed, make)
    yield from disk_rows(folder, home, count, make, model)


def kill_rows(home: Path, count: int, seed: int, make: Callable[[str], Any], model: CRFTagger) -> Iterator[Any]:
    kills: dict[str, Callable[[random.Random], str]] = {
        "training": lambda rng: kill_training(home, rng),
        "tagging": lambda rng: kill_tagging(home, rng),
        "saving": lambda rng: kill_saving(home, rng, model),
    }
    for name, kill in kills.items():
        row = make(f"kill -9 while {name}")
        (home / "model.npz.checkpoint").unlink(missing_ok=True)
        for i in range(seed, seed + count):
            row.add(lambda i=i, kill=kill: kill(random.Random(i)), i)
        yield row


def signal_row(home: Path, count: int, seed: int, make: Callable[[str], Any]) -> Any:
    """The signals that end a program most often, then every other."""
    numbers = [*DOCUMENTED, *sorted(set(signal.Signals) - FATAL_TO_ALL - {*DOCUMENTED})]
    row = make("signals")
    for i in range(seed, seed + count):
        number = numbers[i % len(numbers)]
        arguments = [TRAIN, TAG][i // len(numbers) % 2]
        row.add(
            lambda i=i, n=number, args=arguments: send_signal(home, random.Random(i), n, args), f"{i} {number.name}"
        )
    return row


def disk_rows(folder: Path, home: Path, count: int, make: Callable[[str], Any], model: CRFTagger) -> Iterator[Any]:
    writers: dict[str, tuple[Path, Callable[[], None]]] = {
        "a model": (home / "model.npz", lambda: save_model(model, home / "model.npz")),
        "a checkpoint": (
            home / "model.npz.checkpoint",
            lambda: Checkpoint(home / "model.npz.checkpoint").save(State(1, model.weights_.astype(float)), {}),
        ),
    }
    for name, (path, write) in writers.items():
        write()
        old = path.read_bytes()
        row = make(f"no room on the disk for {name}")
        for i in range(count):
            size = len(old) * i // count
            row.add(lambda w=write, p=path, o=old, s=size: fill_up(home, w, p, o, s), size)
        for call in ("fsync", "replace", "rename", "link"):
            for after in range(2):
                row.add(lambda w=write, p=path, o=old, c=call, n=after: fail_at(home, w, p, o, c, n), (call, after))
        yield row
    with tiny_disk(folder, 1 << 16) as disk:
        if disk is None:
            return
    row = make("commands on a full disk")
    commands = [
        [*TAG[:4], "-o"],
        [*TRAIN, "--checkpoint", "c", "-o"],
        ["train-hmm", "train.txt", "-q", "-o"],
        ["convert", "train.txt"],
        ["eval", "train.txt", "-m", "hmm.npz", "-q", "-o"],
    ]
    for i in range(max(5, count // 5)):
        size = 4096 * (2 + i * 7 % 40)
        row.add(lambda s=size, args=commands[i % 5]: full_disk(folder, home, s, args), size)
    yield row
