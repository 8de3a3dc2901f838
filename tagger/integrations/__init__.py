"""Adapters to other libraries: each module has the interface of one library.

- `rows`: a column of texts or word lists in, columns of lists out; `arrow` and `frames` build on it;
- `arrow`: record batches; `tables`: files of Parquet and Arrow IPC;
- `frames`: pandas and polars;
- `sklearn`: scorers; what else scikit-learn asks for is part of every tagger;
- `crfsuite`: the class and the metrics of sklearn-crfsuite;
- `distributed`: a Dask cluster;
- `spacy`, `nltk`: a model as a component of a spaCy pipeline, and as a tagger of NLTK.

The libraries are extras: a module imports its library itself, and nothing else in the package imports the module. A
library that is missing is named with the command that installs it.

The idea: an adapter translates calls and data; what a model computes stays in the packages below.
"""

from pathlib import PurePath

# What `tag` has to know before it imports an adapter.
TABLE_SUFFIXES = (".parquet", ".arrow", ".arrows", ".feather")


def is_table(path: str) -> bool:
    """Return whether a path has the suffix of a table."""
    return PurePath(path).suffix in TABLE_SUFFIXES
