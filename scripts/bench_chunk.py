"""Chunking with a column of parts of speech, against python-crfsuite: what `scripts/bench.py chunk` does.

All sides get the features of python-crfsuite's CoNLL tutorials: CRFsuite and one of ours as the dicts that `features`
makes, the other of ours by the template `chunk.txt`. Each runs in a process of its own, from the sentences in memory to
the trained model; making the features is part of it. Ours stop at the loss that CRFsuite has after its last iteration.

With `--converge` CRFsuite and the drop-in for it, which has the same parameters (no weights of the first and last tag),
go on until the loss falls no more; their losses and tags are compared.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import statistics
import tempfile
import time
from itertools import chain
from pathlib import Path

TEMPLATE = Path(__file__).parent / "chunk.txt"
SIDES = ("crfsuite", "template", "dicts", "same", "drop-in")
ALL_UPPER = re.compile(r"^[^a-z]*[A-Z][^a-z]*$")
TITLE = re.compile(r"^[^A-Za-z]*[A-Z][a-z]*[^A-Za-z]*$")
NUMBER = re.compile(r"^[0-9]+$")


NAMES = {  # the functions of the template in the dicts
    "bias": "bias",
    "lower": "word.lower()",
    "extract:/.{1,3}$/": "word[-3:]",
    "extract:/.{1,2}$/": "word[-2:]",
    f"match:/{ALL_UPPER.pattern}/": "word.isupper()",
    f"match:/{TITLE.pattern}/": "word.istitle()",
    f"match:/{NUMBER.pattern}/": "word.isdigit()",
    "column:pos": "postag",
    "extract:/^.{1,2}/(column:pos)": "postag[:2]",
}


def features(words, pos):
    """The features of each token of a sentence: those of the template, with the names of the tutorials."""
    rows, last = [], len(words) - 1
    for i, word in enumerate(words):
        row = {
            "bias": 1.0,
            "word.lower()": word.lower(),
            "word[-3:]": word[-3:],
            "word[-2:]": word[-2:],
            "word.isupper()": ALL_UPPER.search(word) is not None,
            "word.istitle()": TITLE.search(word) is not None,
            "word.isdigit()": NUMBER.search(word) is not None,
            "postag": pos[i],
            "postag[:2]": pos[i][:2],
        }
        for name, place, outside in (("-1", i - 1, i == 0), ("+1", i + 1, i == last)):
            other, tag = ("", "") if outside else (words[place], pos[place])
            row[f"{name}:word.lower()"] = "<outside>" if outside else other.lower()
            row[f"{name}:postag"] = "<outside>" if outside else tag
            row[f"{name}:postag[:2]"] = "<outside>" if outside else tag[:2]
            row[f"{name}:word.istitle()"] = "<outside>" if outside else TITLE.search(other) is not None
            row[f"{name}:word.isupper()"] = "<outside>" if outside else ALL_UPPER.search(other) is not None
        rows.append(row)
    return rows


def read_chunks(path):
    from tagger import read_corpus

    return read_corpus(path, columns=["word", "pos", "tag"])


def read(path):
    """Read sentences without the final marks that `train-crf` leaves out."""
    from tagger.corpus.final_marks import trained_lengths

    sentences = read_chunks(path)
    lengths = trained_lengths([sentence.words for sentence in sentences]).tolist()
    return [sentence.begin(n) for sentence, n in zip(sentences, lengths, strict=True)]


def made(sentences):
    return [features(sentence.words, sentence.columns["pos"]) for sentence in sentences]


def train_crfsuite(sentences, options):
    import pycrfsuite

    settings = {"c1": options.l1, "c2": options.l2, "max_iterations": options.iterations}
    settings |= {"epsilon": 1e-9, "delta": 1e-12} if options.converge else {}
    trainer = pycrfsuite.Trainer("lbfgs", settings, False)
    for row, sentence in zip(made(sentences), sentences, strict=True):
        trainer.append(row, list(sentence.tags))
    encoded = time.process_time()
    trainer.train(options.model)
    log = trainer.logparser
    found = {"loss": log.last_iteration["loss"], "iterations": len(log.iterations), "encoded": encoded}

    def tag(dev):
        tagger = pycrfsuite.Tagger()
        tagger.open(options.model)
        return [tagger.tag(row) for row in made(dev)]

    return found | {"evaluations": len(log.iterations), "parameters": log.featgen_num_features}, tag


def train_ours(sentences, options):
    from tagger import CRFTagger

    first = []

    def watch(progress):
        first.append(time.process_time())
        reached = progress.loss is not None and progress.loss <= (options.target or 0.0)
        return "the loss was reached" if reached else None

    chosen = {
        "candidates": "all",
        "scheme": "none",
        "l2": options.l2,
        "l1": options.l1,
        "tolerance": 0,
        "min_pair_count": 1,
    }
    chosen |= {"max_iterations": options.iterations, "threads": options.threads}
    if options.side == "dicts":
        model = CRFTagger(**chosen).fit(made(sentences), [sentence.tags for sentence in sentences], watch=watch)
    else:
        model = CRFTagger(**chosen, features=str(TEMPLATE)).fit(sentences, watch=watch)
    found = {name: model.summary_[name] for name in ("loss", "iterations", "evaluations", "parameters")}
    return found | {"encoded": first[0]}, lambda dev: model.predict(made(dev) if options.side == "dicts" else dev)


def train_drop_in(sentences, options):
    from tagger.integrations.crfsuite import CRF

    crf = CRF(c1=options.l1, c2=options.l2, max_iterations=options.iterations, delta=0.0)
    crf.fit(made(sentences), [sentence.tags for sentence in sentences])
    figures = crf.model.summary_
    found = {name: figures[name] for name in ("loss", "iterations", "evaluations")}
    found |= {"encoded": time.process_time(), "parameters": crf.training_log_.featgen_num_features}
    return found, lambda dev: crf.predict(made(dev)).tolist()


def name_in_dicts(text):
    """Return the name in the dicts of a feature of the template, given as text."""
    begin = next(begin for begin in sorted(NAMES, key=len, reverse=True) if text.startswith(f"{begin}["))
    offset, _, value = text[len(begin) + 1 :].partition("]")
    value = "<outside>" if value in ("=<before>", "=<after>") else value.removeprefix("=")
    return {"0": "", "-1": "-1:", "1": "+1:"}[offset] + NAMES[begin] + (f":{value}" if value else "")


def weights_by_name(model):
    """The place of each weight of a model, by the name of its feature in the dicts and its tag."""
    features, named = model.features_, model.wanted_columns_ == ("features",)
    texts = [features.text(i) if named else name_in_dicts(features.text(i)) for i in range(len(features.rows))]
    places = zip(features.rows.owners.tolist(), features.rows.tags.tolist(), strict=True)
    return {(texts[i], k): place for place, (i, k) in enumerate(places)}


def same_weights(sentences, dev, options):
    """Give the weights of a trained model to one of the template and one of dicts; compare their losses and tags."""
    import numpy as np

    from tagger import CRFTagger
    from tagger.corpus.labels import training_sentences
    from tagger.crf.model_arrays import rounded
    from tagger.crf.objective import PenalizedLikelihood

    chosen = {"candidates": "all", "scheme": "none", "min_pair_count": 1, "l2": options.l2, "threads": options.threads}
    given = training_sentences(made(sentences), [sentence.tags for sentence in sentences], featured=True)
    sides = [(CRFTagger(**chosen, features=str(TEMPLATE)), sentences, dev), (CRFTagger(**chosen), given, made(dev))]
    trained = CRFTagger(**chosen, max_iterations=options.iterations).fit(given)
    places, found = weights_by_name(trained), {"losses": [], "tags": []}
    for model, corpus, text in sides:
        encoded, layout = model.encode(corpus)
        own = weights_by_name(model)
        w = rounded(np.array([trained.weights_[places[pair]] if pair in places else 0.0 for pair in own]))
        assert places.keys() <= own.keys()  # zeros are dropped from the trained one only
        steps = (trained.transitions_.ravel()[layout.seen], trained.start_, trained.end_)
        weights = np.concatenate([w, *steps]).astype(np.float64)
        found["losses"].append(PenalizedLikelihood(encoded, layout, options.l2, dtype=np.float64)(weights)[0])
        model.set_weights(layout.split(weights))
        found["tags"].append(model.predict(text))
    return found


def converged(train, dev, l1, l2, iterations, measured):
    """Train CRFsuite and the drop-in until the loss falls no more; return the figures and tags of both."""
    penalty = ["--l1", l1, "--l2", l2, "--iterations", iterations, "--converge"]
    with tempfile.TemporaryDirectory() as folder:
        sides = (["crfsuite", train, dev, "--model", Path(folder, "model")], ["drop-in", train, dev])
        return [json.loads(measured([__file__, *side, *penalty])[0]) for side in sides]


def show_converged(found, table):
    """Print the figures of both sides, and how many tags differ."""
    keys = {"parameters": ",", "iterations": ",", "evaluations": ",", "loss": ",.4f", "cpu": ".1f", "f1": ".5f"}
    rows = [[format(side[key], form) for key, form in keys.items()] for side in found]
    titles = ["parameters", "iterations", "evaluations", "loss", "CPU s", "dev F1"]
    table(["program", *titles], [["CRFsuite", *rows[0]], ["tagger, drop-in", *rows[1]]])
    pairs = list(zip(*(chain.from_iterable(side["tags"]) for side in found), strict=True))
    print(f"\n{sum(a != b for a, b in pairs):,} of {len(pairs):,} tags of the dev set differ.")


def compare(train, dev, rounds, l1, l2, iterations, measured):
    """Run all sides in turn; `measured` runs a Python program and returns what it prints."""

    def run(side, *options):
        command = [__file__, side, train, dev, "--l1", l1, "--l2", l2, *options]
        return json.loads(measured(command)[0])

    runs = {"CRFsuite": [], **{f"{side}, {threads}": [] for side in ("template", "dicts") for threads in (1, 2)}}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(rounds):
            rival = run("crfsuite", "--model", Path(folder, "model"), "--iterations", iterations)
            runs["CRFsuite"].append(rival)
            for name in list(runs)[1:]:
                side, threads = name.split(", ")
                runs[name].append(run(side, "--threads", threads, "--iterations", 500, "--target", rival["loss"]))
    return {"runs": runs, "same": None if l1 else run("same", "--iterations", iterations)}


def show(found, table):
    """Print the medians of the rounds, and what the two forms of the features have in common."""
    forms = {"cpu": ".2f", "seconds": ".2f", "encoding": ".2f", "evaluations": ".0f", "peak": ".0f", "f1": ".4f"}

    def median(name, key):
        return statistics.median(run[key] for run in found["runs"][name])

    rows = []
    for name in found["runs"]:
        own = [format(median(name, key), form) for key, form in forms.items()]
        ratios = [format(median("CRFsuite", key) / median(name, key), ".1f") for key in ("cpu", "seconds")]
        rows.append([name if name == "CRFsuite" else f"tagger, {name} thread{'s' * name.endswith('2')}", *own, *ratios])
    titles = ["CPU s", "seconds", "CPU s of features", "evaluations", "peak MB", "dev F1"]
    table(["program", *titles, "CRFsuite's CPU ÷ it", "CRFsuite's seconds ÷ it"], rows)
    if found["same"] is None:
        return
    (first, second), different = found["same"]["losses"], found["same"]["different tags"]
    print(
        f"\nWith the same weights: loss {first:,.4f} by the template, {second:,.4f} by dicts; {different} tags differ."
    )


def main():
    """Train one side, and print its figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("side", choices=SIDES)
    parser.add_argument("train")
    parser.add_argument("dev")
    parser.add_argument("--model")
    parser.add_argument("--l1", type=float, default=0.0)
    parser.add_argument("--l2", type=float, default=1.0)
    parser.add_argument("--converge", action="store_true")
    parser.add_argument("--iterations", type=int, default=100)
    parser.add_argument("--target", type=float)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    sentences, dev = read(options.train), read_chunks(options.dev)
    if options.side == "same":
        found = same_weights(sentences, dev, options)
        pairs = zip(*map(chain.from_iterable, found.pop("tags")), strict=True)
        print(json.dumps(found | {"different tags": sum(a != b for a, b in pairs)}))
        return
    import scipy.sparse  # noqa: F401  (the import is no part of a training)

    before, wall = time.process_time(), time.perf_counter()
    train = {"crfsuite": train_crfsuite, "drop-in": train_drop_in}.get(options.side, train_ours)
    found, tag = train(sentences, options)
    found["encoding"] = found.pop("encoded") - before
    found |= {"cpu": time.process_time() - before, "seconds": time.perf_counter() - wall}
    found["peak"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000  # before anything is tagged
    from tagger.evaluation.spans import score_by

    tags = tag(dev)
    found["f1"] = score_by("span-f1", dev, tags)
    print(json.dumps(found | ({"tags": tags} if options.converge else {})))


if __name__ == "__main__":
    main()
