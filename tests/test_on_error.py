"""`--on-error skip`: faulty lines are left out, counted and reported; everything else is as without them."""

import json
import sys
from pathlib import Path

import pytest
from program import run

from tagger import HMMTagger, Sentence, read_corpus, save_model
from tagger.corpus import read_sentences
from tagger.corpus.formats import FORMATS, render
from tagger.errors import CorpusError, FileError
from tagger.files.reading import Lines, Skipped

GOOD = [Sentence(["the", "dog"], ["D", "N"]), Sentence(["a", "cat", "naps"], ["D", "N", "V"]), Sentence(["he"], ["P"])]
FAULTS = {
    "slash": b"hello\n", "pku": b"a/ b/n\n", "jsonl": b'{"words": ["a"]}\n', "tsv": b"a\tX\nb\nc\tX\n\n",
    "conllu": b"1\ta\t_\tX\t_\t_\t_\t_\t_\t_\n2\tb\n3\tc\t_\tX\t_\t_\t_\t_\t_\t_\n\n", "lines": b"a/X\nb\n\n",
    "columns": b"a X\nb\nc X\n\n",
}  # fmt: skip


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("home")
    save_model(HMMTagger().fit(GOOD * 3), folder / "model.npz")
    return folder


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("undecodable", [False, True])
def test_the_sentences_around_a_fault_are_read(tmp_path, format, undecodable):
    written = [render(sentence, format) for sentence in GOOD]
    fault = written[1].replace(b"a", b"\xff") if undecodable else FAULTS[format]
    path = tmp_path / "corpus"
    path.write_bytes(written[0] + fault + written[1] + fault + written[2])
    with pytest.raises(CorpusError):
        read_corpus(path, format)
    skipped = Skipped()
    assert read_corpus(path, format, skipped=skipped) == GOOD
    assert skipped.count == 2 and skipped.lines == 2 * fault.count(b"\n") and len(skipped.faults) == 2
    assert all(str(path) in fault for fault in skipped.faults)


def test_only_the_first_faults_are_kept_but_all_are_counted(tmp_path):
    (tmp_path / "corpus").write_text("bad\n" * 100 + "a/X\n")
    skipped = Skipped()
    assert len(read_corpus(tmp_path / "corpus", "slash", skipped=skipped)) == 1
    assert (skipped.lines, skipped.count, len(skipped.faults)) == (100, 100, 5)


def test_a_compressed_file_that_ends_too_early_is_no_line_to_skip(tmp_path):
    (tmp_path / "corpus.gz").write_bytes(b"\x1f\x8bnonsense")
    with pytest.raises(FileError, match=r"corpus.gz"):
        read_corpus(tmp_path / "corpus.gz", skipped=Skipped())


def test_bytes_that_fit_nowhere_are_marked_in_running_text(tmp_path):
    (tmp_path / "text").write_bytes(b"one \xff two\nthree\n\xfe\xfd four")
    skipped = Skipped()
    lines = Lines(tmp_path / "text", skipped=skipped)
    assert "".join(lines.texts()) == "one \ufffd two\nthree\n\ufffd\ufffd four"
    assert [fault.split(" ")[0] for fault in skipped.faults] == [f"{tmp_path / 'text'}:{n}:" for n in (1, 3)]


@pytest.mark.parametrize("options", [[], ["-q"]])
def test_tag_keeps_the_places_of_lines_and_tells_even_the_quiet(home, options):
    done = run(home, "tag", "--on-error", "skip", *options, input=b"the dog\nbad \xff\n\nhe naps\n")
    assert done.code == 0
    lines = done.out.split("\n")
    assert [bool(line) for line in lines] == [True, False, False, True, False] and lines[0] == "the/D dog/N"
    assert done.err.splitlines()[1].startswith("  stdin:2: ")


def test_tag_stops_at_the_first_fault_unless_told_otherwise(home):
    done = run(home, "tag", input=b"the dog\nbad \xff\nhe naps\n")
    assert (done.code, done.out) == (1, "the/D dog/N\n")


def test_what_cannot_be_or_be_written_is_skipped_too(home):
    done = run(home, "tag", "--keep-tags", "--on-error", "skip", input=b"the/D dog\nthe/ODD dog\n")
    assert done.out == "the/D dog/N\n\n" and "'ODD'" in done.err
    text = b'{"words": ["a b"]}\n{"words": ["dog"]}\n'
    options = ["--input-format", "jsonl", "--output-format", "slash", "--on-error", "skip"]
    done = run(home, "tag", *options, input=text)
    assert done.out.startswith("\ndog/") and "'a b'" in done.err


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_what_cannot_be_written_is_told_with_its_sentence(home, jobs):
    """Far behind, so that it stands in another block than the first sentence."""
    text = b'{"words": ["dog"]}\n' * 30_000 + b'{"words": ["dog"], "x": 1e999}\n'
    done = run(home, "tag", "--input-format", "jsonl", "--jobs", jobs, input=text)
    assert done.code == 1 and done.out.count("\n") == 30_000
    assert done.err.startswith("tagger: stdin: sentence 30,001: ") and done.err.count("\n") == 1


@pytest.mark.parametrize("command", ["train-hmm", "train-crf", "eval", "check", "crossval", "split", "convert"])
def test_every_command_that_reads_a_corpus_can_skip(home, command):
    path = home / "corpus.txt"
    path.write_bytes(b"".join(render(sentence, "slash") for sentence in GOOD * 5) + b"hello\n")
    more = {"train-hmm": ["-o", "x.npz"], "train-crf": ["-o", "x.npz", "--max-iterations", "3"], "convert": ["-"]}
    more |= {"crossval": ["--folds", "3"], "split": ["--dev", "0.3", "--test", "0"]}
    options = [*more.get(command, []), "--input-format", "slash"]
    stopped = run(home, command, "corpus.txt", *options)
    assert stopped.code == 1 and "corpus.txt:16: " in stopped.err
    done = run(home, command, "corpus.txt", *options, "--on-error", "skip")
    assert done.code == 0 and " 1 line" in done.err and "corpus.txt:16: " in done.err


def test_raw_text_is_read_twice_but_its_faults_are_counted_once(home):
    (home / "raw.txt").write_bytes(b"the dog naps\n" * 50 + b"\xff\n")
    done = run(home, "learn-classes", "raw.txt", "--size", "2", "-o", "c.npz", "--on-error", "skip")
    assert done.code == 0 and " 1 line" in done.err


def test_a_text_full_of_faults_costs_no_memory(tmp_path):
    (tmp_path / "corpus").write_text("bad\n" * 1000)
    skipped = Skipped()
    assert list(read_sentences(Lines(tmp_path / "corpus", skipped=skipped), "slash")) == []
    assert sys.getsizeof(json.dumps(skipped.faults)) < 5000
    assert Path(tmp_path / "corpus").exists()
