"""`tag -o FOLDER/`: an output per input, finished files are skipped, parts of all give the files of a single run."""

import json
import os
import shutil
from itertools import chain

import pytest
from program import run

from tagger.errors import FileError
from tagger.tagging.folder import Part, TaggingFolder, output_name

TEXTS = {f"{name}.txt": f"the {name} barks .\nit can fish .\n" for name in ("dog", "cat", "cow", "hen", "ant")}


@pytest.fixture
def texts(tmp_path, models):
    shutil.copy(models / "hmm.npz", tmp_path / "hmm.npz")
    (tmp_path / "in").mkdir()
    for name, text in TEXTS.items():
        (tmp_path / "in" / name).write_text(text)
    return tmp_path


def tag(folder, *args):
    return run(folder, "tag", *sorted((folder / "in").iterdir()), "-m", "hmm.npz", *args)


def files(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_file_in_is_a_file_out(texts):
    done = tag(texts, "-o", "out/")
    assert (done.code, done.out) == (0, "") and "5 files" in done.err
    written = files(texts / "out")
    assert set(written) == {*TEXTS, *(f"manifest/{name}.json" for name in TEXTS)}
    for name in TEXTS:
        assert written[name].decode() == run(texts, "tag", f"in/{name}", "-m", "hmm.npz").out
    record = json.loads(written["manifest/dog.txt.json"])
    assert record["input"]["name"] == record["output"] == "dog.txt" and record["tokens"] == 8


def test_any_number_of_jobs_gives_the_same_files(texts):
    tag(texts, "-o", "one/", "--jobs", 1)
    assert tag(texts, "-o", "two/", "--jobs", 2).code == 0
    assert files(texts / "two") == files(texts / "one")


def test_all_parts_give_the_files_of_one_run(texts):
    tag(texts, "-o", "whole/")
    for number in (3, 1, 2):
        assert tag(texts, "-o", "parts/", "--part", f"{number}/3", "--jobs", 1).code == 0
    assert files(texts / "parts") == files(texts / "whole")


def modification_times(folder):
    return {path.name: path.stat().st_mtime_ns for path in folder.glob("*.txt")}


def test_finished_files_are_not_done_again(texts):
    tag(texts, "-o", "out/")
    before = modification_times(texts / "out")
    again = tag(texts, "-o", "out/")
    assert modification_times(texts / "out") == before and "0 files" in again.err and "5 files" in again.err
    assert tag(texts, "-o", "out").code == 0  # a folder that exists needs no slash
    assert modification_times(texts / "out") == before


def change_input(folder):
    (folder / "in" / "dog.txt").write_text("the dog sleeps .\n")
    return {"dog.txt"}


def change_output(folder):
    (folder / "out" / "dog.txt").unlink()
    return {"dog.txt"}


def damage_output(folder):
    (folder / "out" / "dog.txt").write_text("broken\n")
    return {"dog.txt"}


def replace_output(folder):
    path = folder / "out" / "dog.txt"
    path.write_bytes(path.read_bytes().replace(b"the", b"THE"))
    return {"dog.txt"}


def damage_record(folder):
    (folder / "out" / "manifest" / "dog.txt.json").write_text("{")
    return {"dog.txt"}


def test_a_folder_in_the_place_of_a_record_is_named(texts):
    tag(texts, "-o", "out/")
    record = texts / "out" / "manifest" / "dog.txt.json"
    record.unlink()
    record.mkdir()
    done = tag(texts, "-o", "out/", "--jobs", 1)
    assert done.code == 1 and "cannot write out/manifest/dog.txt.json" in done.err


def test_an_output_in_the_place_of_the_records_is_refused(texts):
    (texts / "in" / "manifest").write_text("the dog barks .\n")
    refused = tag(texts, "-o", "out/")
    assert refused.code == 1 and "folder of the records" in refused.err and not (texts / "out").exists()


def test_a_record_of_any_content_is_none(texts):
    tag(texts, "-o", "out/")
    (texts / "out" / "manifest" / "dog.txt.json").write_text("[" * 100_000)
    assert "1 file," in tag(texts, "-o", "out/").err


def test_a_missing_input_is_named(texts):
    folder = TaggingFolder(str(texts / "out"), [], {}, "slash")
    with pytest.raises(FileError, match=r"cannot read .*none\.txt: No such file"):
        list(folder.tasks([str(texts / "none.txt")]))


def change_model(folder):
    (folder / "corpus.txt").write_text("the/D dog/N barks/V ./.\n" * 3)
    run(folder, "train-hmm", "corpus.txt", "-o", "hmm.npz")
    return set(TEXTS)


def test_faults_that_were_skipped_are_not_accepted_by_a_strict_run(texts):
    (texts / "in" / "cow.txt").write_bytes(b"the cow .\n\xff\n")
    assert "cow.txt:2" in tag(texts, "-o", "out/", "--on-error", "skip").err
    assert "0 files" in tag(texts, "-o", "out/", "--on-error", "skip").err
    strict = tag(texts, "-o", "out/")
    assert strict.code == 1 and "cow.txt:2" in strict.err


@pytest.mark.parametrize(
    "change", [change_input, change_output, damage_output, replace_output, damage_record, change_model]
)
def test_what_has_changed_is_done_again(texts, change):
    tag(texts, "-o", "out/")
    before = modification_times(texts / "out")
    expected = change(texts)
    assert tag(texts, "-o", "out/").code == 0
    after = modification_times(texts / "out")
    assert {name for name in TEXTS if after[name] != before[name]} == expected
    for name in TEXTS:
        assert (texts / "out" / name).read_text() == run(texts, "tag", f"in/{name}", "-m", "hmm.npz").out


def test_other_options_do_all_again(texts):
    tag(texts, "-o", "out/")
    assert "5 files" in tag(texts, "-o", "out/", "--output-format", "tsv", "--probabilities").err
    lexicon = texts / "words.tsv"
    lexicon.write_text("dog\tNN\n")
    assert "5 files" in tag(texts, "-o", "other/", "--lexicon", lexicon).err
    assert "0 files" in tag(texts, "-o", "other/", "--lexicon", lexicon).err
    lexicon.write_text("dog\tVB\n")
    assert "5 files" in tag(texts, "-o", "other/", "--lexicon", lexicon).err


def test_a_faulty_file_leaves_no_output_and_the_others_finished(texts):
    (texts / "in" / "cow.txt").write_bytes(b"good line .\n" * 5000 + b"\xff\n")
    done = tag(texts, "-o", "out/", "--jobs", 1)
    assert done.code == 1 and "cow.txt:5001" in done.err
    assert {path.name for path in (texts / "out").glob("*.txt")} == {"ant.txt", "cat.txt"}
    (texts / "in" / "cow.txt").write_text("mended .\n")
    assert "3 files" in tag(texts, "-o", "out/").err


@pytest.mark.parametrize(
    "args, place",
    [
        (["--part", "1/2"], "--part"),
        (["-o", "out/", "--part", "3/2"], "--part"),
        (["-o", "out/", "--part", "0/2"], "--part"),
        (["-o", "out/", "--part", "x"], "--part"),
    ],
)
def test_wrong_parts_are_wrong_usage(texts, args, place):
    done = tag(texts, *args)
    assert done.code == 2 and place in done.err and not (texts / "out").exists()


def test_a_folder_needs_files_and_keeps_inputs(texts):
    assert run(texts, "tag", "-m", "hmm.npz", "-o", "out/", input="a b\n").code == 2
    done = tag(texts, "-o", "in/")
    assert done.code == 1 and "input" in done.err and files(texts / "in") == {n: t.encode() for n, t in TEXTS.items()}


def test_nothing_that_is_read_is_replaced(texts):
    (texts / "lex").mkdir()
    (texts / "lex" / "dog.txt").write_text("dog\tNN\n")
    done = run(texts, "tag", "in/dog.txt", "-m", "hmm.npz", "--lexicon", "lex/dog.txt", "-o", "lex/")
    assert done.code == 1 and "input" in done.err and (texts / "lex" / "dog.txt").read_text() == "dog\tNN\n"
    folder = TaggingFolder(str(texts / "in"), [], {}, "slash")
    with pytest.raises(FileError, match="input"):
        folder.tasks([f"file://{texts}/in/dog.txt"])


def test_a_pipe_is_refused(texts):
    os.mkfifo(texts / "pipe")
    done = run(texts, "tag", "pipe", "in/dog.txt", "-m", "hmm.npz", "-o", "out/")
    assert done.code == 1 and "pipe" in done.err and not (texts / "out").exists()


def test_a_file_in_the_place_of_the_folder_is_named(texts):
    (texts / "out").write_text("")
    done = tag(texts, "-o", "out/")
    assert done.code == 1 and "out" in done.err


def test_a_file_given_twice_counts_once(texts):
    done = run(texts, "tag", "in/dog.txt", "in/dog.txt", "-m", "hmm.npz", "-o", "out/")
    assert "1 file," in done.err and "before" not in done.err


def test_two_inputs_of_one_name_are_refused():
    folder = TaggingFolder("out", [], {}, "slash")
    with pytest.raises(FileError, match=r"a/x\.txt and b/x\.txt"):
        folder.targets(["a/x.txt", "b/x.txt"])


@pytest.mark.parametrize(
    "source, format, name",
    [
        ("a/x.txt", "slash", "x.txt"),
        ("a/x", "slash", "x"),
        ("x.txt.gz", "jsonl", "x.jsonl.gz"),
        ("x.jsonl", "slash", "x.txt"),
        ("x.jsonl.xz", "jsonl", "x.jsonl.xz"),
        ("x.tsv", "conllu", "x.conllu"),
        ("s3://bucket/x.txt", "tsv", "x.tsv"),
    ],
)
def test_names_of_outputs(source, format, name):
    assert output_name(source, format) == name


@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_parts_share_a_list(count):
    items = [str(i) for i in range(5)]
    parts = [Part(number, count).of(items) for number in range(1, count + 1)]
    assert sorted(chain.from_iterable(parts)) == items
