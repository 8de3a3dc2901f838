"""Hostile input, broken disks, sudden death: how often does it end in a clean refusal, a correct result, or a failure?

    python scripts/torture.py                    # everything: 20,000 models, 20,000 corpora, 300 kills, …
    python scripts/torture.py --share 0.01       # a hundredth of it
    python scripts/torture.py models --seed 7    # one part, other mutations

Every trial has a seed, which is printed with a failure, and judges that know nothing of how the program works: a
refusal is one line that names the file, and a result has been looked at. Failures must be zero; else the exit code is
1.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import torture_processes
from judges import CORRECT, REFUSED, check_message, judge_corpus, judge_model
from mutations import CORPUS_MUTATIONS, MODEL_MUTATIONS

from tagger import CRFTagger, HMMTagger, PooledTagger, read_corpus, save_model
from tagger.corpus.formats import FORMATS, render
from tagger.models.base import Tagger

ROOT = Path(__file__).parent.parent
DATA = ROOT / "data"
MODELS, CORPORA, COMMANDS = 20_000, 20_000, 500
MOST_MEMORY = 1 << 30  # of a process that judges small files
PROGRAM = [sys.executable, "-m", "tagger"]
TAGGED = [True, True, False, None]


@dataclass
class Row:
    """One line of the table."""

    name: str
    counts: dict[str, int] = field(default_factory=lambda: {REFUSED: 0, CORRECT: 0})
    failures: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def add(self, trial: Callable[[], str], seed: object) -> None:
        """The verdict of a trial; whatever it raises is a failure."""
        begin = time.perf_counter()
        try:
            self.counts[trial()] += 1
        except Exception as error:
            last = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{Path(last.filename).name}:{last.lineno}"
            self.failures.append(f"{self.name}, seed {seed}: {type(error).__name__} {str(error)[:300]!r} ({place})")
        self.seconds += time.perf_counter() - begin

    def __str__(self) -> str:
        refused, correct, failed = self.counts[REFUSED], self.counts[CORRECT], len(self.failures)
        tried = refused + correct + failed
        return f"| {self.name} | {tried:,} | {refused:,} | {correct:,} | {failed:,} | {self.seconds:,.0f} |"


def good_models(folder: Path) -> dict[str, bytes]:
    sentences = read_corpus(DATA / "english-train.txt")[:40]
    textbook = HMMTagger(order=1, smoothing="add-k", unknown="suffix")
    taggers = [HMMTagger(), textbook, CRFTagger(max_iterations=5), CRFTagger(features="comparison", l1=0.1)]
    fitted: list[Tagger] = [tagger.fit(sentences) for tagger in taggers]
    fitted.append(PooledTagger(max_iterations=3, threads=1).fit(sentences, add=fitted[1:3]))
    found = {}
    for number, tagger in enumerate(fitted):
        save_model(tagger, folder / "good.npz")
        found[f"{tagger.kind} {number}"] = (folder / "good.npz").read_bytes()
    examples = sorted(
        (ROOT / "tests" / "models").glob("*-bilstm.npz")
    )  # to make one takes PyTorch, to read it does not
    return found | {path.stem: path.read_bytes() for path in examples}


def good_corpora() -> dict[str, bytes]:
    sentences = read_corpus(DATA / "english-train.txt")[:8] + read_corpus(DATA / "chinese-train.txt")[:4]
    return {name: b"".join(render(sentence, name) for sentence in sentences) for name in FORMATS}


def torture_models(folder: Path, count: int, seed: int) -> Iterator[Row]:
    """In this process, each mutation as often as any other."""
    models, path = good_models(folder), folder / "mutant.npz"
    for name, mutate in MODEL_MUTATIONS.items():
        row = Row(f"models: {name}")
        for i in range(seed, seed + count // len(MODEL_MUTATIONS)):
            rng = random.Random(f"{name} {i}")
            path.write_bytes(mutate(rng, models[rng.choice(list(models))]))
            row.add(lambda: judge_model(path), i)
        yield row


def torture_corpora(folder: Path, count: int, seed: int) -> Iterator[Row]:
    corpora, path = good_corpora(), folder / "mutant.txt"
    for name, mutate in CORPUS_MUTATIONS.items():
        row = Row(f"corpora: {name}")
        for i in range(seed, seed + count // len(CORPUS_MUTATIONS)):
            rng = random.Random(f"{name} {i}")
            written = rng.choice(list(corpora))
            path.write_bytes(mutate(rng, corpora[written]))
            format, tagged = rng.choice([written, written, None, rng.choice(list(FORMATS))]), rng.choice(TAGGED)
            row.add(lambda format=format, tagged=tagged: judge_corpus(path, format, tagged), i)  # type: ignore[misc]
        yield row


def judge_command(arguments: list[str], folder: Path, name: str) -> str:
    """A command ends with 0, or with 1 and one line that names the file; never with a traceback."""
    given = "The dog barks .\nÜber \ufeff 中央\n".encode()
    done = subprocess.run([*PROGRAM, *arguments], input=given, capture_output=True, cwd=folder, timeout=120)
    said = done.stderr.decode("utf-8", "backslashreplace")
    assert done.returncode in (0, 1) and "Traceback" not in said, f"{arguments}: {done.returncode}: {said[-300:]}"
    if done.returncode == 0:
        assert done.stdout or "-q" in arguments, f"{arguments}: no output"
        return CORRECT
    lines = [line for line in said.split("\n") if line.startswith("tagger: ")]
    assert len(lines) == 1, f"{arguments}: {said[:300]!r}"
    check_message(lines[0], name)
    return REFUSED


def commands_on_models(path: str) -> list[list[str]]:
    return [["tag", "-m", path], ["inspect", path], ["explain", "-m", path], ["tag", "-m", path, "--nbest", "2"]]


def commands_on_corpora(path: str) -> list[list[str]]:
    return [
        ["train-hmm", path, "-q", "-o", "made.npz"],
        ["train-crf", path, "-q", "-o", "made.npz", "--max-iterations", "3", "--on-error", "skip"],
        ["tag", "-m", "good.npz", path],
        ["tag", "-m", "good.npz", path, "--tokenize", "--on-error", "skip"],
        ["eval", "-m", "good.npz", path],
        ["convert", path, "-", "--output-format", "jsonl"],
        ["check", path, "--jobs", "1"],
    ]


def torture_commands(folder: Path, count: int, seed: int) -> Iterator[Row]:
    """The same mutants, as a user meets them."""
    models, corpora = good_models(folder), good_corpora()
    for kind, mutations, good, suffix, commands in (
        ("models", MODEL_MUTATIONS, models, ".npz", commands_on_models),
        ("corpora", CORPUS_MUTATIONS, corpora, ".txt", commands_on_corpora),
    ):
        row = Row(f"{kind} through the command")
        path = folder / f"mutant{suffix}"
        for i in range(seed, seed + count):
            rng = random.Random(f"{kind} {i}")
            mutate = mutations[rng.choice(list(mutations))]
            path.write_bytes(mutate(rng, good[rng.choice(list(good))]))
            arguments = rng.choice(commands(path.name))
            row.add(lambda path=path, args=arguments: judge_command(args, folder, path.name), i)  # type: ignore[misc]
        yield row


PARTS: dict[str, tuple[Callable[[Path, int, int], Iterator[Row]], int]] = {
    "models": (torture_models, MODELS),
    "corpora": (torture_corpora, CORPORA),
    "commands": (torture_commands, COMMANDS),
    "processes": (lambda folder, count, seed: torture_processes.rows(folder, count, seed, Row), 100),
}


def torture(parts: list[str], share: float, seed: int) -> list[Row]:
    """The rows of the table, printed as they come."""
    rows = []
    print("| what | trials | clean refusals | correct results | failures | seconds |")
    print("|---|---:|---:|---:|---:|---:|", flush=True)
    with tempfile.TemporaryDirectory(prefix="tagger-torture-") as folder:
        for part in parts:
            function, count = PARTS[part]
            for row in function(Path(folder), max(8, int(share * count)), seed):
                print(row, flush=True)
                rows.append(row)
    for failure in (failure for row in rows for failure in row.failures):
        print(failure)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], help="default: all")
    parser.add_argument("--share", type=float, default=1.0, help="of all trials")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell lets programs in the background ignore it
    os.environ["TMPDIR"] = os.environ.get("TMPDIR", "/dev/shm" if Path("/dev/shm").is_dir() else "")
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_MEMORY, resource.getrlimit(resource.RLIMIT_DATA)[1]))
    rows = torture(options.parts or list(PARTS), options.share, options.seed)
    sys.exit(any(row.failures for row in rows))


if __name__ == "__main__":
    main()
