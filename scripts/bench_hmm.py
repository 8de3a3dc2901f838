"""The HMM against NLTK's TnT: what `scripts/bench.py hmm` does.

Both learn from train.txt of a corpus and tag the words of its dev.txt, in turn. The training phase is `HMMTagger.fit`
and `TnT.train`, each on sentences already read, in a process of its own. Tagging is timed as a whole program: start,
model, text in, text out. The accuracy is that of the tagged text.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

from bench import HERE, measured, table

NAMES = {"tnt": "NLTK TnT", "tagger": "tagger"}


def compare(corpora: list[str], rounds: int, copies: int) -> list[dict]:
    """For each corpus the medians of all rounds."""
    return [one_corpus(Path(corpus), rounds, copies) for corpus in corpora]


def one_corpus(corpus: Path, rounds: int, copies: int) -> dict:
    train, dev = corpus / "train.txt", corpus / "dev.txt"
    with tempfile.TemporaryDirectory() as folder:
        words, models = Path(folder, "words.txt"), {name: Path(folder, name) for name in NAMES}
        outputs = {name: Path(folder, f"{name}.txt") for name in NAMES}
        gold = [[token.rsplit("/", 1) for token in line.split(" ")] for line in lines_of(dev)]
        words.write_text("".join(" ".join(w for w, _ in line) + "\n" for line in gold) * copies, "utf-8")
        learn = {"tnt": [HERE / "rival_tnt.py", "train", train, models["tnt"]], "tagger": [__file__, train]}
        tag = {
            "tnt": [HERE / "rival_tnt.py", "tag", models["tnt"], words, outputs["tnt"]],
            "tagger": ["-m", "tagger", "tag", "-q", "-m", models["tagger"], words, "-o", outputs["tagger"]],
        }
        measured(["-m", "tagger", "train-hmm", train, "-q", "-o", models["tagger"]])
        runs = {name: {"training": [], "tagging": []} for name in NAMES}
        for _ in range(rounds):
            for name in NAMES:
                runs[name]["training"].append(float(measured(learn[name])[0]))
            for name in NAMES:
                runs[name]["tagging"].append(measured(tag[name])[1])
        found = {"corpus": corpus.name, "tokens": copies * sum(map(len, gold)), "trained": tokens_in(train)}
        for name in NAMES:
            found[name] = {key: statistics.median(values) for key, values in runs[name].items()}
            found[name]["accuracy"] = accuracy(gold, outputs[name])
    return found


def lines_of(path: Path) -> list[str]:
    return [line for line in path.read_text("utf-8").split("\n") if line]


def tokens_in(path: Path) -> int:
    return sum(len(line.split(" ")) for line in lines_of(path))


def accuracy(gold: list, output: Path) -> float:
    """Of the first copy of the tagged text."""
    right = total = 0
    with output.open(encoding="utf-8") as lines:
        for line, tokens in zip(lines, gold, strict=False):
            guesses = [token.rsplit("/", 1)[1] for token in line.rstrip("\n").split(" ")]
            right += sum(guess == tag for guess, (_, tag) in zip(guesses, tokens, strict=True))
            total += len(tokens)
    return right / total


def show(found: list[dict]) -> None:
    rows = []
    for row in found:
        tnt, ours = row["tnt"], row["tagger"]
        cells = [f"{row['trained'] / side['training']:,.0f}" for side in (tnt, ours)]
        cells.append(f"{tnt['training'] / ours['training']:.1f}")
        cells += [f"{row['tokens'] / side['tagging']:,.0f}" for side in (tnt, ours)]
        cells.append(f"{tnt['tagging'] / ours['tagging']:.1f}")
        cells += [f"{100 * side['accuracy']:.2f}" for side in (tnt, ours)]
        rows.append([row["corpus"], *cells])
    head = ["training, tokens/s: TnT", "tagger", "ratio", "tagging, tokens/s: TnT", "tagger", "ratio"]
    table(["corpus", *head, "accuracy: TnT", "tagger"], rows)


def time_fit(corpus: str) -> None:
    """The seconds of a fit, in a process that does nothing else."""
    from tagger import HMMTagger, read_corpus

    sentences = read_corpus(corpus)
    begin = time.perf_counter()
    HMMTagger().fit(sentences)
    print(time.perf_counter() - begin)


if __name__ == "__main__":
    time_fit(sys.argv[1])
