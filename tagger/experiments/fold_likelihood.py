"""The objective of cross-validation: the likelihood of a corpus in folds, one of which can be left out.

One encoding of the corpus serves all folds; leaving one out only changes which packs are summed over.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tagger.arrays.ragged import consecutive
from tagger.corpus.partial import Choices
from tagger.crf.candidates.node_tables import NodeTables
from tagger.crf.candidates.objective import CandidateLikelihood
from tagger.crf.objective import Objective, PenalizedLikelihood
from tagger.crf.parameters import EncodedCorpus, ParameterLayout


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

    def observed(self) -> np.ndarray:
        """Count how often each weight of a feature or a tag bigram (P,) is on the gold path of the sentences used.

        All their tags are given.
        """
        self.residual[:] = 0.0
        steps = np.zeros(self.K * self.K)
        for i in self.used:
            # A one in the column of the gold tag, and by `gather` in those of its parts: the gradient is the count.
            columns, tags = self.residual[self.rows[i]], self.tags[self.rows[i]]
            columns[np.arange(len(tags)), tags] = 1
            self.tag_parts.gather(columns)
            steps += self.gold_steps(i)
        ends = np.zeros(2 * self.K)  # starts and ends are always kept
        return np.concatenate([self.feature_gradient(self.residual), steps[self.layout.seen], ends])


class CandidateFoldLikelihood(Folds, CandidateLikelihood):
    """A penalised likelihood over candidate tags, in folds."""

    def __init__(self, corpus: EncodedCorpus, *args: Any, folds: Sequence[np.ndarray] | None = None) -> None:
        super().__init__(corpus, *args, folds=folds)
        self.corpus, N = corpus, len(corpus.tags)
        self.gold_tables = NodeTables(corpus, np.arange(N), corpus.tags, [slice(0, N)], np.dtype(np.float64))

    def observed(self) -> np.ndarray:
        """Count how often each weight (P,) is on the gold path of the sentences used; all their tags are given."""
        lengths, layout = self.corpus.lengths, self.layout
        used = np.sort(np.concatenate([self.sentences[i] for i in self.used]))
        tokens = consecutive((np.cumsum(lengths) - lengths)[used], lengths[used])
        is_used = np.zeros(len(self.corpus.tags))
        is_used[tokens] = 1
        of_features = self.gold_tables.gradient(is_used, self.map)
        none = Choices.none(layout.K)
        part = replace(self.corpus, tags=self.corpus.tags[tokens], lengths=lengths[used], choices=none)
        return ParameterLayout(part, of_features, layout.seen, layout.order, layout.trigrams).counts


def make_fold_likelihood(
    corpus: EncodedCorpus, *args: Any, **settings: Any
) -> FoldLikelihood | CandidateFoldLikelihood:
    """Make the objective of a corpus, over its candidates if it has any."""
    kind = FoldLikelihood if corpus.proposal is None else CandidateFoldLikelihood
    return kind(corpus, *args, **settings)
