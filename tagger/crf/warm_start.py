"""Warm start: training continues from an existing model on a new corpus.

The features of the model and of the corpus become one set, and the weights of the model the place to begin at. The
penalty of the new training is the distance from the old weights (Chelba & Acero 2006), so words, features and tags that
the new corpus lacks keep theirs, and others move away as far as the corpus has evidence.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tagger.arrays.ragged import RaggedRows
from tagger.arrays.string_table import StringTable
from tagger.crf.parameters import ChainWeights, ParameterLayout
from tagger.features.encoder import Features
from tagger.features.keys import join, split, with_marks
from tagger.words.lexicon import Lexicon
from tagger.words.windows import MARKS

if TYPE_CHECKING:
    from tagger.crf.encode import Encoding
    from tagger.crf.tagger import CRFTagger


def continue_from(init: CRFTagger, encoding: Encoding, counts: np.ndarray) -> Encoding:
    """Join the features and words of a model to an encoding over the tags of both; its weights are the layout's centre.

    `counts` are those of the parameters in the new corpus.
    """
    corpus, K = encoding.corpus, encoding.corpus.K
    place = np.searchsorted(encoding.tag_set, init.classes_)  # of the model's tags in the joined tag set
    pairs = corpus.tag_parts.columns + np.add.outer(place * K, place).ravel()
    columns = np.concatenate([place, corpus.tag_parts.places(init.tag_parts_), pairs])
    rows, order = renumber(init.features_.rows, columns)
    known = init.features_
    old = Features(known.templates, known.strings, known.keys, rows, known.classes)
    union = FeatureUnion(old, corpus.features, corpus.tag_parts.all_columns)
    all_counts, w = np.zeros((2, len(union.features.rows.tags)))
    all_counts[union.places[corpus.features]] = counts
    w[union.places[old]] = init.weights_[order]

    start, end, transitions = np.zeros(K), np.zeros(K), np.zeros((K, K))
    start[place], end[place], transitions[np.ix_(place, place)] = init.start_, init.end_, init.transitions_
    values = {name: union.ids[corpus.features][ids] for name, ids in corpus.values.items()}
    corpus = replace(corpus, features=union.features, values=values)
    width, old_width = K + 1, len(init.classes_) + 1
    marked = np.append(place, K)
    u, v, k = (marked[init.trigrams_.keys // old_width**i % old_width] for i in (2, 1, 0))
    keys = (u * width + v) * width + k
    layout = ParameterLayout(corpus, all_counts, np.flatnonzero(transitions), init.order, keys)
    trigrams = np.zeros(len(layout.trigrams))
    trigrams[np.searchsorted(layout.trigrams, keys)] = init.trigrams_.weights
    layout.centre = layout.join(ChainWeights(w, start, transitions, end, trigrams, init.posterior_weight_))

    rows, order = renumber(init.lexicon_.rows, place)
    lexicon = Lexicon(init.lexicon_.words, rows, init.lexicon_.counts[order], init.lexicon_.form)
    seen = np.union1d(encoding.seen, init.seen_)
    return replace(
        encoding, corpus=corpus, layout=layout, lexicon=Lexicon.union([lexicon, encoding.lexicon], K), seen=seen
    )


class FeatureUnion:
    """The union of two sets of features over the same templates, word classes and W columns (tags, parts and pairs)."""

    def __init__(self, old: Features, new: Features, W: int) -> None:
        both = (old, new)
        strings, ids = StringTable.union([old.strings, new.strings])
        self.radix = len(strings) + MARKS
        self.ids = {side: with_none(own, self.radix) for side, own in zip(both, ids, strict=True)}
        keys: list[np.ndarray] = []
        numbers: dict[Features, list[np.ndarray]] = {old: [], new: []}  # of each side's features in the union
        first = 0
        for t in range(len(old.templates)):
            side_keys = {side: self.translated_keys(side, t) for side in both}
            keys.append(np.union1d(side_keys[old], side_keys[new]))
            for side in both:
                numbers[side].append(first + np.searchsorted(keys[-1], side_keys[side]))
            first += len(keys[-1])
        # A parameter is a cell, feature · W + column; the union of the cells is the union of the parameters.
        cells = {side: np.concatenate(numbers[side])[side.rows.owners] * W + side.rows.tags for side in both}
        all_cells = np.union1d(cells[old], cells[new])
        self.features = Features(old.templates, strings, keys, RaggedRows.of(all_cells, first, W), old.classes)
        self.places = {side: np.searchsorted(all_cells, cells[side]) for side in both}  # of each side's parameters

    def translated_keys(self, side: Features, t: int) -> np.ndarray:
        """Translate the keys of a side's template t to the string ids of the union."""
        ids = split(side.keys[t], side.radix, len(side.templates[t].conjuncts))
        return join([self.ids[side][row] for row in ids], self.radix)


def with_none(ids: np.ndarray, radix: int) -> np.ndarray:
    """Append to the ids of strings those of the two marks, then -1 for none."""
    return np.append(with_marks(ids, radix), -1)


def renumber(rows: RaggedRows, tags: np.ndarray) -> tuple[RaggedRows, np.ndarray]:
    """Put tags[k] in place of k, sort each row by tag again, and return the rows with the new order of the entries."""
    renamed = tags[rows.tags]
    order = np.lexsort((renamed, rows.owners))
    return RaggedRows(rows.widths, renamed[order].astype(np.int32)), order
