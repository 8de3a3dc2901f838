"""`convert` and `split`: nothing is lost between formats, nothing stands on two sides."""

import gzip
import itertools
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from paths import TRAIN

from tagger.cli import run
from tagger.corpus import read_corpus, write_corpus
from tagger.corpus.formats import FORMATS
from tagger.corpus.split import split_corpus
from tagger.sentence import Sentence

DATA = Path(__file__).parent.parent / "data"
BRISK = settings(max_examples=5, deadline=None, derandomize=True)
CONLLU = """\
# newdoc
# text = Don't go.
1-2\tDon't\t_\t_\t_\t_\t_\t_\t_\t_
1\tDo\tdo\tAUX\tVB\tMood=Imp\t3\taux\t_\t_
2\tn't\tnot\tPART\tRB\t_\t3\tadvmod\t_\t_
3\tgo\tgo\tVERB\tVB\t_\t0\troot\t_\tSpaceAfter=No
4\t.\t.\tPUNCT\t.\t_\t3\tpunct\t_\t_

"""


def convert(source, target, *options):
    return run(["convert", str(source), str(target), "-q", *options])


def sentences_for(*formats):
    """Sentences that all these formats can express."""
    letters = "\ufeffaZ09中é\u3000\u00a0.!?#/-" + ("_[]" if "pku" not in formats else "")
    spaces = " " if {"tsv", "conllu", "jsonl"}.issuperset(formats) else ""
    words = st.text(letters + spaces, min_size=1, max_size=5).filter(lambda word: word.strip(" "))
    tags = st.text(letters.replace("/", ""), min_size=1, max_size=3).filter(lambda tag: tag != "_")
    tokens = st.lists(st.tuples(words, tags), min_size=1, max_size=4)
    return st.lists(tokens, min_size=1, max_size=3).map(lambda found: [Sentence(*zip(*s, strict=True)) for s in found])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("convert")


@pytest.mark.parametrize("here, there", list(itertools.permutations(FORMATS, 2)))
@given(data=st.data())
@BRISK
def test_there_and_back_is_the_same_file(folder, here, there, data):
    first, second, third = (folder / name for name in ("first", "second", "third"))
    write_corpus(first, data.draw(sentences_for(here, there)), here)
    assert convert(first, second, "--input-format", here, "--output-format", there) == 0
    assert convert(second, third, "--input-format", there, "--output-format", here) == 0
    assert third.read_bytes() == first.read_bytes()
    assert read_corpus(second, there) == read_corpus(first, here)


@pytest.mark.parametrize("format", ["slash", "lines", "tsv", "conllu", "jsonl"])
def test_words_alone_are_converted_too(tmp_path, format):
    (tmp_path / "a.txt").write_text("Dogs bark/loud\nand so on\n")
    assert convert(tmp_path / "a.txt", tmp_path / "b", "--untagged", "--output-format", format) == 0
    back = ["--untagged", "--input-format", format, "--output-format", "slash"]
    assert convert(tmp_path / "b", tmp_path / "c.txt", *back) == 0
    assert (tmp_path / "c.txt").read_bytes() == (tmp_path / "a.txt").read_bytes()


@pytest.mark.parametrize(
    "name, begins",
    [
        ("b.conllu", "1\ta\t_\tA\t"), ("b.tsv", "a\tA\n"), ("b.jsonl", '{"words": ["a"]'), ("b.txt", "a/A\n"),
        ("b.conllu.gz", "1\ta\t_\tA\t"), ("b", "a/A\n"),
    ],
)  # fmt: skip
def test_the_suffix_says_how_to_write(tmp_path, name, begins):
    (tmp_path / "a").write_text("a/A\n")
    assert convert(tmp_path / "a", tmp_path / name) == 0
    opener = gzip.open if name.endswith(".gz") else open
    with opener(tmp_path / name, "rb") as stream:
        assert stream.read().decode().startswith(begins)


def test_what_cannot_be_written_is_told_with_its_place_and_leaves_the_old_file(tmp_path, capfd):
    (tmp_path / "a.tsv").write_text("a\tA\n\nb\tB\nNew York\tNNP\n\n")
    (tmp_path / "b.txt").write_text("old")
    assert convert(tmp_path / "a.tsv", tmp_path / "b.txt") == 1
    place = f"tagger: {tmp_path / 'a.tsv'}: sentence 2 (up to line 5): "
    assert capfd.readouterr().err.startswith(place + "'New York'")
    assert (tmp_path / "b.txt").read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.tsv", "b.txt"]


def test_an_input_is_never_the_output(tmp_path, capfd):
    (tmp_path / "a.txt").write_text("a/A\n")
    assert convert(tmp_path / "a.txt", tmp_path / "." / "a.txt", "--output-format", "tsv") == 1
    assert "a.txt" in capfd.readouterr().err
    assert (tmp_path / "a.txt").read_text() == "a/A\n"


def test_conllu_to_conllu_moves_tags_between_columns_and_keeps_the_rest(tmp_path):
    (tmp_path / "map.tsv").write_text("VB\tV\nRB\tADV\n.\tPUNCT\n")
    (tmp_path / "a.conllu").write_text(CONLLU)
    options = ["--column", "xpos", "--to-column", "upos", "--map", str(tmp_path / "map.tsv")]
    assert convert(tmp_path / "a.conllu", tmp_path / "b.conllu", *options) == 0
    expected = CONLLU.replace("AUX", "V").replace("PART", "ADV").replace("VERB", "V")
    assert (tmp_path / "b.conllu").read_text() == expected


@pytest.mark.parametrize(
    "text, options",
    [
        ("", ()),
        ("\n\n", ()),
        ("", ("--untagged",)),
        ("\n\n", ("--untagged",)),
        ("no tags\n", ("--on-error", "skip")),
        ('{"words": ["a\\tb"], "tags": ["X"]}\n', ("--on-error", "skip")),  # read, but not to be written
    ],
)
def test_nothing_to_convert_is_refused_and_leaves_the_old_file(tmp_path, capfd, text, options):
    (tmp_path / "a.txt").write_text(text)
    (tmp_path / "b.tsv").write_text("precious")
    assert convert(tmp_path / "a.txt", tmp_path / "b.tsv", *options) == 1
    assert "a.txt: " in capfd.readouterr().err
    assert (tmp_path / "b.tsv").read_text() == "precious"


def test_a_summary_goes_to_stderr(tmp_path, capfd):
    (tmp_path / "a.txt").write_text("a/A b/B\nc/C\n")
    assert run(["convert", str(tmp_path / "a.txt"), str(tmp_path / "b.tsv")]) == 0
    assert capfd.readouterr() == ("", f"wrote {tmp_path / 'b.tsv'}: 2 sentences, 3 tokens, as tsv\n")
    for options, described in ([], "slash (word/TAG)"), (["--strip-tags"], "plain lines"):
        assert run(["convert", str(tmp_path / "a.txt"), str(tmp_path / "b.txt"), *options]) == 0
        assert capfd.readouterr().err.endswith(f"2 sentences, 3 tokens, as {described}\n")
    assert run(["convert", str(tmp_path / "a.txt"), "-", "--output-format", "lines"]) == 0
    assert capfd.readouterr() == ("a/A\nb/B\n\nc/C\n\n", "")


@pytest.mark.parametrize(
    "name, options, hinted",
    [
        ("b.csv", (), True),
        ("b.csv.gz", (), True),
        ("b.csv", ("--output-format", "slash"), False),
        ("b.csv", ("-q",), False),
        ("b.txt.gz", (), False),
        ("b", (), False),
        ("b.jsonl", (), False),
    ],
)
def test_a_suffix_that_tells_no_format_is_hinted_at(tmp_path, capfd, name, options, hinted):
    (tmp_path / "a.txt").write_text("a/A b/B\n")
    assert run(["convert", str(tmp_path / "a.txt"), str(tmp_path / name), *options]) == 0
    assert capfd.readouterr().err.startswith("hint: .csv ") == hinted


@pytest.mark.parametrize(
    "format, expected",
    [
        ("slash", "a b\n"),
        ("lines", "a\nb\n\n"),
        ("tsv", "a\nb\n\n"),
        ("jsonl", '{"words": ["a", "b"]}\n'),
        ("conllu", "1\ta" + "\t_" * 8 + "\n2\tb" + "\t_" * 8 + "\n\n"),
    ],
)
def test_tags_can_be_taken_off(tmp_path, format, expected):
    (tmp_path / "a.jsonl").write_text('{"words": ["a", "b"], "tags": ["A", "B"]}\n')
    assert convert(tmp_path / "a.jsonl", tmp_path / "b", "--strip-tags", "--output-format", format) == 0
    assert (tmp_path / "b").read_text() == expected


# split

CORPUS = [Sentence([f"w{i}", "x"] * (1 + i % 3), ["A", "B"] * (1 + i % 3)) for i in range(200)]


def parts_of(sentences, seed=0, **shares):
    return split_corpus(sentences, shares or {"dev": 0.1, "test": 0.2}, seed)


def test_each_part_gets_its_share_of_the_tokens():
    tokens = Counter()
    for sentence, part in zip(CORPUS, parts_of(CORPUS), strict=True):
        tokens[part] += len(sentence)
    total = sum(tokens.values())
    assert abs(tokens["dev"] - 0.1 * total) <= 3 and abs(tokens["test"] - 0.2 * total) <= 3  # half a sentence


def test_the_seed_decides_and_the_order_of_the_corpus_does_not():
    parts = parts_of(CORPUS)
    assert parts == parts_of(CORPUS) != parts_of(CORPUS, seed=1)
    assert parts_of(CORPUS[::-1])[::-1] == parts


@given(st.lists(st.tuples(st.sampled_from(["a", "b c", "b", "c"]), st.sampled_from("XY")), max_size=30), st.integers())
@settings(max_examples=100, deadline=None, derandomize=True)
def test_equal_words_stay_together_whatever_their_tags(tokens, seed):
    corpus = [Sentence(words.split(" "), tag * len(words.split(" "))) for words, tag in tokens]
    sides = {(tuple(s.words), part) for s, part in zip(corpus, parts_of(corpus, seed), strict=True)}
    assert len(sides) == len({words for words, _ in sides})


def test_a_sentence_repeated_too_often_for_a_part_stays_in_train():
    corpus = [Sentence(["a"])] * 90 + [Sentence([str(i)]) for i in range(10)]
    parts = parts_of(corpus, dev=0.05)
    assert parts.count("dev") == 5 and set(parts[:90]) == {"train"}


@pytest.mark.parametrize("name", ["c.txt", "c.conllu", "c.jsonl", "c.tsv.gz"])
def test_split_writes_three_files_in_the_format_and_order_of_the_corpus(tmp_path, name, capfd):
    assert convert(DATA / "english-test.txt", tmp_path / name) == 0
    assert run(["split", str(tmp_path / name), "--dev", "0.2"]) == 0
    out, err = capfd.readouterr()
    stem, suffix = name.split(".", 1)
    files = [tmp_path / f"{stem}.{part}.{suffix}" for part in ("train", "dev", "test")]
    found = [read_corpus(path) for path in files]
    whole = read_corpus(tmp_path / name)
    assert Counter(itertools.chain(*found)) == Counter(whole)
    assert all(part == [s for s in whole if s in set(part)] for part in found)
    assert out == "" and err.splitlines()[2].split()[:3] == ["dev", str(len(found[1])), str(sum(map(len, found[1])))]
    before = [path.read_bytes() for path in files]
    assert run(["split", str(tmp_path / name), "--dev", "0.2", "-q"]) == 0
    assert [path.read_bytes() for path in files] == before and capfd.readouterr() == ("", "")


def test_split_keeps_all_of_conllu_whichever_column_is_filled(tmp_path):
    text = "".join(CONLLU.replace("go", f"go{i}").replace("VERB", "_") for i in range(4))
    (tmp_path / "c.conllu").write_text(text)
    (tmp_path / "parts").mkdir()
    command = ["split", "-q", str(tmp_path / "c.conllu"), "--dev", "0.5", "--test", "0"]
    assert run([*command, "--output-folder", str(tmp_path / "parts")]) == 0
    parts = [(tmp_path / "parts" / f"c.{part}.conllu").read_text() for part in ("train", "dev")]
    blocks = [block for part in parts for block in part.split("\n\n") if block]
    assert sorted(blocks) == sorted(block for block in text.split("\n\n") if block)
    assert [part.count("# text") for part in parts] == [2, 2]
    assert not (tmp_path / "parts" / "c.test.conllu").exists()


def test_a_part_that_would_be_empty_is_refused_and_nothing_written(tmp_path, capfd):
    (tmp_path / "c.txt").write_text("a/A b/B\nc/C\n")
    assert run(["split", str(tmp_path / "c.txt")]) == 1
    assert "c.dev.txt" in capfd.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["c.txt"]


@pytest.mark.parametrize("shares", [["--dev", "0.5", "--test", "0.5"], ["--dev", "1"], ["--test", "-0.1"]])
def test_fractions_must_leave_something_to_train_on(tmp_path, shares):
    assert run(["split", str(tmp_path / "c.txt"), *shares]) == 2


def test_every_seed_gives_every_part_its_share():
    sentences = read_corpus(TRAIN)
    total = sum(map(len, sentences))
    for seed in range(60):
        parts = split_corpus(sentences, {"dev": 0.1, "test": 0.1}, seed)
        for name in ("dev", "test"):
            tokens = sum(len(s) for s, part in zip(sentences, parts, strict=True) if part == name)
            assert abs(tokens - 0.1 * total) < 0.01 * total


def test_the_folder_of_the_parts_is_made(tmp_path):
    (tmp_path / "a.txt").write_text("".join(f"{n}/A b/B\n" for n in range(50)))
    for folder in ("new", "newer/", "new"):
        assert run(["split", str(tmp_path / "a.txt"), "-q", "--output-folder", f"{tmp_path}/{folder}"]) == 0
        names = sorted(path.name for path in (tmp_path / folder).iterdir())
        assert names == ["a.dev.txt", "a.test.txt", "a.train.txt"]


def test_a_split_that_fails_makes_no_folder(tmp_path):
    (tmp_path / "a.txt").write_text("a/A\n")
    assert run(["split", str(tmp_path / "a.txt"), "-q", "--output-folder", str(tmp_path / "new")]) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]
