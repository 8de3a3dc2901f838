"""`tag`: files as tasks of a cluster, each into an output of its own, and none twice."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tagger.corpus import format_of
from tagger.corpus.column_names import DEFAULT_NAMES
from tagger.integrations.distributed.executor import DaskExecutor
from tagger.models.store import load_model
from tagger.pretrained import model_file
from tagger.tagging.annotator import Annotator
from tagger.tagging.folder import TaggingFolder, run_all
from tagger.tagging.inputs import Sentences
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
) -> int:
    """Tag files on a cluster, each into a file of the same name in a folder.

    Files that are finished, by the records beside them, are not tagged again. The files of a worker that dies are
    tagged by others. The model is read here and sent to each worker once.

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

    Returns
    -------
    int
        Number of tokens tagged.
    """
    if not inputs:
        return 0
    path = model_file(os.fspath(model))
    loaded = load_model(path)
    columns = loaded.corpus_columns(DEFAULT_NAMES)
    write_as = output_format or format or format_of(inputs[0])
    annotator = Annotator(loaded, None, probabilities)
    renderer = SentenceRenderer(annotator, write_as, replace(columns, column=loaded.column_), skip=False)
    job = TextJob(Sentences(tokenize, format, columns, None), renderer, encoding)
    given = {"tokenize": tokenize, "format": format, "output_format": output_format, "probabilities": probabilities}
    options = {name: value for name, value in (given | {"encoding": encoding}).items() if value}
    folder = TaggingFolder(output, [path], options, write_as)
    return sum(run_all(folder.tasks(inputs), job.tag_file, DaskExecutor(client)))
