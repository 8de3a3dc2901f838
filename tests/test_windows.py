"""Branches that only Windows takes, by making this system look like it."""

import sys

import click
import pytest

from tagger.cli import expand_wildcards
from tagger.cli.command import advice_for
from tagger.errors import FileError
from tagger.files import writing


@pytest.fixture
def windows(monkeypatch):
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(writing, "RETRY_SECONDS", (0, 0))
    monkeypatch.setattr(writing, "open_nameless", lambda folder: None)


def hold_open(monkeypatch, attempts):
    """Refuse the first `attempts` renamings over an existing file, as Windows does while it is open."""
    replace, count = writing.Path.replace, [0]

    def refuse(self, target):
        if target.exists() and count[0] < attempts:
            count[0] += 1
            raise PermissionError(13, "in use")
        return replace(self, target)

    monkeypatch.setattr(writing.Path, "replace", refuse)


def test_a_file_that_is_open_elsewhere_is_tried_again(windows, monkeypatch, tmp_path):
    (tmp_path / "model.npz").write_bytes(b"old")
    hold_open(monkeypatch, 2)
    with writing.atomic_writer(tmp_path / "model.npz") as stream:
        stream.write(b"new")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"model.npz": b"new"}


def test_a_file_that_stays_open_is_kept_beside(windows, monkeypatch, tmp_path):
    (tmp_path / "model.npz").write_bytes(b"old")
    hold_open(monkeypatch, 100)
    with pytest.raises(FileError, match=r"model\.new\.npz"), writing.atomic_writer(tmp_path / "model.npz") as stream:
        stream.write(b"new")
    expected = {"model.npz": b"old", "model.new.npz": b"new"}
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == expected


def test_elsewhere_a_file_without_permission_is_an_error_at_once(monkeypatch, tmp_path):
    (tmp_path / "model.npz").write_bytes(b"old")
    monkeypatch.setattr(writing, "open_nameless", lambda folder: None)
    monkeypatch.setattr(writing.time, "sleep", lambda seconds: pytest.fail("waited"))
    hold_open(monkeypatch, 100)
    with pytest.raises(FileError), writing.atomic_writer(tmp_path / "model.npz") as stream:
        stream.write(b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["model.npz"]


def test_wildcards_are_expanded_on_windows_only(monkeypatch, tmp_path):
    for name in ("b.txt", "a.txt", "c.tsv"):
        (tmp_path / name).write_text("")
    monkeypatch.chdir(tmp_path)
    args = ["tag", "*.txt", "-o", "x*.none", "--part", "1/2"]
    assert expand_wildcards(args) == args
    monkeypatch.setattr(sys, "platform", "win32")
    assert expand_wildcards(args) == ["tag", "a.txt", "b.txt", "-o", "x*.none", "--part", "1/2"]


def test_advice_names_no_commands_that_windows_lacks(monkeypatch):
    context = click.Context(click.Command("train", params=[]), info_name="tagger train")
    context.params["corpus"] = "a.txt"
    assert "cat a.txt b.txt" in advice_for(context, ["b.txt"])
    monkeypatch.setattr(sys, "platform", "win32")
    assert "cat" not in advice_for(context, ["b.txt"]) and "join" in advice_for(context, ["b.txt"])
