"""Models that come with the package: found by name, listed, described by a card; tokenizers that models store."""

import json
import shutil
import sys

import numpy as np
import pytest
from paths import ROOT, TEST, TRAIN
from program import run, run_process
from test_store import meta_of, with_meta

from tagger import HMMTagger, Sentence, load_model, pretrained, read_corpus, save_model
from tagger.errors import MissingModelError, ModelError
from tagger.experiments.crossval import TaggerFactory
from tagger.models.card import MAX_CARD_LENGTH, card_fields
from tagger.models.ensemble import Ensemble
from tagger.models.store import load_card

sys.path.insert(0, str(ROOT / "scripts"))
import train_pretrained

CARD = "language: English\ntags: Penn Treebank\naccuracy: 90.1 % on a test\nlicence: CC0 1.0\n\nLimits: it is tiny.\n"
SHIPPED = pretrained.shipped_models()
LARGEST = 4_000_000  # bytes of a shipped model


@pytest.fixture
def english(models, tmp_path_factory, patch):
    """The file of the only shipped model: small, with a card and a tokenizer, without hashes of sentences."""
    folder = tmp_path_factory.mktemp("pretrained")
    model = load_model(models / "hmm.npz")
    model.card_, model.tokenizer_, model.seen_ = CARD, "english", model.seen_[:0]
    save_model(model, folder / "english.npz")
    patch(pretrained, "FOLDER", folder)
    return folder / "english.npz"


@pytest.mark.parametrize(
    "command",
    [
        ["tag", "-m", "english", TEST],
        ["tag", "-m", "english", "-m", "own.npz", TEST],
        ["eval", "-m", "english", TEST],
        ["eval", "-m", "own.npz", "--compare", "english", TEST],
        ["explain", "-m", "english"],
        ["inspect", "english"],
        ["inspect", "-m", "english"],
    ],
    ids=lambda command: " ".join(map(str, command[:3])),
)
def test_every_command_takes_a_shipped_model_by_name(command, english, models, tmp_path):
    shutil.copy(models / "hmm.npz", tmp_path / "own.npz")
    shutil.copy(english, tmp_path / "file.npz")
    with_file = [part if part != "english" else "file.npz" for part in command]
    named, given = (run(tmp_path, *args, input="They can fish .\n") for args in (command, with_file))
    assert named.code == given.code == 0 and steady(named.out) == steady(given.out).replace("file.npz", "english")


def steady(text):
    """An output without its speed."""
    return "\n".join(line for line in text.splitlines() if "tokens/s" not in line)


def test_the_environment_and_python_take_a_shipped_model_by_name(english, tmp_path):
    line = run(tmp_path, "tag", input="The dog barks .\n", TAGGER_MODEL="english").out
    assert line == "The/DT dog/NN barks/VBZ ./.\n"
    assert load_model("english").predict([["The", "dog", "barks", "."]]) == [["DT", "NN", "VBZ", "."]]


def test_a_crf_is_adapted_from_a_shipped_model(english, models, tmp_path):
    shutil.copy(models / "crf.npz", english)
    done = run(tmp_path, "train-crf", TEST, "--init", "english", "--max-iterations", 2)
    assert done.code == 0 and load_model(tmp_path / "model.npz").summary_["sentences"]


def test_a_file_of_that_name_comes_first_but_not_a_folder(english, tmp_path):
    (tmp_path / "english").mkdir()
    assert run(tmp_path, "tag", "-m", "english", input="a b\n").code == 0
    (tmp_path / "english").rmdir()
    save_model(HMMTagger().fit([Sentence(["a", "b"], ["X", "Y"])]), tmp_path / "english")
    assert run(tmp_path, "tag", "-m", "english", input="a b\n").out == "a/X b/Y\n"
    assert [row["bytes"] for row in json.loads(run(tmp_path, "models", "--json").out)] == [english.stat().st_size]
    assert "no model './none'" in run(tmp_path, "tag", "-m", "./none").err
    with pytest.raises(MissingModelError, match="english"):
        load_model("./english")


def test_the_message_on_a_missing_model_names_the_shipped_one(english, tmp_path):
    assert "`tagger train CORPUS`, use -m english, which comes with tagger," in run(tmp_path, "tag").err
    english.unlink()
    message = run(tmp_path, "tag").err
    assert "tagger train CORPUS" in message and "comes with tagger" not in message


def test_models_lists_the_shipped_models(english, tmp_path):
    kB = english.stat().st_size
    (row,) = json.loads(run(tmp_path, "models", "--json").out)
    figures = {"language": "English", "tags": "Penn Treebank", "accuracy": "90.1 % on a test"}
    assert row == {"name": "english", **figures, "bytes": kB}
    _, head, line = run(tmp_path, "models").out.splitlines()
    assert head.split() == ["name", "language", "tags", "accuracy", "MB"]
    assert line.split("  ")[0] == "english" and all(value in line for value in (*figures.values(), f"{kB / 1e6:.1f}"))
    save_model(HMMTagger().fit([Sentence(["a"], ["X"])]), english.with_name("bare.npz"))  # without a card
    assert json.loads(run(tmp_path, "models", "--json").out)[0] | {"bytes": 0} == {
        "name": "bare", "language": None, "tags": None, "accuracy": None, "bytes": 0,
    }  # fmt: skip
    for path in english.parent.iterdir():
        path.unlink()
    assert run(tmp_path, "models", "--json").out == "[]\n" and run(tmp_path, "models").code == 0


def test_a_card_is_shown_as_it_was_written(english, models, tmp_path):
    assert run(tmp_path, "inspect", "-m", "english", "--card").out == CARD
    shutil.copy(models / "hmm.npz", tmp_path / "model.npz")
    assert "model.npz: expected a model with a card" in run(tmp_path, "inspect", "--card").err
    for options in (["--card", "--json"], ["model.npz", "-m", "english"], ["-m", "english", "-m", "english"]):
        assert run(tmp_path, "inspect", *options).code == 2


def test_fields_of_a_card_end_with_the_first_other_line():
    assert card_fields(CARD) == dict(line.split(": ") for line in CARD.splitlines()[:4])
    assert card_fields("title\na: b\n") == {} == card_fields(None)


def test_a_hostile_card_is_escaped_or_refused(tmp_path):
    model = HMMTagger().fit([Sentence(["a"], ["X"])])
    model.card_ = "tags: \x1b[2J\ud800\n\x07"
    save_model(model, tmp_path / "model.npz")
    assert load_card(tmp_path / "model.npz") == model.card_
    assert run(tmp_path, "inspect", "--card").out == "tags: \\x1b[2J\\ud800\n\\x07\n"
    for card in (7, ["a"], "x" * (MAX_CARD_LENGTH + 1)):
        with_meta(tmp_path / "model.npz", card=card)
        for read in (load_model, load_card):
            with pytest.raises(ModelError, match="expected a card of at most 20,000 characters"):
                read(tmp_path / "model.npz")
    model.card_ = "x" * (MAX_CARD_LENGTH + 1)
    with pytest.raises(ModelError, match="got 20,001"):
        save_model(model, tmp_path / "model.npz")


def test_a_description_has_card_and_tokenizer_only_if_the_model_has(models, english):
    assert not {"card", "tokenizer"} & set(meta_of(models / "hmm.npz"))
    assert {"card": CARD, "tokenizer": "english"}.items() <= meta_of(english).items()


def test_a_model_without_hashes_of_sentences_is_like_any_other(english, models, tmp_path):
    shutil.copy(models / "crf.npz", tmp_path / "crf.npz")
    done = run(tmp_path, "eval", TRAIN, "-m", "english", "--json")
    assert done.err == "" and json.loads(done.out)["training_overlap"] is None
    both = Ensemble([load_model("english"), load_model(models / "crf.npz")], ["english", "crf"])
    assert np.array_equal(both.seen_, load_model(models / "crf.npz").seen_) and both.tokenizer_ == "english"
    assert "were in the training corpus" in run(tmp_path, "eval", TRAIN, "-m", "english", "-m", "crf.npz").err


def test_tokenize_without_a_value_uses_the_tokenizer_of_the_model(tmp_path):
    pytest.importorskip("jieba")
    text = "他来到了北京。Don't!\n"
    for option, expected in (
        ([], "english"),
        (["--tokenize", "none"], "english"),
        (["--tokenize", "chinese"], "chinese"),
    ):
        trained = run(tmp_path, "train-hmm", TEST, *option)
        assert trained.code == 0
        answers = [run(tmp_path, "tag", *args, input=text).out for args in (["--tokenize"], ["--tokenize", expected])]
        assert answers[0] == answers[1] == run(tmp_path, "tag", "--tokenize", "model", input=text).out
        assert load_model(tmp_path / "model.npz").tokenizer_ == (None if expected == "english" else expected)
    assert run(tmp_path, "tag", "--tokenize", "english", input=text).out != answers[0]
    assert run(tmp_path, "tag", input="a b。\n").out.startswith("a/")  # plain input stays plain
    assert "tokenizer" in run(tmp_path, "inspect").out


def test_every_training_command_stores_its_tokenizer(tmp_path):
    quick = ["train-crf", "--max-iterations", 2]
    for i, command in enumerate([["train-hmm"], quick, [*quick, "--tune", "--dev", TEST]]):
        assert run(tmp_path, *command, TEST, "--tokenize", "english", "-o", f"{i}.npz").code == 0
        assert load_model(tmp_path / f"{i}.npz").tokenizer_ == "english"


@pytest.mark.parametrize("tokenizer", ["german", 3, ["english"]])
def test_an_unknown_tokenizer_is_refused(tmp_path, tokenizer):
    save_model(HMMTagger().fit([Sentence(["a"], ["X"])]), tmp_path / "model.npz")
    with_meta(tmp_path / "model.npz", tokenizer=tokenizer)
    with pytest.raises(ModelError, match="expected a tokenizer among english, chinese"):
        load_model(tmp_path / "model.npz")


def test_the_script_maps_tags_leaves_out_hashes_and_writes_the_card(tmp_path):
    masc = "He/PP saw/VBD (/( him/PRN )/) [/NN 1/CD ]/NN -/- twice/RB .../... ./.\nI/PRP bark/VBP to/TO you/PRP ./.\n"
    (tmp_path / "train.txt").write_text("".join(masc.replace("bark", f"bark{i}") for i in range(6)))
    (tmp_path / "dev.txt").write_text(masc)
    (tmp_path / "ewt.txt").write_text("I/PRP bark/VBP to/IN you/PRP ,/HYPH )/NFP\n")
    output = tmp_path / "english.npz"
    train_pretrained.build(tmp_path, tmp_path / "ewt.txt", output, TaggerFactory(HMMTagger, {}))
    model = load_model(output)
    own = {tag for sentence in read_corpus(TRAIN) + read_corpus(TEST) for tag in sentence.tags}
    assert set(model.classes_) <= own and model.seen_.size == 0
    assert (model.tokenizer_, model.column_) == ("english", "xpos")
    words = ["He", "saw", "(", "him", ")", "[", "1", "]", "-", "twice", "...", "."]
    assert model.predict([words]) == [
        ["PRP", "VBD", "-LRB-", "PRP", "-RRB-", "-LRB-", "CD", "-RRB-", ":", "RB", ":", "."]
    ]
    fields = card_fields(model.card_)
    assert fields["accuracy"].endswith(" % on new documents of MASC, 100.00 % on EWT")
    assert "- 100.00 % (100.00 to 100.00) on other sentences" in model.card_ and "the map it is 50.00 %." in model.card_
    tokens = sum(map(len, read_corpus(TRAIN) + read_corpus(TEST))) + 7 * 17
    assert f"{tokens:,} tokens" in model.card_


def test_shipped_models_are_small_described_and_licensed():
    for name, path in SHIPPED.items():
        model = load_model(path)
        assert path.stat().st_size <= LARGEST and model.seen_.size == 0 and model.tokenizer_
        assert {"language", "tags", "corpus", "licence", "accuracy"} <= card_fields(model.card_).keys()
        assert path.with_name(f"{name}.LICENSE.txt").read_text("utf-8").strip()


@pytest.fixture
def package(tmp_path, models, monkeypatch):
    """An installed package that offers the models `tiny`, `made` (by a function) and, in vain, `english`."""
    folder = tmp_path / "site"
    (folder / "offer_models-1.0.dist-info").mkdir(parents=True)
    (folder / "offer_models-1.0.dist-info" / "METADATA").write_text("Name: offer-models\nVersion: 1.0\n")
    entries = "tiny = offer_models:PATH\nmade = offer_models:path\nenglish = offer_models:PATH\n"
    (folder / "offer_models-1.0.dist-info" / "entry_points.txt").write_text(f"[tagger.models]\n{entries}")
    code = f"PATH = {str(models / 'hmm.npz')!r}\ndef path(): return PATH\n"
    (folder / "offer_models.py").write_text(code)
    monkeypatch.syspath_prepend(folder)
    yield folder
    sys.modules.pop("offer_models", None)


@pytest.mark.parametrize("name", ["tiny", "made"])
def test_other_packages_offer_models(package, name, models, tmp_path):
    words = [["They", "can", "fish", "."]]
    assert load_model(name).predict(words) == load_model(models / "hmm.npz").predict(words)
    listed = json.loads(run_process(tmp_path, "models", "--json", PYTHONPATH=str(package)).out)
    assert [model["name"] for model in listed] == ["english", "made", "tiny"]


def test_shipped_models_and_files_come_first(package, english, tmp_path, monkeypatch):
    assert pretrained.model_file("english") == str(english)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tiny").write_bytes(b"")
    assert pretrained.model_file("tiny") == "tiny"


@pytest.mark.parametrize("name", ["none.npz", "some/tiny", "-"])
def test_files_never_look_at_packages(package, name, monkeypatch):
    def refuse(**selection):
        raise AssertionError("looked at the installed packages")

    monkeypatch.setattr("importlib.metadata.entry_points", refuse)
    assert pretrained.model_file(name) == name


def test_an_unknown_name_is_a_missing_model(package):
    with pytest.raises(MissingModelError, match="none"):
        load_model("none")


def test_a_broken_package_hides_no_model_of_others(package, tmp_path):
    entries = package / "offer_models-1.0.dist-info" / "entry_points.txt"
    entries.write_text(
        entries.read_text() + "bad = offer_models:none\nworse = no_such_package\ngone = offer_models:GONE\n"
    )
    with (package / "offer_models.py").open("a") as code:
        code.write("GONE = 'gone.npz'\n")
    done = run_process(tmp_path, "models", "--json", PYTHONPATH=str(package))
    assert [model["name"] for model in json.loads(done.out)] == ["english", "made", "tiny"]
    for name in ("bad", "worse"):
        with pytest.raises(ModelError, match=name):
            load_model(name)
