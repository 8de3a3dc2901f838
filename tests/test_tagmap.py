"""Maps between tag sets: what is read, what is refused, what stays; in `tag` and `eval`."""

import json
from pathlib import Path

import pytest

from tagger import HMMTagger, read_corpus, save_model
from tagger.cli import run
from tagger.corpus.tag_map import read_tag_map
from tagger.errors import TaggerError
from tagger.sentence import Sentence

DATA = Path(__file__).parent.parent / "data"
MAP = DATA / "penn-upos.tsv"


@pytest.fixture
def file(tmp_path):
    def create(text):
        path = tmp_path / "map.tsv"
        path.write_bytes(text.encode())
        return path

    return create


def test_tags_are_renamed_and_others_stay_and_are_remembered(file):
    tag_map = read_tag_map(file("\ufeffNN\tNOUN\r\nNNS\tNOUN\n\n#\tSYM\nNN\tNOUN\n"))
    sentence = Sentence(list("abcde"), ["NN", "NNS", "VB", "NOUN", "#"])
    assert tag_map.sentence(sentence).tags == ("NOUN", "NOUN", "VB", "NOUN", "SYM")
    assert tag_map.unmapped == {"VB"}
    assert tag_map.sentence(Sentence(list("ab"))) == Sentence(list("ab"))


@pytest.mark.parametrize(
    "text, message",
    [
        ("NN\tNOUN\nNN NOUN\n", ":2: .*'NN NOUN'"),
        ("NN\t\n", ":1: .*'NN"),
        ("\tNOUN\n", ":1: .*tNOUN'"),
        ("NN\tNOUN\tX\n", ":1: "),
        ("NN \tNOUN\n", ":1: "),
        ("NN\tNOUN\n\nNN\tVERB\n", ":3: .*'NN'.*'VERB'.*'NOUN'"),
        ("", ": "),
    ],
)
def test_a_faulty_map_is_refused_with_its_place(file, text, message):
    with pytest.raises(TaggerError, match=f"map.tsv{message}"):
        read_tag_map(file(text))


def test_the_shipped_map_knows_every_tag_of_our_corpora_and_gives_universal_ones():
    tag_map = read_tag_map(MAP)
    tags = {tag for sentence in read_corpus(DATA / "english-train.txt") for tag in sentence.tags}
    assert tags <= tag_map.pairs.keys()
    assert tag_map.targets <= set(
        "ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X".split()  # noqa: SIM905
    )


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("map") / "model.npz"
    save_model(HMMTagger().fit(read_corpus(DATA / "english-train.txt")), path)
    return path


def test_tag_writes_the_new_tags_and_tells_once_which_stayed(model, file, tmp_path, capfd):
    (tmp_path / "a.txt").write_text("The dog barks .\nThe dog .\n")
    assert run(["tag", str(tmp_path / "a.txt"), "-m", str(model), "--map", str(file("NN\tNOUN\nDT\tDET\n"))]) == 0
    out, err = capfd.readouterr()
    assert out == "The/DET dog/NOUN barks/VBZ ./.\nThe/DET dog/NOUN ./.\n"
    assert err.startswith("--map: 42 tags ") and ": # $ '' , " in err and err.count("\n") == 1
    assert run(["tag", "-q", str(tmp_path / "a.txt"), "-m", str(model), "--map", str(tmp_path / "map.tsv")]) == 0
    assert capfd.readouterr().err == ""


def test_several_taggings_that_a_map_would_make_look_alike_are_refused(model, file, tmp_path, capfd):
    (tmp_path / "a.txt").write_text("The dog barks .\n")
    command = ["tag", "-q", str(tmp_path / "a.txt"), "-m", str(model), "--nbest", "2", "--map"]
    assert run([*command, str(file("NN\tNOUN\nNNS\tNOUN\n"))]) == 2
    assert capfd.readouterr().err
    assert run([*command, str(file("NN\tNOUN\n"))]) == 0
    assert "dog/NOUN" in capfd.readouterr().out


def test_eval_maps_both_sides_so_that_gold_may_have_either_tag_set(model, tmp_path, capfd):
    gold = DATA / "english-test.txt"
    universal = tmp_path / "universal.txt"
    assert run(["convert", str(gold), str(universal), "--map", str(MAP)]) == 0
    capfd.readouterr()
    results = []
    for path in (gold, universal):
        assert run(["eval", str(path), "-m", str(model), "--json", "--map", str(MAP)]) == 0
        out, err = capfd.readouterr()
        assert err == ""
        results.append({key: value for key, value in json.loads(out).items() if key != "tokens_per_second"})
    plain = run(["eval", str(gold), "-m", str(model), "--json"]) or json.loads(capfd.readouterr().out)
    assert results[0] == results[1]
    assert "NOUN" in results[0]["tags"] and "NN" not in results[0]["tags"]
    assert results[0]["accuracy"] > plain["accuracy"]
