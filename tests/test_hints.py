"""What is said, once and on standard error, about text that is not what a command wants to read."""

import json
import shutil
from pathlib import Path

import pytest
from paths import TEST, TRAIN
from program import run, run_process

from tagger import HMMTagger, Sentence, read_corpus, save_model
from tagger.corpus.formats.tsv import find_header
from tagger.sentence import open_tokens

TAGGED = "hint: 'Why/WRB' "
PARTLY = "the/D dog/N barks/V\nthe/D cat/? barks/V\nreally/? ?/?\n"


@pytest.fixture
def say(tmp_path, monkeypatch, models):
    """Run a command in a folder of its own, which has a model and a few tagged sentences: stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    Path("few.txt").write_text("".join(TEST.read_text().splitlines(keepends=True)[:3]))
    shutil.copy(models / "hmm.npz", "model.npz")

    def command(*args):
        result = (run_process if args[0] == "train-bilstm" else run)(tmp_path, *args)
        assert result.code == 0, result.err
        return result.out, result.err

    return command


@pytest.mark.parametrize(
    "args",
    [
        ["tag", TEST],
        ["explain", "few.txt"],
        ["features", "few.txt"],
        ["learn-classes", TEST, "--min-count", 1],
        ["train-hmm", TRAIN, "--unlabeled", TEST],
        ["train-crf", TRAIN, "--unlabeled", TEST, "--max-iterations", 1],
    ],
    ids=lambda args: args[0],
)
def test_tags_that_nobody_reads_are_hinted_at(say, args):
    out, err = say(*args)
    assert err.count("hint:") == 1 and TAGGED in err and "--strip-tags" in err
    assert ("--keep-tags" in err) == (args[0] == "tag")
    assert say(*args, "-q") == (out, "")


@pytest.mark.parametrize("command", [["learn-classes", "--min-count", 1], ["train-hmm", TRAIN, "--unlabeled"]])
@pytest.mark.parametrize(
    "name, text, told",
    [
        ("raw.tsv", "the dog barks\nthe dog sleeps\n", "'the dog barks' "),
        (
            "raw.txt",
            "# text = the dog\n1\tthe\n2\tdog\n",
            "'# text = the dog' ",
        ),
        ("raw.tsv", "the\tD\ndog\tN\n\nthe\tD\n", None),
    ],
)
def test_raw_text_that_is_not_what_its_name_says_is_hinted_at(say, command, name, text, told):
    Path(name).write_text(text)
    err = say(*command, name)[1]
    assert f"hint: {told}" in err if told else "hint" not in err


def test_tags_are_taken_off_as_the_hint_says(say):
    assert say("convert", TEST, "words.txt", "--strip-tags")[1].endswith("tokens, as plain lines\n")
    for args in (["tag", "words.txt"], ["tag", "few.txt", "--keep-tags"]):
        out, err = say(*args)
        assert "hint" not in err and out.startswith("Why/WRB did/VBD nobody/NN")
    assert "/" not in Path("words.txt").read_text().split("\n")[0]


@pytest.mark.parametrize(
    "text, hinted",
    [
        ("can/MD\n", True),  # a tag of the model
        ("a b\ncan/AUX fish/VERB quickly/ADV .\n", True),  # another tag set
        ("and/or\n", False),
        ("on 1/2/20 3/4/20 5/6/20 7/8/20\n", False),
        ("see http://a/b and/or c/d for the rest .\n", False),
        ("\n", False),
    ],
)
def test_what_looks_tagged(say, text, hinted):
    Path("text.txt").write_text(text)
    assert ("its tag" in say("tag", "text.txt")[1]) == hinted


CONLLU_ROW = "1\tWhy\t_\tWRB" + 6 * "\t_" + "\n\n"


@pytest.mark.parametrize("command", ["tag", "explain", "features"])
@pytest.mark.parametrize(
    "text, name",
    [
        ("Why\tWRB\nnot\tRB\n\n", "tsv"),
        ("New York\tNNP\tlemma\n\n", "tsv"),
        (CONLLU_ROW, "conllu"),
        ("# text = Hello world.\n" + CONLLU_ROW, "conllu"),
        ("# newdoc\n# sent_id = a-1\n" + CONLLU_ROW, "conllu"),
        ('{"words": ["Why"]}\n', "jsonl"),
    ],
)
def test_lines_of_a_format_that_are_read_as_plain_ones_are_hinted_at(say, command, text, name):
    Path("text.txt").write_text(text)
    out, err = say(command, "text.txt")
    assert err.count("hint:") == 1 and f"--input-format {name}" in err
    assert say(command, "text.txt", "-q") == (out, "")
    assert say(command, "text.txt", "--input-format", name)[1] == ""
    Path(f"text.{name}").write_text(text)
    assert say(command, f"text.{name}")[1] == ""


@pytest.mark.parametrize("text", ["\tWhy not ?\n", "a-1\tWhy not ?\n", "# 1 is it .\n", "3 days .\n", "{ a }\n", "\n"])
def test_other_plain_lines_are_plain(say, text):
    Path("text.txt").write_text(text)
    assert "looks like" not in say("tag", "text.txt", "--output-format", "conllu")[1]


@pytest.mark.parametrize(
    "text, hinted",
    [("我爱北京天安门\n", True), ("他 来了。\n", True), ("他 来 了 。\n一九九八年\n全国人民代表大会 在 北京\n", False)],
)
def test_chinese_without_spaces_is_hinted_at(say, text, hinted):
    Path("text.txt").write_text(text)
    assert ("--tokenize chinese" in say("tag", "text.txt")[1]) == hinted


def test_words_of_the_lexicon_are_as_they_should_be(say):
    Path("long.txt").write_text("中国共产党中央委员会/NR\n来/VV\n")
    save_model(HMMTagger(order=1).fit(read_corpus("long.txt", "slash")), "model.npz")
    Path("text.txt").write_text("中国共产党中央委员会\n")
    assert say("tag", "text.txt")[1] == ""


@pytest.mark.parametrize("kind", ["hmm", "crf", "bilstm"])
def test_open_tags_that_are_learned_as_a_tag_are_counted(say, kind):
    small = ["--epochs", 1, "--hidden-size", 4] if kind == "bilstm" else []
    if kind == "bilstm":
        pytest.importorskip("torch")
    Path("partly.txt").write_text(PARTLY)
    _, err = say(f"train-{kind}", "partly.txt", *small)
    assert err.startswith("hint: ") and " 2 words " in err and "--partial" in err
    if kind != "bilstm":
        assert "hint" not in say(f"train-{kind}", "partly.txt", "--partial")[1]
    assert say(f"train-{kind}", "partly.txt", "-q", *small) == ("", "")


def test_a_tag_for_question_marks_is_one_like_any_other():
    assert open_tokens([Sentence(["is", "it", "?", "?!"], ["V", "P", "?", "?"]), Sentence(["a"])]) == 0


def test_missing_answers_are_told(say):
    Path("gold.txt").write_text(PARTLY)
    assert "warning: the tag '?' of 2 words in gold.txt" in say("eval", "gold.txt")[1]
    assert "?" not in say("eval", TEST)[1]


def test_names_of_columns_are_no_word(say):
    Path("sheet.tsv").write_text("Word\tPOS\nthe\tD\ndog\tN\n\na\tD\nword\tN\n\n")
    assert "hint: the first line is read as the names of the columns: Word, POS" in say("train-hmm", "sheet.tsv")[1]
    assert json.loads(say("check", "sheet.tsv", "--json", "-q")[0])["tokens"] == 4
    Path("sheet.txt").write_text("Word/POS\n\nthe/D dog/N\n")
    assert "hint: Word/POS" in say("train-hmm", "sheet.txt")[1]
    assert "hint: Word/POS" in say("check", "sheet.txt")[1]
    assert json.loads(say("check", "sheet.txt", "--json", "-q")[0])["header"] == "Word/POS"
    assert json.loads(say("check", TEST, "--json", "-q")[0])["header"] is None


COLUMNS = "hint: the lines have 3 columns"


@pytest.mark.parametrize(
    "args",
    [
        ["train-hmm"],
        ["train-crf", "--max-iterations", 1],
        ["check"],
        ["check", "--input-format", "tsv"],
        ["crossval", "--kind", "hmm", "--folds", 2],
        ["learning-curve", "--kind", "hmm", "--points", 2, "--dev", "lemma.tsv"],
        ["split"],
    ],
    ids=lambda args: args[0],
)
def test_columns_that_nobody_reads_are_hinted_at(say, args):
    Path("lemma.tsv").write_text("".join(f"w{i}\tw\tN\t\n\n" for i in range(30)))
    command, *options = args
    err = say(command, "lemma.tsv", *options)[1]
    assert err.startswith(COLUMNS) and "--columns word,-,tag" in err and err.count("hint:") == 1
    assert say(command, "lemma.tsv", *options, "-q")[1] == ""


@pytest.mark.parametrize("text", ["a\tD\ndog\tN\tof\n", "a\tD\t\ndog\tN\t\n", "a/D dog/N\tor/C\n"])
def test_a_column_here_and_there_is_no_column(say, text):
    Path("corpus.tsv").write_text(text)
    assert COLUMNS[:9] not in say("check", "corpus.tsv")[1]


@pytest.mark.parametrize("command", ["train-hmm", "check"])
def test_lemmas_are_no_tags(say, command):
    Path("lemmas.txt").write_text("".join(f"word{i}/lemma{i % 25} ,/,\n" for i in range(25)))
    assert "warning: the corpus has 26 tags for 50 tokens" in say(command, "lemmas.txt")[1]
    Path("more.txt").write_text(Path("lemmas.txt").read_text() * 2)
    assert "warning: the corpus has 26" not in say(command, "more.txt")[1]


@pytest.mark.parametrize("command", ["train-hmm", "check"])
def test_a_corpus_without_blank_lines_is_named(say, command):
    Path("one.tsv").write_text("a\tD\ndog\tN\n")
    assert "warning: the corpus has one sentence" in say(command, "one.tsv")[1]


@pytest.mark.parametrize("command", [["train-hmm"], ["eval", "-m", "model.npz"]])
@pytest.mark.parametrize("name, text", [("long.tsv", "dog\tNN\n" * 250 + "\n"), ("long.txt", "dog/NN " * 200 + "\n")])
def test_sentences_that_are_too_long_on_average_are_named(say, command, name, text):
    Path(name).write_text(text * 3)
    tokens, who = len(text.split("dog")) - 1, "the corpus" if command == ["train-hmm"] else name
    said = say(*command, name)[1]
    assert "warning: " in said and who in said and f" {tokens} tokens" in said
    assert "warning: the sentences" not in say(*command, TEST)[1]


def test_a_corpus_with_few_blank_lines_and_one_with_a_word_per_line_are_named(say):
    Path("few.txt").write_text("dog/NN\nbarks/VBZ\n./.\n" * 20 + "\n")
    assert "hint: final marks" in say("train-hmm", "few.txt")[1]
    Path("words.txt").write_text("Yes/UH\nNo/UH\n")
    err = say("train-hmm", "words.txt")[1]
    assert "hint: every line" in err and "--input-format lines" in err
    assert "hint: every" not in say("train-hmm", "words.txt", "--input-format", "slash")[1]
    assert "hint" not in say("train-hmm", TEST)[1]


@pytest.mark.parametrize(
    "tokens", [[("word", "N"), ("a", "D")], [("the", "tag")], [("word", "tag"), ("other", "tag")], []]
)
def test_other_first_words_are_words(tokens):
    assert find_header([Sentence(*zip(*tokens, strict=True))] if tokens else []) is None
