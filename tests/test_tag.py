"""`tagger tag` beyond one best tag per word: n best, probabilities, constraints, several processes, long sentences."""

import gzip
import json
import os
import select
import shutil
import signal
import sys
from pathlib import Path

import program
import pytest
from program import WAIT, run, wait_for

from tagger import CRFTagger, HMMTagger, Sentence, load_model, read_corpus, save_model

SENTENCE = "The dog barks .\n"


@pytest.fixture(scope="module")
def models(tmp_path_factory, trained):
    """The folder with both models; `model.npz` is the CRF."""
    folder = tmp_path_factory.mktemp("models")
    shutil.copy(trained[0] / "crf.npz", folder / "model.npz")
    shutil.copy(trained[0] / "hmm.npz", folder)
    return folder


def start(folder, *options):
    return program.start(folder, "tag", *options)


def tag(folder, *options, text=SENTENCE):
    """What is written on standard output and standard error; the program must succeed."""
    code, out, err = run(folder, "tag", *options, input=text)
    assert code == 0, err
    return out, err


def refused(folder, *options, text=SENTENCE):
    code, out, err = run(folder, "tag", *options, input=text)
    assert code in (1, 2) and "Traceback" not in err
    return code, out, err


@pytest.mark.parametrize("model", ["model.npz", "hmm.npz"])
def test_n_best_lines_have_rank_probability_and_sentence(models, model):
    out, _ = tag(models, "-m", model, "--nbest", 3, text="Time flies\n\nHello\n")
    first, empty, second, rest = out.split("\n\n")
    rows = [line.split("\t") for line in first.split("\n")]
    assert [rank for rank, _, _ in rows] == ["1", "2", "3"]
    chances = [float(p) for _, p, _ in rows]
    assert chances == sorted(chances, reverse=True) and sum(chances) <= 1.0001
    assert len({text for _, _, text in rows}) == 3
    assert rows[0][2] == tag(models, "-m", model, text="Time flies\n")[0].strip()
    assert empty == "1\t1\t" and second.startswith("1\t") and rest == ""


def test_fewer_taggings_than_asked_for_are_all_there_are(models):
    K = len(load_model(models / "model.npz").classes_)
    out, _ = tag(models, "--nbest", 1000, text="Hello\n")
    assert out.count("\n") == K + 1
    assert sum(float(line.split("\t")[1]) for line in out.split("\n")[:K]) == pytest.approx(1, abs=1e-3)


def test_probabilities_have_a_place_in_three_formats(models):
    tsv, _ = tag(models, "--probabilities", "--output-format", "tsv")
    rows = [line.split("\t") for line in tsv.splitlines() if line]
    assert [len(row) for row in rows] == [3] * 4 and all(0 < float(row[2]) <= 1 for row in rows)
    found = json.loads(tag(models, "--probabilities", "--output-format", "jsonl", "--nbest", 2)[0])
    assert found["probabilities"] == [float(row[2]) for row in rows]
    assert found["nbest"][0]["tags"] == found["tags"] == [row[1] for row in rows]
    assert found["nbest"][0]["probability"] > found["nbest"][1]["probability"]
    old = "1\tThe\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No|prob=0.1\n\n"
    out, _ = tag(models, "--probabilities", "--input-format", "conllu", text=old)
    misc = out.split("\n")[0].split("\t")[9]
    assert misc.startswith("SpaceAfter=No|prob=0.") and misc.count("prob") == 1


@pytest.mark.parametrize("options", [("--probabilities",), ("--nbest", "2", "--output-format", "tsv")])
def test_a_format_without_the_place_is_wrong_usage(models, options):
    code, out, err = refused(models, *options)
    assert code == 2 and out == "" and "jsonl" in err


def test_doubtful_tags_are_question_marks(models):
    assert tag(models, "--min-probability", 1)[0].count("/?") >= 2
    assert "/?" not in tag(models, "--min-probability", 0.0001)[0]


def test_given_tags_are_kept_and_the_rest_decided_around_them(models):
    text = "The/DT dog barks/NNS|VB and/or/? //XYZ / ./?\n"
    for model in ("model.npz", "hmm.npz"):
        out, _ = tag(models, "-m", model, "--keep-tags", text="the dog/VB barks/NNS|VB and/or/CC / ./?\n")
        tokens = out.split()
        assert tokens[1] == "dog/VB" and tokens[2] in ("barks/NNS", "barks/VB") and tokens[3] == "and/or/CC"
        assert tokens[4].startswith("//") and len(tokens) == 6
    code, _, err = refused(models, "--keep-tags", text=f"fine .\n{text}")
    assert code == 1 and "stdin:2:" in err and "'//XYZ'" in err


def test_a_tail_that_is_no_tag_is_an_error_with_place_and_advice(models):
    code, out, err = refused(models, "--keep-tags", text="The/DT dog\nthis and/or that\n")
    assert (
        code == 1
        and out == "The/DT dog/NN\n"
        and err.startswith("tagger: stdin:2: token 2, 'and/or'")
        and "and/or/?" in err
    )


SOME_TAGS = {
    "tsv": "The\tDT\ndog\nbarks\t?\n\n",
    "lines": "The/DT\ndog\nbarks/?\n\n",
    "jsonl": '{"words": ["The", "dog"], "tags": ["DT", null]}\n{"words": ["The", "dog", "barks"]}\n',
    "conllu": "1\tThe\t_\tDT" + 6 * "\t_" + "\n2\tdog" + 8 * "\t_" + "\n\n",
}


@pytest.mark.parametrize("name, text", SOME_TAGS.items())
def test_every_format_can_bring_some_tags(models, name, text):
    out, _ = tag(models, "--keep-tags", "--input-format", name, text=text)
    assert "DT" in out and "?" not in out


@pytest.mark.parametrize("text", ["The\tWRONG\ndog\tWRONG\n\nIt\tWRONG\n", "The\ndog\n\nIt\n"])
@pytest.mark.parametrize("name", ["a.tsv", "a.tsv.gz"])
def test_a_table_is_recognised_by_its_name_and_its_tags_are_not_looked_at(models, tmp_path, name, text):
    opener = gzip.open if name.endswith(".gz") else open
    with opener(tmp_path / name, "wt") as stream:
        stream.write(text)
    assert tag(models, tmp_path / name) == ("The\tDT\ndog\tNN\n\nIt\tPRP\n\n", "")
    assert tag(models, tmp_path / name, "--output-format", "slash")[0] == "The/DT dog/NN\nIt/PRP\n"


@pytest.mark.parametrize(
    "name, options, begin",
    [
        ("a.tsv", [], "The\tDT\n"),
        ("a.conllu", [], "1\tThe\t_\tDT\t_\t"),
        ("a.jsonl", [], '{"words": ["The", '),
        ("a.conllu.gz", ["--input-format", "slash"], "1\tThe\t_\tDT\t_\t"),
        ("a.conllu", ["--to-column", "xpos"], "1\tThe\t_\t_\tDT\t"),
        ("a.tsv", ["--output-format", "slash"], "The/DT "),
        ("a.txt", ["--input-format", "lines"], "The/DT\n"),
        ("a.tagged", [], "The/DT "),
    ],
)
def test_the_suffix_of_the_output_decides_unless_its_format_is_named(models, tmp_path, name, options, begin):
    text = SENTENCE.replace(" ", "\n") if "lines" in options else SENTENCE
    _, err = tag(models, "-o", tmp_path / name, *options, text=text)
    opener = gzip.open if name.endswith(".gz") else open
    with opener(tmp_path / name, "rt") as stream:
        assert stream.read().startswith(begin)
    assert err.startswith(f"wrote {tmp_path / name}: 4 tokens, as ")


def test_tags_go_into_the_column_of_the_training_or_the_one_that_is_named(tmp_path):
    row = "1\tdog\t_\tOLD\tOLDER" + 5 * "\t_" + "\n\n"
    model = HMMTagger().fit([Sentence(["dog"], ["NN"])])
    model.column_ = "xpos"
    save_model(model, tmp_path / "model.npz")
    columns = {
        to: tag(tmp_path, "--input-format", "conllu", *(["--to-column", to] if to else []), text=row)[0].split("\t")[
            3:5
        ]
        for to in ("", "upos", "xpos")
    }
    assert columns == {"": ["OLD", "NN"], "upos": ["NN", "OLDER"], "xpos": ["OLD", "NN"]}


def test_a_column_where_there_is_none_is_wrong_usage(models):
    code, out, err = refused(models, "--to-column", "xpos")
    assert code == 2 and not out and "--to-column" in err


def test_blank_lines_leave_no_empty_blocks_in_conllu(models):
    out, _ = tag(models, "--output-format", "conllu", text="\nYes .\n\n\nNo .\n\n")
    assert out.count("\n\n") == 2 and "\n\n\n" not in out and out.startswith("1\tYes") and out.endswith("_\n\n")
    options = ["--output-format", "conllu", "--input-format", "jsonl", "--on-error", "skip"]
    out, err = tag(models, *options, text='{"words": ["Yes"]}\n{"words": ["a\\tb"]}\n{"words": ["No"]}\n')
    assert out.count("\n\n") == 2 and "\n\n\n" not in out and "stdin" in err


def test_a_lexicon_restricts_its_words(models, tmp_path):
    path = tmp_path / "lexicon.tsv"
    path.write_text("dog\tVB JJ\nbarks\tNNS\n")
    for model in ("model.npz", "hmm.npz"):
        tokens = tag(models, "-m", model, "--lexicon", path)[0].split()
        assert tokens[1] in ("dog/VB", "dog/JJ") and tokens[2] == "barks/NNS"
    code, _, err = refused(models, "--lexicon", path, "--keep-tags", text="a dog/NN\n")
    assert code == 1 and "stdin:1: token 2: " in err and "'NN'" in err and "'dog'" in err
    path.write_text("dog\tNN\ncat\tXYZ\n")
    code, _, err = refused(models, "--lexicon", path)
    assert code == 1 and "lexicon.tsv:2:" in err and "'XYZ'" in err


def large_text(sentences=9000):
    """Some blocks of different sentences."""
    return "".join(f"word{i} {'very ' * (i % 13)}good .\n" + "\n" * (i % 50 == 0) for i in range(sentences))


def test_any_number_of_jobs_writes_the_same(models, tmp_path):
    text = large_text()
    one, _ = tag(models, "--jobs", 1, text=text)
    assert one == tag(models, "--jobs", 3, text=text)[0]
    lines = text.splitlines(keepends=True)
    (tmp_path / "a.txt").write_text("".join(lines[:5000]))
    (tmp_path / "b.txt").write_text("".join(lines[5000:]))
    assert one == tag(models, "--jobs", 2, tmp_path / "a.txt", tmp_path / "b.txt")[0]


def test_a_bad_byte_far_into_the_text_loses_no_line_before_it(models, tmp_path):
    path = tmp_path / "bad.txt"
    path.write_bytes(large_text().encode() + b"caf\xe9 .\n" + b"more .\n")
    lines = large_text().count("\n")
    code, out, err = refused(models, path, "--jobs", 2)
    assert code == 1 and f"bad.txt:{lines + 1}:" in err and out.count("\n") == lines


def workers_of(process):
    with open(f"/proc/{process.pid}/task/{process.pid}/children") as file:  # noqa: PTH123
        return [int(pid) for pid in file.read().split()]


@pytest.mark.skipif(sys.platform != "linux", reason="finds children in /proc")
@pytest.mark.parametrize("number, code", [(signal.SIGKILL, 1), (signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_when_a_worker_dies_or_a_signal_comes_it_is_said_and_nothing_is_left(models, tmp_path, number, code):
    """SIGKILL goes to a worker, the others to the program; the output is not touched."""
    path = tmp_path / "large.txt"
    path.write_text(large_text(200_000))
    out = tmp_path / "out.txt"
    out.write_text("old")
    process = start(models, path, "-o", out, "--jobs", 2)
    wait_for(lambda: len(workers_of(process)) == 2)
    children = workers_of(process)
    os.kill(children[1] if number == signal.SIGKILL else process.pid, number)
    _, err = process.communicate(timeout=WAIT)
    assert process.returncode == code and err.count(b"\n") == 1, err
    # A signal may find workers half-born: then they end when they see that nobody is there.
    wait_for(lambda: not any(Path(f"/proc/{child}").exists() for child in children))
    assert out.read_text() == "old" and sorted(p.name for p in tmp_path.iterdir()) == ["large.txt", "out.txt"]


def test_a_closed_pipe_ends_quietly_with_several_jobs(models, tmp_path):
    path = tmp_path / "large.txt"
    path.write_text(large_text(60_000))
    process = start(models, path, "--jobs", 2)
    with process:
        assert process.stdout.readline().startswith(b"word0/")
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


def test_typed_lines_are_answered_at_once_whatever_the_jobs(models):
    with start(models, "--jobs", 4) as process:
        for i in range(5):
            process.stdin.write(f"line {i} .\n".encode())
            process.stdin.flush()
            assert select.select([process.stdout], [], [], 30)[0]
            assert f" {i}/".encode() in process.stdout.readline()
        process.stdin.close()
    assert process.returncode == 0


def test_a_sentence_of_a_hundred_thousand_tokens(models):
    text = "the dog barks and " * 25_000
    out, _ = tag(models, "--jobs", 1, text=text + "\n")
    assert out.count(" ") == 99_999 and out.endswith("\n")
    assert out.startswith("the/DT dog/NN")


@pytest.mark.parametrize(
    "text", ["It weighs approx. five kilos .", "Prof. Smith , Messrs. and Bros.", "it takes approx. five minutes"]
)
def test_abbreviations_are_words(models, text):
    assert "hint" not in tag(models, text=f"{text}\n")[1]


def test_untokenised_text_is_hinted_at_once(models):
    for name in ("slash", "jsonl"):
        _, err = tag(models, "--output-format", name, text="Hello world.\nWell, yes!\nMr. Smith works at Acme Inc.\n")
        assert err.count("hint:") == 1 and "'world.'" in err and "--tokenize" in err
    assert "hint" in tag(models, text='She said "yes."\n')[1] + tag(models, text='Say "world!"\n')[1]
    assert tag(models, text="Mr. Smith works at Acme Inc. , e.g. here : 3.5 o'clock .\n")[1] == ""
    assert tag(models, "-q", text="Hello world.\n")[1] == ""


def test_a_word_without_a_tag_is_open_even_where_the_question_mark_is_a_tag(tmp_path):
    corpus = [s.split() for s in ("is/V it/P ?/?", "is/V he/P ?/?", "he/P is/V ./.")]
    (tmp_path / "q.txt").write_text("".join(" ".join(s) + "\n" for s in corpus))
    save_model(HMMTagger().fit(read_corpus(tmp_path / "q.txt")), tmp_path / "model.npz")
    assert tag(tmp_path, "--keep-tags", text="is it ?\n")[0] == tag(tmp_path, text="is it ?\n")[0]
    assert tag(tmp_path, "--keep-tags", text="is/? it ?\n")[0].startswith("is/? ")


def test_ties_do_not_make_the_search_for_the_n_best_endless(tmp_path):
    (tmp_path / "tie.txt").write_text("x/A x/B\nx/B x/A\nx/A x/A\nx/B x/B\n")
    save_model(CRFTagger(max_iterations=5).fit(read_corpus(tmp_path / "tie.txt")), tmp_path / "model.npz")
    out, _ = tag(tmp_path, "--nbest", 20, text="x " * 60 + "\n")
    assert len(set(out.splitlines())) == 21


def test_a_quick_pipe_is_read_in_large_blocks_and_shared(models):
    """The writer is always ahead: workers must be started although standard input is a pipe."""
    with start(models, "--jobs", 2, "-q") as process:
        text = large_text(30_000).encode()
        out, err = process.communicate(text, timeout=100)
    assert out.count(b"\n") == text.count(b"\n") and err == b""


def test_a_lone_carriage_return_belongs_to_its_word(models):
    assert tag(models, text="x\rend z\n")[0].startswith("x\rend/")


def test_what_cannot_be_written_stops_the_run_after_all_that_can(models):
    text = '{"words": ["fine"]}\n{"words": ["New York"]}\n{"words": ["lost"]}\n'
    code, out, err = refused(models, "--input-format", "jsonl", "--output-format", "slash", text=text)
    assert code == 1 and out.startswith("fine/") and out.count("\n") == 1 and "'New York'" in err


def test_an_error_in_the_next_file_comes_after_all_answers(models, tmp_path):
    path = tmp_path / "large.txt"
    path.write_text(large_text())
    (tmp_path / "folder").mkdir()
    counts = {refused(models, path, tmp_path / "folder", "--jobs", jobs)[1].count("\n") for jobs in (1, 2, 4)}
    assert counts == {large_text().count("\n")}


def test_probabilities_of_older_tags_are_not_kept(models):
    for name in ("jsonl", "conllu"):
        sure, _ = tag(models, "--probabilities", "--output-format", name)
        again, _ = tag(models, "-m", "hmm.npz", "--input-format", name, text=sure)
        assert "prob" in sure and "prob" not in again


@pytest.mark.parametrize(
    "options", [("--min-probability", "nan"), ("--nbest", "2", "--min-probability", "0.5"), ("--lexicon", "-")]
)
def test_wishes_that_make_no_sense_are_wrong_usage(models, options):
    assert refused(models, *options)[0] == 2


def test_kept_tags_are_sure(models):
    text = "The/DT dog/NN barks/VBZ ./.\n"
    assert tag(models, "--keep-tags", "--min-probability", 1, text=text)[0] == text
