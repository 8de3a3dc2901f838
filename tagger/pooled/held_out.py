"""A training on a part of an encoded corpus, as if the rest had never been there.

The encoding of the whole corpus carries traces of the sentences that are left out, all of which would make the CRF
worse on them than on new text:

- A CRF has a weight for a feature with a tag only if the corpus has that pair. The weights of pairs that only the
  sentences left out have would become negative. So they stay at zero (`ParameterCounts.kept`).
- The HMMs that propose candidates have seen the sentences left out. Where these have other tags than the sentences
  trained on, the CRF would learn to contradict them. So HMMs that have not seen them propose (`propose_without`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tagger.arrays.ragged import consecutive
from tagger.corpus.span_schemes import AUTO, NO_SCHEME
from tagger.crf.candidates.node_tables import NodeTables
from tagger.crf.candidates.proposal import cross_fit, joined, with_gold
from tagger.crf.parameters import EncodedCorpus, ParameterLayout, step_events
from tagger.sentence import Sentence

if TYPE_CHECKING:
    from tagger.crf.tagger import CRFTagger


def propose_without(
    corpus: EncodedCorpus, sentences: Sequence[Sentence], fold: np.ndarray, model: CRFTagger, threads: int
) -> EncodedCorpus:
    """Return the corpus with candidates that are proposed by HMMs which have not seen the sentences of a fold."""
    cross_fitted, threshold = corpus.cross_fitted, model.threshold_
    assert cross_fitted is not None and threshold is not None
    others = np.setdiff1d(np.arange(len(sentences)), fold)
    rest = [sentences[i] for i in others.tolist()]
    settings = {"partial": model.partial, "scheme": NO_SCHEME if corpus.allowed is None else AUTO}
    lengths, classes = corpus.lengths[others], corpus.features.classes
    _, of_others = cross_fit(settings, rest, lengths, model.classes_, threshold, threads, classes=classes)
    begins = np.cumsum(corpus.lengths) - corpus.lengths
    here, there = (consecutive(begins[some], corpus.lengths[some]) for some in (others, fold))
    proposal = joined([of_others, cross_fitted.only(there)]).only(np.argsort(np.append(here, there)))
    with_right, is_right, _ = with_gold(proposal, corpus.tags, corpus.choices, threshold)
    return replace(corpus, proposal=with_right, is_right=is_right)


class ParameterCounts:
    """The occurrences of the parameters of a layout in some sentences of its corpus."""

    def __init__(self, corpus: EncodedCorpus, layout: ParameterLayout) -> None:
        self.corpus, self.layout = corpus, layout
        self.events = corpus.choices.events(corpus.tags)  # tokens and tags; an open token has none
        everything = [slice(0, len(self.events[0]))]
        self.tables = NodeTables(corpus, *self.events, everything, np.dtype(np.float64))
        self.step_tokens, pairs = step_events(corpus.lengths, corpus.tags, corpus.choices, corpus.K)
        self.steps = self.tables.step_sums(corpus.step_features(), self.step_tokens, *np.divmod(pairs, corpus.K))

    def of(self, sentences: np.ndarray) -> np.ndarray:
        """Count how often each parameter (P,) is on the right paths of these sentences."""
        corpus, layout = self.corpus, self.layout
        begins = np.cumsum(corpus.lengths) - corpus.lengths
        is_used = np.zeros(len(corpus.tags), bool)
        is_used[consecutive(begins[sentences], corpus.lengths[sentences])] = True
        features = self.tables.gradient(is_used[self.events[0]].astype(np.float64))
        features[self.steps.params] += self.steps.gradient(is_used[self.step_tokens])
        part = replace(
            corpus,
            tags=corpus.tags[is_used],
            lengths=corpus.lengths[np.sort(sentences)],
            choices=corpus.choices.only(is_used),
            proposal=None,
        )
        counts = ParameterLayout(part, features, layout.seen, layout.order, layout.trigrams).counts
        return np.append(counts, layout.counts[len(counts) :])  # the HMM's probability is everywhere

    def kept(self, counts: np.ndarray, min_count: int, min_pair_count: int) -> np.ndarray:
        """Find the parameters (P,) that a training with these counts has."""
        return kept_parameters(self.corpus, self.layout, counts, min_count, min_pair_count)


def kept_parameters(
    corpus: EncodedCorpus, layout: ParameterLayout, counts: np.ndarray, min_count: int, min_pair_count: int
) -> np.ndarray:
    """Find the parameters (P,) that a training with these counts has; those of an initial model always stay."""
    features, rows, K = corpus.features, corpus.features.rows, corpus.K
    several = max(min_count, min_pair_count)  # for features of several words
    minimum = [min_count if template.offset is not None else several for template in features.templates]
    needed = np.repeat(minimum, np.diff(features.bases))  # (F,)
    # The first parameters are (feature, tag) pairs: a feature's count is the sum over its tags, not their parts.
    pairs = slice(0, len(rows.tags))
    is_part = (rows.tags >= K) & (rows.tags < corpus.tag_parts.columns)
    seen = np.bincount(rows.owners, weights=np.where(is_part, 0, counts[pairs]), minlength=len(rows))  # (F,)
    keep = counts > 0
    keep[pairs] &= (seen >= needed)[rows.owners]
    # Features with values always stay: what is counted there is the sum of the values, which may be negative.
    is_valued = np.repeat([bool(template.valued) for template in features.templates], np.diff(features.bases))
    keep[pairs] |= is_valued[rows.owners]
    first = layout.bounds[1]
    keep[first : first + 2 * K] = True  # start and end
    return np.asarray(keep | (layout.centre != 0))
