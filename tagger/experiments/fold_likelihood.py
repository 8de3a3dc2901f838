"""The objective of cross-validation: the likelihood of a corpus in folds, one of which can be left out.

One encoding of the corpus serves all folds; leaving one out only changes which packs are summed over.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tagger.crf.candidates.objective import CandidateLikelihood
from tagger.crf.objective import Objective, PenalizedLikelihood
from tagger.crf.parameters import EncodedCorpus


class Folds(Objective):
    """Adds folds, arrays of sentence numbers, to a likelihood; without folds, all sentences are one."""

    def __init__(self, corpus: EncodedCorpus, *args: Any, folds: Sequence[np.ndarray] | None = None) -> None:
        super().__init__(corpus, *args, groups=folds)
        number = np.zeros(len(corpus.lengths), np.int64)  # the fold of each sentence
        for fold, members in enumerate(folds or ()):
            number[members] = fold
        self.fold = [int(number[sentences[0]]) for sentences in self.sentences]  # of each pack
        self.left_out: int | None = None

    @property
    def used(self) -> list[int]:
        """The packs of all folds but the one left out."""
        return [i for i, fold in enumerate(self.fold) if fold != self.left_out]

    def leave_out(self, fold: int | None) -> None:
        """Leave this fold out of the sums from now on, and no other."""
        self.left_out = fold
        self.residual[:] = 0.0


class FoldLikelihood(Folds, PenalizedLikelihood):
    """A penalised likelihood over all tags, in folds."""


class CandidateFoldLikelihood(Folds, CandidateLikelihood):
    """A penalised likelihood over candidate tags, in folds."""


def make_fold_likelihood(
    corpus: EncodedCorpus, *args: Any, **settings: Any
) -> FoldLikelihood | CandidateFoldLikelihood:
    """Make the objective of a corpus, over its candidates if it has any."""
    kind = FoldLikelihood if corpus.proposal is None else CandidateFoldLikelihood
    return kind(corpus, *args, **settings)
