"""How the cost of CRF training grows with tokens and tags, over all tags and over candidates, on generated corpora.

    python scripts/growth.py                                      small corpora, about 20 seconds
    python scripts/growth.py 125000x50 250000x50 250000x400       corpora of your choice, as TOKENSxTAGS
    python scripts/growth.py 1000000x400 --candidates 0.001       over candidates only

A corpus is drawn from a chain over the tags in which each has a few likely successors. Words follow Zipf's law; most
tokens of a word have its first tag, a tenth have a second one. Every row is one run of `tagger train-crf --features
comparison`: the seconds of the whole program, its iterations, the median seconds of one on the whole corpus, the peak
of memory and the size of the model.
"""

from __future__ import annotations

import json
import statistics
import tempfile
from itertools import pairwise
from pathlib import Path

import bench
import click
import numpy as np

CASES = ("2500x20", "5000x20", "10000x20", "5000x10", "5000x40", "5000x80")
CANDIDATES = ("all", "0.001")
ORDERS = (1, 2)


def generated(tokens: int, K: int, seed: int = 0):
    """Draw sentences of 20 tokens."""
    from tagger import Sentence

    random = np.random.default_rng(seed)
    likely = random.dirichlet(np.full(K, 0.1), size=K).cumsum(axis=1)
    tags = np.empty(tokens, np.int64)
    tag = 0
    for i, x in enumerate(random.random(tokens).tolist()):
        tags[i] = tag = min(int(np.searchsorted(likely[tag], x)), K - 1)
    rank = random.zipf(1.3, tokens) % 50_000
    # A tenth of the tokens share the words of the next tag.
    home = np.where(random.random(tokens) < 0.9, tags, (tags + 1) % K)
    words = [
        f"{'bcdfghklmnprstvz'[h % 16]}{r}{'aeiou'[h % 5]}{h}" for h, r in zip(home.tolist(), rank.tolist(), strict=True)
    ]
    ends = [*range(20, tokens, 20), tokens]
    names = [f"T{k}" for k in range(K)]
    return [Sentence(words[a:b], [names[k] for k in tags[a:b]]) for a, b in zip([0, *ends], ends, strict=False)]


def measure(corpus: Path, candidates: str, order: int, options: list[str]) -> dict[str, float]:
    """Train once, in a process of its own."""
    log, model = corpus.with_suffix(".jsonl"), corpus.with_suffix(".npz")
    command = ["-m", "tagger", "train-crf", corpus, "-q", "-o", model, "--log", log, "--features", "comparison"]
    command += ["--candidates", candidates, "--order", order, "--checkpoint-every", 1000000]
    _, whole, peak = bench.measured([*command, *options])
    rows = [json.loads(line) for line in log.read_text().splitlines()]
    seconds = [row["seconds"] for row in rows if row["loss"] is not None]  # on the whole corpus
    each = statistics.median(b - a for a, b in pairwise(seconds)) if len(seconds) > 1 else float("nan")
    found = {"whole": whole, "iterations": rows[-1]["iteration"], "each": each}
    return found | {"peak": peak, "size": model.stat().st_size / 1e6}


def write_generated(case: str, path: Path) -> None:
    from tagger import write_corpus

    tokens, K = map(int, case.split("x"))
    write_corpus(path, generated(tokens, K), "slash")


@click.command()
@click.argument("cases", nargs=-1)
@click.option("--candidates", multiple=True, default=CANDIDATES, show_default=True, help="As in train-crf. Repeatable.")
@click.option("--order", "orders", type=int, multiple=True, default=ORDERS, show_default=True, help="Repeatable.")
@click.option("--max-iterations", type=int, help="As in train-crf.")
@click.option("--threads", type=int, default=0, help="As in train-crf.")
@click.option("--write", type=click.Path(path_type=Path), help="Only write the corpus of a case here.")
def main(cases, candidates, orders, max_iterations, threads, write):
    """Print a table of trainings on generated corpora; CASES are like 250000x50, tokens and tags."""
    if write:
        write_generated(cases[0], write)
        return
    options = ["--threads", threads, *(["--max-iterations", max_iterations] if max_iterations else [])]
    head = ["tokens", "tags", "candidates", "order", "whole s", "iterations", "s each", "peak MB", "model MB"]
    click.echo("| " + " | ".join(head) + " |\n|---:|---:|---|" + "---:|" * 6)
    for case in cases or CASES:
        with tempfile.TemporaryDirectory() as folder:
            corpus = Path(folder, "corpus.txt")
            # In another process: a child's peak of memory is at least that of its parent.
            bench.measured([__file__, case, "--write", corpus])
            for way, order in ((way, order) for way in candidates for order in orders):
                if (way, order) == ("all", 2):
                    continue
                run = measure(corpus, way, order, options)
                tokens, K = map(int, case.split("x"))
                own = [f"{tokens:,}", str(K), way, str(order), f"{run['whole']:.1f}", str(run["iterations"])]
                own += [f"{run['each']:.3f}", f"{run['peak']:.0f}", f"{run['size']:.2f}"]
                click.echo("| " + " | ".join(own) + " |")


if __name__ == "__main__":
    main()
