"""Guesses for few words, all levels of all spelling models together.

`Guesser.expert_scores` goes from level to level: a dozen NumPy calls for each of some thirty. For a few words the calls
are the cost. Here the descriptions of all levels are looked up at once, and the recursion of `Level.refine` is
unfolded:

    P_i(tag) = scale_i · (P_0(tag) + Σ_k counts_k(tag) / (scale_{k-1} · κ_k))
    scale_k  = scale_{k-1} · κ_k / (count_k + κ_k)

The terms are added in the order of the levels, so that the scores are the same, bit by bit.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tagger.arrays.keyed import find_keys
from tagger.arrays.npz import MIN_POSITIVE
from tagger.arrays.ragged import RaggedRows
from tagger.hmm.affixes import shorten_keys
from tagger.hmm.spelling_levels import Level, SpellingKeys

FEW_WORDS = 16


class JointLevels:
    """All levels of all spelling models in one table; `fits` is False for the longer keys of old files."""

    def __init__(self, spelling_models: Sequence[Sequence[Level]]) -> None:
        levels = [level for model in spelling_models for level in model]
        self.fits = all(level.keys.dtype == np.uint32 for level in levels)
        numbers = [np.uint64(i) << np.uint64(32) | level.keys.astype(np.uint64) for i, level in enumerate(levels)]
        self.keys = np.concatenate(numbers)  # (descriptions,) ascending: level · 2³² + key
        tags = np.concatenate([level.rows.tags for level in levels])
        self.rows = RaggedRows(np.concatenate([level.rows.widths for level in levels]), tags)
        self.counts = np.concatenate([level.counts for level in levels]).astype(float)
        self.kappas = np.array([level.kappa for level in levels])[:, None]  # (levels, 1)
        ends = np.cumsum([len(model) for model in spelling_models]).tolist()
        self.models = [slice(a, b) for a, b in zip([0, *ends], ends, strict=False)]  # the levels of each
        self.model_of = np.repeat(np.arange(len(ends)), [len(model) for model in spelling_models])

    def expert_scores(self, prior: np.ndarray, keys: Sequence[SpellingKeys], own_shares: np.ndarray) -> np.ndarray:
        """Compute the scores (words, 1 + models, K), as `Guesser.expert_scores` does."""
        words, K = own_shares.shape
        keys_of_words = np.array([key for of_model in keys for key in of_model])  # (levels, words)
        found = find_keys(self.keys, self.wanted(keys_of_words))
        entries, owners = self.rows.known_entries(found.ravel())  # owners: level · words + word
        level, word = np.divmod(owners, words)
        cells = word * K + self.rows.tags[entries]
        counts = np.maximum(self.counts[entries] - own_shares.ravel()[cells], 0.0)
        count = np.bincount(owners, weights=counts, minlength=found.size).reshape(found.shape)
        ratio = self.kappas / (count + self.kappas)
        scale, before = np.empty_like(ratio), np.ones_like(ratio)  # after each level, and before it
        for levels in self.models:
            np.cumprod(ratio[levels], axis=0, out=scale[levels])
            np.maximum(scale[levels], MIN_POSITIVE, out=scale[levels])
            before[levels][1:] = scale[levels][:-1]
        P = np.empty((len(self.models), words, K))
        P[:] = prior
        np.add.at(
            P.ravel(), self.model_of[level] * (words * K) + cells, counts / (before * self.kappas).ravel()[owners]
        )
        log_prior, last = np.log(prior), [levels.stop - 1 for levels in self.models]
        scores = np.empty((words, 1 + len(self.models), K))
        scores[:, 0] = log_prior
        np.add(np.log(P), np.log(scale[last])[:, :, None] - log_prior, out=scores[:, 1:].transpose(1, 0, 2))
        return scores

    def wanted(self, keys: np.ndarray) -> np.ndarray:
        """Return the numbers to look up for keys of 64 bits (levels, words)."""
        levels = np.arange(len(keys), dtype=np.uint64)[:, None] << np.uint64(32)
        return np.asarray(levels | shorten_keys(keys).astype(np.uint64))
