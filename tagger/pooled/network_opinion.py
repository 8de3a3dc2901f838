"""The opinion of a feed-forward network, which joins a pool where words have vectors from raw text.

The network says little of its own about a token with one candidate: only tokens with a choice are computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tagger.arrays.npz import Archive, Arrays
from tagger.chain.candidate_lattice import Candidates
from tagger.crf.parameters import EncodedCorpus
from tagger.features.word_classes import WordClasses
from tagger.pooled.lattice import Opinion
from tagger.sentence import Words

if TYPE_CHECKING:
    from tagger.neural.feedforward.network import FeedForwardNetwork
    from tagger.neural.feedforward.training import NetworkTraining


@dataclass(frozen=True)
class NetworkOpinion(Opinion):
    """A network as a member of a pool, and its weight."""

    network: FeedForwardNetwork

    @property
    def name(self) -> str:
        return "network"

    def probabilities(self, sentences: Sequence[Words], candidates: Candidates) -> np.ndarray:
        has_choice = candidates.widths > 1
        log_P = self.network.log_probabilities(sentences, np.flatnonzero(has_choice))
        nodes = np.flatnonzero(has_choice[candidates.tokens])
        rows = (np.cumsum(has_choice) - 1)[candidates.tokens[nodes]]
        P = np.ones(len(candidates.tags))
        P[nodes] = np.exp(log_P[rows, candidates.tags[nodes]])
        return P

    def marginals(self, words: Words) -> np.ndarray:
        return np.exp(self.network.log_probabilities([words], np.arange(len(words))))

    def arrays(self) -> Arrays:
        """Return the arrays of a model file."""
        return {"network.weight": np.array([self.weight])} | self.network.arrays()

    @classmethod
    def restore(cls, archive: Archive, classes: WordClasses | None, K: int) -> NetworkOpinion | None:
        """Read the arrays of a model file with these word classes and K tags; None if it has no network."""
        if not archive.has("network.weight"):
            return None
        weight = float(archive.take("network.weight", "f", 1)[0])
        archive.check(weight >= 0 and classes is not None, "expected a weight from 0 and word classes for its network")
        assert classes is not None
        from tagger.neural.feedforward.network import FeedForwardNetwork

        return cls(weight, FeedForwardNetwork.restore(archive, classes, K))


def network_training(corpus: EncodedCorpus) -> NetworkTraining | None:
    """Make the training of a network on a corpus; None if its words have no vectors, or are not all that it has."""
    from tagger.neural.feedforward.training import NetworkTraining

    features = corpus.features
    if features.classes is None or features.classes.vectors is None or features.sources or features.valued:
        return None
    windows = corpus.windows
    return NetworkTraining(windows.words, windows.at(0), corpus.tags, corpus.lengths, features.classes, corpus.K)
