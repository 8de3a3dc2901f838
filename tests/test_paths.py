"""The files of a command are not in each other's way, and what comes through a pipe is read once."""

import os
import re
import shlex
import shutil
from contextlib import ExitStack, contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path

import click
import pytest
from program import PROGRAM, run, run_process

from tagger import CRFTagger, HMMTagger, Sentence, load_model, save_model
from tagger.cli import COMMANDS
from tagger.cli.paths import File, FileCommand, InputFile, OutputFile, check_files
from tagger.errors import FileError
from tagger.files.writing import check_writable

SENTENCES = [Sentence(["a", "dog", "barks"], ["D", "N", "V"]), Sentence(["the", "cat"], ["D", "N"])] * 2
TEXT = "a/D dog/N barks/V\nthe/D cat/N\n"


@pytest.fixture
def home(tmp_path):
    save_model(HMMTagger().fit(SENTENCES), tmp_path / "model.npz")
    save_model(CRFTagger(max_iterations=2).fit(SENTENCES), tmp_path / "crf.npz")
    (tmp_path / "corpus.txt").write_text(TEXT)
    (tmp_path / "in.txt").write_text("a dog\n")
    (tmp_path / "soft.txt").symlink_to("in.txt")
    os.link(tmp_path / "in.txt", tmp_path / "hard.txt")
    return tmp_path


def shell(folder, line):
    """Run a command with the redirections of a shell: < FILE, >> FILE, <(cat FILE) and `cat FILE |` in front."""
    with ExitStack() as stack:
        *front, line = line.split(" | ")
        words = shlex.split(re.sub(r"<\(cat (\S+)\)", r"PIPE:\1", line))
        stdin, stdout = stack.enter_context(piped(folder / front[0].split()[1])) if front else None, None
        for sign, mode in (("<", "rb"), (">>", "ab")):
            if sign in words:
                place = words.index(sign)
                opened = stack.enter_context((folder / words.pop(place + 1)).open(mode))
                stdin, stdout = (opened, stdout) if words.pop(place) == "<" else (stdin, opened)
        pipes = []
        for i, word in enumerate(words):
            if word.startswith("PIPE:"):
                pipes.append(stack.enter_context(piped(folder / word[5:])).fileno())
                words[i] = f"/dev/fd/{pipes[-1]}"
        assert words.pop(0) == "tagger"
        return run(folder, *words, stdin=stdin, stdout=stdout, keep=pipes)


@contextmanager
def piped(path):
    """The end of a pipe that a small file can be read from."""
    ours, theirs = os.pipe()
    with os.fdopen(ours, "rb") as stream:
        with os.fdopen(theirs, "wb") as feed:
            os.set_blocking(theirs, False)  # a file that does not fit fails at once
            feed.write(path.read_bytes())
        yield stream


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "completion"])
def test_every_command_declares_its_files(name):
    """Whatever is called a file or a model in the help is an input or an output for the check."""
    command = import_module(f"tagger.cli.commands.{COMMANDS[name]}").command
    assert isinstance(command, FileCommand)
    called = {"FILE", "FILE|FOLDER/", "MODEL", "[MODEL]", "NAME|FILE", "IN", "OUT"}
    plain = {"corpus", "file", "files", "gold"}
    named = [param for param in command.params if param.metavar in called or param.name in plain]
    assert named and all(isinstance(param.type, InputFile | OutputFile) for param in named)
    paths = [param for param in command.params if isinstance(param.type, click.Path)]
    assert {param.name for param in paths} - {param.name for param in named} <= {"output_folder"}


@pytest.mark.parametrize(
    "command, output",
    [
        ("tagger tag - -o in.txt < in.txt", "in.txt"),
        ("tagger tag -o in.txt < in.txt", "in.txt"),
        ("tagger tag -o hard.txt < soft.txt", "hard.txt"),
        ("tagger tag in.txt -o soft.txt", "soft.txt"),
        ("tagger tag in.txt -o hard.txt", "hard.txt"),
        ("tagger tag in.txt >> in.txt", "standard output"),
        ("tagger tag < in.txt >> in.txt", "standard output"),
        ("tagger tag /dev/stdin -o in.txt < in.txt", "in.txt"),
        ("tagger train-hmm - -o in.txt < in.txt", "in.txt"),
        ("tagger train-crf corpus.txt --init crf.npz --log crf.npz", "crf.npz"),
        ("tagger train-crf corpus.txt --classes in.txt --log hard.txt", "hard.txt"),
        ("tagger train-crf corpus.txt --dev in.txt --checkpoint hard.txt", "hard.txt"),
        ("tagger eval corpus.txt --compare crf.npz --report crf.npz", "crf.npz"),
        ("tagger crossval corpus.txt --features in.txt -o hard.txt", "hard.txt"),
        ("tagger convert corpus.txt ./corpus.txt", "./corpus.txt"),
    ],
)
def test_an_output_that_is_an_input_is_refused(home, command, output):
    before = contents(home)
    done = shell(home, command)
    assert done.code == 1 and done.err.startswith("tagger: ") and output in done.err, done.err
    assert contents(home) == before


def test_a_part_of_a_corpus_does_not_replace_the_corpus(home):
    os.link(home / "corpus.txt", home / "corpus.dev.txt")
    done = shell(home, "tagger split corpus.txt")
    assert done.code == 1 and "corpus.dev.txt" in done.err


def test_a_model_may_be_replaced_by_its_successor(home):
    done = shell(home, "tagger train-crf corpus.txt --init crf.npz -o crf.npz --max-iterations 2 -q")
    assert (done.code, done.err) == (0, "")
    assert load_model(home / "crf.npz").classes_ == ["D", "N", "V"]


def test_devices_may_be_named_twice(home):
    done = shell(home, "tagger eval corpus.txt --report /dev/null -o /dev/null")
    assert done.code == 0, done.err


def test_a_setting_that_no_model_can_hold_is_wrong_usage(home):
    done = shell(home, f"tagger train-hmm corpus.txt -o big.npz --rare-count {10**30}")
    assert done.code == 2 and "2,147,483,648" in done.err


@pytest.mark.parametrize("option", ["--log", "--checkpoint", "-o"])
def test_what_cannot_go_to_standard_output_is_wrong_usage(home, option):
    done = shell(home, f"tagger train-crf corpus.txt {option} -")
    assert done.code == 2 and option in done.err
    assert not (home / "-").exists()


@pytest.mark.parametrize(
    "command",
    [
        "tagger tag - --lexicon - < in.txt",
        "tagger train-crf - --dev - < corpus.txt",
        "tagger eval corpus.txt --predictions - --map - < corpus.txt",
    ],
)
def test_standard_input_is_read_by_one_option(home, command):
    done = shell(home, command)
    assert done.code == 2 and done.err


CLUSTERS = "".join(
    f"{path}\t{word}\t1\n" for path, word in (("00", "a"), ("00", "the"), ("01", "dog"), ("10", "barks"))
)
READERS = {  # a command, the file that goes through a pipe, and what the command writes
    "classes": ("tagger features in.txt --features classed.txt --classes X", "clusters.txt", None),
    "stored classes": ("tagger features in.txt --features classed.txt --classes X", "classes.npz", None),
    "template": ("tagger features in.txt --features X", "classless.txt", None),
    "templates of folds": ("tagger crossval corpus.txt --folds 3 --features X", "classless.txt", None),
    "map": ("tagger convert corpus.txt - --map X", "map.tsv", None),
    "lexicon": ("tagger tag in.txt --lexicon X", "lexicon.tsv", None),
    "model": ("tagger tag in.txt -m X", "model.npz", None),
    "initial model": ("tagger train-crf corpus.txt --max-iterations 2 -q -o o.npz --init X", "crf.npz", "o.npz"),
    "corpus": ("tagger train-hmm X -q -o o.npz", "corpus.txt", "o.npz"),
    "dev set": ("tagger train-crf corpus.txt --max-iterations 5 -q -o o.npz --dev X", "corpus.txt", "o.npz"),
    "classes of an HMM": ("tagger train-hmm corpus.txt -q -o o.npz --classes X", "clusters.txt", "o.npz"),
    "predictions": ("tagger eval corpus.txt --predictions X", "corpus.txt", None),
}


@pytest.mark.parametrize("command, name, written", READERS.values(), ids=READERS)
def test_what_comes_through_a_pipe_is_read_once(home, command, name, written):
    (home / "clusters.txt").write_text(CLUSTERS)
    (home / "classed.txt").write_text("word[0]\nclass:16[0]\n")
    (home / "classless.txt").write_text("word[0]\nlower[-1]\n")
    (home / "map.tsv").write_text("D\tDET\nN\tNOUN\nV\tVERB\n")
    (home / "lexicon.tsv").write_text("dog\tV\n")
    (home / "corpus.txt").write_text(TEXT * 2 + "a/D cat/N barks/V\n")
    if name == "classes.npz":
        from tagger.models.store import load_classes, save_classes

        save_classes(load_classes(home / "clusters.txt"), home / name)

    def result(text):
        done = shell(home, text)
        assert done.code == 0, done.err
        return (home / written).read_bytes() if written else done.out

    straight = result(command.replace("X", name))
    assert result(command.replace("X", f"<(cat {name})")) == straight
    assert result(command.replace("X", "-") + f" < {name}") == straight
    assert result(f"cat {name} | " + command.replace("X", "-")) == straight


@pytest.mark.skipif(not shutil.which("bash"), reason="needs bash")
def test_text_that_is_read_twice_cannot_come_through_a_pipe(home):
    for source in ("<(cat in.txt)", "- < in.txt"):
        for command in ("learn-classes", "train-hmm corpus.txt --unlabeled"):
            done = run_process(home, f"{shlex.join(PROGRAM)} {command} {source}", command=["bash", "-c"])
            assert done.code == 2 and done.err
    assert not Path(home / "classes.npz").exists()


def test_a_working_folder_that_is_gone_is_named(tmp_path, monkeypatch):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    message = "^model.npz: expected a working folder that exists, got one that has been removed"
    for write in (check_writable, partial(save_model, HMMTagger().fit(SENTENCES))):
        with pytest.raises(FileError, match=message):
            write("model.npz")
    model = File("-m", "english", InputFile())
    check_files([model, File("-o", "-", OutputFile(stdout=True))])  # a shipped one
    with pytest.raises(FileError, match=message):
        check_files([model, File("-o", "model.npz", OutputFile())])
