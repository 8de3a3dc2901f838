"""`tagger train-hmm` with all it can learn from, and `tagger inspect`, in this process."""

import gzip
import re
import sys
from functools import partial
from pathlib import Path

import pytest
from paths import CHINESE_TRAIN as CHINESE
from paths import ROOT, TRAIN
from program import run

from tagger import CRFTagger, load_model, read_corpus, save_model

sys.path.insert(0, str(ROOT / "scripts"))


@pytest.fixture
def say(tmp_path, monkeypatch):
    """Run a command in a folder of its own: code, stdout, stderr."""
    monkeypatch.chdir(tmp_path)
    return partial(run, tmp_path)


def objectives(said):
    return [float(number.replace(",", "")) for number in re.findall(r"log prior (-?[\d,.]+)\n", said)]


def test_raw_text_lexicon_and_first_order(say):
    with gzip.open("raw.txt.gz", "wt") as out:
        out.write("The zig barks .\n\nA zag sleeps .\n" * 2)
    Path("words.tsv").write_text("zig\tNN\nfrob\tVB VBP\n")
    for order in (1, 2):
        options = ("--unlabeled", "raw.txt.gz", "--lexicon", "words.tsv", "--order", order)
        code, out, err = say("train-hmm", TRAIN, *options)
        assert code == 0 and out == "" and "model.npz" in err
        model = load_model("model.npz")
        assert model.predict([["The", "zig", "sleeps", "."]])[0][1] == "NN"
        assert (model.word_classes.find(["zig", "zag", "the"]) >= 0).all()  # of raw text, and of the corpus
        assert len(model.emission_model_.allowed.words) == 2
    assert "weight of spelling model: word class" in say("inspect")[1]
    assert say("train-hmm", TRAIN, "--order", 1, "-q", "-o", "first.npz") == (0, "", "")
    assert load_model("first.npz").order == 1


def test_classes_of_learn_classes_are_those_of_raw_text(say):
    Path("raw.txt").write_text("The zig barks .\nA zag sleeps .\n" * 2)
    say("convert", TRAIN, "words.txt", "--strip-tags")
    say("learn-classes", "words.txt", "raw.txt", "-q", "-o", "classes.npz")
    assert say("train-hmm", TRAIN, "--classes", "classes.npz", "-q", "-o", "a.npz") == (0, "", "")
    assert say("train-hmm", TRAIN, "--unlabeled", "raw.txt", "-q", "-o", "b.npz") == (0, "", "")
    assert Path("a.npz").read_bytes() == Path("b.npz").read_bytes()


def test_partly_tagged_text(say):
    Path("partly.txt").write_text("the/D dog/N barks/V\nthe/D cat/? barks/N|V\na/D dog/N\n" * 3)
    code, _, err = say("train-hmm", "partly.txt", "--partial", "--em-iterations", 4)
    values = objectives(err)
    assert code == 0 and "4 iterations" in err and len(values) == 5 and values == sorted(values)
    assert load_model("model.npz").predict([["the", "cat", "barks"]]) == [["D", "N", "V"]]


def test_the_same_input_gives_the_same_bytes(say):
    Path("raw.txt").write_text("The zig barks .\n")
    for name in ("a.npz", "b.npz"):
        say("train-hmm", TRAIN, "--unlabeled", "raw.txt", "-q", "-o", name)
    assert Path("a.npz").read_bytes() == Path("b.npz").read_bytes()


@pytest.mark.parametrize(
    "options, code, parts",
    [
        (["--order", "3"], 2, ["3"]),
        (["--order", "1", "--partial"], 2, ["--order"]),
        (["--unlabeled", "raw.txt", "--classes", "raw.txt"], 2, ["--unlabeled", "--classes"]),
        (["--unlabeled", "-"], 2, ["--unlabeled"]),
        (["--em-iterations", "0"], 2, ["0"]),
        (["--unlabeled", "none.txt"], 1, ["none.txt"]),
        (["--lexicon", "none.tsv"], 1, ["none.tsv"]),
        (["--lexicon", "bad.tsv"], 1, ["bad.tsv:1"]),
        (["--lexicon", "strange.tsv"], 1, ["strange.tsv:2", "'QQ'"]),
    ],
)
def test_refusals_are_one_line_and_leave_nothing(say, options, code, parts):
    Path("raw.txt").write_text("a b\n")
    Path("bad.tsv").write_text("zig NN\n")
    Path("strange.tsv").write_text("zig\tNN\nzag\tQQ\n")
    found, out, err = say("train-hmm", TRAIN, *options)
    assert found == code and out == "" and all(part in err for part in parts)
    assert not Path("model.npz").exists() and (code == 2 or err.count("\n") == 1)


def test_inspect_shows_an_hmm(say):
    say("train-hmm", TRAIN, "-q")
    code, out, err = say("inspect")
    assert code == 0 and err == ""
    for part in (
        "order          2",
        "# tags",
        "λ3 of the two tags before",
        "# likeliest tags after two",
        "-ing",
        "NN ",
    ):
        assert part in out, part
    lambdas = [float(number) for number in re.findall(r"λ[123] of .*? (\d\.\d+)\n", out)]
    assert len(lambdas) == 3 and sum(lambdas) == pytest.approx(1.0, abs=0.002)
    say("train-hmm", TRAIN, "-q", "--order", 1, "-o", "first.npz")
    first = say("inspect", "first.npz")[1]
    assert "λ3" not in first and "after two" not in first


def test_inspect_shows_other_models_and_scripts(say):
    save_model(CRFTagger(max_iterations=2).fit(read_corpus(TRAIN)[:20]), "crf.npz")
    code, out, _ = say("inspect", "crf.npz")
    assert code == 0 and re.search(r"kind +crf\n", out) and "# settings" in out and "l2" in out
    say("train-hmm", CHINESE, "-q", "-o", "chinese.npz")
    assert say("inspect", "chinese.npz", "-o", "story.txt")[:2] == (0, "")
    assert re.search(r"^-水 +n +\d+ % +\d+$", Path("story.txt").read_text("utf-8"), re.MULTILINE)  # an ending
    code, _, err = say("inspect", "none.npz")
    assert code == 1 and "'none.npz'" in err


def test_the_benchmark_counts_what_is_right(tmp_path):
    from bench_hmm import accuracy

    (tmp_path / "out.txt").write_text("a/X b//Y\nc/Z\na/X b//Z\nc/Z\n")
    assert accuracy([[("a", "X"), ("b/", "Y")], [("c", "Q")]], tmp_path / "out.txt") == pytest.approx(2 / 3)
