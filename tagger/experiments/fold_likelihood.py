"""The objective of cross-validation: the likelihood of a corpus in folds, one of which can be left out.

One encoding of the corpus serves all folds; leaving one out only changes which packs are summed over.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tagger.crf.objective import PenalizedLikelihood
from tagger.crf.parameters import EncodedCorpus


class FoldLikelihood(PenalizedLikelihood):
    """A penalised likelihood over folds, arrays of sentence numbers; without folds, over all sentences."""

    def __init__(self, corpus: EncodedCorpus, *args: Any, folds: Sequence[np.ndarray] | None = None) -> None:
        super().__init__(corpus, *args, groups=folds)
        folds = [np.arange(len(corpus.lengths))] if folds is None else folds
        ends = np.cumsum([corpus.lengths[fold].sum() for fold in folds])  # packs and their rows are in this order
        self.fold = np.searchsorted(ends, [rows.start for rows in self.rows], side="right").tolist()  # of each pack
        self.left_out: int | None = None

    @property
    def used(self) -> list[int]:
        """The packs of all folds but the one left out."""
        return [i for i, fold in enumerate(self.fold) if fold != self.left_out]

    def leave_out(self, fold: int | None) -> None:
        """Leave this fold out of the sums from now on, and no other."""
        self.left_out = fold
        self.residual[:] = 0.0

    def observed(self) -> np.ndarray:
        """Count how often each weight of a feature or a tag bigram (P,) is on the gold path of the sentences used, all
        of whose tags are given."""
        self.residual[:] = 0.0
        counts = np.zeros(self.layout.size)
        steps = np.zeros(self.K * self.K)
        for i in self.used:
            # A one in the column of the gold tag, and by `gather` in those of its parts: the gradient is the count.
            columns, tags = self.residual[self.rows[i]], self.tags[self.rows[i]]
            columns[np.arange(len(tags)), tags] = 1
            self.tag_parts.gather(columns)
            counts[self.narrow[i].params] += self.narrow[i].gradient(columns)
            steps += self.gold_steps(i)
        self.map(lambda table: table.add_gradient(self.residual, counts), self.tables)
        first = self.layout.features_end
        counts[first : first + len(self.layout.seen)] = steps[self.layout.seen]
        return counts
