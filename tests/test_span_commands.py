"""The commands on corpora whose tags mark spans: what is recognised, refused, measured and chosen by."""

import json

import numpy as np
import pytest
from program import run
from test_span_schemes import corpus

from tagger import (
    CRFTagger,
    HMMTagger,
    PooledTagger,
    Sentence,
    find_spans,
    load_model,
    read_corpus,
    recognize_scheme,
    write_corpus,
)
from tagger.evaluation.span_errors import find_span_errors
from tagger.evaluation.spans import score_by
from tagger.models.explain import explain
from tagger.reports.explanation_page import explanation_page
from tagger.reports.html import page_template


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a corpus in the scheme bio, and models of it."""
    path = tmp_path_factory.mktemp("spans")
    write_corpus(path / "train.tsv", corpus("bio", 120), "tsv")
    write_corpus(path / "dev.tsv", corpus("bio", 60, seed=1), "tsv")
    assert run(path, "train-crf", "train.tsv", "--max-iterations", 10, "-q").code == 0
    assert run(path, "train-hmm", "train.tsv", "-q", "-o", "hmm.npz").code == 0
    return path


def test_the_scheme_is_recognised_and_said(folder):
    for command in ("train-crf", "train-hmm"):
        trained = run(folder, command, "train.tsv", "-o", "new.npz")
        assert trained.err.startswith("recognised the scheme bio: no other taggings are made (--scheme none: any)\n")
        assert "span scheme" in run(folder, "inspect", "new.npz").out
        free = run(folder, command, "train.tsv", "-o", "new.npz", "--scheme", "none")
        assert "scheme" not in free.err and "span scheme" not in run(folder, "inspect", "new.npz").out
    text = "\n".join(" ".join(sentence.words) for sentence in corpus("bio", 50, seed=2))
    tagged = run(folder, "tag", "-m", "hmm.npz", input=text)
    y = [[token.rpartition("/")[2] for token in line.split()] for line in tagged.out.splitlines()]
    assert recognize_scheme(y) == "bio"


@pytest.mark.parametrize("command", ["train-crf", "train-hmm"])
def test_the_first_violation_has_a_place(folder, command):
    (folder / "broken.tsv").write_text("a\tB-X\nb\tI-X\n\nc\tO\nd\tI-X\n")
    by_hand = run(folder, command, "broken.tsv", "--scheme", "bio", "-o", "new.npz")
    expected = "broken.tsv: line 4, token 2: expected what may follow 'O' in the scheme bio, got 'I-X'."
    assert by_hand.code == 1 and expected in by_hand.err
    other = run(folder, command, "broken.tsv", "--scheme", "bmes", "-o", "new.npz")
    assert "broken.tsv: scheme bmes: line 1, token 2: expected O, B-…, M-…, E-…, S-…, got 'I-X'" in other.err
    assert "Use --scheme none." in other.err
    recognised = run(folder, command, "broken.tsv", "-o", "new.npz")
    assert recognised.code == 0 and f"hint: no scheme is recognised. {expected}" in recognised.err


def test_ordinary_tags_are_not_spoken_of(folder):
    (folder / "tags.txt").write_text("the/DT dog/NN\na/DT cat/NN\n")
    assert "scheme" not in run(folder, "train-hmm", "tags.txt", "-o", "new.npz").err
    told = run(folder, "eval", "tags.txt", "-m", "new.npz")
    assert "all spans" not in told.out
    assert "spans" not in json.loads(run(folder, "eval", "tags.txt", "-m", "new.npz", "--json").out)
    refused = run(folder, "crossval", "tags.txt", "--kind", "hmm", "--folds", 2, "--metric", "span-f1")
    assert refused.code == 2 and "--metric span-f1: expected a corpus with a span scheme" in refused.err
    refused = run(folder, "train-crf", "tags.txt", "--dev", "tags.txt", "--metric", "span-f1", "-o", "new.npz")
    assert (
        refused.code == 1 and "--metric: expected accuracy for tags without a span scheme, got span-f1" in refused.err
    )


def test_eval_prints_spans(folder):
    found = run(folder, "eval", "dev.tsv", "--compare", "hmm.npz")
    table = next(part for part in found.out.split("\n\n") if part.startswith("type "))
    names = [line.split("  ")[0] for line in table.splitlines()[1:]]
    assert sorted(names[:2]) == ["LOC", "PER"] and names[2:] == ["all spans", "mean of types"]
    assert "points of span F1 (95 % interval" in found.out or "equally good at spans" in found.out
    program = json.loads(run(folder, "eval", "dev.tsv", "--compare", "hmm.npz", "--json").out)["spans"]
    assert set(program["types"]) == {"LOC", "PER"} and program["compare"][0]["model"] == "hmm.npz"
    assert program["f1_interval"][0] < program["f1"] < program["f1_interval"][1]
    assert f"{100 * program['f1']:.2f} %" in found.out
    tagged = run(folder, "tag", "dev.tsv", "--input-format", "tsv", "--output-format", "tsv", "-o", "out.tsv")
    assert tagged.code == 0
    from_file = json.loads(run(folder, "eval", "dev.tsv", "--predictions", "out.tsv", "--json").out)["spans"]
    assert from_file["f1"] == program["f1"]
    y = [sentence.tags for sentence in read_corpus(folder / "out.tsv")]
    assert score_by("span-f1", read_corpus(folder / "dev.tsv"), y) == program["f1"]
    assert "all spans" not in run(folder, "eval", "dev.tsv", "--scheme", "none").out


def test_illegal_gold_tags_are_evaluated_if_asked(folder):
    (folder / "gold.tsv").write_text("a\tI-X\nb\tO\n")
    (folder / "guess.tsv").write_text("a\tB-X\nb\tI-X\n")
    plain = run(folder, "eval", "gold.tsv", "--predictions", "guess.tsv", "--json")
    assert "spans" in json.loads(plain.out)  # as iob1
    (folder / "gold.tsv").write_text("a\tO\nb\tI-X\n\nc\tO\nd\tB-X\n")
    (folder / "guess.tsv").write_text("a\tO\nb\tB-X\n\nc\tO\nd\tO\n")
    plain = run(folder, "eval", "gold.tsv", "--predictions", "guess.tsv", "--json")
    asked = run(folder, "eval", "gold.tsv", "--predictions", "guess.tsv", "--json", "--scheme", "bio")
    assert "spans" not in json.loads(plain.out)
    assert json.loads(asked.out)["spans"]["f1"] == pytest.approx(2 / 3)


def test_training_goes_by_span_f1(folder):
    options = ["--dev", "dev.tsv", "--metric", "span-f1", "--max-iterations", 20, "-o", "new.npz", "--log", "log.jsonl"]
    trained = run(folder, "train-crf", "train.tsv", *options)
    assert "dev span-f1 " in trained.err
    rows = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    scores = [row["dev_span_f1"] for row in rows if "dev_span_f1" in row]
    assert len(scores) >= 4 and all(row["dev_accuracy"] is None for row in rows)
    f1 = json.loads(run(folder, "eval", "dev.tsv", "-m", "new.npz", "--json").out)["spans"]["f1"]
    assert f1 == max(scores) and f"dev span-f1 {100 * f1:.2f} %" in trained.err
    summary = json.loads(run(folder, "inspect", "new.npz", "--json").out)
    assert "dev_span_f1" in json.dumps(summary)
    tuned = run(folder, "train-crf", "train.tsv", *options[:-2], "--tune", "--l1", 1)
    assert tuned.code == 0 and "weights   span-f1\n" in tuned.err


def test_experiments_go_by_span_f1(folder):
    options = ["--kind", "hmm", "--order", 1, "--metric", "span-f1"]
    by_fold = json.loads(run(folder, "crossval", "train.tsv", *options, "--folds", 3, "--json").out)["folds"]
    assert all(0 < fold["span_f1"] < 1 for fold in by_fold)
    table = run(folder, "crossval", "train.tsv", *options, "--folds", 3).out
    assert table.startswith("fold    tokens   span-f1\n")
    curve = ["learning-curve", "train.tsv", "--dev", "dev.tsv", "--points", 2, *options]
    points = json.loads(run(folder, *curve, "--json", "--report", "curve.html").out)
    expected = json.loads(run(folder, "learning-curve", "train.tsv", "--dev", "dev.tsv", "--points", 2, *options[:4],
                              "--json").out)  # fmt: skip
    assert list(points[1]) == ["tokens", "span_f1", "interval"] and points[1]["span_f1"] < expected[1]["accuracy"]
    assert "Span-f1 by the size" in (folder / "curve.html").read_text()


def test_jsonl_has_spans(folder):
    lines = [{"words": ["p1", "x2", "o3"], "id": 7, "spans": "old"}, {"words": []}]
    text = "\n".join(map(json.dumps, lines)) + "\n\n"
    tagged = run(folder, "tag", "--input-format", "jsonl", input=text).out.split("\n")
    first = json.loads(tagged[0])
    assert first["id"] == 7 and json.loads(tagged[1]) == {"words": [], "tags": [], "spans": []} and tagged[2] == ""
    expected = [
        {"type": span.type, "begin": span.begin, "end": span.end, "words": first["words"][span.begin : span.end]}
        for span in find_spans(first["tags"])
    ]
    assert first["spans"] == expected
    raw = run(folder, "tag", "--tokenize", "--output-format", "jsonl", input="He met r1 r2 c3 p4 in c5.\n")
    found = json.loads(raw.out)
    assert found["spans"]
    for span in found["spans"]:
        offsets = found["offsets"][span["begin"] : span["end"]]
        assert span["offsets"] == [offsets[0][0], offsets[-1][1]]
    plain = run(folder, "tag", "--output-format", "tsv", input="r1 r2\n").out
    assert "spans" not in plain


def test_the_report_has_a_section_of_spans(folder):
    assert run(folder, "eval", "dev.tsv", "--report", "page.html").code == 0
    page = (folder / "page.html").read_text()
    assert '<h2 id="spans">Spans</h2>' in page
    errors = find_span_errors(read_corpus(folder / "dev.tsv"), load_model(folder / "model.npz").predict(
        read_corpus(folder / "dev.tsv")))  # fmt: skip
    for kind, found in errors.items():
        assert f"{kind.capitalize()}: {len(found)} " in page
    assert "<mark><u>" in page
    (folder / "tags.txt").write_text("the/DT dog/NN\na/DT cat/NN\n")
    run(folder, "eval", "tags.txt", "--predictions", "tags.txt", "--report", "page.html")
    assert 'id="spans"' not in (folder / "page.html").read_text()


@pytest.mark.parametrize("kind", [CRFTagger, HMMTagger, PooledTagger])
def test_an_explanation_compares_with_a_path_that_the_scheme_allows(kind):
    corpus = [
        Sentence(words.split(), tags.split())
        for words, tags in [
            ("Ada Lovelace wrote to Ada", "B-P I-P O O B-P"),
            ("to York wrote New York", "O B-L O B-L I-L"),
            ("Lovelace in York in New York", "B-P O B-L O B-L I-L"),
        ] * 2
    ]  # fmt: skip
    model = kind().fit(corpus)
    numbers, allowed = {tag: k for k, tag in enumerate(model.classes_)}, model.allowed_steps()
    words = ["Ada", "York", "wrote", "to", "New", "Lovelace"]
    ((_, lattice),) = model.lattices([words])
    (tags,), changed = model.predict([words]), 0
    for t, token in enumerate(explain(model, [words])[0]):
        if token.runner_up is None:
            continue
        rival = [numbers[tag] for tag in tags]
        rival[t] = numbers[token.runner_up]
        for word, tag in token.changes:
            rival[words.index(word)] = numbers[tag]
        assert allowed[[-1, *rival], [*rival, -1]].all()
        changed += len(token.changes)
        found = lattice.path_scores(np.array(rival))[0]
        if kind is CRFTagger:
            best = lattice.path_scores(np.array([numbers[tag] for tag in tags]))[0]
            assert token.difference == pytest.approx(best - found, abs=1e-4)
    assert changed or kind is HMMTagger
    page = explanation_page(page_template("explanation.html"), explain(model, [words]))
    assert page.count("</li>") >= len(words)


def test_spans_of_older_tags_are_replaced_or_removed(folder):
    words = find_one(read_corpus(folder / "dev.tsv"))
    line = json.dumps({"words": words, "key": 1})
    tagged = run(folder, "tag", "--input-format", "jsonl", "--output-format", "jsonl", input=line + "\n").out
    assert json.loads(tagged)["spans"]
    assert run(folder, "train-hmm", "train.tsv", "--scheme", "none", "-q", "-o", "free.npz").code == 0
    again = json.loads(run(folder, "tag", "-m", "free.npz", "--input-format", "jsonl", input=tagged).out)
    assert again.keys() == {"words", "tags", "key"}
    own = json.dumps({"words": words, "spans": [[0, 1]]}) + "\n"
    kept = run(folder, "tag", "-m", "free.npz", "--input-format", "jsonl", input=own).out
    assert json.loads(kept)["spans"] == [[0, 1]]


def find_one(sentences):
    return list(next(s for s in sentences if find_spans(s.tags)).words)
