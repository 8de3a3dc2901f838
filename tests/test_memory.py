"""No more memory than there is, and trainings that would need more are refused before they take it."""

import os
import subprocess
import sys
import tracemalloc

import pytest
from program import run, run_process

from tagger import CRFTagger, HMMTagger, Sentence, save_model
from tagger.cli.hints import InputHint
from tagger.errors import TrainingError
from tagger.files import resources
from tagger.files.reading import Lines
from tagger.tagging import inputs
from tagger.tagging.annotator import Annotator
from tagger.tagging.inputs import PlainLines, named_blocks
from tagger.tagging.render import LineRenderer

MANY = [Sentence([f"w{i % 50}" for i in range(20)], [f"T{20 * n + i}" for i in range(20)]) for n in range(100)]


def test_what_is_free_is_between_nothing_and_a_lot():
    assert 1 << 20 < resources.free() < 1 << 50


@pytest.fixture
def without_proc(monkeypatch):
    def unreadable(path):
        raise FileNotFoundError

    monkeypatch.setattr(resources.Path, "read_text", unreadable)


VM_STAT = """Mach Virtual Memory Statistics: (page size of 16384 bytes)
Pages free:                                5000.
Pages active:                            300000.
Pages inactive:                           40000.
Pages speculative:                          600.
Pages wired down:                        100000.
Pages purgeable:                             70.
"Translation faults":                 123456789.
Pages occupied by compressor:             90000.
"""


@pytest.mark.usefixtures("without_proc")
def test_on_macos_pages_that_can_be_had_at_once_are_free(monkeypatch):
    calls = []

    def vm_stat(command, **settings):
        calls.append(command)
        return subprocess.CompletedProcess(command, 0, VM_STAT)

    monkeypatch.setattr(subprocess, "run", vm_stat)
    assert resources.free() != (expected := 16384 * (5000 + 40000 + 600)) and not calls
    monkeypatch.setattr(sys, "platform", "darwin")
    assert resources.free() == expected
    assert calls == [["/usr/bin/vm_stat"]]


@pytest.mark.usefixtures("without_proc")
@pytest.mark.parametrize("output", ["", "Pages free: 5.", "page size of 4096 bytes", None])
def test_on_macos_without_its_statistics_all_memory_counts_as_free(monkeypatch, output):
    def vm_stat(command, **settings):
        if output is None:
            raise FileNotFoundError
        return subprocess.CompletedProcess(command, 0, output)

    monkeypatch.setattr(subprocess, "run", vm_stat)
    monkeypatch.setattr(sys, "platform", "darwin")
    assert resources.free() == os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.usefixtures("without_proc")
def test_without_proc_all_memory_counts_as_free(monkeypatch):
    assert resources.free() == os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    monkeypatch.delattr(os, "sysconf")
    assert resources.free() is None


@pytest.mark.parametrize("tagger", [HMMTagger(), CRFTagger(threads=1)], ids=["hmm", "crf"])
def test_a_training_that_needs_too_much_is_refused_with_the_figures(monkeypatch, tagger):
    monkeypatch.setattr(resources, "allowed", lambda: 10**8)
    with pytest.raises(TrainingError, match=r"2,000.* 0\.\d GB.* 0\.1 GB"):
        tagger.fit(MANY)


def test_a_small_one_is_not(monkeypatch):
    monkeypatch.setattr(resources, "allowed", lambda: 3 * 10**8)
    assert HMMTagger().fit(MANY[:5]).classes_


def test_where_nothing_is_known_of_memory_nothing_is_refused(monkeypatch):
    monkeypatch.setattr(resources, "allowed", lambda: None)
    resources.check(1e30, "a dream", "wake up")


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc and the C library of GNU")
def test_freed_memory_between_used_blocks_is_returned():
    program = """if True:
        from pathlib import Path
        from tagger.files.resources import return_freed_memory

        def used():
            return int(Path("/proc/self/statm").read_text().split()[1]) << 12

        blocks = [bytearray(b"x" * 100_000) for _ in range(1000)]
        del blocks[:-1]  # the last one keeps the heap from shrinking
        before = used()
        return_freed_memory()
        print(before - used())
    """
    returned = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert int(returned) > 5 * 10**7


def test_without_that_c_library_nothing_is_returned(monkeypatch):
    monkeypatch.setattr(resources.ctypes, "CDLL", lambda name: object())
    resources.return_freed_memory()


def tagger(folder, *arguments, text=None):
    return (run_process if "--max-memory" in arguments else run)(folder, *arguments, input=text or "")


@pytest.mark.skipif(sys.platform != "linux", reason="needs a system that holds a process to its limit")
def test_beyond_the_limit_there_is_one_line(tmp_path):
    (tmp_path / "corpus.txt").write_text("".join(f"w{i}/N " for i in range(3_000_000)) + "\n")
    done = tagger(tmp_path, "train-hmm", "corpus.txt", "--max-memory", "300M")
    assert done.code == 1 and "0.3 GB" in done.err and done.err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["corpus.txt"]


@pytest.mark.parametrize("size", ["0", "x", "-1G", "1e9", "G", "nan"])
def test_a_size_that_is_none_is_wrong_usage(tmp_path, size):
    done = tagger(tmp_path, "tag", "--max-memory", size)
    assert done.code == 2 and "--max-memory" in done.err


@pytest.mark.parametrize("size, code", [("0.0000001", 2), ("10M", 2), ("999999999999999T", 0)])
def test_a_size_may_be_large_but_not_too_small(tmp_path, size, code):
    (tmp_path / "corpus.txt").write_text("a/D dog/N barks/V\n")
    done = tagger(tmp_path, "train-hmm", "corpus.txt", "-q", "--max-memory", size)
    assert done.code == code and ("300M" in done.err) == (code == 2)


def test_sentences_without_end(tmp_path, patch):
    assert inputs.MAX_SENTENCE_LENGTH == 1 << 20
    patch(inputs, "MAX_SENTENCE_LENGTH", 1 << 15)
    (tmp_path / "corpus.txt").write_text("the/D dog/N barks/V ./.\n" * 5 + "a/D " * 6000 + "\n")
    done = tagger(tmp_path, "train-hmm", "corpus.txt", "-o", "m.npz")
    assert done.code == 0 and "6,000" in done.err
    done = tagger(tmp_path, "tag", "-m", "m.npz", text="a dog\n" + "a\t" * 20_000 + " \na dog\n")
    assert done.out == "a/D dog/N\n" + "a/D " * 19_999 + "a/D\na/D dog/N\n"
    done = tagger(tmp_path, "tag", "-m", "m.npz", "--keep-tags", text="a dog\n" + "a " * (1 << 16) + "\n")
    assert (done.code, done.out) == (1, "a/D dog/N\n")
    assert "stdin:2: " in done.err and "32,768" in done.err and "65,536" in done.err


SHOW_LIMIT = """
import resource, sys
from tagger.files import resources
before = resource.getrlimit(resource.RLIMIT_DATA)[0]
resources.limit(*map(int, sys.argv[1:]))
print(before, resource.getrlimit(resource.RLIMIT_DATA)[0])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs a system that holds a process to its limit")
@pytest.mark.parametrize("wanted", [[], ["9000000000"]], ids=["free", "option"])
def test_a_limit_of_the_user_is_never_raised(wanted):
    command = ["sh", "-c", 'ulimit -S -d 700000 && exec "$@"', "sh", sys.executable, "-c", SHOW_LIMIT, *wanted]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.stdout == f"{700000 * 1024} {700000 * 1024}\n", done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="needs a system that holds a process to its limit")
def test_a_limit_of_ours_may_be_replaced_by_a_higher_one():
    code = SHOW_LIMIT.replace("resources.limit(", "resources.limit(600_000_000); resources.limit(")
    done = subprocess.run([sys.executable, "-c", code, "900000000"], capture_output=True, text=True, timeout=60)
    assert done.stdout.split()[1] == "900000000", done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="needs a system that holds a process to its limit")
@pytest.mark.parametrize(
    "arguments, limited",
    [
        (["train-hmm", "corpus.txt", "-q"], True),
        (["train-crf", "corpus.txt", "-q", "--max-iterations", "1"], True),
        (["crossval", "corpus.txt", "--kind", "hmm", "--folds", "2", "-o", "out.txt"], True),
        (["convert", "corpus.txt", "out.txt", "-q"], False),
        (["features", "corpus.txt", "-o", "out.txt", "-q"], False),
        (["tag", "corpus.txt", "-o", "out.txt", "-q"], False),
        (["tag", "corpus.txt", "-o", "out.txt", "-q", "--max-memory", "2G"], True),
        (["--version"], False),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_only_a_training_or_the_option_sets_a_limit(tmp_path, arguments, limited):
    (tmp_path / "corpus.txt").write_text("a/D dog/N barks/V\nthe/D cat/N\n")
    save_model(HMMTagger().fit(MANY[:2]), tmp_path / "model.npz")
    code = (
        "import atexit, resource, sys; from tagger.cli import main; "
        "atexit.register(lambda: print(resource.getrlimit(resource.RLIMIT_DATA)[0] != resource.RLIM_INFINITY)); "
        "main(sys.argv[1:])"
    )
    done = run_process(tmp_path, *arguments, command=[sys.executable, "-c", code])
    assert done.code == 0, done.err
    assert done.out.split()[-1] == str(limited)


def peak_of_tagging(folder, model, text):
    """The most bytes that Python objects and arrays have while `tag` works on a text, block by block."""
    (folder / "text.txt").write_text(text)
    work = LineRenderer(Annotator(model), skip=False)()
    tracemalloc.start()
    tokens = sum(work(named)[1] for named, _ in named_blocks(Lines(folder / "text.txt"), PlainLines(), InputHint()))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return tokens, peak


SMALL = [Sentence(["the", "dog", "barks"], ["D", "N", "V"]), Sentence(["dogs", "bark"], ["N", "V"])] * 3
BOTH = pytest.mark.parametrize("tagger", [HMMTagger(), CRFTagger(threads=1)], ids=["hmm", "crf"])


@BOTH
def test_tagging_tabs_needs_memory_for_a_block_only(tmp_path, tagger):
    tokens, peak = peak_of_tagging(tmp_path, tagger.fit(SMALL), ("the\tdog\t" * 500 + "\n") * 200)
    assert tokens == 200_000 and peak < 3.3e7  # all in one block: 13e7 (hmm), 3.7e7 (crf)


@BOTH
def test_very_long_words_need_little_more_than_themselves(tmp_path, tagger):
    words = [f"{'ab' * 10_000}{i}" for i in range(300)]
    for between, most in ((" ", 2.7), ("\n", 1.5)):  # all in one block: 3.0; words seen whole: 60
        text = between.join(words)
        tokens, peak = peak_of_tagging(tmp_path, tagger.fit(SMALL), text)
        assert tokens == 300 and peak < most * len(text)
