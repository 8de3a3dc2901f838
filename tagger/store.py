"""One `.npz` per model: versioned, no pickle, so that a model from a stranger is data and never code.

The member `meta` is JSON in UTF-8 bytes: format version, kind, program version, settings that change the result, tag
set, a summary of the training. All others are plain arrays; each part of a model checks its own when it takes them.
The same model gives the same bytes: no clock, path or thread count goes in.
"""

from __future__ import annotations

import json
import os
import zipfile

import numpy as np

from tagger.archive import Archive, write_archive
from tagger.crf import CRFTagger
from tagger.errors import ModelError
from tagger.files import atomic_writer, reason
from tagger.hmm import HMMTagger
from tagger.model import Tagger
from tagger.version import __version__

FORMAT = 1
KINDS: dict[str, type[Tagger]] = {"hmm": HMMTagger, "crf": CRFTagger}
TRAIN_FIRST = "train one with `tagger train-crf CORPUS` or `tagger train-hmm CORPUS`"


def save_model(model: Tagger, path: str | os.PathLike[str]) -> None:
    """Write a fitted tagger to a file, atomically."""
    if not hasattr(model, "classes_"):
        raise ModelError("a tagger that has not been fitted cannot be saved")
    meta = {
        "format": FORMAT,
        "kind": model.kind,
        "program": __version__,
        "settings": model.stored_settings(),
        "tags": model.classes_,
        "column": model.column_,
        "summary": model.summary_,
        **model.describe(),
    }
    text = json.dumps(meta, ensure_ascii=False, sort_keys=True).encode("utf-8", "surrogatepass")
    with atomic_writer(path) as stream:
        write_archive(stream, {"meta": np.frombuffer(text, np.uint8), "seen": model.seen_} | model.arrays())


def load_model(path: str | os.PathLike[str]) -> Tagger:
    """Read a tagger from a file."""
    name = os.fspath(path)
    try:
        with zipfile.ZipFile(name) as members:
            archive = Archive(name, members)
            read_meta(archive)
            return build(archive)
    except FileNotFoundError:
        raise ModelError(f"no model {name!r}: {TRAIN_FIRST}, or name another file with -m") from None
    except (zipfile.BadZipFile, NotImplementedError) as error:
        raise ModelError(f"{name}: not a model, or a damaged one: expected a .npz file written by tagger") from error
    except OSError as error:
        raise ModelError(f"cannot read {name}: {reason(error)}") from error


def read_meta(archive: Archive) -> None:
    """Fill the archive's description, if it is one that this program understands."""
    text = archive.take("meta", "b", None).tobytes()
    try:
        meta = json.loads(text.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError) as error:
        raise archive.error("its description is not JSON") from error
    archive.check(
        isinstance(meta, dict) and isinstance(meta.get("format"), int), "its description has no format version"
    )
    if meta["format"] > FORMAT:
        newer = f"format {meta['format']}, written by tagger {meta.get('program')}"
        raise ModelError(f"{archive.name}: {newer}, is newer than this program ({__version__}); please update it")
    archive.meta = meta


def build(archive: Archive) -> Tagger:
    kind = KINDS.get(archive.setting("kind", str))
    archive.check(kind is not None, f"unknown kind {archive.meta['kind']!r}; expected {' or '.join(KINDS)}")
    assert kind is not None
    settings, tags = archive.setting("settings", dict), archive.setting("tags", list)
    archive.check(
        bool(tags) and all(isinstance(tag, str) and tag for tag in tags), "its tag set is not a list of names"
    )
    try:
        model = kind(**settings)
    except TypeError:
        raise archive.error("it has settings that this program does not know") from None
    model.classes_ = tags
    model.column_ = archive.setting("column", str)
    model.summary_ = archive.setting("summary", dict)
    model.seen_ = archive.take("seen", "u", None)
    model.restore(archive)
    return model
