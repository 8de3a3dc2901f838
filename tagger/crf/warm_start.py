"""Going on from a model: its features and those of a new corpus become one set, its weights the place to start from.

Everything the old model knows stays: words, features and tags that the new corpus lacks keep their weights, because the
penalty of the new training is the distance from the old weights (Chelba & Acero 2006). What the new corpus shows
differently moves away from them, as far as it has evidence.
"""

from __future__ import annotations

import numpy as np

from tagger.arrays.ragged import RaggedRows
from tagger.arrays.string_table import StringTable
from tagger.features.encoder import Features, join, split
from tagger.words.windows import MARKS


class Union:
    """Two sets of features over the same templates, word classes and W tags and parts of tags, as one."""

    def __init__(self, old: Features, new: Features, W: int) -> None:
        strings, _ = StringTable.build(list(dict.fromkeys([*old.strings.strings(), *new.strings.strings()])))
        self.radix = len(strings) + MARKS
        self.ids = {side: self.string_ids(side, strings) for side in (old, new)}
        keys, numbers = [], {old: [], new: []}  # type: ignore[var-annotated]
        first = 0
        for t, template in enumerate(old.templates):
            own = {side: join(self.parts(side, t, len(template.parts)), self.radix) for side in (old, new)}
            keys.append(np.union1d(own[old], own[new]))
            for side in (old, new):
                numbers[side].append(first + np.searchsorted(keys[-1], own[side]))
            first += len(keys[-1])
        cells = {side: np.concatenate(numbers[side])[side.rows.owners] * W + side.rows.tags for side in (old, new)}
        every = np.union1d(cells[old], cells[new])
        self.features = Features(old.templates, strings, keys, RaggedRows.of(every, first, W), old.classes)
        self.places = {side: np.searchsorted(every, cells[side]) for side in (old, new)}  # of each side's parameters

    def parts(self, side: Features, t: int, count: int) -> list[np.ndarray]:
        """The ids here of what the keys of that side's template t are made of."""
        return [self.ids[side][ids] for ids in split(side.keys[t], side.radix, count)]

    def string_ids(self, side: Features, strings: StringTable) -> np.ndarray:
        """The id here of each string of that side, then of the two marks, then -1 for none."""
        marks = self.radix - MARKS + np.arange(MARKS)
        return np.concatenate([strings.find(side.strings.strings()), marks, [-1]])


def renumbered(rows: RaggedRows, tags: np.ndarray) -> tuple[RaggedRows, np.ndarray]:
    """The rows with tags[k] in place of k, by rising tag again, and the order in which the entries stand now."""
    renamed = tags[rows.tags]
    order = np.lexsort((renamed, rows.owners))
    return RaggedRows(rows.widths, renamed[order].astype(np.int32)), order
