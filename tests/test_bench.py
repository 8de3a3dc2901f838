"""Both sides of the comparison get exactly the same features, and races end where they should."""

import json
import re
import sys
from itertools import chain
from pathlib import Path

import pytest
from click.testing import CliRunner
from paths import TRAIN

from tagger import CRFTagger, HMMTagger, Sentence, read_corpus, save_model, write_corpus
from tagger.features.observer import Observer
from tagger.features.template import describe, parse_templates, sources_of, template_text

sys.path.insert(0, str(Path(__file__).parent.parent / "scripts"))
import bench
import bench_chunk
import bench_latency
import growth
import rival_crfsuite


def as_the_rival_writes_it(feature):
    name, _, value = feature.partition("=")
    function, offset = re.fullmatch(r"([a-z:0-9]+)\[(-?\d+)\]", name).groups()
    function = function.replace(":3", "") if function.startswith("ending") else function.replace(":", "")
    value = {"<before>": "<s>", "<after>": "</s>"}.get(value, value)
    return function + (f"{int(offset):+d}" if offset != "0" else "") + (f"={value}" if value else "")


def test_the_rivals_features_are_those_of_the_comparison_template():
    templates = parse_templates(template_text("comparison"))
    for text in ("The 3 well-known dogs of St. Ives sleep .", "Stop !", "Ja", "É 1/2 - ÀB c", "在 北京 工作 了 。"):
        words = text.split()
        ours = [sorted(map(as_the_rival_writes_it, row)) for row in describe(words, templates)]
        assert ours == [sorted(row) for row in rival_crfsuite.features(words)]


def test_the_rivals_features_of_other_templates_are_those_that_are_learned(tmp_path):
    """CRFsuite has one parameter for each feature and tag seen together; so have we, on sentences made for both."""
    write_corpus(tmp_path / "some.txt", read_corpus(TRAIN)[:200], "slash")
    train = read_corpus(bench.shared_corpus(tmp_path / "some.txt", tmp_path))
    rows = rival_crfsuite.described([sentence.words for sentence in train], "default")
    tags = [tag for sentence in train for tag in sentence.tags]
    pairs = {(feature, tag) for row, tag in zip(chain.from_iterable(rows), tags, strict=True) for feature in row}
    corpus, _ = CRFTagger().encode(train)
    assert len(pairs) == len(corpus.features.rows.tags)
    assert corpus.lengths.tolist() == list(map(len, train))  # nothing more is cut


def test_the_dicts_of_chunking_are_the_features_of_the_template():
    templates = parse_templates(bench_chunk.TEMPLATE.read_text())
    observe = Observer(None, sources_of(templates))
    for words, pos in (("The U.S. 's IBM bought McX 12 b-2", "DT NNP POS NNP VBD NNP CD CD"), ("No", "UH")):
        sentence = Sentence(words.split(), columns={"pos": pos.split()})
        ours = [sorted(map(bench_chunk.name_in_dicts, row)) for row in describe(observe([sentence])[0], templates)]
        dicts = bench_chunk.features(sentence.words, sentence.columns["pos"])
        flags = [{name: value for name, value in row.items() if value is not False} for row in dicts]
        assert ours == [sorted(n if v in (True, 1.0) else f"{n}:{v}" for n, v in row.items()) for row in flags]


@pytest.mark.parametrize(("goal", "iterations"), [(0.0, 1), (0.5, 50), (0.895, 90), (1.99, 199), (9.0, 200)])
def test_the_race_to_an_accuracy_takes_as_many_iterations_as_it_needs(goal, iterations, monkeypatch):
    trained = []
    monkeypatch.setattr(bench, "train_on_candidates", lambda *arguments: trained.append(arguments[-1]))
    monkeypatch.setattr(bench, "accuracy", lambda model, dev: trained[-1] / 100)
    assert bench.iterations_to("corpus", "dev", "folder", 1, goal) == iterations
    assert len(trained) <= 8


@pytest.mark.integration
def test_the_race_to_an_accuracy(tmp_path, monkeypatch, capsys):
    """Both programs run, ours with both orders; all reach the accuracy, and the table has a row for each."""
    pytest.importorskip("pycrfsuite")
    monkeypatch.setattr(bench, "MOST_ITERATIONS", 3)
    monkeypatch.setattr(bench, "THREADS", (1,))
    sentences = read_corpus(TRAIN)
    write_corpus(tmp_path / "some.txt", sentences[:150], "slash")
    write_corpus(tmp_path / "dev.txt", sentences[150:200], "slash")
    options = ["--dev", tmp_path / "dev.txt", "--race", "accuracy", "--rounds", 1, "--iterations", 5, "--json"]
    result = CliRunner().invoke(bench.bench, ["train", *map(str, [tmp_path / "some.txt", *options])])
    assert result.exit_code == 0, result.output
    runs = json.loads(result.output)
    assert list(runs) == ["lbfgs", "order 1, 1", "order 2, 1"]
    (rival,), *ours = runs.values()
    for (run,) in ours:
        assert run["accuracy"] >= rival["accuracy"] > 0.5  # five iterations of CRFsuite are not many
        assert {"whole", "iterations", "peak", "size"} <= run.keys() & rival.keys()
    bench.show(runs, 5, 0.1)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(" | ")[0] for line in lines[6:]] == [
        "| CRFsuite",
        "| tagger, 1 thread, order 1",
        "| tagger, 1 thread, order 2",
    ]


def test_growth_measures_all_tags_and_candidates():
    result = CliRunner().invoke(growth.main, ["200x5", "400x9", "--max-iterations", "3"])
    assert result.exit_code == 0, result.output
    rows = [line.strip("| ").split(" | ") for line in result.output.splitlines()[2:]]
    ways = [["all", "1"], ["0.001", "1"], ["0.001", "2"]]
    assert [row[:4] for row in rows] == [[*case, *way] for case in (["200", "5"], ["400", "9"]) for way in ways]
    assert all(row[5] == "3" and 0 < float(row[4]) < 60 and float(row[7]) > 10 for row in rows)


def test_latency_is_measured_for_each_side_and_number_of_threads(tmp_path):
    sentences = [Sentence(["a"] * n, ["X"] * n) for n in (1, 3, 4, 5, 9)]
    write_corpus(tmp_path / "text.txt", sentences, "slash")
    save_model(HMMTagger(order=1).fit(sentences), tmp_path / "hmm.npz")
    rows = bench_latency.compare({"HMM": str(tmp_path / "hmm.npz")}, tmp_path / "text.txt", 4, 2, [1, 2])
    assert [(row["name"], row["threads"]) for row in rows] == [("HMM", 1), ("HMM", 2)]
    assert all(0 < row[case]["median"] <= row[case]["p99"] for row in rows for case in ("first", "again"))
    shown = []
    bench_latency.show(rows, lambda head, cells: shown.extend([head, *cells]))
    assert len(shown) == 3 and {len(cells) for cells in shown} == {7}
