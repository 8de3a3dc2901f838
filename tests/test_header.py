"""The header line of a tsv or columns file is in the output too, once: what is written reads back as it was."""

import json
import re

import pytest
from program import run

from tagger import HMMTagger, Sentence, load_model, read_corpus, save_model, write_corpus
from tagger.corpus.column_names import ColumnNames

ROWS = "the\tthe\t_\ndog\tdog\t_\n\n"
TAGGED = ROWS.replace("_", "D", 1).replace("_", "N")
FILES = {
    "a.tsv": f"# made by hand\nForm\tlemma\tPOS\n{ROWS}{ROWS}",
    "b.tsv": f"Form\tlemma\tPOS\n{ROWS}",
    "untagged.tsv": "form\tlemma\n" + ROWS.replace("\t_", ""),
    "gold.tsv": "form\tx\tlabel\n" + "".join(f"w{i}\t1\tN\n\n" for i in range(9)),
    "c.txt": "form lemma pos\n" + ROWS.replace("\t", " "),
}


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("header")
    save_model(HMMTagger(order=1).fit([Sentence(["the", "dog"], ["D", "N"])] * 2), folder / "model.npz")
    for name, text in FILES.items():
        (folder / name).write_text(text)
    return folder


@pytest.mark.parametrize(
    "options, expected",
    [
        ("a.tsv", f"# made by hand\nForm\tlemma\tPOS\n{TAGGED}{TAGGED}"),
        ("b.tsv a.tsv", f"Form\tlemma\tPOS\n{TAGGED}{TAGGED}{TAGGED}"),
        ("b.tsv --probabilities", "Form\tlemma\tPOS\tprobability\nthe\tthe\tD\t0.NN\ndog\tdog\tN\t0.NN\n\n"),
        ("b.tsv --doubtful 1", f"Form\tlemma\tPOS\n{TAGGED}"),
        ("b.tsv --output-format slash", "the/D dog/N\n"),
        ("untagged.tsv --columns form,lemma --word-column form", f"form\tlemma\ttag\n{TAGGED}"),
        ("untagged.tsv --columns form,lemma,ner --word-column form --tag-column ner", f"form\tlemma\tner\n{TAGGED}"),
        ("c.txt --input-format columns", "form lemma pos\n" + TAGGED.replace("\t", " ")),
    ],
)
def test_tag_writes_the_header_once(home, options, expected):
    done = run(home, "tag", *options.split())
    assert done.code == 0, done.err
    assert re.sub(r"\b[01]\.\d{4}", "0.NN", done.out) == expected


@pytest.mark.parametrize("column, tags", [("pos", "DN"), ("ner", "OX")])
def test_a_column_that_is_named_is_the_one(home, column, tags):
    """Also where the model remembers names, or their absence, that do not fit the file."""
    (home / "both.tsv").write_text("form\tpos\tner\nthe\tD\tO\ndog\tN\tX\n\n")
    done = run(home, "eval", "both.tsv", "--tag-column", column, "--json", "-q")
    assert json.loads(done.out)["accuracy"] == (1.0 if tags == "DN" else 0.0)
    rows = [line.split("\t") for line in run(home, "tag", "both.tsv", "--tag-column", column).out.splitlines()]
    assert [row[rows[0].index(column)] for row in rows[1:3]] == ["D", "N"]


@pytest.mark.parametrize("option", ["--tag-column", "--word-column"])
def test_a_column_that_is_not_there_is_named(home, option):
    failed = run(home, "eval", "b.tsv", option, "nosuch")
    assert failed.code == 1 and "expected 'nosuch' among the columns, got Form, lemma, POS" in failed.err


def test_convert_and_write_corpus_change_nothing(home, tmp_path):
    assert run(home, "convert", "gold.tsv", "-", "--output-format", "tsv").out == FILES["gold.tsv"]
    write_corpus(tmp_path / "again.tsv", read_corpus(home / "gold.tsv"), "tsv")
    assert (tmp_path / "again.tsv").read_text() == FILES["gold.tsv"]


def test_every_part_of_a_corpus_has_the_header(home, tmp_path):
    assert run(home, "split", "gold.tsv", "--output-folder", tmp_path, "--dev", 0.3, "--test", 0.3).code == 0
    parts = [read_corpus(tmp_path / f"gold.{part}.tsv") for part in ("train", "dev", "test")]
    assert [{tag for sentence in part for tag in sentence.tags} for part in parts] == [{"N"}] * 3
    assert sum(map(len, parts)) == 9


def test_the_names_of_a_header_are_not_those_of_other_formats(home, tmp_path):
    """A model remembers them for files of columns."""
    model = load_model(home / "model.npz")
    model.columns_ = ColumnNames(names=("token", "pos"), word="token", tag="pos")
    save_model(model, tmp_path / "model.npz")
    rows = ("1\tthe\t_\tD\tN", "2\tdog\t_\tN\tD")
    (tmp_path / "a.conllu").write_text("".join(row + "\t_" * 5 + "\n" for row in rows) + "\n")
    for column, accuracy in (("upos", 1.0), ("xpos", 0.0)):
        done = run(tmp_path, "eval", "a.conllu", "--json", "-q", "--column", column)
        assert done.code == 0 and json.loads(done.out)["accuracy"] == accuracy
    line = '{"words": ["the", "dog"], "tags": ["D", "N"]}'
    (tmp_path / "a.jsonl").write_text(line + "\n")
    assert json.loads(run(tmp_path, "eval", "a.jsonl", "--json", "-q").out)["accuracy"] == 1.0
    for source in (["a.jsonl"], ["--output-format", "jsonl"]):
        assert run(tmp_path, "tag", *source, input="the dog\n").out == line + "\n"
