"""CRFsuite on our features, through python-crfsuite: one training, its figures as JSON.

    rival_crfsuite.py TRAIN MODEL [--dev DEV] [--algorithm lbfgs|ap] [--iterations N] [--l2 X] [--features default]

The features of `tagger/features/templates/comparison.txt` are written out by hand, because that is the fastest way to
make them in plain Python; `tests/test_bench.py` compares the two. Those of other templates are made by our own code,
without those of several words that occur once, as in `train-crf`; this time is not part of the training phase.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import time
from collections import Counter
from pathlib import Path

PLACE_BEFORE, PLACE_AFTER = "<s>", "</s>"


def read(path):
    with Path(path).open(encoding="utf-8") as lines:
        return [[token.rsplit("/", 1) for token in line.split()] for line in lines if line.strip()]


def shape(word):
    out = last = ""
    for c in word:
        kind = "X" if c.isupper() else "x" if c.islower() else "d" if c.isdigit() else c
        if kind != last:
            out += kind
            last = kind
    return out


def features(words):
    """The features of each token of a sentence, as strings."""
    low = [word.lower() for word in words]
    around = [PLACE_BEFORE, PLACE_BEFORE, *low, PLACE_AFTER, PLACE_AFTER]
    ends = [PLACE_BEFORE, *(word[-3:] for word in low), PLACE_AFTER]
    rows = []
    for i, word in enumerate(words):
        own = low[i]
        row = ["bias", "word=" + word, "lower=" + own, "shape=" + shape(word)]
        for n in range(1, min(4, len(word)) + 1):
            row.append(f"suffix{n}=" + own[-n:])
            row.append(f"prefix{n}=" + own[:n])
        if any(c.isdigit() for c in word):
            row.append("digit")
        if "-" in word:
            row.append("hyphen")
        if word[:1].isupper():
            row.append("capital")
        row.append("lower-2=" + around[i])
        row.append("lower-1=" + around[i + 1])
        row.append("lower+1=" + around[i + 3])
        row.append("lower+2=" + around[i + 4])
        row.append("ending-1=" + ends[i])
        row.append("ending+1=" + ends[i + 2])
        rows.append(row)
    return rows


def described(sentences, template, min_pair_count=2):
    """The features that `train-crf` looks at in these sentences, as strings."""
    from tagger.features.template import filled, parse_templates, template_text

    templates = parse_templates(template_text(template))
    rows = [filled(words, templates) for words in sentences]
    pairs = [t for t, template in enumerate(templates) if template.offset is None]
    counts = Counter(row[t] for sentence in rows for row in sentence for t in pairs)
    rare = {text for text, count in counts.items() if count < min_pair_count} | {None}
    return [[[text for text in row if text not in rare] for row in sentence] for sentence in rows]


def main():
    import pycrfsuite

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("train")
    parser.add_argument("model")
    parser.add_argument("--dev")
    parser.add_argument("--algorithm", default="lbfgs")
    parser.add_argument("--iterations", type=int, default=100)
    parser.add_argument("--l2", type=float, default=1.0)
    parser.add_argument("--features", default="comparison")
    options = parser.parse_args()
    begin = time.perf_counter()
    settings = {"max_iterations": options.iterations}
    if options.algorithm == "lbfgs":
        settings |= {"c1": 0, "c2": options.l2}
    trainer = pycrfsuite.Trainer(options.algorithm, settings, verbose=False)
    sentences = read(options.train)
    words = [[word for word, _ in sentence] for sentence in sentences]
    rows = map(features, words) if options.features == "comparison" else described(words, options.features)
    for sentence, row in zip(sentences, rows, strict=True):
        trainer.append(row, [tag for _, tag in sentence])
    encoded = time.perf_counter()
    trainer.train(options.model)
    trained = time.perf_counter()
    iterations = trainer.logparser.iterations
    found = {
        "whole": trained - begin,
        "training": trained - encoded,
        "rest": (encoded - begin) / (trained - begin),
        "evaluations": len(iterations),
        "per_evaluation": statistics.median(i["time"] for i in iterations),
        "iterations": len(iterations),
        "loss": iterations[-1].get("loss"),
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000,  # before anything is tagged
    }
    if options.dev:
        tagger = pycrfsuite.Tagger()
        tagger.open(options.model)
        right = total = 0
        for sentence in read(options.dev):
            guesses = tagger.tag(features([word for word, _ in sentence]))
            right += sum(guess == tag for guess, (_, tag) in zip(guesses, sentence, strict=True))
            total += len(sentence)
        found["accuracy"] = right / total
    print(json.dumps(found))


if __name__ == "__main__":
    main()
