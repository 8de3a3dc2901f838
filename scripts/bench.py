"""Our speed against the rivals': both sides in turn, in the same run, medians, ratios.

    scripts/bench.py evaluation CORPUS     one evaluation of the CRF's loss and gradient ÷ one iteration of CRFsuite

Rivals come with the extra `bench`: pip install '.[bench]'. Every program runs in a process of its own.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import click

HERE = Path(__file__).parent


@click.group()
def bench():
    """Compare tagger with other programs on this machine."""


@bench.command()
@click.argument("corpus", type=click.Path(exists=True))
@click.option("--rounds", default=3, show_default=True, help="How often each program runs.")
@click.option("--iterations", default=10, show_default=True, help="Of each program in a round.")
@click.option("--json", "as_json", is_flag=True)
def evaluation(corpus, rounds, iterations, as_json):
    """Seconds per evaluation of loss and gradient, comparison template, l2 = 1."""
    rows = {"CRFsuite": [], "tagger, 1 thread": [], "tagger, 2 threads": []}
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            rows["CRFsuite"].append(crfsuite(corpus, folder, iterations)["seconds_per_iteration"])
            for threads in (1, 2):
                name = f"tagger, {threads} thread{'s' * (threads > 1)}"
                rows[name].append(ours(corpus, folder, iterations, threads)["seconds_per_evaluation"])
    seconds = {name: statistics.median(values) for name, values in rows.items()}
    if as_json:
        click.echo(json.dumps({"seconds": seconds, "rounds": rows}))
        return
    click.echo("| program | seconds per evaluation | CRFsuite ÷ it |\n|---|---:|---:|")
    for name, value in seconds.items():
        click.echo(f"| {name} | {value:.3f} | {seconds['CRFsuite'] / value:.1f} |")


def crfsuite(corpus, folder, iterations):
    command = [sys.executable, HERE / "rival_crfsuite.py", corpus, Path(folder, "crfsuite"), "--iterations", iterations]
    return json.loads(output(command))


def ours(corpus, folder, iterations, threads):
    log, model = Path(folder, "log.jsonl"), Path(folder, "model.npz")
    command = [
        sys.executable,
        "-m",
        "tagger",
        "train-crf",
        corpus,
        "-q",
        "-o",
        model,
        "--log",
        log,
        "--threads",
        threads,
    ]
    command += ["--features", "comparison", "--l2", 1.0, "--max-iterations", iterations]
    output(command)
    from tagger import load_model

    summary = load_model(model).summary_
    seconds = json.loads(log.read_text().splitlines()[-1])["seconds"]
    return {"seconds_per_evaluation": seconds / summary["evaluations"], "loss": summary["loss"]}


def output(command):
    return subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    bench()
