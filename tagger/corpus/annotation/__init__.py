"""Files of annotation tools: doccano, Prodigy, Label Studio and brat.

These tools mark stretches of a text with labels. Read in this order:

- `records`: JSON records, read safely;
- `labeled_text`: from labelled texts to tagged sentences and back, for all tools; several annotators of one text;
- `doccano`, `prodigy`, `label_studio`, `brat`: the files of each tool, all with `read` and `write`.

The idea: a label on every word is a tag; labels on stretches are spans, which become BIO tags. A sentence keeps the
text it was read from and the other keys of its record (`Sentence.layout`), so that a round trip loses nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from tagger.sentence import Sentence

TAGS, SPANS = MEANINGS = ("tags", "spans")  # of labels
TOOLS = {"doccano": "doccano", "prodigy": "prodigy", "label-studio": "label_studio", "brat": "brat"}


def tool(name: str) -> Any:
    """Import the module of a tool."""
    return import_module(f"tagger.corpus.annotation.{TOOLS[name]}")


def read_annotations(path: str, name: str, encoding: str = "utf-8", meaning: str | None = None) -> list[Sentence]:
    """Read the tagged sentences of a tool's file.

    Parameters
    ----------
    path : str
        The file; of brat, the `.ann` or the `.txt` file.
    name : str
        The tool, one of `TOOLS`.
    encoding : str
    meaning : {"tags", "spans"}, optional
        Whether a label is the tag of a word or a span of words. By default labels are tags if all of them are on
        single words, and most words have one.

    Returns
    -------
    list of Sentence
        Where several annotators disagree about a word, its tag is `?`.
    """
    from tagger.corpus.annotation.labeled_text import as_sentences

    return as_sentences(tool(name).read(path, encoding), meaning, path)


def write_annotations(path: str, sentences: Sequence[Sentence], name: str, suggested: bool = False) -> None:
    """Write sentences as a tool's file; `suggested` says that the labels are a model's, to be looked at."""
    from tagger.corpus.annotation.labeled_text import labeled_texts

    tool(name).write(path, labeled_texts(sentences), suggested)
