"""Save and load models as `.npz` files, versioned and without pickle: a model file is data, never code.

The member `meta` is JSON in UTF-8 bytes: format version, kind, program version, settings that change the result, tag
set, Unicode normalisation of the words, a summary of the training; a tokenizer and a model card if the model has them.
All other members are plain arrays, and each part of a model checks its own on loading. A model always gives the same
bytes: no clock, path or thread count is stored. Files of word classes have the same format.

Where a model file is expected, the name of a shipped model will do (`pretrained`): the functions here look it up.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import IO, Any, overload

import numpy as np

from tagger.arrays.npz import Archive, Arrays, open_archive, write_archive
from tagger.corpus.column_names import ColumnNames
from tagger.corpus.formats.conllu import COLUMNS
from tagger.corpus.span_schemes import SCHEMES, fits
from tagger.corpus.tokenizers import TOKENIZERS
from tagger.errors import CorpusError, FileError, MissingModelError, ModelError
from tagger.escaping import quote, shortened
from tagger.features.word_classes import WordClasses, read_clusters
from tagger.files.reading import open_seekable, reason
from tagger.files.writing import atomic_writer
from tagger.models.base import Tagger
from tagger.models.card import check_card, restore_card
from tagger.models.predictor import Predictor
from tagger.pretrained import model_file
from tagger.sentence import contents, described
from tagger.version import __version__

FORMAT = 3  # 1: no normalization; 2: no candidates, 64-bit keys in the guesser of an HMM
MODEL_KINDS = {
    "hmm": "HMMTagger",
    "crf": "CRFTagger",
    "bilstm": "BiLSTMTagger",
    "pooled": "PooledTagger",
}  # names in `tagger`
WORD_CLASSES_KIND = "classes"
SCALARS = (str, int, float, type(None))


def save_model(model: Tagger, path: str | os.PathLike[str]) -> None:
    """Write a fitted tagger to a file, atomically.

    Parameters
    ----------
    model : Tagger
    path : str or path-like
        The file, `.npz` by convention; an existing one is replaced.

    Raises
    ------
    ModelError
        If the tagger is not fitted, its card is too long, or a setting or the tokenizer is invalid.
    FileError
        If the file cannot be written.

    Examples
    --------
    >>> save_model(model, "model.npz")
    >>> load_model("model.npz").predict([["the", "dog"]])
    """
    if not hasattr(model, "classes_"):
        raise ModelError(f"{os.fspath(path)}: expected a fitted tagger to save. Call fit first.")
    check_card(model.card_, os.fspath(path))
    check_storable(model, os.fspath(path))
    write(path, description(model), {"seen": model.seen_} | model.arrays())


def check_storable(model: Tagger, path: str) -> None:
    """Refuse what was set since the training and could not be read again."""
    model.check_types(ModelError)
    if model.tokenizer_ not in (None, *TOKENIZERS):
        known = ", ".join(TOKENIZERS)
        raise ModelError(f"{path}: expected a tokenizer among {known}, got {quote(str(model.tokenizer_))}.")


def description(model: Tagger) -> dict[str, Any]:
    """Return what the member `meta` of a model file says about a fitted tagger."""
    optional = {"tokenizer": model.tokenizer_, "card": model.card_, "scheme": model.scheme_}
    return {
        "kind": model.kind,
        "settings": model.stored_settings(),
        "tags": model.classes_,
        "column": model.column_,
        "normalization": model.lexicon_.form,
        "summary": model.summary_,
        **{name: value for name, value in optional.items() if value is not None},
        **model.describe(),
        **column_description(model.columns_),
    }


def column_description(columns: ColumnNames) -> dict[str, Any]:
    """Describe the names of columns; a model whose corpus had none has no such entry."""
    named = {"names": list(columns.names), "word": columns.word, "tag": columns.tag}
    return {"columns": named} if any(named.values()) else {}


def restore_columns(archive: Archive) -> ColumnNames:
    """Read the names of columns."""
    if "columns" not in archive.meta:
        return ColumnNames()
    named = archive.setting("columns", dict)
    names, word, tag = (named.get(field) for field in ("names", "word", "tag"))
    fits = isinstance(names, list) and all(isinstance(name, str) for name in names)
    fits = fits and isinstance(word, str | None) and isinstance(tag, str | None)
    archive.check(fits, "expected the names of its columns as texts")
    try:
        return ColumnNames(names=tuple(names or ()), word=word, tag=tag)
    except CorpusError as error:
        raise archive.error(str(error)) from None


@overload
def load_model(path: str | os.PathLike[str]) -> Tagger: ...
@overload
def load_model(
    path: str | os.PathLike[str] | Iterable[str | os.PathLike[str]], *others: str | os.PathLike[str]
) -> Predictor: ...
def load_model(path: Any, *others: Any) -> Predictor:
    """Read a tagger from a file, or an ensemble from several files. Nothing in the files is executed.

    Parameters
    ----------
    path : str or path-like, or iterable of these
        The file, or the name of a shipped model, such as ``english``; a file of that name comes first.
    *others : str or path-like
        Further files. The tagger then averages the probabilities of all models, which must have the same tags.

    Returns
    -------
    Tagger or Ensemble

    Raises
    ------
    ModelError
        If a file is missing, broken, no model, or of a newer format, or if the models differ in tags.

    Examples
    --------
    >>> load_model("model.npz").predict([["the", "dog"]])
    >>> load_model("hmm.npz", "crf.npz").tag("She left .")
    """
    first = [path] if isinstance(path, str | os.PathLike) else contents(path, "path", "the path of a model")
    paths: list[Any] = [*first, *others]
    if not paths:
        raise ModelError("load_model: expected a model file, got none.")
    models = [read_model(each) for each in paths]
    if len(models) == 1:
        return models[0]
    from tagger.models.ensemble import Ensemble

    return Ensemble(models, list(map(os.fspath, paths)))


def as_model(model: str | os.PathLike[str] | Predictor) -> Predictor:
    """Return a model, given itself, its path or its name."""
    if isinstance(model, str | os.PathLike):
        return load_model(model)
    if not isinstance(model, Predictor):
        raise TypeError(f"model: expected a model, its path or its name, got {described(model)}.")
    return model


def read_model(path: str | os.PathLike[str]) -> Tagger:
    """Read the tagger of one file."""
    with open_model(path) as archive:
        return build(archive)


def load_card(path: str | os.PathLike[str]) -> str | None:
    """Read the model card of a file or shipped model, without the rest of the model; None if it has no card."""
    with open_model(path) as archive:
        return restore_card(archive)


@contextlib.contextmanager
def open_model(path: str | os.PathLike[str]) -> Iterator[Archive]:
    """Open the archive of a model file or shipped model."""
    name = os.fspath(path)
    try:
        with open_described(model_file(name)) as archive:
            yield archive
    except FileNotFoundError:
        raise MissingModelError(f"no model {name!r}") from None


def model_class(kind: str) -> type[Tagger]:
    """Import the class of one of the MODEL_KINDS; a CRF is loaded without the code of the others."""
    tagger_class: type[Tagger] = getattr(import_module("tagger"), MODEL_KINDS[kind])
    return tagger_class


def save_classes(classes: WordClasses, path: str | os.PathLike[str]) -> None:
    """Write word classes to a file, atomically."""
    write(path, {"kind": WORD_CLASSES_KIND}, classes.arrays(with_vectors=True))


def load_classes(path: str | os.PathLike[str]) -> WordClasses:
    """Read word classes from a file of `save_classes`, or clusters of another program as text."""
    name = os.fspath(path)
    try:
        with open_seekable(name) as stream:
            zipped = stream.read(2) == b"PK"
            stream.seek(0)
            return restore_classes(name, stream) if zipped else read_clusters(name, stream)
    except OSError as error:
        raise FileError(f"cannot read {name}: {reason(error)}") from error


def restore_classes(name: str, stream: IO[bytes]) -> WordClasses:
    """Read word classes from an open `.npz` file."""
    with open_described(name, stream) as archive:
        kind = archive.setting("kind", str)
        if kind != WORD_CLASSES_KIND:
            raise ModelError(f"{name}: expected word classes, got a {quote(kind)} model. Learn classes first.")
        classes = WordClasses.restore(archive, with_vectors=True)
        archive.check_empty()
        return classes


def write(path: str | os.PathLike[str], meta: dict[str, Any], arrays: Arrays) -> None:
    """Write a description and arrays to a file, atomically."""
    meta = {"format": FORMAT, "program": __version__} | meta
    text = json.dumps(meta, ensure_ascii=False, sort_keys=True).encode("utf-8", "surrogatepass")
    with atomic_writer(path) as stream:
        write_archive(stream, {"meta": np.frombuffer(text, np.uint8)} | arrays)


@contextlib.contextmanager
def open_described(name: str, opened: IO[bytes] | None = None) -> Iterator[Archive]:
    """Open the archive of a file, read its description and check its format; a missing file is FileNotFoundError."""
    with open_archive(name, opened) as archive:
        meta = archive.read_description()
        version = meta.get("format")
        if type(version) is not int or version < 1:
            raise archive.error("expected a format version in its description")
        if version > FORMAT:
            newer = f"{shortened(str(version))}, written by tagger {shortened(str(meta.get('program')))}"
            raise ModelError(f"{name}: expected format up to {FORMAT}, got {newer}. Update tagger {__version__}.")
        yield archive


def build(archive: Archive) -> Tagger:
    """Build the tagger of an archive."""
    kind = archive.setting("kind", str)
    archive.check(kind in MODEL_KINDS, f"expected a model of kind {' or '.join(MODEL_KINDS)}, got {quote(kind)}")
    tags, column = archive.setting("tags", list), archive.setting("column", str)
    names = bool(tags) and all(isinstance(tag, str) and tag for tag in tags)
    archive.check(names and tags == sorted(set(tags)), "expected its tags as distinct names in ascending order")
    # Every kind of model has a table of all pairs of tags. Without this, tables are made before that one is missed.
    archive.check(len(tags) ** 2 <= archive.max_bytes, f"it has {len(tags):,} tags, too many for its size")
    archive.check(column in COLUMNS, f"expected column {' or '.join(COLUMNS)}, got {quote(column)}")
    tagger_class = model_class(kind)
    model = tagger_class(**archive.checked_settings(archive.setting("settings", dict), tagger_class))
    scheme = archive.meta.get("scheme")
    fitting = scheme is None or (isinstance(scheme, str) and scheme in SCHEMES and fits(scheme, set(tags)))
    archive.check(fitting, f"expected tags of the scheme {quote(str(scheme))}")
    model.classes_, model.column_, model.scheme_ = tags, column, scheme
    model.tokenizer_, model.card_ = archive.meta.get("tokenizer"), restore_card(archive)
    archive.check(model.tokenizer_ in (None, *TOKENIZERS), f"expected a tokenizer among {', '.join(TOKENIZERS)}")
    model.columns_ = restore_columns(archive)
    model.summary_ = archive.setting("summary", dict)
    scalars = all(isinstance(value, SCALARS) for value in model.summary_.values())
    archive.check(scalars, "expected texts and numbers in the summary of its training")
    model.seen_ = archive.take("seen", "u", None)
    model.restore(archive)
    archive.check_empty()
    return model
