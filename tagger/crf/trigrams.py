"""The weights of tag trigrams, of a CRF of second order: sparse, one for each trigram seen in training."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tagger.arrays.keyed import KeyedValues
from tagger.arrays.npz import Archive, Arrays, narrow, narrow_floats


@dataclass(frozen=True)
class TagTrigrams:
    """Weights of trigrams (u, v, w) of K tags and the mark K, which is before and after a sentence."""

    K: int
    keys: np.ndarray  # ascending: (u · (K + 1) + v) · (K + 1) + w
    weights: np.ndarray  # float32

    @classmethod
    def none(cls, K: int) -> TagTrigrams:
        """Return no trigrams, as a CRF of first order has."""
        return cls(K, np.empty(0, np.int64), np.empty(0, np.float32))

    def lookup(self) -> KeyedValues:
        """Make a table of the weight of every trigram, 0 if it was not seen."""
        return KeyedValues(self.keys, self.weights.astype(np.float64), (self.K + 1) ** 3)

    def arrays(self) -> Arrays:
        """Return the arrays of a model file; keys are stored as the steps from one to the next."""
        return {"trigrams.gaps": narrow(np.diff(self.keys, prepend=0)), "trigrams.weights": narrow_floats(self.weights)}

    @classmethod
    def restore(cls, archive: Archive, K: int) -> TagTrigrams:
        """Read the arrays of a model file, and check that the keys rise and fit the tag set."""
        gaps, most = archive.take("trigrams.gaps", "u", None), (K + 1) ** 3
        keys = np.cumsum(gaps, dtype=np.uint64)
        rising = int(gaps.max(initial=0)) < most and bool((gaps[1:] > 0).all()) and len(gaps) <= most
        archive.check(rising and int(keys.max(initial=0)) < most < 2**63, "expected rising keys of its tag trigrams")
        weights = archive.take("trigrams.weights", "f", len(keys))
        return cls(K, keys.astype(np.int64), weights.astype(np.float32))
