"""Row groups of large Parquet files as tasks: the bytes of a whole run, whichever worker dies and wherever it stops."""

import json
import os
import signal
from itertools import zip_longest
from pathlib import Path

import pytest
from paths import TEST, TRAIN
from program import run_process

from tagger import HMMTagger, load_model, read_corpus, save_model
from tagger.errors import TaggerError
from tagger.integrations import tables
from tagger.integrations.arrow import BatchTagger
from tagger.integrations.distributed.cluster import connect
from tagger.integrations.distributed.executor import DaskExecutor
from tagger.integrations.distributed.tagging import tag
from tagger.integrations.tables import TableJob, open_table, row_group_pieces
from tagger.tagging import folder as folders
from tagger.tagging.folder import TaggingFolder
from tagger.tagging.pieces import run_pieces
from tagger.tagging.workers import processes

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def client():
    with connect("local:2") as client:
        yield client


@pytest.fixture
def inputs(tmp_path, monkeypatch):
    """Two Parquet files of many row groups, one of a single group, and one without rows."""
    monkeypatch.setattr(tables, "PIECE_BYTES", 10_000)
    save_model(HMMTagger().fit(read_corpus(TRAIN)), tmp_path / "hmm.npz")
    texts = [" ".join(sentence.words) for sentence in read_corpus(TEST)] * 4
    columns = {"id": range(len(texts)), "text": texts, "kind": pa.array(texts).dictionary_encode()}
    table = pa.table(columns, metadata={"made by": "a test"})
    paths = [str(tmp_path / f"{name}.parquet") for name in ("long", "longer", "short", "none")]
    parquet.write_table(table, paths[0], row_group_size=20)
    parquet.write_table(table.slice(100), paths[1], row_group_size=7)
    parquet.write_table(table.slice(0, 50), paths[2])
    parquet.write_table(table.slice(0, 0), paths[3])
    return paths


def files(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in Path(folder).rglob("*") if path.is_file()}


def tasks(inputs, output):
    model = str(Path(inputs[0]).parent / "hmm.npz")
    return TaggingFolder(str(output), [model], {}, ".parquet").tasks(inputs)


def job_for(inputs, kind=TableJob, **fields):
    return kind(BatchTagger(load_model(Path(inputs[0]).parent / "hmm.npz"), "text"), **fields)


def whole(inputs, output):
    """Tag the files as wholes, in this process."""
    tokens = sum(folders.run(task, job_for(inputs).tag_file) for task in tasks(inputs, output))
    return tokens, files(output)


def test_pieces_are_neighbouring_row_groups(inputs):
    pieces = job_for(inputs).pieces(inputs[0])
    metadata = parquet.ParquetFile(inputs[0]).metadata
    assert [group for piece in pieces for group in piece] == list(range(metadata.num_row_groups))
    sizes = [sum(metadata.row_group(group).total_byte_size for group in piece) for piece in pieces]
    assert len(pieces) > 3 and min(sizes[:-1]) >= tables.PIECE_BYTES
    assert len(job_for(inputs).pieces(inputs[2])) == 1 and job_for(inputs).pieces(inputs[3]) in ([], [range(1)])
    assert job_for(inputs).pieces("none.parquet") == job_for(inputs).pieces("x.arrow") == []


def test_a_cluster_gives_the_bytes_of_one_process(client, inputs, tmp_path):
    tokens, expected = whole(inputs, tmp_path / "whole")
    done = list(run_pieces(tasks(inputs, tmp_path / "out"), job_for(inputs), DaskExecutor(client)))
    assert sum(d.files for d in done) == 4 and sum(d.tokens for d in done) == tokens
    assert len(done) > 10  # pieces, not files
    assert files(tmp_path / "out") == expected
    assert list(tasks(inputs, tmp_path / "out")) == []
    with open_table(str(tmp_path / "out/long.parquet")) as (schema, _):
        assert schema.metadata[b"made by"] == b"a test" and pa.types.is_dictionary(schema.field("kind").type)


def test_small_groups_are_written_alike(inputs, tmp_path, monkeypatch):
    """The size of a row group of the output does not depend on the way of its batches."""
    monkeypatch.setattr(tables, "GROUP_BYTES", 20_000)
    _, expected = whole(inputs, tmp_path / "whole")
    list(run_pieces(tasks(inputs, tmp_path / "out"), job_for(inputs), processes(1)))
    assert files(tmp_path / "out") == expected
    assert parquet.ParquetFile(tmp_path / "out/long.parquet").num_row_groups > 3


class DyingJob(TableJob):
    """Kills its worker in the middle of a piece, twice, and once while a file is joined."""

    def tag_file(self, source, target, jobs=1, advance=lambda tokens: None, piece=None):
        if piece and piece.start > 4:
            die_once(Path(source).with_suffix(".died"))
        return super().tag_file(source, target, jobs, advance, piece)

    def tagged_batches(self, source, piece, place):
        if piece.start > 2:
            die_once(Path(source).parent / "died-joining")
        return super().tagged_batches(source, piece, place)


def die_once(marker):
    if not marker.exists():
        marker.write_text("")
        os.kill(os.getpid(), signal.SIGKILL)


def test_the_pieces_of_a_worker_that_dies_are_tagged_by_others(client, inputs, tmp_path):
    _, expected = whole(inputs, tmp_path / "whole")
    done = list(run_pieces(tasks(inputs, tmp_path / "out"), job_for(inputs, DyingJob), DaskExecutor(client)))
    assert {path.name for path in tmp_path.glob("*died*")} == {"long.died", "longer.died", "died-joining"}
    assert sum(d.files for d in done) == 4 and files(tmp_path / "out") == expected


def test_a_run_that_was_stopped_goes_on_with_its_pieces(inputs, tmp_path):
    tokens, expected = whole(inputs, tmp_path / "whole")
    run = run_pieces(tasks(inputs, tmp_path / "out"), job_for(inputs), processes(1))
    before = [next(run).tokens for _ in range(3)]
    run.close()
    pieces = {path: path.stat().st_mtime_ns for path in (tmp_path / "out/manifest").iterdir()}
    assert len(pieces) >= 3 and all(path.suffix == ".arrows" for path in pieces)
    again = list(run_pieces(tasks(inputs, tmp_path / "out"), job_for(inputs), processes(1)))
    assert sum(d.tokens for d in again) <= tokens - sum(before)
    assert files(tmp_path / "out") == expected


def test_a_piece_that_another_run_has_removed_is_tagged_again(inputs, tmp_path):
    _, expected = whole(inputs, tmp_path / "whole")
    run = run_pieces(tasks(inputs[:1], tmp_path / "out"), job_for(inputs), processes(1))
    for _ in job_for(inputs).pieces(inputs[0]):
        next(run)
    for path in list((tmp_path / "out/manifest").iterdir())[::2]:
        path.unlink()
    list(run)
    assert {name: expected[name] for name in files(tmp_path / "out")} == files(tmp_path / "out")


def test_two_runs_at_once_give_the_same_files(inputs, tmp_path):
    _, expected = whole(inputs, tmp_path / "whole")
    runs = [run_pieces(tasks(inputs, tmp_path / "out"), job_for(inputs), processes(1)) for _ in range(2)]
    for _ in zip_longest(*runs):
        pass
    assert files(tmp_path / "out") == expected


def test_pieces_in_a_store(inputs, tmp_path):
    fsspec = pytest.importorskip("fsspec")
    store = fsspec.filesystem("memory")
    store.store.clear()
    _, expected = whole(inputs, tmp_path / "whole")
    list(run_pieces(tasks(inputs, "memory://out/"), job_for(inputs), processes(1)))
    outputs = {name.removeprefix("/out/"): store.cat(name) for name in store.find("/out")}
    assert set(outputs) == set(expected)  # no piece is left
    assert all(outputs[name] == text for name, text in expected.items() if name.endswith(".parquet"))
    assert list(tasks(inputs, "memory://out/")) == []
    store.pipe("/out/long.parquet", outputs["long.parquet"][::-1])
    assert [task.target for task in tasks(inputs, "memory://out/")] == ["memory://out/long.parquet"]


def test_long_names_have_pieces(inputs, tmp_path):
    long = Path(inputs[0]).rename(tmp_path / ("x" * 240 + ".parquet"))
    _, expected = whole([str(long)], tmp_path / "whole")
    list(run_pieces(tasks([str(long)], tmp_path / "out"), job_for(inputs), processes(1)))
    assert files(tmp_path / "out") == expected


def test_tables_by_the_function(client, inputs, tmp_path):
    tokens, expected = whole(inputs, tmp_path / "whole")
    output = str(tmp_path / "out")
    assert tag(client, tmp_path / "hmm.npz", inputs, output) == tokens
    assert {n: b for n, b in files(output).items() if n.endswith("parquet")} == {
        n: b for n, b in expected.items() if n.endswith("parquet")
    }
    assert tag(client, tmp_path / "hmm.npz", inputs, output) == 0
    for wrong in ({"inputs": [*inputs, "x.txt"]}, {"inputs": inputs, "format": "tsv"}):
        with pytest.raises(TaggerError, match="expected"):
            tag(client, tmp_path / "hmm.npz", output=output, **wrong)
    with pytest.raises(TaggerError, match=r"long\.parquet: expected a column 'body'"):
        tag(client, tmp_path / "hmm.npz", inputs, str(tmp_path / "other"), text_column="body")


def test_the_command_cuts_a_large_file(tmp_path):
    save_model(HMMTagger().fit(read_corpus(TRAIN)), tmp_path / "hmm.npz")
    words = [sentence.words for sentence in read_corpus(TEST)] * 30
    table = pa.table({"words": words, "other": [os.urandom(400) for _ in words]})
    parquet.write_table(table, tmp_path / "in.parquet", row_group_size=500)
    assert len(row_group_pieces(parquet.ParquetFile(tmp_path / "in.parquet").metadata)) == 2
    args = "tag", "in.parquet", "-m", "hmm.npz", "--word-column", "words"
    assert run_process(tmp_path, *args, "-o", "here/").code == 0
    done = run_process(tmp_path, *args, "-o", "there/", "--scheduler", "local:2")
    assert done.code == 0 and "1 file," in done.err
    assert files(tmp_path / "there") == files(tmp_path / "here")
    assert json.loads(files(tmp_path / "there")["manifest/in.parquet.json"])["tokens"] == 30 * 1523
