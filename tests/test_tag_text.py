"""`tagger tag --tokenize`: from text as people write it to tags, promptly and with places."""

import json
import os
import select
import shutil
import subprocess
import sys
import time

import program
import pytest
from paths import CHINESE_TRAIN
from program import WAIT, run, run_process

from tagger import HMMTagger, read_corpus, save_model

pty = pytest.importorskip("pty")  # a terminal of POSIX

TEXT = "The dog barks. It doesn't\nstop.\n"
TAGGED = ["The/DT dog/NN barks/VBZ ./.", "It/PRP does/VBZ n't/RB stop/VB ./."]


@pytest.fixture(scope="module")
def folder(tmp_path_factory, models):
    path = tmp_path_factory.mktemp("text")
    shutil.copy(models / "hmm.npz", path / "english.npz")
    save_model(HMMTagger().fit(read_corpus(CHINESE_TRAIN)), path / "chinese.npz")
    (path / "text.txt").write_text(TEXT)
    return path


@pytest.fixture
def tag(folder):
    """Runs `tagger tag` with a model for English."""

    def call(*args, model="english"):
        return run(folder, "tag", "-m", f"{model}.npz", *args)

    return call


def start(folder, *args, **options):
    return program.start(folder, "tag", "-m", "english.npz", "--tokenize", *args, **options)


@pytest.mark.parametrize(
    "args",
    [["--tokenize", "text.txt"], ["text.txt", "--tokenize"], ["--tokenize", "english", "text.txt"],
     ["--tokenize=english", "text.txt"], ["--tokenize", "-q", "text.txt"]],
    ids=" ".join,
)  # fmt: skip
def test_every_sentence_gets_a_line(tag, args):
    assert tag(*args) == (0, "\n".join(TAGGED) + "\n", "")


def test_places_are_told_for_each_file_anew(tag):
    code, out, _ = tag("--tokenize", "text.txt", "text.txt", "--output-format", "jsonl")
    found = [json.loads(line) for line in out.splitlines()]
    assert code == 0 and len(found) == 4 and found[0] == found[2]
    assert [TEXT[a:b] for a, b in found[1]["offsets"]] == found[1]["words"] == ["It", "does", "n't", "stop", "."]


def test_chinese_is_split_too(tag, folder):
    (folder / "chinese.txt").write_text("她在图书馆工作。她在家。\n", "utf-8")
    code, out, err = tag("--tokenize", "chinese", "chinese.txt", model="chinese")
    words = [[token.rpartition("/")[0] for token in line.split()] for line in out.splitlines()]
    assert (code, err) == (0, "") and words == [["她", "在", "图书馆", "工作", "。"], ["她", "在家", "。"]]


@pytest.mark.parametrize(
    "args, parts",
    [
        (["--tokenize", "--input-format", "tsv", "text.txt"], "--tokenize tsv"),
        (["--tokenize", "--input-format", "slash", "text.txt"], "--tokenize slash"),
        (["--tokenize", "words.tsv"], "--tokenize jsonl conllu words.tsv"),
        (["--tokenize", "--keep-tags", "text.txt"], "--keep-tags"),
        (["--text-column", "body", "texts.jsonl"], "--tokenize"),
        (["--tokenize", "--text-column", "body", "text.txt"], "text.txt"),
        (["--tokenize", "--text-column", "body", "texts.conllu"], "texts.conllu"),
        (["--tokenize", "german"], "'german'"),
        (["--tokenize", "german", "text.txt"], "english"),
        (["--tokenize=klingon", "text.txt"], "'klingon'"),
    ],
)
def test_wrong_usage(tag, args, parts):
    code, out, err = tag(*args)
    said = err.rpartition("Error: ")[2]
    assert (code, out) == (2, "") and [part for part in parts.split() if part not in said] == []


OBJECTS = [
    {"id": 7, "text": "The dog barks. It doesn't\nstop.", "by": "é"},
    {"id": 8, "text": " "},
    {"id": 9, "text": "Dogs bark."},
]


def test_texts_in_json_are_cut_and_their_objects_keep_the_other_keys(tag, folder):
    (folder / "texts.jsonl").write_text("\n\n".join(map(json.dumps, OBJECTS)), "utf-8")
    code, out, err = tag("--tokenize", "texts.jsonl")
    found = [json.loads(line) for line in out.splitlines()]
    assert (code, err) == (0, "") and [own["id"] for own in found] == [7, 7, 8, 9]
    assert found[1]["words"] == ["It", "does", "n't", "stop", "."] and found[1]["by"] == "é" and "text" not in found[1]
    assert [OBJECTS[0]["text"][a:b] for a, b in found[1]["offsets"]] == found[1]["words"]
    assert found[2]["words"] == [] and found[3]["tags"][-1] == "."
    code, out, _ = tag("--tokenize", "texts.jsonl", "--output-format", "slash")
    assert (code, out.splitlines()[:3]) == (0, [*TAGGED, ""])


def test_the_key_of_the_text_can_be_named(tag, folder):
    (folder / "bodies.jsonl").write_text('{"body": "The dog barks.", "text": "A title"}\n')
    code, out, _ = tag("--tokenize", "bodies.jsonl", "--text-column", "body")
    assert (
        code == 0 and json.loads(out)["words"] == ["The", "dog", "barks", "."] and json.loads(out)["text"] == "A title"
    )


@pytest.mark.parametrize(
    "line, told",
    [
        ('{"id": 1, "body": "x"}', "'id', 'body'"),
        ("{}", "'text'"),
        ('{"text": ["x"]}', "['x']"),
        ('{"text": null}', "got null"),
        ("The dog barks.", "'The dog barks.'"),
        ("[1]", "'[1]'"),
    ],
)
def test_an_object_without_a_text_is_refused_or_skipped(tag, folder, line, told):
    (folder / "broken.jsonl").write_text('{"text": "Dogs bark."}\n' + line + '\n{"text": "The dog barks."}\n')
    code, out, err = tag("--tokenize", "broken.jsonl")
    assert code == 1 and "broken.jsonl:2: " in err and told in err
    code, out, err = tag("--tokenize", "broken.jsonl", "--on-error", "skip", "--output-format", "slash")
    assert code == 0 and out.splitlines()[1:] == TAGGED[:1] and told in err


def test_the_text_of_conllu_is_cut_anew_and_a_sentence_stays_one(tag, folder):
    row = "1\tThedog" + "\t_" * 8
    blocks = ["# newdoc", f"# sent_id = a\n# text = The dog barks. It stops.\n{row}", f"# text = Dogs bark.\n{row}"]
    (folder / "texts.conllu").write_text("\n\n".join(blocks))
    code, out, err = tag("--tokenize", "texts.conllu")
    first = ["# newdoc", "", "# sent_id = a", "# text = The dog barks. It stops."]
    assert (code, err) == (0, "") and out.splitlines()[:4] == first and out.count("# text") == 2
    assert out.splitlines()[6] == "3\tbarks\t_\tVBZ" + "\t_" * 5 + "\tSpaceAfter=No|start_char=8|end_char=13"
    assert "Thedog" not in out and "\n7\t.\t_\t.\t" in out


def test_conllu_without_a_text_is_refused_or_skipped(tag, folder):
    row = "1\tThe" + "\t_" * 8
    (folder / "bare.conllu").write_text(f"# sent_id = 1\n{row}\n\n# text = The dog barks.\n{row}\n")
    code, out, err = tag("--tokenize", "bare.conllu")
    assert (code, out) == (1, "") and "bare.conllu:3: " in err
    code, out, err = tag("--tokenize", "bare.conllu", "--on-error", "skip", "--output-format", "slash")
    assert (code, out) == (0, TAGGED[0] + "\n") and " 1 line" in err


@pytest.mark.parametrize(
    "begin, kind", [(b"PAR1\x15\x04", "Parquet"), (b"SQLite format 3\x00", "SQLite"), (b"\x89PNG\r\n\x1a\n", "picture")]
)
@pytest.mark.parametrize("options", [[], ["--tokenize"]])
def test_a_file_that_is_no_text_is_refused_before_anything_is_written(tag, folder, begin, kind, options):
    (folder / "data.bin").write_bytes(begin + bytes(100))
    code, out, err = tag("text.txt", "data.bin", *options)
    assert (code, out) == (1, "") and "data.bin: " in err and kind in err
    assert tag("text.txt", "data.bin", *options, "-o", "new.txt")[0] == 1 and not (folder / "new.txt").exists()


def test_a_file_may_have_the_name_of_a_language(tag, folder):
    (folder / "german").write_text("The dog barks.\n")
    assert tag("--tokenize", "german") == (0, TAGGED[0] + "\n", "")
    assert tag("--tokenize", "german.txt")[0] == 1


def test_a_sentence_with_its_line_end_is_answered_before_the_input_ends(folder):
    with start(folder, stdout=subprocess.PIPE) as process:
        for _ in range(2):
            process.stdin.write(b"The dog barks.\n")
            process.stdin.flush()
            assert select.select([process.stdout], [], [], WAIT)[0], "no answer"
            assert process.stdout.readline().decode() == TAGGED[0] + "\n"
        process.stdin.close()


def test_at_a_terminal_every_line_is_answered(folder):
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "tagger", "tag", "-q", "-m", "english.npz", "--tokenize"]
    with subprocess.Popen(command, cwd=folder, stdin=theirs, stdout=subprocess.PIPE) as process:
        os.write(ours, b"the dog\n")
        limit = time.monotonic() + WAIT
        assert select.select([process.stdout], [], [], limit - time.monotonic())[0], "no answer"
        assert process.stdout.readline() == b"the/DT dog/NN\n"
        os.write(ours, b"\x04")
        assert process.wait(WAIT) == 0
    os.close(ours)
    os.close(theirs)


def test_what_only_text_needs_is_loaded_for_text_only(folder):
    code = "import sys; from tagger.cli import run; run(sys.argv[1:]); print(*sys.modules, file=sys.stderr)"
    for options, loaded in (([], False), (["--tokenize"], True)):
        command = [sys.executable, "-c", code]
        names = set(run_process(folder, "tag", "-m", "english.npz", "text.txt", *options, command=command).err.split())
        assert ("tagger.corpus.tokenizers.segmenter" in names, "tagger.corpus.tokenizers.english" in names) == (
            loaded,
            loaded,
        )
        assert "jieba" not in names and "tagger.corpus.tag_map" not in names
