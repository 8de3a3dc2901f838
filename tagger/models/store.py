"""One `.npz` per model: versioned, no pickle, so that a model from a stranger is data and never code.

The member `meta` is JSON in UTF-8 bytes: format version, kind, program version, settings that change the result, tag
set, Unicode normalisation of the words, a summary of the training. All others are plain arrays; each part of a model
checks its own when it takes them. The same model gives the same bytes: no clock, path or thread count goes in. Word
classes by themselves are stored in the same manner.
"""

from __future__ import annotations

import contextlib
import inspect
import json
import os
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import IO, Any

import numpy as np

from tagger.arrays.npz import Archive, Arrays, open_archive, write_archive
from tagger.corpus.conllu import COLUMNS
from tagger.errors import FileError, MissingModelError, ModelError
from tagger.escaping import quote, shortened
from tagger.features.word_classes import WordClasses, read_clusters
from tagger.files.reading import open_seekable, reason
from tagger.files.writing import atomic_writer
from tagger.models.base import Predictor, Tagger
from tagger.version import __version__

FORMAT = 2  # 1: no normalization
KINDS = {"hmm": "HMMTagger", "crf": "CRFTagger", "bilstm": "BiLSTMTagger"}  # names of the package
CLASSES = "classes"
SCALARS = (str, int, float, type(None))


def save_model(model: Tagger, path: str | os.PathLike[str]) -> None:
    """Write a fitted tagger to a file, atomically."""
    if not hasattr(model, "classes_"):
        raise ModelError("a tagger that has not been fitted cannot be saved")
    meta = {
        "kind": model.kind,
        "settings": model.stored_settings(),
        "tags": model.classes_,
        "column": model.column_,
        "normalization": model.lexicon_.form,
        "summary": model.summary_,
        **model.describe(),
    }
    write(path, meta, {"seen": model.seen_} | model.arrays())


def load_model(path: str | os.PathLike[str]) -> Tagger:
    """Read a tagger from a file."""
    name = os.fspath(path)
    try:
        with reading(name) as archive:
            return build(archive)
    except FileNotFoundError:
        raise MissingModelError(f"no model {name!r}") from None


def load_models(paths: Sequence[str]) -> Predictor:
    """The tagger of a file; several together are one ensemble."""
    models = [load_model(path) for path in paths]
    if len(models) == 1:
        return models[0]
    from tagger.models.ensemble import Ensemble

    return Ensemble(models, paths)


def kind_of(name: str) -> type[Tagger]:
    """The class of one of the KINDS, imported when it is needed: a CRF is loaded without the code of the others."""
    found: type[Tagger] = getattr(import_module("tagger"), KINDS[name])
    return found


def save_classes(classes: WordClasses, path: str | os.PathLike[str]) -> None:
    """Write word classes to a file, atomically."""
    write(path, {"kind": CLASSES}, classes.arrays())


def load_classes(path: str | os.PathLike[str]) -> WordClasses:
    """Read word classes from a file: one of `save_classes`, or the clusters of another program as text."""
    name = os.fspath(path)
    try:
        with open_seekable(name) as stream:
            zipped = stream.read(2) == b"PK"
            stream.seek(0)
            return restore_classes(name, stream) if zipped else read_clusters(name, stream)
    except OSError as error:
        raise FileError(f"cannot read {name}: {reason(error)}") from error


def restore_classes(name: str, stream: IO[bytes]) -> WordClasses:
    with reading(name, stream) as archive:
        kind = archive.setting("kind", str)
        if kind != CLASSES:
            raise ModelError(
                f"{name}: expected word classes, as `tagger learn-classes` writes them, got a {quote(kind)} model"
            )
        classes = WordClasses.restore(archive)
        archive.check_empty()
        return classes


def write(path: str | os.PathLike[str], meta: dict[str, Any], arrays: Arrays) -> None:
    meta = {"format": FORMAT, "program": __version__} | meta
    text = json.dumps(meta, ensure_ascii=False, sort_keys=True).encode("utf-8", "surrogatepass")
    with atomic_writer(path) as stream:
        write_archive(stream, {"meta": np.frombuffer(text, np.uint8)} | arrays)


@contextlib.contextmanager
def reading(name: str, opened: IO[bytes] | None = None) -> Iterator[Archive]:
    """The archive of a file, its description read. That there is none is left to the caller to say."""
    with open_archive(name, opened) as archive:
        read_meta(archive)
        yield archive


def read_meta(archive: Archive) -> None:
    """Fill the archive's description, if it is one that this program understands."""
    meta = archive.read_description()
    version = meta.get("format")
    if type(version) is not int or version < 1:
        raise archive.error("its description has no format version")
    if version > FORMAT:
        newer = f"format {shortened(str(version))}, written by tagger {shortened(str(meta.get('program')))}"
        raise ModelError(f"{archive.name}: {newer}, is newer than this program ({__version__}); please update it")


def build(archive: Archive) -> Tagger:
    name = archive.setting("kind", str)
    archive.check(name in KINDS, f"unknown kind {quote(name)}; expected {' or '.join(KINDS)}")
    tags, column = archive.setting("tags", list), archive.setting("column", str)
    names = bool(tags) and all(isinstance(tag, str) and tag for tag in tags)
    archive.check(names and tags == sorted(set(tags)), "its tag set is not a rising list of names")
    archive.check(column in COLUMNS, f"unknown column {quote(column)}; expected {' or '.join(COLUMNS)}")
    kind = kind_of(name)
    model = kind(**known_settings(archive, kind))
    model.classes_, model.column_ = tags, column
    model.summary_ = archive.setting("summary", dict)
    told = model.summary_.values()
    archive.check(all(isinstance(value, SCALARS) for value in told), "the summary of its training is not plain")
    model.seen_ = archive.take("seen", "u", None)
    model.restore(archive)
    archive.check_empty()
    return model


def known_settings(archive: Archive, kind: type[Tagger]) -> dict[str, Any]:
    """The settings in the file, if a model of that kind has such settings, with values of that sort."""
    settings, known = archive.setting("settings", dict), inspect.signature(kind).parameters
    for name, value in settings.items():
        archive.check(name in known, f"it has a setting that this program does not know, {quote(name)}")
        sort = type(known[name].default)
        proper = type(value) is sort or (sort is float and type(value) is int)
        archive.check(proper, f"its setting {name!r} should be of type {sort.__name__}, got {quote(str(value))}")
    return settings
