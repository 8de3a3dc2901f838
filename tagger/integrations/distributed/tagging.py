"""`tag`: files, and row groups of large ones, as tasks of a cluster; an output for each file, and none twice."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING

from tagger.corpus.column_names import DEFAULT_NAMES
from tagger.corpus.formats import format_of
from tagger.errors import TaggerError
from tagger.integrations import is_table
from tagger.integrations.distributed.executor import DaskExecutor
from tagger.integrations.tables import table_job
from tagger.models.predictor import Predictor
from tagger.models.store import load_model
from tagger.pretrained import model_file
from tagger.tagging.annotator import Annotator
from tagger.tagging.folder import TaggingFolder, run_all
from tagger.tagging.inputs import Sentences
from tagger.tagging.pieces import run_pieces
from tagger.tagging.render import SentenceRenderer
from tagger.tagging.text_job import TextJob

if TYPE_CHECKING:
    from distributed import Client


def tag(
    client: Client,
    model: str | os.PathLike[str],
    inputs: Sequence[str],
    output: str,
    *,
    tokenize: str | None = None,
    format: str | None = None,
    output_format: str | None = None,
    encoding: str = "utf-8",
    probabilities: bool = False,
    text_column: str | None = None,
    word_column: str | None = None,
) -> int:
    """Tag files on a cluster, each into a file of the same name in a folder.

    Files that are finished, by the records beside them, are not tagged again. The files of a worker that dies are
    tagged by others. The model is read here and sent to each worker once. Inputs are texts, or tables (Parquet, Arrow);
    large Parquet files are tagged by their row groups.

    Parameters
    ----------
    client : distributed.Client
        Connection to the cluster.
    model : str or path
        Model file.
    inputs : sequence of str
        Files to tag. All workers must find them, and the folder, under these names.
    output : str
        Folder for the outputs.
    tokenize : str, optional
        Tokenizer for raw text, ``english`` or ``chinese``; without it words are between spaces.
    format, output_format, encoding : str, optional
        As in `read_corpus` and `write_corpus`; by default the format is that of the suffix, and the same for outputs.
    probabilities : bool
        Write the probability of each tag, in formats that have a place for it.
    text_column, word_column : str, optional
        Of tables: the column with texts, by default ``text``, or the one with lists of words.

    Returns
    -------
    int
        Number of tokens tagged.
    """
    if not inputs:
        return 0
    path = model_file(os.fspath(model))
    given = {"tokenize": tokenize, "format": format, "output_format": output_format, "probabilities": probabilities}
    given |= {"encoding": encoding, "text_column": text_column, "word_column": word_column}
    options = {name: value for name, value in given.items() if value}
    execute = DaskExecutor(client)
    if any(map(is_table, inputs)):
        check_tables(inputs, format or output_format)
        folder = TaggingFolder(output, [path], options, PurePath(inputs[0]).suffix)
        tables = table_job(load_model(path), text_column, word_column, tokenize, probabilities)
        results = run_pieces(folder.tasks(inputs), tables, execute)
    else:
        write_as = output_format or format or format_of(inputs[0])
        folder = TaggingFolder(output, [path], options, write_as)
        texts = text_job(load_model(path), tokenize, format, write_as, encoding, probabilities)
        results = run_all(folder.tasks(inputs), texts.tag_file, execute)
    return sum(done.tokens for done in results)


def check_tables(inputs: Sequence[str], format: str | None) -> None:
    """Refuse texts among tables, and a format, which tables have by their suffix."""
    if texts := [path for path in inputs if not is_table(path)]:
        raise TaggerError(f"inputs: expected tables only, got {texts[0]}. Tag texts by another call.")
    if format:
        raise TaggerError(f"format: expected none for the table {inputs[0]}, got {format}. Leave it out.")


def text_job(
    model: Predictor, tokenize: str | None, format: str | None, write_as: str, encoding: str, probabilities: bool
) -> TextJob:
    """Make the job for texts."""
    columns = model.corpus_columns(DEFAULT_NAMES)
    annotator = Annotator(model, None, probabilities)
    renderer = SentenceRenderer(annotator, write_as, replace(columns, column=model.column_), skip=False)
    return TextJob(Sentences(tokenize, format, columns, None), renderer, encoding)
