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
from functools import cache

import numpy as np

from tagger.arrays.keyed import find_keys
from tagger.arrays.npz import MIN_POSITIVE
from tagger.arrays.ragged import RaggedRows, ranges
from tagger.arrays.string_spans import BITS_64, powers
from tagger.hmm.affixes import (
    DIGIT,
    LOWER,
    MAX_LENGTH,
    OTHER,
    UPPER,
    Letters,
    Q,
    combine_keys,
    letter_class,
    low_code,
    shorten_keys,
)
from tagger.hmm.spelling_levels import Level

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
        depths = np.array([len(model) for model in spelling_models])
        self.models, self.deepest = len(depths), int(depths.max())
        self.model_of, self.depth_of = np.repeat(np.arange(len(depths)), depths), ranges(depths)  # (levels,)

    def expert_scores(self, prior: np.ndarray, keys: np.ndarray, own_shares: np.ndarray) -> np.ndarray:
        """Compute the scores (words, 1 + models, K), as `Guesser.expert_scores` does, from keys (levels, words)."""
        words, K = own_shares.shape
        found = find_keys(self.keys, self.wanted(keys))
        entries, owners = self.rows.known_entries(found.ravel())  # owners: level · words + word
        level, word = np.divmod(owners, words)
        cells = word * K + self.rows.tags[entries]
        counts = np.maximum(self.counts[entries] - own_shares.ravel()[cells], 0.0)
        count = np.bincount(owners, weights=counts, minlength=found.size).reshape(found.shape)
        # By model and depth: before the first level, and after each; after the last level of a model nothing changes.
        scale = np.ones((self.models, 1 + self.deepest, words))
        scale[self.model_of, 1 + self.depth_of] = self.kappas / (count + self.kappas)
        np.maximum(np.cumprod(scale, axis=1, out=scale), MIN_POSITIVE, out=scale)
        weights = counts / (scale[self.model_of, self.depth_of] * self.kappas).ravel()[owners]
        P = np.empty((self.models, words, K))
        P[:] = prior
        np.add.at(P.ravel(), self.model_of[level] * (words * K) + cells, weights)
        log_prior = np.log(prior)
        scores = np.empty((words, 1 + self.models, K))
        scores[:, 0] = log_prior
        np.add(np.log(P), np.log(scale[:, -1])[:, :, None] - log_prior, out=scores[:, 1:].transpose(1, 0, 2))
        return scores

    def wanted(self, keys: np.ndarray) -> np.ndarray:
        """Return the numbers to look up for keys of 64 bits (levels, words)."""
        levels = np.arange(len(keys), dtype=np.uint64)[:, None] << np.uint64(32)
        return np.asarray(levels | shorten_keys(keys).astype(np.uint64))


def keys_of_few(letters: Letters, suffix_length: int, prefix_length: int) -> np.ndarray:
    """Describe each word by all spelling models, (levels, words), as `guesser.spelling_keys` does."""
    words = zip(letters.words, letters.initial.tolist(), strict=True)
    keys = np.array([keys_of_word(word, initial, suffix_length, prefix_length) for word, initial in words], np.uint64).T
    suffixes, prefixes = keys[5 : 5 + suffix_length], keys[5 + suffix_length :]
    with_case = combine_keys(np.concatenate([keys[5:], keys[2:3]]), keys[0])  # also of the length
    parts = [keys[:2], with_case[:suffix_length], suffixes, with_case[suffix_length:-1], prefixes, with_case[-1:]]
    return np.concatenate([*parts, keys[3:5]])


def keys_of_word(word: str, initial: int, suffix_length: int, prefix_length: int) -> list[int]:
    """List case, shape, length, number pattern, lower case, suffixes and prefixes of a word, as `Letters` computes."""
    low, classes = [low_code(letter) for letter in word], [letter_class(letter) for letter in word]
    has_upper, has_lower, has_digit = UPPER in classes, LOWER in classes, DIGIT in classes
    if has_upper and not has_lower and len(word) > 1:
        case = 3
    else:
        case = 2 if has_upper and classes[0] == UPPER else 1 if has_lower and not has_upper else 0
    case += 4 * has_digit + 8 * ("-" in word) + 16 * initial + 1
    shape = [c + OTHER if kind == OTHER else kind for c, kind in zip(low, classes, strict=True)]
    shape = [c for c, before in zip(shape, [-1, *shape], strict=False) if c != before]
    number = 0
    if has_digit:
        runs = zip(low, classes, [OTHER, *classes], strict=False)
        pattern = [ord("0") if kind == DIGIT else c for c, kind, before in runs if kind != DIGIT or before != DIGIT]
        number = affix_keys(pattern, len(pattern))[-1]
    length = min(len(word), MAX_LENGTH) + 1
    prefixes = affix_keys(low, max(prefix_length, len(low)))
    lower = prefixes[len(low) - 1] if low else 0
    suffixes = affix_keys(low[::-1], suffix_length)
    return [
        case,
        affix_keys(shape, len(shape))[-1] if shape else 0,
        length,
        number,
        lower,
        *suffixes,
        *prefixes[:prefix_length],
    ]


def affix_keys(letters: Sequence[int], count: int) -> list[int]:
    """Compute the keys of the first letter, the first two, …; 0, NO_KEY, for those after the last letter."""
    key, keys = 0, []
    for letter, factor in zip(letters[:count], powers_of_Q(count), strict=False):
        key = key + (letter + 1) * factor & BITS_64
        keys.append(key)
    return keys + [0] * (count - len(keys))


@cache
def powers_of_Q(count: int) -> list[int]:
    """Return Q^0, Q^1, … modulo 2^64."""
    return [int(power) for power in powers(Q, count)]
