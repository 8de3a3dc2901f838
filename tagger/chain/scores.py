"""The scores of a linear chain of first order, and the score of one path through it.

The score of a tag path y through a sentence of T tokens is

    s(y) = start[y_1] + Σ_t emissions[t, y_t] + Σ_{t>1} transitions[y_{t-1}, y_t] + end[y_T]
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tagger.chain.pack import Pack


@dataclass(frozen=True)
class Chain:
    """Scores of a pack of sentences; -inf forbids a tag or a step."""

    pack: Pack
    start: np.ndarray  # (K,)
    transitions: np.ndarray  # (K, K) [previous, next]
    end: np.ndarray  # (K,)
    emissions: np.ndarray  # (N, K) rows as in the pack


def path_scores(chain: Chain, tags: np.ndarray) -> np.ndarray:
    """Add up s(y) for one path per sentence: `tags` (N,) by row, result (B,) by rank."""
    pack = chain.pack
    scores = pack.sums(chain.emissions[np.arange(len(tags)), tags])
    first = pack.first
    steps = chain.transitions[tags[pack.before], tags[first:]]
    scores += pack.sums(np.concatenate([np.zeros(first), steps]))
    scores[:first] += chain.start[tags[:first]]
    scores[:first] += chain.end[tags[pack.last]]
    return scores
