"""Files with an address: read, written whole, refused. The store `memory://` keeps its files in this process."""

import json
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
from paths import DATA, TEST, TRAIN
from program import run

from tagger import HMMTagger, load_model, read_corpus, save_model, write_corpus
from tagger.cli.paths import LocalFile
from tagger.errors import FileError, MissingModelError
from tagger.files.reading import Lines, exists
from tagger.files.remote import RemoteInput, file_system, has_scheme, remote_key
from tagger.files.writing import atomic_writer, check_writable, file_size

fsspec = pytest.importorskip("fsspec")
SMALL = read_corpus(TEST)[:20]


@pytest.fixture
def store():
    store = fsspec.filesystem("memory")
    store.store.clear()
    store.pseudo_dirs[:] = [""]
    return store


@pytest.mark.parametrize("path, answer", [("s3://b/x", True), ("file:///x", True), ("C://x", False), ("a/b", False)])
def test_an_address_has_a_scheme(path, answer):
    assert has_scheme(path) == answer


@pytest.mark.parametrize("suffix", ["", ".gz", ".bz2", ".xz", ".zst"])
@pytest.mark.parametrize("scheme", ["memory", "file"])
def test_a_corpus_comes_back(scheme, suffix, store, tmp_path):
    path = f"memory://corpora/small.txt{suffix}" if scheme == "memory" else f"file://{tmp_path}/small.txt{suffix}"
    write_corpus(path, SMALL)
    assert read_corpus(path) == SMALL
    assert exists(path) and not exists(path + "x")
    assert file_size(path) > 100


def test_a_model_comes_back(store):
    model = HMMTagger().fit(SMALL)
    save_model(model, "memory://models/hmm.npz")
    assert load_model("memory://models/hmm.npz").predict(SMALL) == model.predict(SMALL)
    with pytest.raises(MissingModelError, match=r"memory://models/other\.npz"):
        load_model("memory://models/other.npz")


@pytest.mark.parametrize("scheme", ["memory", "file"])
def test_a_failure_leaves_the_old_file(scheme, store, tmp_path):
    path = "memory://x/text" if scheme == "memory" else f"file://{tmp_path}/text"
    with atomic_writer(path) as stream:
        stream.write(b"old")
    with pytest.raises(RuntimeError), atomic_writer(path) as stream:
        stream.write(b"new")
        raise RuntimeError
    assert "".join(Lines(path)) == "old"
    assert len(list(tmp_path.iterdir())) == (scheme == "file")


def test_a_store_that_fails_while_it_takes_a_file_leaves_the_old_one(tmp_path, monkeypatch):
    local = fsspec.filesystem("file")
    path = f"file://{tmp_path}/text"
    with atomic_writer(path) as stream:
        stream.write(b"old")

    def fail(self, source, target, **settings):
        (tmp_path / target.rsplit("/", 1)[1]).write_bytes(b"ha")
        raise OSError(28, "no space")

    monkeypatch.setattr(type(local), "put_file", fail)
    with pytest.raises(FileError, match="no space"), atomic_writer(path) as stream:
        stream.write(b"new")
    assert [child.read_bytes() for child in tmp_path.iterdir()] == [b"old"]


def test_errors_of_other_libraries_become_messages(store, monkeypatch):
    store.pipe("/x", b"a/B")
    monkeypatch.setattr(type(store), "open", lambda *args, **settings: Broken())
    with pytest.raises(FileError, match="cannot read memory://x: no credentials"):
        list(Lines("memory://x"))
    with pytest.raises(OSError, match="no credentials"):
        RemoteInput("memory://x").read(1)


class Broken:
    def read(self, size):
        raise RuntimeError("no credentials")

    def close(self):
        pass


@pytest.mark.parametrize("path", ["nowhere://x/y", "memory:/x"])
def test_unknown_schemes_are_refused(path):
    with pytest.raises(FileError):
        list(Lines(path))


def test_without_fsspec_an_address_is_refused(monkeypatch):
    monkeypatch.setitem(sys.modules, "fsspec", None)
    for use in (exists, check_writable, lambda path: list(Lines(path))):
        with pytest.raises(FileError, match=r"s3://b/x.*pip install"):
            use("s3://b/x")


def test_without_its_library_the_file_is_refused(monkeypatch, tmp_path):
    if sys.version_info >= (3, 14):
        pytest.skip("the standard library has zstd")
    monkeypatch.setitem(sys.modules, "backports", None)
    (tmp_path / "x.zst").write_bytes(b"")
    with pytest.raises(FileError, match="pip install"):
        list(Lines(tmp_path / "x.zst"))


@pytest.mark.parametrize("content", [b"no compressed data", b"\x28\xb5\x2f\xfd\x00"])
def test_a_damaged_zst_file_is_refused(content, tmp_path):
    (tmp_path / "x.zst").write_bytes(content)
    with pytest.raises(FileError, match=r"x\.zst"):
        list(Lines(tmp_path / "x.zst"))


def test_checkpoints_and_logs_are_local():
    with pytest.raises(FileError, match="local"):
        LocalFile().check("memory://x")


def test_commands_take_addresses(tmp_path):
    train, test, model = f"file://{TRAIN}", f"file://{TEST}", f"file://{tmp_path}/deep/hmm.npz"
    trained = run(tmp_path, "train-hmm", train, "-o", model)
    assert (trained.code, trained.out) == (0, "") and model in trained.err
    converted = run(tmp_path, "convert", test, f"file://{tmp_path}/words.txt.zst", "--strip-tags")
    assert converted.code == 0
    tagged = run(tmp_path, "tag", f"file://{tmp_path}/words.txt.zst", "-m", model, "-o", f"file://{tmp_path}/out.txt")
    assert tagged.code == 0
    again = run(tmp_path, "tag", tmp_path / "words.txt.zst", "-m", tmp_path / "deep/hmm.npz")
    assert (tmp_path / "out.txt").read_text("utf-8") == again.out
    evaluated = [
        run(tmp_path, "eval", *args, "--json").out for args in ((test, "-m", model), (TEST, "-m", "deep/hmm.npz"))
    ]
    assert [json.loads(text)["accuracy"] for text in evaluated] == [pytest.approx(0.9074, abs=1e-4)] * 2
    checked = run(tmp_path, "train-crf", train, "-o", f"file://{tmp_path}/crf.npz", "--max-iterations", 2)
    assert checked.code == 0 and not (DATA / "crf.npz.checkpoint").exists()
    over = run(tmp_path, "tag", f"file://{tmp_path}/out.txt", "-m", model, "-o", f"file://{tmp_path}/out.txt")
    assert over.code == 1 and "input" in over.err
    missing = run(tmp_path, "tag", "file:///no/such/file.txt", "-m", model)
    assert missing.code == 1 and "No such file" in missing.err


def test_nothing_is_written_to_the_web(tmp_path):
    (tmp_path / "in.txt").write_text("It rains .\n")
    run(tmp_path, "train-hmm", TRAIN, "-o", "hmm.npz")
    for output in ("https://127.0.0.1:1/out.txt", "http://127.0.0.1:1/out/"):
        done = run(tmp_path, "tag", "in.txt", "-m", "hmm.npz", "-o", output)
        assert done.code == 1 and f"cannot write {output}: expected a place for a file, got a web address" in done.err
    with pytest.raises(FileError, match="web address"), atomic_writer("https://127.0.0.1:1/x"):
        pass


def test_a_file_and_its_address_are_one(tmp_path):
    (tmp_path / "in.txt").write_text("It rains .\n")
    run(tmp_path, "train-hmm", TRAIN, "-o", "hmm.npz")
    for source, output in (("in.txt", f"file://{tmp_path}/in.txt"), (f"file://{tmp_path}/in.txt", "in.txt")):
        done = run(tmp_path, "tag", source, "-m", "hmm.npz", "-o", output)
        assert done.code == 1 and "input" in done.err and (tmp_path / "in.txt").read_text() == "It rains .\n"
    assert "1 file," in run(tmp_path, "tag", "in.txt", "-m", "hmm.npz", "-o", f"file://{tmp_path}/out/").err
    assert "0 files," in run(tmp_path, "tag", f"file://{tmp_path}/in.txt", "-m", "hmm.npz", "-o", "out/").err


@pytest.fixture(scope="module")
def bucket():
    """The address of a bucket of a server for tests on this machine."""
    server_module = pytest.importorskip("moto.server")
    pytest.importorskip("s3fs")
    server = server_module.ThreadedMotoServer("127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            patch.setenv(name, "test")
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        fsspec.filesystem("s3").mkdir("tests")
        yield "s3://tests"
    server.stop()


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_object_stores(bucket, tmp_path):
    write_corpus(f"{bucket}/a/small.txt.gz", SMALL)
    assert read_corpus(f"{bucket}/a/small.txt.gz") == SMALL
    model = HMMTagger().fit(SMALL)
    save_model(model, f"{bucket}/hmm.npz")
    assert load_model(f"{bucket}/hmm.npz").predict(SMALL) == model.predict(SMALL)
    assert exists(f"{bucket}/hmm.npz") and not exists(f"{bucket}/none.npz")
    with pytest.raises(RuntimeError), atomic_writer(f"{bucket}/half") as stream:
        stream.write(b"half")
        raise RuntimeError
    assert not exists(f"{bucket}/half")
    with pytest.raises(FileError, match="s3://no-such-bucket-here/x"):
        list(Lines("s3://no-such-bucket-here/x"))


@pytest.mark.parametrize("scheme", ["github", "reference", "generic", "none"])
def test_an_incomplete_address_is_a_file_error(scheme):
    with pytest.raises(FileError, match=f"{scheme}://x"):
        file_system(f"{scheme}://x")


def test_a_changed_web_page_has_another_key(tmp_path):
    pytest.importorskip("aiohttp")
    (tmp_path / "page.txt").write_text("one .\n")
    handler = partial(QuietHandler, directory=str(tmp_path))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/page.txt"
        before = remote_key(address)
        assert list(Lines(address)) == ["one ."] and remote_key(address) == before
        (tmp_path / "page.txt").write_text("two .\n")
        assert remote_key(address) != before
        server.shutdown()


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass
