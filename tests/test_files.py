"""Reading lines as they arrive from any kind of input, and writing files that are either whole or untouched."""

import bz2
import gzip
import io
import lzma
import os
import re
import signal
import threading
import zipfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tagger.errors import CorpusError, FileError, TaggerError
from tagger.files.reading import Lines, open_input
from tagger.files.signals import active_signals, signals_blocked
from tagger.files.writing import TerminalWriter, atomic_writer, open_output

PACKERS = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
UNPACKERS = {".gz": gzip.decompress, ".bz2": bz2.decompress, ".xz": lzma.decompress}
PATIENCE = 5  # seconds until a reader that waits for more than has come gets the end of the input, and fails


class Chunks:
    """A stream that gives one chunk at a time and counts the line ends it has given."""

    def __init__(self, chunks):
        self.chunks = iter(chunks)
        self.line_ends = 0

    def read1(self, size):
        chunk = next(self.chunks, b"")
        self.line_ends += chunk.count(b"\n")
        return chunk


class Producer:
    """The other end of a pipe."""

    def __init__(self, descriptor):
        self.stream = os.fdopen(descriptor, "wb", buffering=0)
        self.timer = threading.Timer(PATIENCE, self.stream.close)
        self.timer.start()

    def send(self, content):
        self.stream.write(content)

    def close(self):
        self.timer.cancel()
        self.timer.join()
        self.stream.close()


@pytest.fixture
def file(tmp_path):
    def create(content, name="input.txt"):
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return create


@pytest.fixture
def producer(monkeypatch):
    """What is sent here arrives on standard input."""
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as stream:
        monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=stream))
        producer = Producer(writing)
        yield producer
        producer.close()


def left_in(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_line_ends_at_newline_with_or_without_carriage_return(file):
    assert list(Lines(file(b"one\ntwo\r\n\nfour\r\n\r\nsix"))) == ["one", "two", "", "four", "", "six"]


@pytest.mark.parametrize("character", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\x1e", "\r", "\u00a0"])
def test_no_other_character_ends_a_line(file, character):
    assert list(Lines(file(f"a{character}b\n".encode()))) == [f"a{character}b"]


def test_only_one_carriage_return_belongs_to_the_line_end(file):
    assert list(Lines(file(b"a\r\r\nb\n"))) == ["a\r", "b"]


@pytest.mark.parametrize("content, lines", [(b"", []), (b"\n", [""]), (b"a", ["a"]), (b"a\n", ["a"])])
def test_the_last_line_may_lack_its_end(file, content, lines):
    assert list(Lines(file(content))) == lines


def test_lines_are_numbered_from_one(file):
    lines = Lines(file(b"a\n\nb\n"))
    assert [(lines.number, line) for line in lines] == [(1, "a"), (2, ""), (3, "b")]


def test_lines_longer_than_a_block_stay_whole(file, monkeypatch):
    monkeypatch.setattr("tagger.files.reading.BLOCK", 3)
    assert list(Lines(file("中央电台\r\nä\n".encode()))) == ["中央电台", "ä"]


def test_byte_order_mark_is_dropped_at_the_beginning_only(file):
    assert list(Lines(file("\ufeffa\r\n\ufeffb\n".encode()))) == ["a", "\ufeffb"]


def test_byte_order_mark_may_arrive_in_pieces(monkeypatch):
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=Chunks([b"\xef", b"\xbb", b"\xbfa\n"])))
    assert list(Lines("-")) == ["a"]


@pytest.mark.parametrize("encoding", ["gbk", "gb18030", "utf-16", "utf-8-sig", "big5"])
def test_other_encodings(file, encoding):
    assert list(Lines(file("中央/n\n人/n\n".encode(encoding)), encoding)) == ["中央/n", "人/n"]


def test_characters_may_arrive_in_pieces(monkeypatch):
    chunks = [bytes([byte]) for byte in "中央\n".encode("gbk")]
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=Chunks(chunks)))
    assert list(Lines("-", "gbk")) == ["中央"]


@pytest.mark.parametrize("encoding", ["no-such-encoding", "", "hex", "rot13", "idna"])
def test_an_encoding_that_cannot_decode_text_is_named(file, encoding):
    with pytest.raises(FileError, match="utf-8") as caught:  # for example
        list(Lines(file(b"a\n"), encoding))
    assert repr(encoding) in str(caught.value)


@pytest.mark.parametrize(
    "content, encoding, byte",
    [(b"ok\nab\xffc\n", "utf-8", "FF"), (b"ok\nab\x80", "gbk", "80"), (b"1\n2\xe4", "utf-8", "E4")],
)
def test_undecodable_bytes_are_an_error_with_its_line(file, content, encoding, byte):
    path = file(content)
    with pytest.raises(CorpusError) as caught:
        list(Lines(path, encoding))
    problem = str(caught.value).removeprefix(f"{path}:2: ")
    assert problem != str(caught.value) and f"0x{byte}" in problem and encoding in problem


def test_lines_before_an_undecodable_byte_are_handed_out(file):
    lines = iter(Lines(file(b"good\n\xff\n")))
    assert next(lines) == "good"
    with pytest.raises(CorpusError):
        next(lines)


def test_truncated_utf16_is_an_error_and_not_a_crash(file):
    with pytest.raises(FileError, match="utf-16"):
        list(Lines(file("a\nb".encode("utf-16") + b"\x00"), "utf-16"))


def test_some_nuls_do_not_make_wide_text(file):
    """Found by fuzzing: what was written must be read again."""
    words = ["\x00\x0f\x00", "\x00(\x00&", "<after>", "~\x00\x00\x00\x00\x00\x00\x0f\x00", "\x00"]
    assert list(Lines(file("\n".join(words).encode()))) == words


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_wide_text_is_recognised(file, encoding):
    path = file("The/DT dog/NN barks/VBZ\n".encode(encoding))
    with pytest.raises(FileError) as caught:
        list(Lines(path))
    problem = str(caught.value).removeprefix(f"{path}: ")
    assert problem != str(caught.value) and "utf-8" in problem and re.search(rf"{encoding}\b(?!-)", problem)
    assert list(Lines(path, encoding)) == ["The/DT dog/NN barks/VBZ"]


def saved(write, *content):
    """The bytes that a function writes to a file."""
    stream = io.BytesIO()
    write(stream, *content)
    return stream.getvalue()


DATA = {  # the first word is in the message
    "zip": saved(lambda stream: zipfile.ZipFile(stream, "w").writestr("a", "b")),
    "NumPy": saved(np.save, np.arange(3)),
    "PDF": b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n<< /Type /Catalog >>",
    "PDF of ASCII": b"%PDF-1.4\r\n1 0 obj\r\n<< /Type /Catalog >>",
    "picture": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
    "picture of JPEG": b"\xff\xd8\xff\xe0\0\x10JFIF",
    "document": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0\0",
    ".gz": gzip.compress(b"text"),
    ".bz2": bz2.compress(b"text", 5),
    ".bz2 of nothing": bz2.compress(b""),
    "Parquet": b"PAR1\x15\x04\x15",
    "Arrow": b"ARROW1\0\0",
    "ORC": b"ORC\x0a\x06",
    "SQLite": b"SQLite format 3\0\x10",
    "picture of GIF": b"GIF89a\x01\0",
    ".xz": lzma.compress(b"text"),
}


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "gbk"])
@pytest.mark.parametrize("what", DATA)
def test_data_are_not_taken_for_text(file, encoding, what):
    path = file(DATA[what])
    with pytest.raises(FileError) as caught:
        list(Lines(path, encoding))
    assert what.split()[0] in str(caught.value).removeprefix(str(path))


@pytest.mark.parametrize(
    "name, kind", [("word/document.xml", "Word"), ("xl/workbook.xml", "spreadsheet"), ("a.npy", "model"), ("a", "zip")]
)
def test_the_names_inside_a_zip_file_tell_what_it_is(tmp_path, name, kind):
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr(name, "text")
    with pytest.raises(FileError) as caught:
        Lines(tmp_path / "x.zip").check()
    assert kind in str(caught.value).removeprefix(str(tmp_path / "x.zip"))


PDF_TEXT = "%PDF-1.7/NN begins/VBZ a/DT file/NN\n"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\0",
        "a\0\n",
        "\0" * 1000,
        "PK",
        "BZ",
        "%",
        PDF_TEXT,
        "%PDF-1.7\n中文中文\n",
        "BZh9/NN is/VBZ",
        "BZh91A",
        "PAR1 ORC",
        "ORC\nx",
        "GIF89",
    ],
)
def test_strange_text_is_text(file, text):
    assert "\n".join(Lines(file(text.encode()))) == text.rstrip("\n")


def test_a_quoted_name_is_no_array(file):
    assert list(Lines(file("“NUMPY” is".encode("cp1252")), "cp1252")) == ["“NUMPY” is"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_one_byte_order_mark_is_dropped(file, encoding):
    text = "\ufeffa" if encoding == "utf-8" else "a"
    assert list(Lines(file(text.encode(encoding)), encoding)) == ["a"]
    assert list(Lines(file(f"\ufeff{text}".encode(encoding)), encoding)) == ["\ufeffa"]


@pytest.mark.parametrize("name", ["text", "text.gz"])
def test_text_that_begins_as_a_byte_order_mark_comes_back(tmp_path, name):
    path = str(tmp_path / name)
    with open_output(path) as stream:
        for part in (b"", "\ufeffa\n".encode(), "\ufeffb\n".encode()):
            stream.write(part)
    assert list(Lines(path)) == ["\ufeffa", "\ufeffb"]
    with open_output(path) as stream:
        stream.write(b"a\n")
    assert list(Lines(path)) == ["a"] and len(Path(path).read_bytes()) < 30


def test_head_shows_lines_that_are_handed_out_all_the_same(file):
    lines = Lines(file(b"a\r\nb\nc\nd\n"))
    assert lines.head(2) == ["a", "b"]
    assert lines.head(1) == ["a"]
    assert lines.head(3) == ["a", "b", "c"]
    assert [(lines.number, line) for line in lines] == [(1, "a"), (2, "b"), (3, "c"), (4, "d")]


def test_head_of_a_short_input_is_all_of_it(file):
    lines = Lines(file(b"a\nb"))
    assert lines.head(1000) == ["a", "b"]
    assert list(lines) == ["a", "b"]


def test_head_reads_no_further_than_it_must(monkeypatch):
    stream = Chunks([b"a\n", b"b\n", b"c\n"])
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=stream))
    lines = Lines("-")
    lines.head(2)
    lines.head(2)
    assert stream.line_ends == 2


def test_an_error_names_the_file_and_the_line_handed_out_last(file):
    path = file(b"a\nb\n")
    lines = Lines(path)
    next(iter(lines))
    assert str(lines.error("odd")) == f"{path}:1: odd"


def test_an_error_on_standard_input_is_called_stdin(monkeypatch):
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(b"a\n\xff\n")))
    with pytest.raises(CorpusError, match=r"^stdin:2: "):
        list(Lines("-"))


@pytest.mark.parametrize("suffix", PACKERS)
def test_compressed_files_are_read_as_they_are(file, suffix):
    content = b"\xef\xbb\xbfone\r\ntwo\n" * 1000
    assert len(list(Lines(file(PACKERS[suffix](content), "input.txt" + suffix)))) == 2000


@pytest.mark.parametrize("suffix", PACKERS)
def test_compressed_files_glued_together_are_read_to_the_end(file, suffix):
    pack = PACKERS[suffix]
    assert list(Lines(file(pack(b"a\n") + pack(b"b\n"), "input" + suffix))) == ["a", "b"]


@pytest.mark.parametrize("suffix", PACKERS)
@pytest.mark.parametrize("damage", ["truncated", "scrambled", "not compressed at all"])
def test_a_damaged_compressed_file_is_a_file_error(file, suffix, damage):
    packed = PACKERS[suffix](bytes(range(256)) * 50)
    middle = len(packed) // 2
    content = {
        "truncated": packed[:middle],
        "scrambled": packed[:middle] + bytes(255 - byte for byte in packed[middle:]),
        "not compressed at all": b"word/TAG\n",
    }[damage]
    path = file(content, "input" + suffix)
    with pytest.raises(FileError, match=r"."):
        list(Lines(path, "latin-1"))


@pytest.mark.parametrize("name", ["missing.txt", "missing.gz", "missing.bz2", "missing.xz", "folder/missing.txt"])
def test_a_missing_file_is_a_file_error_that_names_it(tmp_path, name):
    path = tmp_path / name
    with pytest.raises(FileError) as caught:
        list(Lines(path))
    assert str(caught.value) == f"cannot read {path}: No such file or directory"


@pytest.mark.parametrize("name", ["folder", "folder.gz"])
def test_a_directory_is_a_file_error(tmp_path, name):
    (tmp_path / name).mkdir()
    with pytest.raises(FileError):
        Lines(tmp_path / name).head(1)


def test_closed_standard_streams_are_file_errors(monkeypatch):
    monkeypatch.setattr("sys.stdin", None)
    monkeypatch.setattr("sys.stdout", None)
    with pytest.raises(FileError, match="stdin"):
        list(Lines("-"))
    with pytest.raises(FileError, match="stdout"), open_output("-"):
        pass


def test_standard_input_stays_open(monkeypatch):
    stream = io.BytesIO(b"a\n")
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=stream))
    with open_input("-"):
        pass
    assert list(Lines("-")) == ["a"]
    assert not stream.closed


def test_lines_wait_when_all_that_came_is_handed_out(producer):
    source = Lines("-")
    lines = iter(source)
    assert source.waiting
    producer.send(b"one\ntwo\nthree\n")
    seen = [(next(lines), source.waiting) for _ in range(3)]
    assert seen == [("one", False), ("two", False), ("three", True)]
    producer.send(b"four\n")
    assert (next(lines), source.waiting) == ("four", True)


def test_the_beginning_of_a_line_does_not_hold_back_the_lines_before_it(producer):
    source = Lines("-")
    lines = iter(source)
    producer.send(b"one\ntwo\nthr")
    assert [(next(lines), source.waiting) for _ in range(2)] == [("one", False), ("two", True)]
    producer.send(b"ee\nfour\n")
    assert [(next(lines), source.waiting) for _ in range(2)] == [("three", False), ("four", True)]


def test_lines_seen_by_head_are_not_waited_for(producer):
    source = Lines("-")
    producer.send(b"one\ntwo\nthree\n")
    assert source.head(2) == ["one", "two"]
    assert not source.waiting
    lines = iter(source)
    assert [(next(lines), source.waiting) for _ in range(3)] == [("one", False), ("two", False), ("three", True)]


def test_head_that_takes_all_that_came_waits_only_after_handing_it_out(producer):
    source = Lines("-")
    producer.send(b"one\ntwo\n")
    source.head(2)
    lines = iter(source)
    assert [(next(lines), source.waiting) for _ in range(2)] == [("one", False), ("two", True)]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_lines_arrive_promptly_through_a_named_pipe(tmp_path):
    path = tmp_path / "fifo"
    os.mkfifo(path)
    keeper = os.open(path, os.O_RDWR)
    producer = Producer(os.open(path, os.O_WRONLY))
    try:
        source = Lines(path)
        lines = iter(source)
        producer.send(b"one\ntwo\n")
        assert [(next(lines), source.waiting) for _ in range(2)] == [("one", False), ("two", True)]
        os.close(keeper)
        keeper = None
        producer.close()
        assert list(lines) == []
    finally:
        producer.close()
        if keeper is not None:
            os.close(keeper)


@given(chunks=st.lists(st.text("a中\r\n", min_size=1, max_size=6), max_size=6), cut=st.integers(0, 2))
@settings(max_examples=150, deadline=None, derandomize=True)
def test_lines_and_waiting_for_any_chunks(chunks, cut):
    content = "".join(chunks).encode()
    pieces = [chunk.encode() for chunk in chunks]
    if cut and len(content) > cut:
        pieces = [content[:cut], content[cut:]]  # perhaps in the middle of a character
    stream = Chunks(pieces)
    *whole, rest = content.decode().split("\n")
    expected = [line.removesuffix("\r") for line in whole + [rest] * bool(rest)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdin", SimpleNamespace(buffer=stream))
        source = Lines("-")
        found = []
        for line in source:
            found.append(line)
            assert source.waiting == (source.number >= stream.line_ends)
    assert found == expected


def test_writing_creates_a_file_and_nothing_else(tmp_path):
    with atomic_writer(tmp_path / "new") as stream:
        stream.write(b"content")
    assert (tmp_path / "new").read_bytes() == b"content"
    assert left_in(tmp_path) == ["new"]


def test_readers_see_the_old_file_until_the_new_one_is_whole(file):
    path = file(b"old")
    with atomic_writer(path) as stream:
        stream.write(b"new")
        stream.flush()
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, BrokenPipeError])
@pytest.mark.parametrize("name", ["input.txt", "input.gz", "input.bz2", "input.xz"])
def test_an_error_while_writing_leaves_the_old_file_and_no_other(file, tmp_path, error, name):
    path = file(b"old", name)
    with pytest.raises(error), open_output(str(path)) as stream:
        stream.write(b"half")
        raise error
    assert path.read_bytes() == b"old"
    assert left_in(tmp_path) == [name]


def test_an_error_while_writing_a_new_file_leaves_nothing(tmp_path):
    with pytest.raises(ValueError), atomic_writer(tmp_path / "new"):
        raise ValueError
    assert left_in(tmp_path) == []


def test_a_full_disk_is_a_file_error_that_leaves_the_old_file(file, tmp_path, monkeypatch):
    def full(descriptor):
        raise OSError(28, "No space left on device")

    path = file(b"old")
    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(FileError) as caught, atomic_writer(path) as stream:
        stream.write(b"new")
    assert str(caught.value) == f"cannot write {path}: No space left on device"
    assert path.read_bytes() == b"old"
    assert left_in(tmp_path) == ["input.txt"]


def test_a_rename_that_fails_leaves_the_old_file(file, tmp_path, monkeypatch):
    def refuse(self, target):
        raise PermissionError(13, "Permission denied")

    path = file(b"old")
    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(FileError, match="Permission denied"), atomic_writer(path) as stream:
        stream.write(b"new")
    assert path.read_bytes() == b"old"
    assert left_in(tmp_path) == ["input.txt"]


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o755])
def test_a_file_keeps_its_permissions(file, mode):
    path = file(b"old")
    path.chmod(mode)
    with atomic_writer(path) as stream:
        stream.write(b"new")
    assert path.stat().st_mode & 0o7777 == mode


def test_a_new_file_has_the_permissions_the_user_asks_for(tmp_path):
    mask = os.umask(0o027)
    try:
        with atomic_writer(tmp_path / "new") as stream:
            stream.write(b"content")
    finally:
        os.umask(mask)
    assert (tmp_path / "new").stat().st_mode & 0o7777 == 0o640


@pytest.mark.parametrize("exists", [True, False])
def test_a_link_stays_and_its_target_is_written(tmp_path, exists):
    (tmp_path / "elsewhere").mkdir()
    target, link = tmp_path / "elsewhere" / "target", tmp_path / "link"
    if exists:
        target.write_bytes(b"old")
    link.symlink_to(Path("elsewhere") / "target")
    with atomic_writer(link) as stream:
        stream.write(b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert left_in(tmp_path / "elsewhere") == ["target"]


def test_writing_to_a_directory_is_a_file_error(tmp_path):
    with pytest.raises(FileError), atomic_writer(tmp_path):
        pass
    assert left_in(tmp_path) == []


def test_writing_into_a_missing_folder_names_the_file_that_was_asked_for(tmp_path):
    path = tmp_path / "missing" / "new"
    with pytest.raises(FileError) as caught, atomic_writer(path):
        pass
    assert str(caught.value) == f"cannot write {path}: No such file or directory"


@pytest.mark.parametrize("length", [230, 255])
def test_any_name_the_file_system_allows_can_be_written(tmp_path, length):
    path = tmp_path / ("n" * length)
    with atomic_writer(path) as stream:
        stream.write(b"content")
    assert path.read_bytes() == b"content"


def test_a_device_is_written_to_and_not_replaced():
    with open_output(os.devnull) as stream:
        stream.write(b"content")
    assert not Path(os.devnull).is_file()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_device_is_a_file_error():
    with pytest.raises(FileError, match="/dev/full: No space left"), open_output("/dev/full") as stream:
        stream.write(b"content")


@pytest.mark.parametrize("suffix", UNPACKERS)
def test_output_is_compressed_as_its_suffix_says(tmp_path, suffix):
    path = tmp_path / f"output.txt{suffix}"
    with open_output(str(path)) as stream:
        stream.write(b"content\n")
    assert UNPACKERS[suffix](path.read_bytes()) == b"content\n"
    assert list(Lines(path)) == ["content"]


@pytest.mark.parametrize("suffix", UNPACKERS)
def test_the_same_text_compresses_to_the_same_bytes(tmp_path, suffix, monkeypatch):
    for name, time in [("a", 1e9), ("b", 2e9)]:
        monkeypatch.setattr("time.time", lambda time=time: time)
        with open_output(str(tmp_path / f"{name}{suffix}")) as stream:
            stream.write(b"content\n")
    assert (tmp_path / f"a{suffix}").read_bytes() == (tmp_path / f"b{suffix}").read_bytes()


def test_standard_output_is_flushed_and_stays_open(monkeypatch):
    raw = io.BytesIO()
    buffer = io.BufferedWriter(raw)
    monkeypatch.setattr("sys.stdout", SimpleNamespace(buffer=buffer))
    with open_output("-") as stream:
        stream.write(b"content")
    assert raw.getvalue() == b"content"


def test_both_errors_belong_to_the_family():
    assert issubclass(FileError, TaggerError)
    assert issubclass(CorpusError, TaggerError)


@pytest.mark.skipif(not hasattr(os, "O_TMPFILE"), reason="files have names from the beginning here")
def test_a_file_has_no_name_until_it_is_whole(tmp_path):
    with atomic_writer(tmp_path / "new") as stream:
        stream.write(b"content")
        assert left_in(tmp_path) == []
    assert left_in(tmp_path) == ["new"]


@pytest.mark.parametrize("missing", ["O_TMPFILE", "link"])
def test_where_files_cannot_be_nameless_the_same_holds(tmp_path, monkeypatch, missing):
    def refuse(*args, **named):
        raise OSError(1, "Operation not permitted")

    monkeypatch.delattr("os.O_TMPFILE") if missing == "O_TMPFILE" else monkeypatch.setattr("os.link", refuse)
    (tmp_path / "file").write_bytes(b"old")
    (tmp_path / "file").chmod(0o640)
    with atomic_writer(tmp_path / "file") as stream:
        stream.write(b"content" * 100_000)
    assert (tmp_path / "file").read_bytes() == b"content" * 100_000 and left_in(tmp_path) == ["file"]
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o640
    with pytest.raises(KeyError), atomic_writer(tmp_path / "file") as stream:
        stream.write(b"half")
        raise KeyError
    assert left_in(tmp_path) == ["file"] and (tmp_path / "file").stat().st_size == 700_000


@pytest.mark.parametrize("step", ["os.fsync", "pathlib.Path.replace"])
def test_whatever_fails_the_old_file_stays(tmp_path, monkeypatch, step):
    def fail(*args):
        raise OSError(5, "Input/output error")

    (tmp_path / "file").write_bytes(b"old")
    monkeypatch.setattr(step, fail)
    with (
        pytest.raises(FileError, match="file: Input/output error"),
        atomic_writer(tmp_path / "file") as s,
    ):
        s.write(b"new")
    assert (tmp_path / "file").read_bytes() == b"old" and left_in(tmp_path) == ["file"]


def test_a_terminal_shows_control_characters_and_does_not_obey():
    shown = io.BytesIO()
    screen = TerminalWriter(shown)
    text = "a\tb\n\x1b[2J\x00\r\x7f\x9b31m é 中 \u200c \u202eab\u2069 \u200f \u2028\n"
    assert screen.write(text.encode()) == len(text.encode())
    assert shown.getvalue().decode() == (
        "a\tb\n\\x1b[2J\\x00\\r\\x7f\\x9b31m é 中 \u200c \\u202eab\\u2069 \u200f \\u2028\n"
    )


def test_a_terminal_gets_characters_whole_and_no_single_byte_that_it_could_obey():
    shown = io.BytesIO()
    screen = TerminalWriter(shown)
    for byte in "é\u202e中".encode() + b"\x9b2J\n":
        screen.write(bytes([byte]))
    assert shown.getvalue().decode() == "é\\u202e中\\x9b2J\n"


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # newer Pythons see the threads of BLAS, which sleep
@pytest.mark.skipif(not hasattr(os, "O_TMPFILE"), reason="files have names from the beginning here")
def test_what_a_kill_left_on_its_way_to_its_name_goes_with_the_next_write(tmp_path, monkeypatch):
    real = Path.replace
    monkeypatch.setattr(Path, "replace", lambda self, target: os._exit(9))
    child = os.fork()
    if not child:
        with atomic_writer(tmp_path / "file") as stream:
            stream.write(b"first")
    os.waitpid(child, 0)
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"first"]
    monkeypatch.setattr(Path, "replace", real)
    with atomic_writer(tmp_path / "file") as stream:
        stream.write(b"second")
    assert left_in(tmp_path) == ["file"] and (tmp_path / "file").read_bytes() == b"second"


@pytest.mark.skipif(not hasattr(os, "O_TMPFILE"), reason="files have names from the beginning here")
def test_a_folder_in_the_place_of_the_temporary_file_costs_nothing(tmp_path, monkeypatch):
    """Hours of work end with the new name: it must not depend on one temporary name."""
    linked, link = [], os.link
    monkeypatch.setattr(os, "link", lambda source, name, **more: (linked.append(name), link(source, name, **more)))
    with atomic_writer(tmp_path / "model") as stream:
        stream.write(b"old")
    linked[0].mkdir()
    (linked[0] / "precious").touch()
    with atomic_writer(tmp_path / "model") as stream:
        stream.write(b"new")
    assert (tmp_path / "model").read_bytes() == b"new"
    assert left_in(tmp_path) == sorted([linked[0].name, "model"]) and (linked[0] / "precious").exists()


@pytest.mark.skipif(not hasattr(os, "O_TMPFILE"), reason="files have names from the beginning here")
def test_many_writers_of_one_file_do_not_get_in_each_others_way(tmp_path):
    def write(letter):
        for _ in range(60):
            with atomic_writer(tmp_path / "file") as stream:
                stream.write(letter * 10_000)

    threads = [threading.Thread(target=write, args=(letter,)) for letter in (b"a", b"b", b"c")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert left_in(tmp_path) == ["file"] and (tmp_path / "file").read_bytes() in {
        x * 10_000 for x in (b"a", b"b", b"c")
    }


# Signals


def test_a_signal_waits_until_the_block_ends():
    done = []
    with pytest.raises(KeyboardInterrupt), signals_blocked():
        signal.raise_signal(signal.SIGINT)
        done.append("all of the block")
    assert done


def test_where_signals_cannot_be_blocked_the_block_runs_all_the_same(monkeypatch):
    monkeypatch.delattr(signal, "pthread_sigmask")
    with pytest.raises(KeyboardInterrupt), signals_blocked():
        signal.raise_signal(signal.SIGINT)
    with signals_blocked():
        assert signal.SIGINT in active_signals()
