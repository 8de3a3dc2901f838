"""The features of words that the network has rows for.

A feature is a function of `features.functions` with its value: "ends in -ing". Each function has a row for values that
are too rare to have one of their own, and row 0 stands for functions without a value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tagger.arrays.keyed import find_keys
from tagger.arrays.npz import Archive, Arrays, narrow
from tagger.arrays.string_spans import StringSpans
from tagger.arrays.string_table import StringTable
from tagger.features.encoder import learn_values
from tagger.features.template import function_values, functions_of, group_values, grouped, parse_templates
from tagger.words.windows import MARKS

TEMPLATES = """
word[0]
lower[0]
shape[0]
ending:1-5[0]
prefix:1-4[0]
digit[0]
hyphen[0]
capital[0]
"""
FUNCTIONS = functions_of(parse_templates(TEMPLATES))  # F
GROUPS = grouped(FUNCTIONS)
MIN_COUNT = 2  # tokens that a feature with a row of its own has
NOTHING = 0  # the row of a function without a value; those of rare values, 1 … F, follow


@dataclass(eq=False)
class WordFeatures:
    """The features that have a row of their own: for each function, its values."""

    strings: StringTable
    values: list[np.ndarray]  # for each function the numbers of strings, ascending

    def __post_init__(self) -> None:
        first = 1 + len(FUNCTIONS)
        self.begins = np.cumsum([first, *map(len, self.values)])  # first row of each function, and the number of rows
        own = np.repeat(1 + np.arange(len(FUNCTIONS)), np.diff(self.begins))
        self.rare_rows = np.concatenate([np.arange(first), own])  # (R,) for each row that of rare values

    @property
    def size(self) -> int:
        """The number R of rows."""
        return int(self.begins[-1])

    @classmethod
    def learn(cls, words: Sequence[str], counts: np.ndarray) -> WordFeatures:
        """Collect the features of distinct words that have at least MIN_COUNT tokens; words have `counts` (words,)."""
        strings, ids = learn_values(function_values(FUNCTIONS, words))
        values = []
        for function in FUNCTIONS:
            there = ids[function.function][:-MARKS] >= 0
            tokens = np.bincount(ids[function.function][:-MARKS][there], counts[there], len(strings))
            values.append(np.flatnonzero(tokens >= MIN_COUNT))
        used = np.unique(np.concatenate(values))
        return cls(strings.taken(used), [np.searchsorted(used, own) for own in values])

    def rows(self, words: Sequence[str]) -> np.ndarray:
        """Find the rows (words, F) of words."""
        spans = StringSpans.joined(group_values(GROUPS, words))
        shape = len(FUNCTIONS), len(words)
        ids, present = self.strings.find(spans).reshape(shape), spans.present.reshape(shape)
        rows = np.empty(shape, np.int64)
        for f, own in enumerate(self.values):
            places = find_keys(own, ids[f])
            rows[f] = np.where(places >= 0, self.begins[f] + places, np.where(present[f], 1 + f, NOTHING))
        return rows.T.copy()

    def arrays(self) -> Arrays:
        """Return the arrays of a model file."""
        gaps = {f"network.values.{f}": narrow(np.diff(own, prepend=0)) for f, own in enumerate(self.values)}
        return self.strings.arrays("network.strings") | gaps

    @classmethod
    def restore(cls, archive: Archive) -> WordFeatures:
        """Read the arrays of a model file."""
        strings = StringTable.restore(archive, "network.strings")
        values = []
        for f in range(len(FUNCTIONS)):
            own = np.cumsum(archive.take(f"network.values.{f}", "u", None), dtype=np.int64)
            ascending = (np.diff(own) > 0).all() and own.max(initial=-1) < len(strings)
            archive.check(bool(ascending), "expected ascending numbers of strings in its network")
            values.append(own)
        return cls(strings, values)
