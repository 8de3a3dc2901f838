"""Model files: what is written can be read, and nothing else is believed."""

import io
import json
import pickle
import struct
import time
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest

from tagger import CRFTagger, HMMTagger, Sentence, load_model, save_model
from tagger.arrays.npz import write_archive
from tagger.errors import FileError, ModelError
from tagger.models.store import FORMAT

CORPUS = [Sentence(["the", "dog", "barks"], ["D", "N", "V"]), Sentence(["a", "cat"], ["D", "N"])]
KINDS = {
    "hmm": HMMTagger(rare_count=1),
    "crf": CRFTagger(max_iterations=5),
    "crf over candidates": CRFTagger(max_iterations=5, order=2),
}


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
        meta["format"] == FORMAT
        and meta["kind"] in KINDS
        and meta["tags"] == ["D", "N", "V"]
        and meta["column"] == "xpos"
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


def test_a_missing_model_is_named_without_advice_on_a_command_line(tmp_path):
    with pytest.raises(ModelError, match=r"none\.npz'$"):
        load_model(tmp_path / "none.npz")


def test_a_newer_format_names_the_program_that_wrote_it(path):
    with_meta(path, format=99, program="7.0")
    with pytest.raises(ModelError, match=r"99.*7\.0"):
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
    with zipfile.ZipFile(path) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    for name in contents.keys() - {"meta.npy"}:
        array = np.load(io.BytesIO(contents[name]))
        forgeries = [None, array.astype(">f8"), np.zeros((2, 2, 2)), np.array(["x"])]
        if array.size and array.dtype.kind == "f":
            forgeries.append(np.full_like(array, np.nan))
        if array.size:
            forgeries.append(np.concatenate([array, array.max(axis=0, keepdims=True)]))
        for forgery in forgeries:
            forged = io.BytesIO()
            if forgery is not None:
                np.save(forged, forgery)
            with zipfile.ZipFile(path, "w") as archive:
                for member, content in (contents | {name: forged.getvalue()}).items():
                    if content:
                        archive.writestr(member, content)
            with pytest.raises(ModelError, match=r"model\.npz"):
                load_model(path)


def test_saving_fails_cleanly(tmp_path):
    model = HMMTagger().fit(CORPUS)
    with pytest.raises(FileError, match=r"folder.npz"):
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
    with pytest.raises(ModelError, match=r"bomb.npz"):
        load_model(tmp_path / "bomb.npz")


def test_a_forged_template_and_negative_probabilities_are_refused(tmp_path):
    save_model(CRFTagger(max_iterations=2).fit(CORPUS), tmp_path / "model.npz")
    with_meta(tmp_path / "model.npz", template="wrod[0]")
    with pytest.raises(ModelError, match="wrod"):
        load_model(tmp_path / "model.npz")
    save_model(HMMTagger().fit(CORPUS), tmp_path / "model.npz")
    rewrite(tmp_path / "model.npz", B=-np.ones(5))
    with pytest.raises(ModelError, match=r"model.npz"):
        load_model(tmp_path / "model.npz")


def test_an_archive_of_a_newer_version_of_zip_is_refused(tmp_path):
    path = tmp_path / "model.npz"
    with zipfile.ZipFile(path, "w") as members:
        members.writestr("meta.npy", b"x")
    data = bytearray(path.read_bytes())
    data[data.index(b"PK\x01\x02") + 6] = 99  # the version needed to read it
    path.write_bytes(bytes(data))
    with pytest.raises(ModelError, match=r"model.npz"):
        load_model(path)


def members_of(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def rezip(path, members, method=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def refused(path, part=""):
    """Assert that a file is refused with its name, and with a part of it where one is at fault."""
    with pytest.raises(ModelError) as caught:
        load_model(path)
    message = str(caught.value)
    assert str(path) in message and part in message and message.isprintable() and len(message) < 500


def test_members_that_nobody_knows_and_other_compressions_are_refused(path):
    members = members_of(path)
    rezip(path, members | {"x.npy": b""})
    refused(path, "'x.npy'")
    rezip(path, members | {f"x{i}.npy": b"" for i in range(6000)})
    refused(path)
    rezip(path, members, zipfile.ZIP_BZIP2)  # which Python unfolds without a limit
    refused(path)


def test_two_members_of_one_name_are_refused(path):
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("meta.npy", b"")
    refused(path)


@pytest.mark.parametrize(
    "header",
    [
        "{'descr': '|O', 'fortran_order': False, 'shape': (1,), }",
        "{'descr': '<f4', 'fortran_order': True, 'shape': (3, 3), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (" + "9" * 5000 + ",), }",
        "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (3,), }",
        "__import__('os').system('true')",
        "(" * 5000,
        "\x1b[2J" * 200,
    ],
)
def test_a_forged_header_is_refused_without_room_being_made(path, header):
    members = members_of(path)
    text = header.encode() + b"\n"
    name = "start.npy" if "start.npy" in members else "pi.npy"
    members[name] = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + b"\x00" * 12
    rezip(path, members)
    tracemalloc.start()
    begin = time.process_time()
    refused(path)
    assert time.process_time() - begin < 1 and tracemalloc.get_traced_memory()[1] < 20e6
    tracemalloc.stop()


def test_bombs_whose_members_overlap_are_refused(tmp_path):
    """Many entries of the directory share one packed stretch: each is harmless, together they fill the memory."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("meta.npy", b"\x00" * 1_000_000)
    data = stream.getvalue()
    begin = data.index(b"PK\x01\x02")
    end = data.index(b"PK\x05\x06")
    entry = data[begin:end]
    entries = b"".join(entry.replace(b"meta.npy", b"%04d.npy" % i) for i in range(1000))
    tail = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 1000, 1000, len(entries), begin, 0)
    path = tmp_path / "bomb.npz"
    path.write_bytes(data[:begin] + entries + tail)
    refused(path)


def test_strings_must_be_text_in_their_order(path):
    with np.load(path) as found:
        (words,) = {"words", "hmm.words"}.intersection(name.removesuffix(".blob") for name in found)
        blob, lengths = found[f"{words}.blob"], found[f"{words}.lengths"]
    content = path.read_bytes()
    rewrite(path, **{f"{words}.blob": np.full_like(blob, 0xFF)})
    refused(path)
    path.write_bytes(content)
    rewrite(path, **{f"{words}.blob": blob[::-1].copy(), f"{words}.lengths": lengths[::-1].copy()})
    refused(path)
    path.write_bytes(content)
    same = np.frombuffer(b"x" * 20, np.uint8)
    rewrite(path, **{f"{words}.blob": same, f"{words}.lengths": np.ones(20, np.uint8)})
    refused(path)


def test_keys_must_rise_and_fit(tmp_path):
    path = tmp_path / "model.npz"
    save_model(CRFTagger(max_iterations=2).fit(CORPUS), path)
    with np.load(path) as found:
        name = max((name for name in found if name.startswith("keys.")), key=lambda name: found[name].size)
        gaps = found[name].astype(np.uint64)
    for i, value in [(1, 0), (0, 2**62), (len(gaps) - 1, 2**64 - 1)]:
        save_model(CRFTagger(max_iterations=2).fit(CORPUS), path)
        forged = gaps.copy()
        forged[i] = value
        rewrite(path, **{name: forged})
        refused(path)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e30])
def test_weights_out_of_all_bounds_are_refused(tmp_path, value):
    path = tmp_path / "model.npz"
    save_model(CRFTagger(max_iterations=2).fit(CORPUS), path)
    rewrite(path, start=np.array([0, value, 0], np.float32))
    refused(path)


@pytest.mark.parametrize(
    "changes, reason",
    [
        ({"settings": {"l2": "x"}}, "l2"), ({"settings": {"features": 3}}, "features"), ({"column": "feats"}, "column"),
        ({"tags": ["N", "D", "V"]}, ""), ({"tags": ["D", "D", "V"]}, ""), ({"kind": "x" * 9999}, "kind"),
        ({"format": True}, ""), ({"format": 0}, ""), ({"format": 1.5}, ""),
        ({"summary": {"tokens": [1]}}, "summary"), ({"template": "suffix:1-100 & suffix:1-100"}, ""),
        ({"template": "x" * 99999}, "template"), ({"padding": ["x"] * 900_000}, ""),
    ],
)  # fmt: skip
def test_a_forged_description_names_its_fault(tmp_path, changes, reason):
    path = tmp_path / "model.npz"
    save_model(CRFTagger(max_iterations=2).fit(CORPUS), path)
    with_meta(path, **changes)
    members = members_of(path)
    rezip(path, members, zipfile.ZIP_DEFLATED)
    refused(path, reason)


@pytest.mark.parametrize("number", ["1" + "0" * 400, str(1 << 63), f"-{1 << 64}", "1e999", "-1e999", "NaN", "Infinity"])
@pytest.mark.parametrize("place", ["settings", "summary", "elsewhere"])
def test_numbers_of_the_description_are_finite_and_have_64_bits(tmp_path, number, place):
    path = tmp_path / "model.npz"
    save_model(HMMTagger().fit(CORPUS), path)
    own = {"settings": "rare_count", "summary": "tokens", "elsewhere": "x"}[place]
    meta = meta_of(path)
    text = json.dumps(meta | {place: meta.get(place, {}) | {own: "HERE"}}).replace('"HERE"', number)
    rewrite(path, meta=np.frombuffer(text.encode(), np.uint8))
    refused(path)


@pytest.mark.parametrize("number", [0, -5, 1 << 31, (1 << 63) - 1])
def test_a_model_with_an_odd_setting_still_tags(tmp_path, number):
    path = tmp_path / "model.npz"
    save_model(HMMTagger().fit(CORPUS), path)
    with_meta(path, settings=meta_of(path)["settings"] | {"rare_count": number})
    assert load_model(path).predict([["a", "dog", "unheard"]])


@pytest.mark.parametrize("text", [b'{"format": NaN}', b"[" * 100_000, b'{"format": ' + b"1" * 9999 + b"}", b"\xff"])
def test_what_is_not_quite_json_is_refused(path, text):
    rewrite(path, meta=np.frombuffer(text, np.uint8))
    refused(path)


def test_a_newer_version_may_be_called_anything(path):
    with_meta(path, format=FORMAT + 1, program="\x1b[2J" * 50)
    refused(path)


def test_a_directory_that_is_not_text_is_refused(path):
    """Found by torture: zipfile lets the error of the decoder through."""
    data = bytearray(path.read_bytes())
    begin = data.index(b"PK\x01\x02")
    data[begin + 9] |= 0x08  # names are UTF-8
    data[begin + 46] = 0xFF
    path.write_bytes(bytes(data))
    refused(path)


def test_scores_of_another_width_are_brought_to_ours(tmp_path):
    """Found by torture: Viterbi wants all of its scores alike."""
    path = tmp_path / "model.npz"
    save_model(CRFTagger(max_iterations=5).fit(CORPUS), path)
    tags = load_model(path).predict(CORPUS)
    for dtype in (np.float16, np.float64):
        with np.load(path) as found:
            scores = {name: found[name].astype(dtype) for name in ("start", "transitions", "end", "weights")}
        rewrite(path, **scores)
        assert load_model(path).predict(CORPUS) == tags


@pytest.mark.parametrize("name", ["guesser.prior", "guesser.counts", "prior", "raw.scale", "lambda"])
def test_frequencies_that_vanish_when_multiplied_are_refused(tmp_path, name):
    path = tmp_path / "model.npz"
    save_model(HMMTagger().fit(CORPUS), path)
    with np.load(path) as found:
        forged = np.full_like(found[name], 5e-324)
    rewrite(path, **{name: forged})
    refused(path, "positive")


@pytest.mark.parametrize("value", [2e-100, 1e-60, 1e-5, 1e5, 1e300])
def test_a_guesser_that_leans_out_of_all_bounds_is_refused(tmp_path, value):
    path = tmp_path / "model.npz"
    save_model(HMMTagger().fit(CORPUS), path)
    with np.load(path) as found:
        forged = np.full_like(found["guesser.kappas"], value)
    rewrite(path, **{"guesser.kappas": forged})
    refused(path)


@pytest.mark.parametrize(("row", "column", "value"), [(slice(None), 1, 0), (slice(None), 0, 0), (3, slice(None), 255)])
def test_keys_of_a_guesser_must_rise_and_have_32_bits(tmp_path, row, column, value):
    path = tmp_path / "model.npz"
    save_model(HMMTagger().fit(CORPUS), path)
    with np.load(path) as found:
        forged = found["guesser.gaps"].copy()
    forged[row, column] = value
    rewrite(path, **{"guesser.gaps": forged})
    refused(path, "ascending")


@pytest.mark.parametrize("change", [lambda keys: keys.astype(np.uint32), lambda keys: keys[:-1]])
def test_keys_of_an_older_guesser_are_checked(tmp_path, change):
    path = tmp_path / "model.npz"
    path.write_bytes((Path(__file__).parent / "models" / "format-2-hmm.npz").read_bytes())
    with np.load(path) as found:
        forged = change(found["guesser.keys"])
    rewrite(path, **{"guesser.keys": forged})
    refused(path, "as many as its levels")


def test_a_guesser_is_read_as_it_was_written(tmp_path):
    path, model = tmp_path / "model.npz", HMMTagger().fit(CORPUS)
    save_model(model, path)
    levels, others = (
        [level for levels in tagger.emission_model_.guesser.spelling_models for level in levels]
        for tagger in (model, load_model(path))
    )
    assert len(levels) == len(others) > 20
    for level, other in zip(levels, others, strict=True):
        assert level.keys.dtype == other.keys.dtype == np.uint32 and level.kappa == other.kappa
        np.testing.assert_array_equal(level.keys, other.keys)
        np.testing.assert_array_equal(level.counts, other.counts)


def test_a_guesser_of_few_bits_is_read(tmp_path):
    """Found by torture: bounds that such numbers cannot hold are no reason to warn."""
    path = tmp_path / "model.npz"
    save_model(HMMTagger().fit(CORPUS), path)
    with np.load(path) as found:
        rewritten = {name: found[name].astype(np.float16) for name in ("guesser.counts", "guesser.kappas")}
    rewrite(path, **rewritten)
    assert load_model(path).predict([["a", "dog"]]) == [["D", "N"]]


def test_a_guesser_of_the_largest_counts_still_guesses(tmp_path):
    """Of a long word twenty endings are known, each of which leaves the vaguer one a share of 1e-16."""
    path, long = tmp_path / "model.npz", "bark" * 7
    save_model(HMMTagger(suffix_length=20).fit([*CORPUS, Sentence([long], CORPUS[0].tags[:1])]), path)
    with np.load(path) as found:
        counts, kappas = np.full_like(found["guesser.counts"], 1e12), np.full_like(found["guesser.kappas"], 2e-4)
    rewrite(path, **{"guesser.counts": counts, "guesser.kappas": kappas})
    model = load_model(path)
    (P,) = model.predict_marginals([["dogs", long, "re" + long]])
    np.testing.assert_allclose(np.sum(P, axis=1), 1.0, atol=1e-6)


@pytest.mark.parametrize("threads", [1, 3])
def test_arrays_compressed_ahead_give_the_bytes_of_zipfile(threads, tmp_path):
    random = np.random.default_rng(0)
    arrays = {
        "seen": random.integers(0, 40, 300_000).astype(np.uint8),
        "weights": random.normal(size=(100, 700)).astype(np.float32),
        "zeros": np.zeros(1 << 20),
        "nothing": np.empty(0, np.uint16),
    }
    with (tmp_path / "ours").open("w+b") as stream:
        write_archive(stream, arrays, threads=threads)
    with zipfile.ZipFile(tmp_path / "plain", "w") as members:
        for name, array in arrays.items():
            member = zipfile.ZipInfo(f"{name}.npy")
            member.compress_type = zipfile.ZIP_DEFLATED
            with members.open(member, "w", force_zip64=True) as out:
                np.lib.format.write_array(out, array, version=(1, 0))
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "plain").read_bytes()
    assert np.load(tmp_path / "ours")["weights"].tolist() == arrays["weights"].tolist()
