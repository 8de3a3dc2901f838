"""Arrow batches, Parquet and Arrow files, frames of pandas and polars: the tags of the model itself, row by row."""

import pickle
import re
import shutil
import sys
from pathlib import Path

import pytest
from paths import TEST, TRAIN
from program import run, run_process

from tagger import HMMTagger, load_model, read_corpus, save_model
from tagger.errors import FileError, TaggerError
from tagger.integrations import frames, rows, tables
from tagger.integrations.arrow import BatchTagger, tag_batches
from tagger.integrations.tables import TableJob, open_table
from tagger.tagging import blocks

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


@pytest.mark.parametrize(
    "type",
    [
        pa.large_string(),
        pa.string_view(),
        pa.dictionary(pa.int8(), pa.string()),
        pa.dictionary(pa.int32(), pa.large_string()),
        pa.run_end_encoded(pa.int32(), pa.string()),
    ],
    ids=str,
)
def test_texts_of_other_types(model, type):
    column = pa.array(TEXTS) if not pa.types.is_dictionary(type) else pa.array(TEXTS).dictionary_encode()
    column = pa.compute.run_end_encode(column) if pa.types.is_run_end_encoded(type) else column.cast(type)
    tagged = [
        out.column("tags").to_pylist()
        for x in (column, pa.array(TEXTS))
        for out in tag_batches([pa.RecordBatch.from_arrays([x], ["x"])], model, "x")
    ]
    assert tagged[0] == tagged[1]


@pytest.mark.parametrize(
    "type",
    [
        pa.large_list(pa.string()),
        pa.list_view(pa.string()),
        pa.large_list_view(pa.large_string()),
        pa.list_(pa.string(), 2),
        pa.list_(pa.dictionary(pa.int8(), pa.string())),
    ],
    ids=str,
)
def test_words_of_other_types(model, type):
    words = [["Dogs", "bark"], None, ["They", "bark"]]
    [out] = tag_batches([pa.RecordBatch.from_arrays([pa.array(words, type)], ["x"])], model, word_column="x")
    expected = load_model(model).predict([words[0], words[2]])
    assert out.column("tags").to_pylist() == [expected[0], None, expected[1]]


@pytest.mark.parametrize("arguments", [{"text_column": "x"}, {"word_column": "x"}])
def test_a_column_of_nulls_has_no_tags(model, arguments):
    """Writers give a column without any value the type null."""
    [out] = tag_batches([pa.RecordBatch.from_arrays([pa.nulls(2)], ["x"])], model, **arguments)
    assert out.column("tags").to_pylist() == [None, None]


def broken_utf8():
    buffers = pa.py_buffer(b"\0\0\0\0\2\0\0\0"), pa.py_buffer(b"a\xff")
    return pa.StringArray.from_buffers(1, *buffers)


@pytest.mark.parametrize(
    "column, arguments, message",
    [
        (broken_utf8(), {"text_column": "x"}, "'x': expected UTF-8"),
        (pa.array([["a", None]]), {"word_column": "x"}, "'x': expected lists of words, got a null"),
        (pa.array([[["a"]]]), {"word_column": "x"}, "'x': expected lists of words, got the type list<"),
    ],
)
def test_faulty_values_are_refused(model, column, arguments, message):
    with pytest.raises(TaggerError, match=message):
        list(tag_batches([pa.RecordBatch.from_arrays([column], ["x"])], model, **arguments))


def test_a_sentence_without_end_is_refused(model, monkeypatch):
    monkeypatch.setattr(rows, "MAX_SENTENCE_LENGTH", 10)
    assert len(list(tag_batches([batch(words=[["a"] * 10] * 3)], model, word_column="words"))) == 1
    with pytest.raises(TaggerError, match="at most 10 tokens in a sentence, got 11"):
        list(tag_batches([batch(words=[["a"] * 11])], model, word_column="words"))


def test_two_columns_of_one_name_are_refused(model):
    twice = pa.RecordBatch.from_arrays([pa.array(["a"]), pa.array(["b"])], ["x", "x"])
    with pytest.raises(TaggerError, match="expected one column 'x', got 2"):
        list(tag_batches([twice], model, "x"))
    with pytest.raises(TaggerError, match="outputs: expected each once"):
        BatchTagger(model, "x", outputs=["tags", "tags"])


def test_a_model_may_be_a_path_object(model):
    expected = list(tag_batches([batch(text=TEXTS)], model, "text"))
    assert list(tag_batches([batch(text=TEXTS)], Path(model), "text")) == expected
    assert list(tag_batches([batch(text=TEXTS)], [Path(model)], "text")) == expected


def test_large_batches_are_tagged_in_blocks(model, monkeypatch):
    """No more sentences are in memory than a block has, whatever the rows of a batch."""
    texts = TEXTS * 500
    [whole] = tag_batches([batch(text=texts)], model, "text")
    sizes = []
    tag_sents = HMMTagger.tag_sents

    def counting(self, sentences, **settings):
        sizes.append(sum(map(len, sentences)))
        return tag_sents(self, sentences, **settings)

    monkeypatch.setattr(HMMTagger, "tag_sents", counting)
    monkeypatch.setattr(blocks, "BLOCK_TOKENS", 200)
    [out] = tag_batches([batch(text=texts)], model, "text")
    assert out == whole and len(sizes) > 10 and max(sizes) < 400


@pytest.mark.parametrize("suffix", ["arrow", "arrows", "feather", "parquet"])
def test_dictionaries_that_grow_are_written(model, tmp_path, monkeypatch, suffix):
    """Every batch has a dictionary of its own; a file of Arrow IPC may have one only."""
    monkeypatch.setattr(tables, "GROUP_ROWS", 4)
    kinds = [f"kind {i}" for i in range(20)]
    parts = [
        pa.table({"text": ["It rains ."] * 2, "kind": pa.array(kinds[i : i + 2]).dictionary_encode()})
        for i in range(0, 20, 2)
    ]
    source = str(tmp_path / "in.arrows")
    with pa.OSFile(source, "wb") as file, pa.ipc.new_stream(file, parts[0].schema) as writer:
        for part in parts:
            writer.write_table(part)
    target = str(tmp_path / f"out.{suffix}")
    assert TableJob(BatchTagger(model, "text")).tag_file(source, target) == 60
    with open_table(target) as (schema, batches):
        out = pa.Table.from_batches(batches, schema)
    assert pa.types.is_dictionary(schema.field("kind").type) and out["kind"].to_pylist() == kinds


@pytest.mark.parametrize("named, kind", [("in.arrow", "new_stream"), ("in.arrows", "new_file")])
def test_both_forms_of_arrow_are_read_by_their_content(model, tmp_path, table, named, kind):
    with pa.OSFile(str(tmp_path / named), "wb") as file, getattr(pa.ipc, kind)(file, table.schema) as writer:
        writer.write_table(table.slice(0, 50))
    done = run(tmp_path, "tag", named, "-m", model, "--word-column", "words", "-o", "out.arrows")
    assert done.code == 0
    with pa.OSFile(str(tmp_path / "out.arrows")) as file:
        assert pa.ipc.open_stream(file).read_all().drop_columns(["tags"]) == table.slice(0, 50)


def test_feather_of_version_1_is_named(tmp_path):
    (tmp_path / "old.feather").write_bytes(b"FEA1 and so on")
    with (
        pytest.raises(FileError, match=r"old\.feather: expected Feather of version 2"),
        open_table(str(tmp_path / "old.feather")),
    ):
        pass


def test_errors_about_tables_name_the_file(model, tmp_path, table):
    for name in ("good", "bad"):
        parquet.write_table(
            table.slice(0, 50).select(["id", "body"]).rename_columns(["id", name]), tmp_path / f"{name}.parquet"
        )
    for jobs in (1, 2):
        args = "good.parquet", "bad.parquet", "-m", model, "--text-column", "good", "--jobs", jobs
        done = run(tmp_path, "tag", *args, "-o", "out/")
        assert done.code == 1 and done.err.startswith("tagger: bad.parquet: expected a column 'good', got 'id', 'bad'")
    done = run(tmp_path, "tag", "good.parquet", "none.parquet", "-m", model, "--text-column", "good", "-o", "out/")
    assert done.code == 1 and "cannot read none.parquet: No such file" in done.err


def test_text_is_not_written_into_a_file_of_a_table(model, tmp_path):
    (tmp_path / "in.txt").write_text("It rains .\n")
    for source, name in (("in.txt", "in.txt"), ("-", "standard input")):
        done = run(tmp_path, "tag", source, "-m", model, "-o", "out.parquet", input="It rains .\n")
        assert done.code == 2 and name in done.err and not (tmp_path / "out.parquet").exists()
    assert run(tmp_path, "tag", "in.txt", "-m", model, "-o", "out.parquet/").code == 0


@pytest.mark.parametrize(
    "option",
    [
        ["--part", "1/2"],
        ["--doubtful", "1"],
        ["--scheduler", "local:1"],
        ["--word-column", "words", "--tokenize"],
        ["--word-column", "words", "--text-column", "text"],
    ],
)
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
    with pytest.raises(TaggerError, match=r"'id'\[0\]: expected a text or a list of words, got"):
        frames.tag(frame, "id", model)
    with pytest.raises(TaggerError, match="'words'"):
        frames.tag(out, "text", model)


@pytest.mark.parametrize("library, type", [("pandas", "category"), ("polars", "Categorical")])
def test_categories_are_texts(library, type, model):
    module = pytest.importorskip(library)
    frame = module.DataFrame({"text": TEXTS})
    texts = frame["text"].astype(type) if library == "pandas" else frame["text"].cast(getattr(module, type))
    tags = [frames.tag(module.DataFrame({"text": x}), "text", model)["tags"].to_list() for x in (texts, frame["text"])]
    assert tags[0] == tags[1]


def test_polars_columns_have_the_same_types_without_any_value(model):
    polars = pytest.importorskip("polars")
    outputs = ["words", "tags", "probabilities", "starts", "sentences"]
    parts = [polars.DataFrame({"text": texts}, schema={"text": polars.String}) for texts in (TEXTS, [], [None], [""])]
    tagged = [frames.tag(part, "text", Path(model), outputs=outputs) for part in parts]
    assert {tuple(part.schema.items()) for part in tagged} == {tuple(tagged[0].schema.items())}
    assert polars.concat(tagged)["tags"].to_list()[4:] == [None, []]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_part_without_any_text_has_the_columns_of_the_others(library, model):
    """Engines tag parts of a frame; one of them may have missing texts only, or no row."""
    frame = pytest.importorskip(library).DataFrame({"text": TEXTS})
    for part in (frame[:0], frame[1:2]):
        assert list(frames.tag(part, "text", model).columns) == ["text", "words", "tags"]
        assert list(frames.tag(part, "text", model, outputs=["tags", "starts"]).columns) == ["text", "tags", "starts"]


def test_a_frame_with_two_columns_of_one_name_is_refused(model):
    frame = pytest.importorskip("pandas").DataFrame([["a", "b"]], columns=["x", "x"])
    with pytest.raises(TaggerError, match="expected one column 'x', got several"):
        frames.tag(frame, "x", model)


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize(
    "values, message",
    [
        ([["a"], None, ["b", None]], "column 'x'[2][1]: expected a word, which is a string, got None"),
        ([b"a"], "column 'x'[0]: expected a text or a list of words, got b'a'"),
        ([None, [1]], "column 'x'[1][0]: expected a word, which is a string, got 1"),
    ],
)
def test_values_of_a_frame_that_are_no_text_are_named(library, model, values, message):
    frame = pytest.importorskip(library).DataFrame({"x": values})
    with pytest.raises(TaggerError, match=re.escape(message)):
        frames.tag(frame, "x", model)


def test_other_objects_than_frames_and_models_are_refused(model):
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    for other in (pandas.Series(["a"]), {"x": ["a"]}, polars.DataFrame({"x": ["a"]}).lazy()):
        with pytest.raises(TypeError, match="frame: expected a data frame of pandas or polars, got"):
            frames.tag(other, "x", model)
    with pytest.raises(TypeError, match="model: expected a model, its path or its name, got 3"):
        frames.tag(pandas.DataFrame({"x": ["a"]}), "x", 3)
    for name, message in ((3, "expected a column '3', got 'x'"), ("y", "expected a column 'y', got 'x'")):
        with pytest.raises(TaggerError, match=message):
            frames.tag(pandas.DataFrame({"x": ["a"]}), name, model)
    with pytest.raises(TaggerError, match="expected a column 'x', got none"):
        frames.tag(pandas.DataFrame(), "x", model)


def test_a_missing_time_is_a_missing_text(model):
    pandas = pytest.importorskip("pandas")
    assert frames.tag(pandas.DataFrame({"x": ["a", pandas.NaT]}), "x", model)["tags"].to_list()[1] is None


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
