"""The command line: what it prints where, how it ends, and what it leaves behind."""

import gzip
import json
import os
import re
import select
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from paths import CHINESE_TEST, TEST, TRAIN
from program import PROGRAM, WAIT, environment, run, run_process, start, wait_for

from tagger.cli import COMMANDS

fcntl, pty, termios = (pytest.importorskip(name) for name in ("fcntl", "pty", "termios"))  # a terminal of POSIX

FEW = ["--max-iterations", "5"]
SLOW = ["--max-iterations", "100000", "--tolerance", "0"]
SENTENCE, TAGGED = "The dog barks .\n", "The/DT dog/NN barks/VBZ ./.\n"
LONG_NAME = "n" * 300

CONLLU = """\
# sent_id = 1
# text = Don't stop.
1-2\tDon't\t_\t_\t_\t_\t_\t_\t_\t_
1\tDo\tdo\tAUX\tVB\tMood=Imp\t3\taux\t_\t_
2\tn't\tnot\tPART\tRB\t_\t3\tadvmod\t_\t_
2.1\tyou\tyou\tPRON\tPRP\t_\t_\t_\t_\t_
3\tstop\tstop\tVERB\tVB\t_\t0\troot\t_\tSpaceAfter=No
4\t.\t.\tPUNCT\t.\t_\t3\tpunct\t_\t_

# sent_id = 2
1\tStop\tstop\tVERB\tVB\t_\t0\troot\t_\t_

"""


@pytest.fixture
def home(tmp_path, trained):
    """A folder in which model.npz lies."""
    shutil.copy(trained[0] / "hmm.npz", tmp_path / "model.npz")
    return tmp_path


def words_of(path):
    lines = path.read_text("utf-8").splitlines()
    return "".join(" ".join(token.rpartition("/")[0] for token in line.split(" ")) + "\n" for line in lines)


def pairs_of(text):
    """[sentence][token] (word, tag)"""
    return [[(t.rpartition("/")[0], t.rpartition("/")[2]) for t in line.split()] for line in text.splitlines()]


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def assert_one_line_of_complaint(result, *parts):
    assert result.err.startswith("tagger: "), result.err
    assert result.err.count("\n") == 1 and result.err.endswith("\n"), result.err
    for part in parts:
        assert part in result.err
    assert (result.code, result.out) == (1, "")


# Training


@pytest.mark.parametrize("kind", ["hmm", "crf"])
def test_training_closes_with_file_size_time_and_the_next_command(trained, kind):
    folder, said = trained
    size = (folder / f"{kind}.npz").stat().st_size
    last = said[kind].err.splitlines()[-1]
    assert said[kind].code == 0 and said[kind].out == ""
    assert last.startswith(f"wrote {kind}.npz: {size / 1e3:.0f} kB, ")
    assert re.search(r", \d+\.\d s\. Try: ", last)
    assert last.endswith(f"Try: tagger tag -m {kind}.npz sentences.txt")


def test_training_with_a_dev_set_tells_its_accuracy(trained):
    folder, said = trained
    found = json.loads(run(folder, "eval", TEST, "-m", "crf.npz", "--json").out)
    assert f"dev accuracy {100 * found['accuracy']:.2f} %" in said["crf"].err


@pytest.mark.parametrize("command", ["train-hmm", "train-crf"])
def test_training_writes_model_npz_by_default_and_is_silent_when_quiet(tmp_path, command):
    few = FEW if command == "train-crf" else []
    assert run(tmp_path, command, TEST, "-q", *few) == (0, "", "")
    assert names(tmp_path) == ["model.npz"]


def test_training_shows_no_bar_when_stderr_is_no_terminal(trained):
    for said in trained[1].values():
        assert "\r" not in said.err and "\x1b" not in said.err and "it/s" not in said.err


@pytest.mark.parametrize(("options", "shown"), [([], True), (["-q"], False)])
def test_training_shows_a_bar_on_a_terminal_unless_quiet(tmp_path, options, shown):
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    command = [*PROGRAM, "train-crf", str(TEST), *FEW, *options]
    done = subprocess.run(command, cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, stderr=theirs, timeout=60)
    os.write(theirs, b"THE END")
    seen = b""
    while b"THE END" not in seen:
        seen += os.read(ours, 1 << 16)
    os.close(ours)
    os.close(theirs)
    assert (done.returncode, done.stdout) == (0, b"")
    assert (b"train:" in seen) == shown
    assert shown or seen == b"THE END"


def test_the_log_has_a_line_of_json_for_each_iteration(trained):
    rows = [json.loads(line) for line in (trained[0] / "log.jsonl").read_text().splitlines()]
    assert [set(row) for row in rows] == [{"iteration", "loss", "seconds", "dev_accuracy"}] * 10
    assert [row["iteration"] for row in rows] == list(range(1, 11))
    assert rows[-1]["loss"] < rows[0]["loss"]
    assert all(a["seconds"] <= b["seconds"] for a, b in pairwise(rows))
    assert 0.5 < rows[-1]["dev_accuracy"] <= 1


def test_the_corpus_may_come_from_stdin_and_gives_the_same_model(tmp_path, trained):
    assert run(tmp_path, "train-hmm", "-", "-q", input=TRAIN.read_bytes()) == (0, "", "")
    assert (tmp_path / "model.npz").read_bytes() == (trained[0] / "hmm.npz").read_bytes()


@pytest.mark.usefixtures("threads_for_all")
def test_the_same_corpus_gives_the_same_bytes_whatever_the_threads(tmp_path):
    models = []
    for threads in (1, 2, 3):
        run(tmp_path, "train-crf", TRAIN, "-q", "--max-iterations", 10, "--threads", threads, "--log", "log")
        models.append((tmp_path / "model.npz").read_bytes())
    assert models[0] == models[1] == models[2]


@pytest.mark.parametrize(
    ("output", "env"),
    [("model.npz", {}), ("my model.npz", {}), ("model.npz", {"TAGGER_MODEL": "absent.npz"})],
)
def test_the_next_command_that_training_names_works_when_pasted(tmp_path, output, env):
    said = run(tmp_path, "train-hmm", TEST, "-o", output, **env).err
    (tmp_path / "sentences.txt").write_text(SENTENCE)
    pasted = said.strip().partition("Try: tagger ")[2]
    result = run_process(tmp_path, f"{shlex.join(PROGRAM)} {pasted}", command=["sh", "-c"], **env)
    assert (result.code, result.err) == (0, "")
    assert result.out.startswith("The/")


@pytest.mark.parametrize("option", ["--l2", "--tolerance"])
def test_a_setting_that_is_no_number_is_wrong_usage(tmp_path, option):
    (tmp_path / "tiny.txt").write_text("a/X b/Y\n")
    result = run(tmp_path, "train-crf", "tiny.txt", option, "nan")
    assert result.code == 2 and names(tmp_path) == ["tiny.txt"]


# Tagging


@pytest.mark.parametrize("kind", ["hmm", "crf"])
def test_tag_writes_words_with_tags_and_nothing_else(trained, kind):
    assert run(trained[0], "tag", "-m", f"{kind}.npz", input=SENTENCE) == (0, TAGGED, "")


def test_tag_finds_the_model_by_default_by_environment_and_by_option(home):
    (home / "x.txt").write_text("a/X\n")
    run(home, "train-hmm", "x.txt", "-q", "-o", "x.npz")
    assert run(home, "tag", input=SENTENCE).out == TAGGED
    assert run(home, "tag", input=SENTENCE, TAGGER_MODEL="x.npz").out == "The/X dog/X barks/X ./X\n"
    assert run(home, "tag", "--model", "model.npz", input=SENTENCE, TAGGER_MODEL="x.npz").out == TAGGED


def test_a_line_in_is_a_line_out_in_order_with_blank_lines_kept(home):
    lines = ["", "One dog .", "", "", "A much longer sentence about two dogs .", "x", "   ", "\t", "Last one"]
    result = run(home, "tag", input="\n".join(lines) + "\n")
    found = [" ".join(word for word, _ in line) for line in pairs_of(result.out)]
    assert found == [line.strip() for line in lines]


@pytest.mark.parametrize(
    "text", [SENTENCE.rstrip(), SENTENCE.replace("\n", "\r\n"), "\ufeff" + SENTENCE], ids=["no end", "CRLF", "BOM"]
)
def test_line_ends_and_byte_order_marks_are_no_part_of_words(home, text):
    assert run(home, "tag", input=text) == (0, TAGGED, "")


def test_no_input_gives_no_output(home):
    assert run(home, "tag", input="") == (0, "", "")


def test_only_spaces_and_tabs_separate_tokens(home):
    result = run(home, "tag", input="a\u00a0b  c\u3000d\te\u2028f\n")
    assert [token.rpartition("/")[0] for token in result.out.split(" ")] == ["a\u00a0b", "c\u3000d", "e\u2028f"]
    assert result.out.count("\n") == 1


@pytest.mark.parametrize("env", [{"LC_ALL": "C", "PYTHONUTF8": "0"}, {"PYTHONIOENCODING": "ascii"}])
def test_output_is_utf8_whatever_the_locale(home, env):
    text = words_of(CHINESE_TEST)
    found = pairs_of(run_process(home, "tag", input=text, **env).out)
    assert [[word for word, _ in line] for line in found] == [line.split(" ") for line in text.splitlines()]


def test_other_encodings_are_read_and_utf8_is_written(home):
    text = words_of(CHINESE_TEST)
    assert run(home, "tag", "--encoding", "gbk", input=text.encode("gbk")) == run(home, "tag", input=text)


def test_several_files_are_tagged_one_after_the_other(home):
    (home / "a.txt").write_text("a dog")
    (home / "b.txt").write_text("a cat\n\n")
    result = run(home, "tag", "a.txt", "-", "b.txt", input="the end\n")
    found = [[word for word, _ in line] for line in pairs_of(result.out)]
    assert found == [["a", "dog"], ["the", "end"], ["a", "cat"], []]


def test_output_goes_to_a_file_with_o(home):
    assert run(home, "tag", "-o", "out.txt", input=SENTENCE) == (0, "", "wrote out.txt: 4 tokens, as slash\n")
    assert run(home, "tag", "-q", "-o", "out.txt", input=SENTENCE) == (0, "", "")
    assert (home / "out.txt").read_text() == TAGGED
    assert names(home) == ["model.npz", "out.txt"]


@pytest.mark.skipif(not Path("/dev/stdout").exists(), reason="needs /dev/stdout")
@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1"])
def test_output_to_dev_stdout_goes_where_stdout_goes(home, name):
    assert run(home, "tag", "-o", name, input=SENTENCE) == (0, TAGGED, "")
    command = ["sh", "-c", '(echo first; "$@"; echo last) > all.txt', "sh", *PROGRAM]
    run_process(home, "tag", "-o", name, input=SENTENCE, command=command)
    assert (home / "all.txt").read_text() == f"first\n{TAGGED}last\n"


@pytest.mark.parametrize("output", ["same.txt", "./same.txt", "model.npz"])
def test_an_input_is_never_the_output(home, output):
    (home / "same.txt").write_text(SENTENCE)
    old = (home / output).read_bytes()
    result = run(home, "tag", "same.txt", "-o", output)
    assert result.code == 1 and output in result.err
    assert (home / output).read_bytes() == old


def test_gz_is_read_and_written_without_a_clock(home):
    (home / "in.txt.gz").write_bytes(gzip.compress(SENTENCE.encode() * 1000))
    assert run(home, "tag", "in.txt.gz", "-o", "out.gz") == (0, "", "wrote out.gz: 4,000 tokens, as slash\n")
    packed = (home / "out.gz").read_bytes()
    assert gzip.decompress(packed).decode() == TAGGED * 1000
    assert packed[4:8] == bytes(4)  # the time in the header: the same text gives the same bytes


def test_conllu_gets_its_column_filled_and_keeps_everything_else(home):
    (home / "in.conllu").write_text(CONLLU)
    result = run(home, "tag", "in.conllu")
    tags = [tag for line in pairs_of(run(home, "tag", input="Do n't stop .\nStop\n").out) for _, tag in line]
    expected = []
    for line in CONLLU.splitlines():
        cells = line.split("\t")
        if cells[0].isdigit():
            cells[3] = tags.pop(0)
        expected.append("\t".join(cells))
    assert result.out.splitlines() == expected
    assert (result.code, result.err, tags) == (0, "", [])


def test_conllu_has_the_column_filled_that_the_model_learned_from(tmp_path):
    (tmp_path / "train.conllu").write_text(CONLLU)
    run(tmp_path, "train-hmm", "train.conllu", "--column", "xpos", "-q")
    (tmp_path / "blank.conllu").write_text(re.sub("\t(VB|RB)\t", "\t_\t", CONLLU))
    assert run(tmp_path, "tag", "blank.conllu").out == CONLLU


def test_eval_compares_the_conllu_column_that_the_model_learned_from(tmp_path):
    (tmp_path / "train.conllu").write_text(CONLLU)
    run(tmp_path, "train-hmm", "train.conllu", "--column", "xpos", "-q")
    assert set(json.loads(run(tmp_path, "eval", "train.conllu", "--json").out)["tags"]) == {"VB", "RB", "."}


def test_jsonl_comes_back_with_tags(home):
    words = ["The", "dog/s", "ba rk", "狗"]
    result = run(home, "tag", "--input-format", "jsonl", input=json.dumps({"words": words}) + "\n")
    found = json.loads(result.out)
    assert found["words"] == words and len(found["tags"]) == 4
    assert "狗" in result.out
    (home / "in.jsonl").write_text('{"words": []}\n' + json.dumps({"words": words}) + "\n")
    assert run(home, "tag", "in.jsonl").out == '{"words": [], "tags": []}\n' + result.out


def test_blank_lines_of_jsonl_keep_their_place(home):
    line = '{"words": ["The", "dog"]}\n'
    result = run(home, "tag", "--input-format", "jsonl", input=line + "\n" + line)
    assert result.out.count("\n") == 3


@pytest.mark.parametrize("escape", [r"\ud800", r"\udc80"])
def test_half_a_character_in_jsonl_gives_utf8_or_a_complaint(home, escape):
    result = run(home, "tag", "--input-format", "jsonl", input=f'{{"words": ["{escape}"]}}\n')
    assert result.code in (0, 1) and "Traceback" not in result.err


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("slash", "The/DT dog/NN\n"),
        ("lines", "The/DT\ndog/NN\n\n"),
        ("tsv", "The\tDT\ndog\tNN\n\n"),
        ("conllu", "1\tThe\t_\tDT\t_\t_\t_\t_\t_\t_\n2\tdog\t_\tNN\t_\t_\t_\t_\t_\t_\n\n"),
        ("jsonl", '{"words": ["The", "dog"], "tags": ["DT", "NN"]}\n'),
    ],
)
def test_every_output_format_is_written_and_read_again(home, name, expected):
    result = run(home, "tag", "--output-format", name, input="The dog\n")
    assert result == (0, expected, "")
    again = json.loads(run(home, "eval", "-", "--input-format", name, "--json", input=result.out).out)
    assert (again["tokens"], again["accuracy"]) == (2, 1.0)


@pytest.mark.parametrize("kind", ["hmm", "crf"])
def test_a_typed_line_is_answered_before_the_input_ends(trained, kind):
    with start(trained[0], "tag", "-m", f"{kind}.npz") as process:
        for _ in range(2):
            process.stdin.write(SENTENCE.encode())
            process.stdin.flush()
            assert select.select([process.stdout], [], [], WAIT)[0], "no answer"
            assert process.stdout.readline() == b"The/DT dog/NN barks/VBZ ./.\n"
        assert process.communicate(timeout=WAIT) == (b"", b"")
    assert process.returncode == 0


@pytest.mark.parametrize("command", [["tag"], ["features"]])
def test_a_closed_pipe_ends_the_program_quietly(home, command):
    (home / "large.txt").write_text(words_of(TEST) * 60)
    with start(home, *command, "large.txt") as process:
        assert process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(WAIT) == 0


TRAINING_ONLY = ("scipy", "tqdm", "threadpoolctl", "tagger.crf.objective", "tagger.crf.lbfgs")


@pytest.mark.parametrize("name", TRAINING_ONLY)
def test_the_modules_that_only_training_needs_exist(name):
    assert find_spec(name), "it was renamed: the next test would pass whatever is loaded"


def test_tagging_loads_nothing_that_only_training_needs(trained):
    for model in ("hmm.npz", "crf.npz"):
        command = [sys.executable, "-X", "importtime", "-m", "tagger"]
        result = run_process(trained[0], "tag", "-m", model, input=SENTENCE, command=command)
        loaded = {line.rpartition("|")[2].strip() for line in result.err.splitlines()}
        assert "numpy" in loaded and result.code == 0
        assert not [name for name in loaded if name.startswith(TRAINING_ONLY)]


# Judging


@pytest.mark.parametrize("kind", ["hmm", "crf"])
def test_eval_agrees_with_a_recount_of_what_tag_writes(trained, kind):
    model = f"{kind}.npz"
    guess = pairs_of(run(trained[0], "tag", "-m", model, input=words_of(TEST)).out)
    gold = pairs_of(TEST.read_text("utf-8"))
    seen = {word for line in pairs_of(TRAIN.read_text("utf-8")) for word, _ in line}
    rows = [(w, g, t) for a, b in zip(gold, guess, strict=True) for (w, g), (_, t) in zip(a, b, strict=True)]

    def share(rows):
        return pytest.approx(sum(g == t for _, g, t in rows) / len(rows), rel=1e-12)

    found = json.loads(run(trained[0], "eval", TEST, "-m", model, "--json").out)
    assert (found["tokens"], found["sentences"]) == (len(rows), len(gold))
    assert found["accuracy"] == share(rows)
    assert found["known_accuracy"] == share([row for row in rows if row[0] in seen])
    assert found["unknown_accuracy"] == share([row for row in rows if row[0] not in seen])
    whole = sum(a == b for a, b in zip(gold, guess, strict=True))
    assert found["sentence_accuracy"] == pytest.approx(whole / len(gold), rel=1e-12)
    wrong = Counter((g, t) for _, g, t in rows if g != t)
    assert {(c["gold"], c["guess"]): c["count"] for c in found["confusions"]} == wrong
    for tag, score in found["tags"].items():
        right = sum(g == t == tag for _, g, t in rows)
        golds, guesses = sum(g == tag for _, g, _ in rows), sum(t == tag for *_, t in rows)
        assert score["support"] == golds
        assert score["precision"] == (right / guesses if guesses else None)
        assert score["recall"] == (right / golds if golds else None)
        assert score["f1"] == pytest.approx(2 * right / (golds + guesses), rel=1e-12)
    assert set(found["tags"]) == {tag for _, g, t in rows for tag in (g, t)}


def test_eval_prints_a_table_on_stdout_only(trained):
    result = run(trained[0], "eval", TEST, "-m", "crf.npz")
    found = json.loads(run(trained[0], "eval", TEST, "-m", "crf.npz", "--json").out)
    assert (result.code, result.err) == (0, "")
    table = dict(re.split(r"\s{2,}", line.strip(), maxsplit=1) for line in result.out.splitlines()[:7])
    table = {name: value.split("   ")[0] for name, value in table.items()}
    assert table["tokens"] == f"{found['tokens']:,}"
    assert table["accuracy"] == f"{100 * found['accuracy']:.2f} %"
    assert table["unknown words"] == f"{100 * found['unknown_accuracy']:.2f} %"


def test_gold_tags_unseen_in_training_count_as_errors(home):
    found = json.loads(run(home, "eval", "-", "--json", input="The/DT dog/NEW ./.\n").out)
    assert found["accuracy"] == pytest.approx(2 / 3)
    assert found["tags"]["NEW"] == {"precision": None, "recall": 0.0, "f1": 0.0, "support": 1}
    assert found["confusions"] == [{"gold": "NEW", "guess": "NN", "count": 1, "example": [0, 1]}]
    assert found["unseen_tags"] == ["NEW"]


def test_undefined_rates_are_null_for_programs_and_a_dash_for_people(home):
    assert json.loads(run(home, "eval", "-", "--json", input="The/DT\n").out)["unknown_accuracy"] is None
    assert re.search(
        r"unknown words +–   of 0\n", run(home, "eval", "-", input="The/DT\n", PYTHONIOENCODING="ascii").out
    )


# Features


def test_features_shows_what_a_template_sees(tmp_path):
    (tmp_path / "my.txt").write_text("# mine\nword[0]\nsuffix:1-2[0]\nlower[-1] & lower[0]\n")
    result = run(tmp_path, "features", "--features", "my.txt", input="The dog\n\nx\n")
    rows = [line.split("\t") for line in result.out.splitlines()]
    assert (result.code, result.err) == (0, "")
    assert [row[0] for row in rows] == ["The", "dog", "", "", "x", ""]
    assert rows[1][1:] == ["word[0]=dog", "suffix:1[0]=g", "suffix:2[0]=og", "lower[-1]=the & lower[0]=dog"]


def test_features_are_shown_promptly(tmp_path):
    with start(tmp_path, "features") as process:
        process.stdin.write(b"dog\n")
        process.stdin.flush()
        assert select.select([process.stdout], [], [], WAIT)[0], "no answer"
        process.communicate(timeout=WAIT)


# Errors and exit codes


@pytest.mark.parametrize(
    "args",
    [
        ["features", "--features", LONG_NAME],
        ["train-hmm", "good.txt", "-o", LONG_NAME],
    ],
    ids=["template", "output"],
)
def test_an_endless_name_is_one_line_of_complaint(home, args):
    (home / "good.txt").write_text("a/X b/Y\nb/Y a/X\n")
    assert_one_line_of_complaint(run(home, *args), LONG_NAME)
    assert names(home) == ["good.txt", "model.npz"]


def bad_model(kind, good):
    whole = good.read_bytes()
    if kind == "zip of the future":
        return whole.replace(b"PK\x01\x02\x14\x03\x14\x00", b"PK\x01\x02\x14\x03\xc8\x00").replace(
            b"PK\x01\x02\x2d\x03\x2d\x00", b"PK\x01\x02\x2d\x03\xc8\x00"
        )
    return {
        "empty": b"",
        "garbage": bytes(range(256)) * 20,
        "truncated": whole[: len(whole) // 2],
        "last byte missing": whole[:-1],
        "damaged": whole[: len(whole) // 2] + bytes(100) + whole[len(whole) // 2 + 100 :],
    }[kind]


MODELS = ["empty", "garbage", "truncated", "last byte missing", "damaged", "zip of the future"]


@pytest.mark.parametrize("kind", MODELS)
def test_a_broken_model_is_one_line_of_complaint(tmp_path, trained, kind):
    good = trained[0] / "crf.npz"
    (tmp_path / "model.npz").write_bytes(bad_model(kind, good))
    assert (tmp_path / "model.npz").read_bytes() != good.read_bytes()
    assert_one_line_of_complaint(run(tmp_path, "tag", input=SENTENCE), "model.npz")


def test_a_foreign_npz_is_one_line_of_complaint(tmp_path):
    np.savez(tmp_path / "model.npz", weights=np.arange(3.0))
    assert_one_line_of_complaint(run(tmp_path, "tag", input=SENTENCE), "model.npz")


def test_an_array_that_is_no_archive_is_one_line_of_complaint(tmp_path):
    with (tmp_path / "model.npz").open("wb") as stream:
        np.save(stream, np.arange(3.0))
    assert_one_line_of_complaint(run(tmp_path, "tag", input=SENTENCE), "model.npz")


def test_a_newer_model_says_so(tmp_path, trained):
    with np.load(trained[0] / "hmm.npz") as members:
        arrays = dict(members)
    meta = json.loads(arrays["meta"].tobytes()) | {"format": 99, "program": "9.9"}
    arrays["meta"] = np.frombuffer(json.dumps(meta).encode(), np.uint8)
    np.savez(tmp_path / "model.npz", **arrays)
    assert_one_line_of_complaint(run(tmp_path, "tag", input=SENTENCE), "99", "9.9")


def test_a_missing_default_model_names_the_train_commands(tmp_path):
    parts = ["'model.npz'", "tagger train CORPUS", "-m"]
    assert_one_line_of_complaint(run(tmp_path, "tag", input=SENTENCE), *parts)


def test_an_error_in_the_second_file_leaves_an_older_output_untouched(home):
    (home / "good.txt").write_text(SENTENCE)
    (home / "out.txt").write_text("old\n")
    result = run(home, "tag", "good.txt", "none.txt", "-o", "out.txt")
    assert_one_line_of_complaint(result, "none.txt")
    assert (home / "out.txt").read_text() == "old\n"
    assert names(home) == ["good.txt", "model.npz", "out.txt"]


def test_errors_are_told_even_when_quiet(home):
    assert_one_line_of_complaint(run(home, "tag", "-q", "none.txt"), "none.txt")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("args", [["tag", "-"], ["--version"]], ids=lambda args: args[0])
def test_a_full_disk_behind_stdout_is_one_line_of_complaint(home, args):
    result = run_process(home, *args, input=SENTENCE, command=["sh", "-c", 'exec "$@" > /dev/full', "sh", *PROGRAM])
    assert_one_line_of_complaint(result, "No space left")


def test_a_closed_stdout_does_no_harm_when_nothing_goes_there(home):
    command = ["sh", "-c", 'exec "$@" >&-', "sh", *PROGRAM]
    assert run_process(home, "tag", "-q", "-o", "out.txt", input=SENTENCE, command=command) == (0, "", "")


WRONG_USAGE = [
    ["fly"],
    ["tag", "--output-format", "stone"],
    ["train-hmm"],
    ["train-crf", "x.txt", "--max-iterations", "0"],
    ["train-crf", "x.txt", "--l2", "-1"],
]


@pytest.mark.parametrize("args", WRONG_USAGE, ids=" ".join)
def test_wrong_usage_ends_with_2_and_speaks_on_stderr(tmp_path, args):
    result = run(tmp_path, *args)
    assert (result.code, result.out) == (2, "")
    assert "Error: " in result.err and "Traceback" not in result.err


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["tag", "de.npz", "text.txt"], "-m de.npz"),
        (["explain", "de.npz"], "-m de.npz"),
        (["eval", "de.npz", "gold.txt"], "-m de.npz"),
        (["eval", "gold.txt", "de.npz"], "-m de.npz"),
        (["eval", "gold.txt", "a.npz", "b.npz"], "-m a.npz -m b.npz"),
        (["train-crf", "a.txt", "b.txt"], "`cat a.txt b.txt | tagger train-crf -`"),
        (["train-hmm", "a.txt", "b.txt", "c.txt"], "`cat a.txt b.txt c.txt | tagger train-hmm -`"),
        (["split", "a.txt", "b.txt"], "`cat a.txt b.txt | tagger split -`"),
        (["split", "a.txt", "b c.txt"], "`cat a.txt 'b c.txt' | tagger split -`"),
        (["train-crf", "a.txt", "b.npz"], "b.npz"),
        (["convert", "a.txt", "b.txt", "c.txt"], "c.txt"),
        (["crossval", "a.txt", "b.txt"], "b.txt"),
    ],
)
def test_files_that_have_no_place_are_told_where_they_belong(tmp_path, args, told):
    result = run(tmp_path, *args)
    assert result.code == 2 and result.out == "" and told in result.err.splitlines()[-1]


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("train-", "train-hmm or train-crf or train-bilstm"),
        ("train_crf", "train-crf"),
        ("evaluate", "eval"),
        ("Tag", "tag"),
        ("explian", "explain"),
    ],
)
def test_commands_that_come_near_are_suggested(tmp_path, name, meant):
    result = run(tmp_path, name)
    assert result.code == 2 and f" {meant}?" in result.err.splitlines()[-1]


@pytest.mark.parametrize("name", ["fly", ""])
def test_nothing_is_suggested_for_a_name_unlike_all(tmp_path, name):
    assert run(tmp_path, name).err.endswith(f"'{name}'.\n")


def writing(pid, folder):
    """Whether a process has a temporary file open: without a name on Linux, with one elsewhere."""
    links = Path(f"/proc/{pid}/fd")
    nameless = []
    for link in links.iterdir() if links.exists() else []:
        with suppress(FileNotFoundError):  # closed meanwhile
            nameless.append(str(link.readlink()))
    return any(name.endswith(".tmp") for name in names(folder)) or any("(deleted)" in name for name in nameless)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
class TestSignals:
    def test_a_stopped_tagging_leaves_the_older_output_alone(self, home, number, code):
        (home / "out.txt").write_text("old\n")
        with start(home, "tag", "-o", "out.txt") as process:
            process.stdin.write(SENTENCE.encode())
            process.stdin.flush()
            wait_for(lambda: writing(process.pid, home))
            time.sleep(0.2)  # until it waits for more: a signal just before a system call is heeded only after it
            process.send_signal(number)
            assert process.wait(WAIT) == code
            assert re.fullmatch(rb"\n?tagger: \w+\n", process.stderr.read())
        assert (home / "out.txt").read_text() == "old\n"
        assert names(home) == ["model.npz", "out.txt"]

    def test_tagging_stops_between_two_lines(self, home, number, code):
        with start(home, "tag") as process:
            process.stdin.write(SENTENCE.encode())
            process.stdin.flush()
            assert process.stdout.readline()
            process.send_signal(number)
            assert process.wait(WAIT) == code


def test_ctrl_c_while_the_program_is_loading_shows_no_traceback(tmp_path):
    (tmp_path / "numpy.py").write_text("import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(1)\n")
    result = run_process(tmp_path, "tag")
    assert result.code in (130, -signal.SIGINT)
    assert "Traceback" not in result.err


# Help


def test_version_is_told_on_stdout(tmp_path):
    result = run(tmp_path, "--version")
    assert (result.code, result.err) == (0, "")
    assert re.fullmatch(r"tagger, version \d+\.\d+\S*\n", result.out)


@pytest.mark.parametrize("command", [[], *([name] for name in COMMANDS)], ids=" ".join)
def test_every_help_ends_with_examples(tmp_path, command):
    result = run(tmp_path, *command, "--help")
    assert (result.code, result.err) == (0, "")
    text, _, examples = result.out.rpartition("Examples:\n")
    assert text
    assert all(re.match(r" +(tagger|echo) ", line) for line in examples.strip("\n").split("\n")), examples


@pytest.mark.parametrize("command", COMMANDS)
def test_help_is_shown_in_any_encoding(tmp_path, command):
    for encoding in ("cp1252", "cp437", "gbk"):  # with ascii click itself writes UTF-8, see below
        result = run(tmp_path, command, "--help", encoding=encoding)
        assert (result.code, result.err) == (0, "") and "Examples:" in result.out


def test_what_an_encoding_lacks_is_spelled_in_ascii(tmp_path):
    out = run(tmp_path, "train-crf", "--help", encoding="cp1252").out
    assert "||w||²" in out and "||w||1" in out and "?w" not in out


@pytest.mark.parametrize(
    "command", [["eval", "gold.txt"], ["inspect"], ["check", "gold.txt"], ["explain", "gold.txt"]], ids=" ".join
)
def test_tables_are_utf_8_in_any_encoding(home, command):
    (home / "gold.txt").write_text("The/DT “/`` ‖/SYM 中/NN\n", "utf-8")
    plain = run(home, *command, "-q")
    for settings in ({"PYTHONIOENCODING": "cp1252"}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}):
        result = run_process(home, *command, "-q", **settings)
        assert (result.code, result.err) == (0, "")
        assert without_speed(result.out) == without_speed(plain.out) != ""


def without_speed(table):
    return re.sub(r"tokens/s +[\d,]+", "", table)


def test_help_is_shown_by_h_and_on_a_terminal_that_knows_ascii_only(tmp_path):
    result = run_process(tmp_path, "train-crf", "-h", PYTHONIOENCODING="ascii", LC_ALL="C")
    assert result == run(tmp_path, "train-crf", "--help")
    assert (result.code, result.err) == (0, "")


def test_garbage_is_collected_once_a_command_is_loaded() -> None:
    code = (
        "import gc, sys; from tagger.__main__ import main\nsys.argv = ['tagger', 'completion', 'bash']\ntry: main()\n"
    )
    code += "except SystemExit: print(gc.isenabled(), gc.get_freeze_count() > 0, file=sys.stderr)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stderr == "True True\n"
