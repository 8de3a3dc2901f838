"""Model files: what is written can be read, and nothing else is believed."""

import json
import pickle
import zipfile

import numpy as np
import pytest

from tagger import CRFTagger, HMMTagger, Sentence, load_model, save_model
from tagger.errors import FileError, ModelError

CORPUS = [Sentence(["the", "dog", "barks"], ["D", "N", "V"]), Sentence(["a", "cat"], ["D", "N"])]
KINDS = {"hmm": HMMTagger(rare_count=1), "crf": CRFTagger(max_iterations=5)}


@pytest.fixture(params=list(KINDS))
def path(request, tmp_path):
    model = KINDS[request.param].fit(CORPUS)
    model.column_ = "xpos"
    save_model(model, tmp_path / "model.npz")
    return tmp_path / "model.npz"


def rewrite(path, **changes):
    """Replace members (None removes one), as a stranger might."""
    with np.load(path) as members:
        arrays = {name: members[name] for name in members}
    arrays |= changes
    np.savez(path, **{name: array for name, array in arrays.items() if array is not None})


def meta_of(path):
    with np.load(path) as members:
        return json.loads(members["meta"].tobytes())


def with_meta(path, **changes):
    meta = {key: value for key, value in (meta_of(path) | changes).items() if value is not None}
    rewrite(path, meta=np.frombuffer(json.dumps(meta).encode(), np.uint8))


def test_the_description_is_plain_json_without_clock_path_or_threads(path):
    meta = meta_of(path)
    assert (
        meta["format"] == 1 and meta["kind"] in KINDS and meta["tags"] == ["D", "N", "V"] and meta["column"] == "xpos"
    )
    assert "threads" not in meta["settings"] and str(path.parent) not in json.dumps(meta)
    assert load_model(path).column_ == "xpos"


def test_hmm_arrays_have_their_textbook_names(tmp_path):
    save_model(HMMTagger().fit(CORPUS), tmp_path / "hmm.npz")
    with np.load(tmp_path / "hmm.npz", allow_pickle=False) as members:
        assert members["pi"].shape == (3,) and members["A"].shape == (3, 3) and members["B"].ndim == 1
        np.testing.assert_allclose(members["A"].sum(axis=1) + members["end"], 1.0)


def test_no_member_needs_pickle(path):
    with zipfile.ZipFile(path) as members:
        assert all(name.endswith(".npy") and b"'|O'" not in members.read(name)[:200] for name in members.namelist())


@pytest.mark.parametrize(
    "content", [b"", b"hello", b"PK\x03\x04garbage", b"\x93NUMPY\x01\x00v\x00{'descr'", b"\x80\x04."]
)
def test_other_files_are_refused(tmp_path, content):
    path = tmp_path / "model.npz"
    path.write_bytes(content)
    with pytest.raises(ModelError, match=r"model\.npz"):
        load_model(path)


def test_plain_arrays_foreign_archives_and_pickles_are_refused(tmp_path):
    with (tmp_path / "a.npz").open("wb") as stream:
        np.save(stream, np.zeros(3))
    np.savez(tmp_path / "b.npz", x=np.zeros(3))
    (tmp_path / "c.npz").write_bytes(pickle.dumps([1]))
    np.savez(tmp_path / "d.npz", meta=np.array([{}], dtype=object))
    for name in "abcd":
        with pytest.raises(ModelError, match=f"{name}.npz"):
            load_model(tmp_path / f"{name}.npz")


@pytest.mark.parametrize("keep", [0.1, 0.5, 0.9, 0.999])
def test_truncated_files_are_refused(path, keep):
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * keep)])
    with pytest.raises(ModelError):
        load_model(path)


def test_a_missing_model_names_the_way_to_get_one(tmp_path):
    with pytest.raises(ModelError, match="tagger train-crf CORPUS"):
        load_model(tmp_path / "none.npz")


def test_a_newer_format_names_the_program_that_wrote_it(path):
    with_meta(path, format=99, program="7.0")
    with pytest.raises(ModelError, match=r"format 99, written by tagger 7\.0, is newer"):
        load_model(path)


@pytest.mark.parametrize(
    "changes",
    [
        {"kind": "perceptron"}, {"kind": None}, {"tags": []}, {"tags": ["D", 3]}, {"tags": None}, {"tags": ["D", "N"]},
        {"settings": {"nonsense": 1}}, {"settings": None}, {"format": None}, {"summary": 3}, {"column": None},
    ],
)  # fmt: skip
def test_forged_descriptions_are_refused(path, changes):
    with_meta(path, **changes)
    with pytest.raises(ModelError):
        load_model(path)


def test_every_array_is_needed_and_checked(path):
    with np.load(path) as members:
        arrays = {name: members[name] for name in members if name != "meta"}
    content = path.read_bytes()
    for name, array in arrays.items():
        forgeries = [None, array.astype(">f8"), np.zeros((2, 2, 2)), np.array(["x"])]
        if array.size and array.dtype.kind == "f":
            forgeries.append(np.full_like(array, np.nan))
        if array.size:
            forgeries.append(np.concatenate([array, array.max(axis=0, keepdims=True)]))
        for forgery in forgeries:
            path.write_bytes(content)
            rewrite(path, **{name: forgery})
            with pytest.raises(ModelError, match=r"model\.npz"):
                load_model(path)


def test_saving_fails_cleanly(tmp_path):
    model = HMMTagger().fit(CORPUS)
    with pytest.raises(FileError, match="cannot write"):
        save_model(model, tmp_path / "no" / "such" / "folder.npz")


def test_lengths_that_wrap_around_are_refused(path):
    with np.load(path) as members:
        names = [name for name in members if name.endswith((".widths", ".lengths")) and members[name].size]
        arrays = {name: members[name].astype(np.uint64) for name in names}
    content = path.read_bytes()
    for name, array in arrays.items():
        array[:2] += np.uint64(1 << 63)
        path.write_bytes(content)
        rewrite(path, **{name: array})
        with pytest.raises(ModelError):
            load_model(path)


def test_a_file_that_unfolds_too_far_is_refused_before_it_does(tmp_path):
    np.savez_compressed(tmp_path / "bomb.npz", meta=np.zeros(1 << 28, np.uint8))
    with pytest.raises(ModelError, match="unfold"):
        load_model(tmp_path / "bomb.npz")


def test_a_forged_template_and_negative_probabilities_are_refused(tmp_path):
    save_model(CRFTagger(max_iterations=2).fit(CORPUS), tmp_path / "model.npz")
    with_meta(tmp_path / "model.npz", template="wrod[0]")
    with pytest.raises(ModelError, match="wrod"):
        load_model(tmp_path / "model.npz")
    save_model(HMMTagger().fit(CORPUS), tmp_path / "model.npz")
    rewrite(tmp_path / "model.npz", B=-np.ones(5))
    with pytest.raises(ModelError, match="not all positive"):
        load_model(tmp_path / "model.npz")


def test_an_archive_of_a_newer_version_of_zip_is_refused(tmp_path):
    path = tmp_path / "model.npz"
    with zipfile.ZipFile(path, "w") as members:
        members.writestr("meta.npy", b"x")
    data = bytearray(path.read_bytes())
    data[data.index(b"PK\x01\x02") + 6] = 99  # the version needed to read it
    path.write_bytes(bytes(data))
    with pytest.raises(ModelError, match="not a model"):
        load_model(path)
