"""Our speed against the rivals': both sides in turn, in the same run, medians, ratios.

    python scripts/bench.py evaluation CORPUS            loss and gradient once, against an iteration of CRFsuite
    python scripts/bench.py train CORPUS --dev DEV       whole trainings, against CRFsuite's L-BFGS and perceptron,
                                                         to an equal loss and to an equal dev accuracy
    python scripts/bench.py tag CORPUS TEXT              tagging, start-up and memory, against python-crfsuite
    python scripts/bench.py models TEXT MODEL...         tagging with our models, against the first of them
    python scripts/bench.py hmm CORPUS...                the HMM, against NLTK's TnT
    python scripts/bench.py neural MODEL TEXT            the network in NumPy, against the same in PyTorch
    python scripts/bench.py latency CORPUS TEXT          one sentence at a time in a program, against python-crfsuite
    python scripts/bench.py chunk CORPUS DEV             chunking, by a template and by dicts, against python-crfsuite

Rivals come with the extra `bench`: pip install '.[bench]'. Every program runs in a process of its own, on the
comparison template; both sides get exactly the same sentences and features (`tests/test_bench.py` looks after that).
"""

from __future__ import annotations

import bisect
import gzip
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import click

HERE = Path(__file__).parent
THREADS = (1, 2)
ORDERS = (1, 2)
RACES = ("loss", "perceptron", "accuracy")
MOST_ITERATIONS = 200  # of ours in the race to an equal accuracy
# An installed program has its bytecode; with this variable, a checkout is compiled at each start, 0.15 s.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


@click.group()
def bench():
    """Compare tagger with other programs on this machine."""


@bench.command()
@click.argument("corpus", type=click.Path(exists=True))
@click.option("--rounds", default=3, show_default=True, help="How often each program runs.")
@click.option("--iterations", default=10, show_default=True, help="Of each program in a round.")
@click.option("--json", "as_json", is_flag=True)
def evaluation(corpus, rounds, iterations, as_json):
    """Seconds per evaluation of loss and gradient, l2 = 1."""
    runs = {"CRFsuite": [], **{ours_name(threads): [] for threads in THREADS}}
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            shared = shared_corpus(corpus, folder)
            runs["CRFsuite"].append(crfsuite(shared, folder, iterations=iterations)["per_evaluation"])
            for threads in THREADS:
                runs[ours_name(threads)].append(seconds_per_evaluation(shared, threads))
    seconds = {name: statistics.median(values) for name, values in runs.items()}
    if as_json:
        click.echo(json.dumps({"seconds": seconds, "rounds": runs}))
        return
    rows = [[name, f"{value:.3f}", f"{seconds['CRFsuite'] / value:.1f}"] for name, value in seconds.items()]
    table(["program", "seconds per evaluation", "CRFsuite ÷ it"], rows)


@bench.command()
@click.argument("corpus", type=click.Path(exists=True))
@click.option("--dev", type=click.Path(exists=True), required=True, help="For accuracies.")
@click.option("--race", "races", type=click.Choice(RACES), multiple=True, help="Repeatable.  [default: all]")
@click.option("--rounds", default=3, show_default=True, help="How often each program runs.")
@click.option("--iterations", default=100, show_default=True, help="Of CRFsuite's L-BFGS.")
@click.option("--margin", default=0.1, show_default=True, help="Points below the perceptron that count as reached.")
@click.option("--ours-l2", default=1.0, show_default=True, help="Our penalty in the race with the perceptron.")
@click.option("--features", default="comparison", show_default=True, help="The template, for both programs.")
@click.option("--json", "as_json", is_flag=True)
def train(corpus, dev, races, rounds, iterations, margin, ours_l2, features, as_json):
    """Whole trainings, against CRFsuite: three races.

    loss: time to the loss of its L-BFGS after 100 iterations, over all tags. perceptron: whole programs to the dev
    accuracy of its averaged perceptron. accuracy: whole programs to the dev accuracy of its L-BFGS, over candidate
    tags. The races to an accuracy are left out with other features than those of the comparison template.
    """
    races = [race for race in races or RACES if race == "loss" or features == "comparison"]
    found, needed = {}, {}

    def add(name, run):
        found.setdefault(name, []).append(run)
        return run

    with tempfile.TemporaryDirectory() as folder:
        shared = shared_corpus(corpus, folder)
        for _ in range(rounds):
            if "loss" in races or "accuracy" in races:
                own_dev = dev if "accuracy" in races else None
                rival = add("lbfgs", crfsuite(shared, folder, iterations, dev=own_dev, features=features))
            for threads in THREADS if "loss" in races else ():
                add(f"loss {threads}", race_to_loss(shared, folder, threads, rival["loss"], features))
            if "perceptron" in races:
                goal = add("ap", crfsuite(shared, folder, 10, algorithm="ap", dev=dev))["accuracy"] - margin / 100
            for threads in THREADS if "perceptron" in races else ():
                add(f"dev {threads}", race_to_perceptron(shared, dev, folder, threads, goal, ours_l2))
            for order in ORDERS if "accuracy" in races else ():
                if order not in needed:  # the same in every round: neither program depends on chance
                    needed[order] = iterations_to(shared, dev, folder, order, rival["accuracy"])
                for threads in THREADS:
                    run = train_on_candidates(shared, folder, order, threads, needed[order])
                    add(f"order {order}, {threads}", run | {"accuracy": accuracy(Path(folder, "model.npz"), dev)})
    if as_json:
        click.echo(json.dumps(found))
    else:
        show(found, iterations, margin)


@bench.command()
@click.argument("corpus", type=click.Path(exists=True))
@click.argument("text", type=click.Path(exists=True))
@click.option("--raw", type=click.Path(exists=True), help="A large text: is memory constant?")
@click.option("--rounds", default=5, show_default=True, help="How often each program runs.")
@click.option("--iterations", default=30, show_default=True, help="Of the rival's training, which is not timed.")
@click.option("--json", "as_json", is_flag=True)
def tag(corpus, text, raw, rounds, iterations, as_json):
    """Whole programs that tag the words of TEXT, a tagged corpus, with models of CORPUS."""
    with tempfile.TemporaryDirectory() as folder:
        words, hello, out = (Path(folder, name) for name in ("words.txt", "hello.txt", "out.txt"))
        tokens = strip_tags(text, words)
        hello.write_text("Hello world .\n")
        crfsuite(corpus, folder, iterations)
        for features in ("comparison", "default"):
            model = Path(folder, features)
            measured(["-m", "tagger", "train-crf", corpus, "--features", features, "-q", "-o", model])
        ours = ["-m", "tagger", "tag", "-o", out, "-q", "-m"]
        commands = {
            "python-crfsuite": [HERE / "rival_crfsuite_tag.py", Path(folder, "crfsuite"), words, out],
            "tagger": [*ours, Path(folder, "comparison"), words],
            "tagger --jobs 1": [*ours, Path(folder, "comparison"), words, "--jobs", 1],
            "tagger, default features": [*ours, Path(folder, "default"), words],
            "import numpy": ["-c", "import numpy"],
            "tagger, one sentence": [*ours, Path(folder, "default"), hello],
        }
        runs = {name: [] for name in commands}
        for _ in range(rounds):
            for name, command in commands.items():
                runs[name].append(measured(command)[1])
        found = {"tokens": tokens, "seconds": {name: statistics.median(values) for name, values in runs.items()}}
        if raw:
            found["memory"] = memory(Path(folder), raw, [*ours, Path(folder, "comparison")])
    if as_json:
        click.echo(json.dumps(found | {"rounds": runs}))
    else:
        show_tagging(**found)


@bench.command()
@click.argument("text", type=click.Path(exists=True))
@click.argument("models", nargs=-1, required=True, type=click.Path(exists=True))
@click.option("--rounds", default=3, show_default=True, help="How often each model tags.")
@click.option("--copies", default=1, show_default=True, help="How often a run tags the words of the text.")
@click.option("--jobs", default=1, show_default=True, help="Processes of a run.")
def models(text, models, rounds, copies, jobs):
    """CPU seconds of `tagger tag`, whole programs in turn, and of one sentence, which is the start."""
    tagger, runs = [sys.executable, "-m", "tagger", "tag", "-q"], {model: [] for model in models}
    with tempfile.TemporaryDirectory() as folder:
        words, one, out = (str(Path(folder) / name) for name in ("words.txt", "one.txt", "out.txt"))
        tokens = copies * strip_tags(text, words)
        lines = Path(words).read_bytes()
        Path(words).write_bytes(lines * copies)
        Path(one).write_bytes(lines.split(b"\n")[0] + b"\n")
        for _ in range(rounds):
            for model, times in runs.items():
                whole, start = ([*tagger, "-m", model, path, "-o", out, "--jobs", str(jobs)] for path in (words, one))
                times.append((cpu_seconds(whole), cpu_seconds(start)))
    best = {model: [min(seconds) for seconds in zip(*times, strict=True)] for model, times in runs.items()}
    rival, rival_start = best[models[0]]
    rows = []
    for model, (whole, start) in best.items():
        ratios = rival / whole, (rival - rival_start) / (whole - start)
        rows.append([model, *(f"{number:.2f}" for number in (whole, start, *ratios))])
    click.echo(f"{tokens:,} tokens, lowest of {rounds} runs\n")
    table(["model", "CPU s", "start s", "the first ÷ it", "after the start"], rows)


@bench.command()
@click.argument("corpora", nargs=-1, required=True, type=click.Path(exists=True, file_okay=False))
@click.option("--rounds", default=3, show_default=True, help="How often each program runs.")
@click.option("--copies", default=1, show_default=True, help="How often the words of the dev set are tagged in a run.")
@click.option("--json", "as_json", is_flag=True)
def hmm(corpora, rounds, copies, as_json):
    """Training, tagging and accuracy of the HMM on CORPORA, folders that hold a train.txt and a dev.txt."""
    import bench_hmm

    found = bench_hmm.compare(corpora, rounds, copies)
    if as_json:
        click.echo(json.dumps(found))
    else:
        bench_hmm.show(found)


@bench.command()
@click.argument("model", type=click.Path(exists=True))
@click.argument("text", type=click.Path(exists=True))
@click.option("--rounds", default=5, show_default=True, help="How often each side tags the text.")
@click.option("--threads", default=1, show_default=True, help="Of PyTorch; NumPy has one.")
@click.option("--json", "as_json", is_flag=True)
def neural(model, text, rounds, threads, as_json):
    """The words of TEXT, a tagged corpus, tagged with MODEL, a BiLSTM: by NumPy, and by PyTorch (extra `neural`)."""
    import bench_neural

    found = bench_neural.compare(model, text, rounds, threads)
    if as_json:
        click.echo(json.dumps(found))
    else:
        bench_neural.show(found, table)


@bench.command()
@click.argument("corpus", type=click.Path(exists=True))
@click.argument("text", type=click.Path(exists=True))
@click.option("--model", "models", multiple=True, help="A model of ours, instead of trainings. Repeatable.")
@click.option("--rival", help="A model of CRFsuite on the comparison features, NAME.crfsuite, instead of a training.")
@click.option("--tokens", default=15, show_default=True, help="Of a sentence, one more or fewer.")
@click.option("--threads", default=[1, 2, 8], multiple=True, show_default=True, help="Repeatable.")
@click.option("--rounds", default=3, show_default=True, help="How often the sentences are tagged again.")
@click.option("--iterations", default=30, show_default=True, help="Of the rival's training.")
@click.option("--json", "as_json", is_flag=True)
def latency(corpus, text, models, rival, tokens, threads, rounds, iterations, as_json):
    """One sentence at a time: models trained on CORPUS tag sentences of TEXT, a tagged corpus."""
    import bench_latency

    with tempfile.TemporaryDirectory() as folder:
        paths = {Path(path).stem: path for path in models}
        for name, command in {} if models else {"HMM": "train-hmm", "CRF": "train-crf", "pooled": "train"}.items():
            paths[name] = str(Path(folder, f"{name}.npz"))
            measured(["-m", "tagger", command, corpus, "-q", "-o", paths[name]])
        paths["python-crfsuite"] = rival or str(Path(folder, "rival.crfsuite"))
        if not rival:
            command = [HERE / "rival_crfsuite.py", shared_corpus(corpus, folder), paths["python-crfsuite"]]
            measured([*command, "--iterations", iterations])
        found = bench_latency.compare(paths, text, tokens, rounds, list(threads))
    if as_json:
        click.echo(json.dumps(found))
    else:
        bench_latency.show(found, table)


@bench.command()
@click.argument("corpus", type=click.Path(exists=True))
@click.argument("dev", type=click.Path(exists=True))
@click.option("--rounds", default=3, show_default=True, help="How often each program runs.")
@click.option("--l2", default=1.0, show_default=True, help="Penalty of both programs.")
@click.option("--l1", default=0.0, show_default=True, help="L1 penalty of both programs.")
@click.option("--iterations", default=100, show_default=True, help="Of CRFsuite's L-BFGS.")
@click.option("--converge", is_flag=True, help="Train both until the loss falls no more, e.g. with --iterations 5000.")
@click.option("--json", "as_json", is_flag=True)
def chunk(corpus, dev, rounds, l2, l1, iterations, converge, as_json):
    """Chunking: training on CORPUS (word, part of speech, tag) to CRFsuite's loss, by a template and by dicts."""
    import bench_chunk

    if converge:
        found = bench_chunk.converged(corpus, dev, l1, l2, iterations, measured)
    else:
        found = bench_chunk.compare(corpus, dev, rounds, l1, l2, iterations, measured)
    if as_json:
        click.echo(json.dumps(found))
    else:
        (bench_chunk.show_converged if converge else bench_chunk.show)(found, table)


def strip_tags(corpus, target):
    """The words of a corpus as plain lines; returns how many they are."""
    from tagger import Sentence, read_corpus, write_corpus

    sentences = [Sentence(sentence.words) for sentence in read_corpus(corpus)]
    write_corpus(target, sentences)
    return sum(map(len, sentences))


def memory(folder, raw, command):
    """Peak memory on a tenth of a text and on all of it, of the main process."""
    whole = folder / "whole.txt"
    tenth = folder / "tenth.txt"
    with (gzip.open if raw.endswith(".gz") else open)(raw, "rb") as lines:
        whole.write_bytes(lines.read())
    content = whole.read_bytes().split(b"\n")
    tenth.write_bytes(b"\n".join(content[: len(content) // 10]) + b"\n")
    return {path.stem: measured([*command, path, "--jobs", jobs])[2] for jobs in (1,) for path in (tenth, whole)}


def show_tagging(tokens, seconds, memory=None):
    rival = seconds["python-crfsuite"]
    rows = [
        [name, f"{value:.2f}", f"{tokens / value:,.0f}", f"{rival / value:.1f}"]
        for name, value in list(seconds.items())[:4]
    ]
    table(["program", "seconds", "tokens/s", "÷ python-crfsuite's"], rows)
    ratio = seconds["tagger"] / seconds["tagger, default features"]
    click.echo(f"\nDefault features ÷ comparison features: {ratio:.2f}")
    start, numpy = seconds["tagger, one sentence"], seconds["import numpy"]
    click.echo(f"One sentence: {start:.3f} s, import numpy: {numpy:.3f} s, ratio {start / numpy:.2f}")
    if memory:
        ratio = memory["whole"] / memory["tenth"]
        click.echo(
            f"Peak memory: {memory['tenth']:.0f} MB on a tenth, {memory['whole']:.0f} MB on all, ratio {ratio:.2f}"
        )


def show(found, iterations, margin):
    if "loss 1" in found:
        show_race_to_loss(found, iterations)
    if "ap" in found:
        click.echo(
            f"\nWhole programs, to within {margin} points of the dev accuracy of CRFsuite's averaged perceptron:\n"
        )
        names = {"ap": "CRFsuite, 10 passes", **{f"dev {threads}": ours_name(threads) for threads in THREADS}}
        show_race_to_accuracy(found, names, {"whole": ".1f", "accuracy": ".2%"})
    if "order 1, 1" in found:
        click.echo(f"\nWhole programs, to the dev accuracy of CRFsuite after {iterations} iterations of L-BFGS.")
        click.echo("Our iterations were counted on the dev set, by untimed trainings: one fewer does not reach it.\n")
        names = {f"order {order}, {t}": f"{ours_name(t)}, order {order}" for order in ORDERS for t in THREADS}
        forms = {"whole": ".2f", "iterations": ".0f", "accuracy": ".2%", "peak": ".0f", "size": ".2f"}
        show_race_to_accuracy(found, {"lbfgs": "CRFsuite", **names}, forms)
        for order in ORDERS:
            if median_of(found[f"order {order}, 1"], "accuracy") < median_of(found["lbfgs"], "accuracy"):
                click.echo(f"\nOrder {order} has not reached it after {MOST_ITERATIONS} iterations: its ratio is void.")


def show_race_to_loss(found, iterations):
    loss = median_of(found["lbfgs"], "loss")
    click.echo(f"To CRFsuite's loss after {iterations} iterations, {loss:,.0f}, over all tags:\n")
    forms = {"training": ".2f", "evaluations": ".0f", "per_evaluation": ".3f", "whole": ".2f", "rest": ".0%"}
    forms |= {"peak": ".0f", "size": ".1f"}
    rows = []
    for run, name in {"lbfgs": "CRFsuite", **{f"loss {threads}": ours_name(threads) for threads in THREADS}}.items():
        ratio = median_of(found["lbfgs"], "training") / median_of(found[run], "training")
        own = [format(median_of(found[run], key), form) for key, form in forms.items()]
        rows.append([name, *own, f"{ratio:.1f}"])
    names = ["training s", "evaluations", "s each", "whole s", "not training", "peak MB", "model MB"]
    table(["program", *names, "CRFsuite's training ÷ ours"], rows)


def show_race_to_accuracy(found, names, forms):
    """Print a table of whole programs; the first of them is the rival."""
    titles = {"whole": "whole s", "accuracy": "dev accuracy", "peak": "peak MB", "size": "model MB"}
    rival, rows = next(iter(names)), []
    for run, name in names.items():
        ratio = median_of(found[rival], "whole") / median_of(found[run], "whole")
        own = [format(median_of(found[run], key), form) for key, form in forms.items()]
        rows.append([name, *own, f"{ratio:.1f}"])
    table(["program", *(titles.get(key, key) for key in forms), "CRFsuite ÷ it"], rows)


def median_of(runs, key):
    return statistics.median(run[key] for run in runs)


def ours_name(threads):
    return f"tagger, {threads} thread{'s' * (threads > 1)}"


def table(head, rows):
    for row in (head, ["---", *["---:"] * (len(head) - 1)], *rows):
        click.echo("| " + " | ".join(row) + " |")


def shared_corpus(corpus, folder):
    """The sentences that `train-crf` learns from, some without the marks at their end, as a file for both sides.

    `train-crf` leaves these as they are: enough of them end in a word.
    """
    from tagger import Sentence, read_corpus, write_corpus
    from tagger.corpus.final_marks import trained_lengths

    sentences, path = read_corpus(corpus), Path(folder, "corpus.txt")
    lengths = trained_lengths([sentence.words for sentence in sentences]).tolist()
    cut = (Sentence(s.words[:n], s.tags[:n]) for s, n in zip(sentences, lengths, strict=True))
    write_corpus(path, cut, "slash")
    return path


def crfsuite(corpus, folder, iterations, algorithm="lbfgs", dev=None, features="comparison"):
    model = Path(folder, "crfsuite")
    command = [HERE / "rival_crfsuite.py", corpus, model, "--iterations", iterations, "--algorithm", algorithm]
    command += ["--features", features]
    text, _, _ = measured([*command, *(["--dev", dev] if dev else [])])
    return json.loads(text) | {"size": model.stat().st_size / 1e6}


def seconds_per_evaluation(corpus, threads, features="comparison"):
    """The median of several evaluations, in this process's own kind: a child that does nothing else."""
    text, _, _ = measured([HERE / "bench.py", "time-evaluation", corpus, threads, features])
    return float(text)


@bench.command(hidden=True)
@click.argument("corpus")
@click.argument("threads", type=int)
@click.argument("features")
def time_evaluation(corpus, threads, features):
    import numpy as np
    from threadpoolctl import threadpool_limits

    from tagger import CRFTagger, read_corpus
    from tagger.crf.objective import PenalizedLikelihood

    encoded, layout = CRFTagger(features=features, candidates="all").encode(read_corpus(corpus))
    likelihood = PenalizedLikelihood(encoded, layout, 1.0, threads)
    weights = np.random.default_rng(0).normal(size=layout.size) * 0.3
    seconds = []
    with threadpool_limits(limits=1, user_api="blas"):
        for _ in range(8):
            begin = time.perf_counter()
            likelihood(weights)
            seconds.append(time.perf_counter() - begin)
    click.echo(statistics.median(seconds[1:]))


def race_to_loss(corpus, folder, threads, target, features):
    """Train until the loss is below the target; the second run does exactly so many iterations and is timed."""
    log, model = Path(folder, "log.jsonl"), Path(folder, "model.npz")
    command = ["-m", "tagger", "train-crf", corpus, "-q", "-o", model, "--log", log, "--threads", threads]
    command += ["--features", features, "--l2", 1.0, "--tolerance", 0, "--checkpoint-every", 1000000]
    command += ["--candidates", "all"]
    measured([*command, "--max-iterations", 150])
    rows = [json.loads(line) for line in log.read_text().splitlines()]
    reached = next(row["iteration"] for row in rows if row["loss"] is not None and row["loss"] <= target)
    _, whole, peak = measured([*command, "--max-iterations", reached])
    last = json.loads(log.read_text().splitlines()[-1])
    assert last["loss"] <= target
    from tagger import load_model

    evaluations = load_model(model).summary_["evaluations"]
    return {
        "training": last["seconds"],
        "whole": whole,
        "rest": 1 - last["seconds"] / whole,
        "evaluations": evaluations,
        "per_evaluation": seconds_per_evaluation(corpus, threads, features),
        "peak": peak,
        "size": model.stat().st_size / 1e6,
    }


def race_to_perceptron(corpus, dev, folder, threads, goal, l2):
    """How many iterations, in steps of five, reach the dev accuracy; then the whole program is timed with so many."""
    log, model = Path(folder, "log.jsonl"), Path(folder, "model.npz")
    command = ["-m", "tagger", "train-crf", corpus, "-q", "-o", model, "--threads", threads]
    command += ["--features", "comparison", "--l2", l2, "--tolerance", 0, "--checkpoint-every", 1000000]
    measured([*command, "--max-iterations", 100, "--dev", dev, "--log", log, "--patience", 4])
    rows = [json.loads(line) for line in log.read_text().splitlines()]
    good = [row["iteration"] for row in rows if (row["dev_accuracy"] or 0) >= goal]
    _, whole, _ = measured([*command, "--max-iterations", good[0] if good else 100])
    return {"whole": whole, "accuracy": accuracy(model, dev), "reached": bool(good)}


def iterations_to(corpus, dev, folder, order, goal):
    """Find by bisection the iterations after which the accuracy of our model reaches the goal, at most 200.

    One iteration fewer does not reach it. Accuracy does not rise at every iteration, so a still smaller number might.
    """

    def reaches(iterations):
        train_on_candidates(corpus, folder, order, max(THREADS), iterations)
        return accuracy(Path(folder, "model.npz"), dev) >= goal

    choices = range(1, MOST_ITERATIONS)
    return bisect.bisect_left(choices, True, key=reaches) + 1


def train_on_candidates(corpus, folder, order, threads, iterations):
    """Time our whole program: reading, the HMMs that propose candidates, iterations, and saving."""
    model = Path(folder, "model.npz")
    command = ["-m", "tagger", "train-crf", corpus, "-q", "-o", model, "--threads", threads, "--order", order]
    command += ["--features", "comparison", "--candidates", 0.001, "--max-iterations", iterations, "--tolerance", 0]
    _, whole, peak = measured([*command, "--checkpoint-every", 1000000])
    return {"whole": whole, "iterations": iterations, "peak": peak, "size": model.stat().st_size / 1e6}


def accuracy(model, dev):
    """The accuracy of our model, found by another process: children count the memory of this one as theirs."""
    text, _, _ = measured(["-m", "tagger", "eval", dev, "-m", model, "--json", "-q"])
    return json.loads(text)["accuracy"]


def cpu_seconds(command):
    """Run a program; return the CPU seconds of it and its own processes."""
    before = os.times()
    subprocess.run(command, check=True, env=ENVIRONMENT)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def measured(command):
    """What a Python program prints, its seconds, its peak memory in MB."""
    with tempfile.TemporaryFile("w+") as out:
        begin = time.perf_counter()
        process = subprocess.Popen([sys.executable, *map(str, command)], stdout=out, env=ENVIRONMENT)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise click.ClickException(f"{' '.join(map(str, command))} failed")
        out.seek(0)
        return out.read(), seconds, usage.ru_maxrss / 1000


if __name__ == "__main__":
    bench()
