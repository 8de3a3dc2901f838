"""Scores of the features of few tokens, all templates together.

For a block of text, `FeatureScorer` works template by template: a dozen NumPy calls for each, on long arrays. For one
sentence the calls are the cost. Here the features of all templates are looked up at once (`features.keys`), and
their weights added in one call, in the order in which `FeatureScorer` adds them: the scores are the same, bit by bit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tagger.features.encoder import Features
from tagger.features.keys import JointTemplates
from tagger.features.tag_parts import TagParts
from tagger.features.template import Template
from tagger.words.windows import Windows

FEW_TOKENS = 64
FEW_WORDS = 16  # new words


class FewTokens:
    """The weights of the features of words, and of several words at tokens."""

    def __init__(
        self,
        features: Features,
        weights: np.ndarray,
        tag_parts: TagParts,
        by_offset: Mapping[int, Sequence[int]],
        of_several: Sequence[int],
    ) -> None:
        self.features, self.weights, self.tag_parts = features, weights, tag_parts
        numbers = [t for templates in by_offset.values() for t in templates]
        names, templates, radix = [c.function for c in features.functions], features.templates, features.radix
        self.functions = [name for name in names if any(uses(templates[t], name) for t in of_several)]
        self.of_word = JointTemplates(templates, numbers, names, radix, at_words=True)
        self.of_several = JointTemplates(templates, of_several, self.functions, radix)
        self.offsets = list(by_offset)
        owners = [i for i, templates in enumerate(by_offset.values()) for _ in templates]
        self.offset_of = np.array(owners, np.int64)[:, None]  # (templates, 1) the index of a template's offset

    @classmethod
    def of(cls, features: Features, *rest: object) -> FewTokens | None:
        """Make one, unless the keys of all templates are too many for one index."""
        return cls(features, *rest) if features.joint_index.fits else None  # type: ignore[arg-type]

    def parameters(self, templates: JointTemplates, keys: np.ndarray, cells: np.ndarray) -> tuple[np.ndarray, ...]:
        """List the parameters of the features with these keys (templates, n), and the cell of each.

        `cells` (templates, n) are the first cells of the rows that the weights of a feature are added to.
        """
        ids = self.features.joint_index.find(templates.numbers, keys)
        there = ids >= 0
        params, widths = self.features.rows.entries(ids[there])
        return params, np.repeat(cells[there], widths) + self.features.rows.tags[params]

    def add_several(self, E: np.ndarray, windows: Windows, values: Mapping[str, np.ndarray]) -> None:
        """Add the weights of the features of several words to the emissions (N, K)."""
        templates, (N, K) = self.of_several, E.shape
        own = np.array([values[name][windows.around] for name in self.functions])
        rows = np.broadcast_to(np.arange(0, N * K, K, dtype=np.int64), (len(templates.numbers), N))
        params, cells = self.parameters(templates, templates.keys(own, windows.places), rows)
        np.add.at(E.reshape(-1), cells, self.weights[params])  # one after the other, also where cells are equal

    def word_scores(self, values: np.ndarray) -> dict[str, np.ndarray]:
        """Add up the weights (words, K) of the features of words with these `values` (functions, words), by offset."""
        words, columns = values.shape[1], self.tag_parts.columns
        keys = self.of_word.keys(values, np.arange(words))
        rows = (self.offset_of * words + np.arange(words)) * columns
        params, cells = self.parameters(self.of_word, keys, rows)
        sums = np.bincount(cells, weights=self.weights[params], minlength=len(self.offsets) * words * columns)
        scores = self.tag_parts.spread(sums.reshape(-1, columns)).astype(np.float32)
        by_offset = scores.reshape(len(self.offsets), words, -1)
        return {f"scores {offset}": by_offset[i] for i, offset in enumerate(self.offsets)}


def uses(template: Template, function: str) -> bool:
    """Return whether a template has a conjunct with this function."""
    return any(conjunct.function == function for conjunct in template.conjuncts)
