"""Arrow batches, Parquet and Arrow files, frames of pandas and polars: the tags of the model itself, row by row."""

import pickle
import shutil
import sys

import pytest
from paths import TEST, TRAIN
from program import run, run_process

from tagger import HMMTagger, load_model, read_corpus, save_model
from tagger.errors import FileError, TaggerError
from tagger.integrations import frames
from tagger.integrations.arrow import BatchTagger, tag_batches
from tagger.integrations.tables import TableJob, open_table

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
LOOPBACK = "127.0.0.1"
TEXTS = ["She left. Why?", None, "", "They can fish.\nIt didn't."]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "hmm.npz"
    tagger = HMMTagger().fit(read_corpus(TRAIN))
    tagger.tokenizer_ = "english"
    save_model(tagger, path)
    return str(path)


def batch(**columns):
    return pa.RecordBatch.from_pydict({"id": list(range(len(next(iter(columns.values()))))), **columns})


def by_hand(model, text):
    """Words, tags, probabilities, offsets and sentence numbers of a text, by the model's own method."""
    sentences = load_model(model).tag(text, probabilities=True)
    pairs = [(i, sentence) for i, sentence in enumerate(sentences)]
    return {
        "words": [word for _, s in pairs for word in s.words],
        "tags": [tag for _, s in pairs for tag in s.tags],
        "probabilities": [p for _, s in pairs for p in s.probabilities],
        "starts": [begin for _, s in pairs for begin, _ in s.offsets],
        "ends": [end for _, s in pairs for _, end in s.offsets],
        "sentences": [i for i, s in pairs for _ in s.words],
    }


def test_texts_become_lists(model):
    outputs = ("words", "tags", "probabilities", "starts", "ends", "sentences")
    [out] = tag_batches([batch(text=TEXTS)], model, text_column="text", outputs=outputs)
    rows = out.to_pylist()
    assert [row["id"] for row in rows] == [0, 1, 2, 3]
    for text, row in zip(TEXTS, rows, strict=True):
        expected = by_hand(model, text) if text is not None else dict.fromkeys(outputs)
        assert row["probabilities"] == pytest.approx(expected.pop("probabilities"), abs=1e-9)
        assert {name: row[name] for name in expected} == expected
    assert rows[0]["sentences"] == [0, 0, 0, 1, 1]


def test_words_become_tags(model):
    words = [["They", "can", "fish", "."], None, []]
    [out] = tag_batches([batch(words=words)], model, word_column="words")
    tags = out.column("tags").to_pylist()
    assert tags == [load_model(model).predict([words[0]])[0], None, []]
    assert out.schema.names == ["id", "words", "tags"]


def test_the_tokenizer_can_be_another(model):
    [out] = tag_batches([batch(text=["It didn't ."])], model, text_column="text", tokenize=None)
    assert out.column("words").to_pylist() == [["It", "didn't", "."]]


def test_a_tagger_of_batches_can_be_pickled_and_knows_its_schema(model):
    tagger = pickle.loads(pickle.dumps(BatchTagger(model, "text")))
    out = tagger()(batch(text=TEXTS))
    assert out.schema == tagger.schema(batch(text=TEXTS).schema)
    [again] = tag_batches([batch(text=TEXTS)], load_model(model), "text")
    assert out == again


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({}, "expected one of the two"),
        ({"text_column": "text", "word_column": "words"}, "expected one of the two"),
        ({"text_column": "body"}, "expected a column 'body', got 'id', 'text', 'tags'"),
        ({"text_column": "text"}, "without a column 'tags'"),
        ({"text_column": "text", "outputs": ["lemmas"]}, "'lemmas'"),
        ({"word_column": "text", "outputs": ["starts"]}, "'starts'"),
    ],
)
def test_wrong_arguments_are_named(model, arguments, message):
    with pytest.raises(TaggerError, match=message):
        list(tag_batches([batch(text=["a"], tags=["b"])], model, **arguments))


@pytest.fixture(scope="module")
def table():
    sentences = read_corpus(TEST)
    texts = [" ".join(sentence.words) for sentence in sentences] * 30
    return pa.table({"id": range(len(texts)), "body": texts, "words": [list(s.words) for s in sentences] * 30})


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "feather"])
def test_the_command_tags_tables(tmp_path, model, table, suffix):
    if suffix == "parquet":
        parquet.write_table(table, tmp_path / "in.parquet")
    else:
        with pa.OSFile(str(tmp_path / f"in.{suffix}"), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table, max_chunksize=700)
    args = f"in.{suffix}", "-m", model, "--word-column", "words"
    done = run_process(tmp_path, "tag", *args, "-o", f"out.{suffix}", "--jobs", 2)
    assert (done.code, done.out) == (0, "") and f"{30 * 1523:,} tokens" in done.err
    with open_table(str(tmp_path / f"out.{suffix}")) as (schema, batches):
        out = pa.Table.from_batches(batches, schema)
    assert out.drop_columns(["tags"]) == table
    plain = run(tmp_path, "tag", "-m", model, input="\n".join(table["body"].to_pylist()) + "\n").out
    tagged = zip(out["words"].to_pylist(), out["tags"].to_pylist(), strict=True)
    lines = [" ".join(f"{word}/{tag}" for word, tag in zip(*row, strict=True)) for row in tagged]
    assert "\n".join(lines) + "\n" == plain
    run(tmp_path, "tag", *args, "-o", f"again.{suffix}", "--jobs", 1)
    assert (tmp_path / f"again.{suffix}").read_bytes() == (tmp_path / f"out.{suffix}").read_bytes()


def test_tables_go_into_folders(tmp_path, model, table):
    for i in range(3):
        parquet.write_table(table.slice(100 * i, 100), tmp_path / f"{i}.parquet")
    command = "tag", "0.parquet", "1.parquet", "2.parquet", "-m", model, "--text-column", "body", "--tokenize"
    # the column `words` of the input is in the way
    done = run(tmp_path, *command, "-o", "out/")
    assert done.code == 1 and "'words'" in done.err
    for i in range(3):
        parquet.write_table(table.drop_columns(["words"]).slice(100 * i, 100), tmp_path / f"{i}.parquet")
    assert "3 files" in run_process(tmp_path, *command, "-o", "out/").err
    assert "0 files" in run_process(tmp_path, *command, "-o", "out/", "--part", "1/1").err
    assert "3 files" in run_process(tmp_path, *command, "-o", "out/", "--probabilities").err
    assert parquet.read_table(tmp_path / "out/1.parquet").column_names == [
        "id",
        "body",
        "words",
        "tags",
        "probabilities",
    ]


@pytest.mark.parametrize(
    "args, code, place",
    [
        (["in.parquet"], 2, "-o"),
        (["in.parquet", "-o", "out.txt"], 2, "-o"),
        (["in.parquet", "-o", "out.parquet", "--nbest", "2"], 2, "--nbest"),
        (["in.parquet", "more.txt", "-o", "out/"], 2, "more.txt"),
        (["in.parquet", "in.parquet", "-o", "out.parquet"], 2, "-o"),
        (["in.parquet", "-o", "out.parquet"], 1, "in.parquet"),
        (["none.parquet", "-o", "out.parquet"], 1, "none.parquet"),
    ],
)
def test_wrong_usage_of_tables(tmp_path, model, args, code, place):
    (tmp_path / "in.parquet").write_bytes(b"no table")
    done = run_process(tmp_path, "tag", "-m", model, *args)
    assert done.code == code and place in done.err and "Traceback" not in done.err
    assert [path.name for path in tmp_path.iterdir()] == ["in.parquet"]


@pytest.mark.parametrize(
    "values, arguments",
    [
        ([1, 2], {"text_column": "x"}),
        ([1.5, None], {"text_column": "x"}),
        (["a b"], {"word_column": "x"}),
        ([["a"]], {"text_column": "x"}),
        ([[1]], {"word_column": "x"}),
    ],
)
def test_a_column_of_another_type_is_refused(model, values, arguments):
    with pytest.raises(TaggerError, match="'x': expected"):
        list(tag_batches([pa.RecordBatch.from_pydict({"x": values})], model, **arguments))


@pytest.mark.parametrize("option", [["--part", "1/2"], ["--doubtful", "1"], ["--scheduler", "local:1"]])
def test_options_that_tables_cannot_follow_are_refused(tmp_path, model, option, table):
    parquet.write_table(table.slice(0, 5), tmp_path / "in.parquet")
    done = run(tmp_path, "tag", "in.parquet", "-m", model, "--word-column", "words", "-o", "out.parquet", *option)
    assert done.code == 2 and option[0] in done.err and not (tmp_path / "out.parquet").exists()


def test_without_pyarrow_tables_are_refused(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(FileError, match="pip install"), open_table("x.parquet"):
        pass


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames(library, model):
    frame = pytest.importorskip(library).DataFrame({"id": [1, 2, 3, 4], "text": TEXTS})
    if library == "pandas":
        frame = frame[frame.id > 1].set_index("id", drop=False)
    out = frames.tag(frame, "text", model, outputs=["words", "tags"])
    assert type(out) is type(frame) and list(out.columns) == ["id", "text", "words", "tags"]
    for text, tags in zip(out["text"].to_list(), out["tags"].to_list(), strict=True):
        assert tags == (by_hand(model, text)["tags"] if isinstance(text, str) else None)
    assert list(frame.columns) == ["id", "text"]
    with pytest.raises(TaggerError, match="'none'"):
        frames.tag(frame, "none", model)
    with pytest.raises(TaggerError, match="'id': expected texts"):
        frames.tag(frame, "id", model)
    with pytest.raises(TaggerError, match="'words'"):
        frames.tag(out, "text", model)


def test_pyarrow_dataset(model, tmp_path, table):
    dataset = pytest.importorskip("pyarrow.dataset")
    parquet.write_table(table.slice(0, 300), tmp_path / "a.parquet")
    parquet.write_table(table.slice(300, 300), tmp_path / "b.parquet")
    source = dataset.dataset([str(tmp_path / "a.parquet"), str(tmp_path / "b.parquet")])
    tagger = BatchTagger(model, word_column="words")
    tagged = tag_batches(source.to_batches(), model, word_column="words")
    dataset.write_dataset(tagged, tmp_path / "out", schema=tagger.schema(source.schema), format="parquet")
    assert dataset.dataset(tmp_path / "out").to_table().num_rows == 600


@pytest.mark.filterwarnings("default")
def test_dask(model, tmp_path, table):
    dataframe = pytest.importorskip("dask.dataframe")
    parquet.write_table(table.slice(0, 300), tmp_path / "a.parquet")
    parquet.write_table(table.slice(300, 300), tmp_path / "b.parquet")
    frame = dataframe.read_parquet([str(tmp_path / "a.parquet"), str(tmp_path / "b.parquet")])
    meta = frames.tag(frame._meta, "words", model)
    out = frame.map_partitions(frames.tag, "words", model, meta=meta).compute(scheduler="synchronous")
    expected = load_model(model).predict(table["words"].slice(0, 600).to_pylist())
    assert out["tags"].to_list() == expected


def test_a_job_is_the_same_for_files_elsewhere(model, tmp_path, table):
    pytest.importorskip("fsspec")
    parquet.write_table(table.slice(0, 50), tmp_path / "in.parquet")
    job = TableJob(BatchTagger(model, word_column="words"))
    job.tag_file(str(tmp_path / "in.parquet"), str(tmp_path / "local.parquet"))
    job.tag_file(f"file://{tmp_path}/in.parquet", "memory://out.parquet")
    with open_table("memory://out.parquet") as (_, there), open_table(str(tmp_path / "local.parquet")) as (_, here):
        assert list(there) == list(here)


@pytest.mark.filterwarnings("default")
def test_spark(model, tmp_path, table, monkeypatch):
    """The recipe of the guide; by hand, since Spark is large."""
    sql = pytest.importorskip("pyspark.sql")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java")
    parquet.write_table(table.slice(0, 60), tmp_path / "in.parquet")
    monkeypatch.setenv("SPARK_LOCAL_IP", LOOPBACK)
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    settings = {"spark.ui.enabled": "false", "spark.driver.host": LOOPBACK, "spark.driver.bindAddress": LOOPBACK}
    session = sql.SparkSession.builder.master("local[1]").config(map=settings).getOrCreate()
    try:
        frame = session.read.parquet(str(tmp_path / "in.parquet"))
        tagged = frame.mapInArrow(
            lambda batches: tag_batches(batches, model, word_column="words"),
            "id long, body string, words array<string>, tags array<string>",
        )
        tags = [row.tags for row in tagged.orderBy("id").collect()]
    finally:
        session.stop()
    assert tags == load_model(model).predict(table["words"].slice(0, 60).to_pylist())


@pytest.mark.filterwarnings("default")
def test_ray(model, table, monkeypatch):
    """The recipe of the guide; by hand, since Ray is large."""
    # Ray replaces the loopback address by that of the machine, unless clusters are switched off when it is imported.
    monkeypatch.setenv("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    ray = pytest.importorskip("ray")
    data = pytest.importorskip("ray.data")
    ray.init(num_cpus=1, include_dashboard=False, _node_ip_address=LOOPBACK)
    try:
        tag_table = BatchTagger(model, word_column="words").tag_table
        rows = data.from_arrow(table.slice(0, 60)).map_batches(tag_table, batch_format="pyarrow").take_all()
    finally:
        ray.shutdown()
    expected = load_model(model).predict(table["words"].slice(0, 60).to_pylist())
    assert [list(row["tags"]) for row in sorted(rows, key=lambda row: row["id"])] == expected


def test_tables_in_memory(model, table):
    small = table.slice(0, 40)
    out = BatchTagger(model, word_column="words").tag_table(small)
    assert out.drop_columns(["tags"]) == small
    assert out["tags"].to_pylist() == load_model(model).predict(small["words"].to_pylist())
    assert BatchTagger(model, word_column="words").tag_table(small.slice(0, 0)).num_rows == 0
