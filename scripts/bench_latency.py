"""One sentence at a time inside a program: what `scripts/bench.py latency` does.

Every side is an object that lives in this process and has tagged other text before. It gets one sentence per call, of
about 15 tokens, and all sides take turns. Two cases are told apart: *first*, sentences that this object has not met
before, some of their words neither; and *again*, the same sentences once more. Times are processor time of the calling
thread, which other programs on the machine disturb least; sentences per second are by the clock.
"""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from rival_crfsuite import features

from tagger import load_model, read_corpus

AROUND = 1  # tokens more or fewer than asked for

Tag = Callable[[list[str]], object]


class CRFSuite:
    """python-crfsuite on the features of the comparison template; a tagger for each thread."""

    def __init__(self, path: str) -> None:
        self.path, self.local = path, threading.local()

    def __call__(self, words: list[str]) -> object:
        if not hasattr(self.local, "tagger"):
            import pycrfsuite

            self.local.tagger = pycrfsuite.Tagger()
            self.local.tagger.open(self.path)
        return self.local.tagger.tag(features(words))


def open_side(path: str) -> Tag:
    """Make the function from words to tags of a model file of ours, or of CRFsuite."""
    if Path(path).suffix == ".crfsuite":
        return CRFSuite(path)
    model = load_model(path)
    return lambda words: model.predict([words])[0]


def compare(paths: dict[str, str], text: str, tokens: int, rounds: int, threads: list[int]) -> list[dict]:
    """Measure each side with each number of threads; times in milliseconds."""
    sentences = [list(sentence.words) for sentence in read_corpus(text)]
    measured = [words for words in sentences if abs(len(words) - tokens) <= AROUND]
    others = [words for words in sentences if abs(len(words) - tokens) > AROUND]
    rows = []
    for count in threads:
        sides = {name: open_side(path) for name, path in paths.items()}
        first, again, speeds = ({name: [] for name in sides} for _ in range(3))
        with ThreadPoolExecutor(count) as pool:
            for tag in sides.values():
                together(pool, count, tag, others)
            for turn in range(1 + rounds):
                for name, tag in sides.items():
                    begin = time.perf_counter()
                    times = together(pool, count, tag, measured)
                    (again if turn else first)[name] += times
                    speeds[name].append(len(times) / (time.perf_counter() - begin))
        for name in sides:
            figures = {"first": figures_of(first[name]), "again": figures_of(again[name])}
            rows.append({"name": name, "threads": count, **figures, "per_second": statistics.median(speeds[name][1:])})
    return rows


def together(pool: ThreadPoolExecutor, count: int, tag: Tag, sentences: list[list[str]]) -> list[float]:
    """Tag all sentences in each of `count` threads at once; return the processor time of each call."""
    barrier = threading.Barrier(count)

    def work(_: int) -> list[float]:
        barrier.wait()
        times = []
        for words in sentences:
            begin = time.thread_time()
            tag(words)
            times.append(time.thread_time() - begin)
        return times

    return [seconds for times in pool.map(work, range(count)) for seconds in times]


def figures_of(seconds: list[float]) -> dict[str, float]:
    """The median and the 99th percentile in milliseconds."""
    ordered = sorted(seconds)
    return {"median": 1e3 * statistics.median(ordered), "p99": 1e3 * ordered[int(0.99 * (len(ordered) - 1))]}


def show(rows: list[dict], table: Callable) -> None:
    """Write the table."""
    head = ["program", "threads", "first: median ms", "p99", "again: median ms", "p99", "sentences/s"]
    cells = [
        [
            row["name"],
            str(row["threads"]),
            *(f"{row[case][figure]:.3f}" for case in ("first", "again") for figure in ("median", "p99")),
            f"{row['per_second']:,.0f}",
        ]
        for row in rows
    ]
    table(head, cells)
