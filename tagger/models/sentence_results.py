"""Results of lattices as lists with one item per sentence.

A lattice answers for many sentences at once, token after token, in groups of similar length; users get one item for
each sentence, in the order of the sentences.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from tagger.chain.lattice import Lattice


def n_best(lattice: Lattice, n: int) -> list[list[tuple[float, np.ndarray]]]:
    """Find up to n paths per sentence as (probability, tags), best first."""
    scored = zip(lattice.n_best(n), lattice.log_z().tolist(), strict=True)
    return [[(float(np.exp(score - log_z)), path) for score, path in paths] for paths, log_z in scored]


def by_sentence(X: Sequence[Any], results: Iterable[tuple[np.ndarray, Any]]) -> list[Any]:
    """Cut results into sentences: each is a group of indices into X, and a list or array with one item per token."""
    out: list[Any] = [[]] * len(X)
    for group, rows in results:
        begin = 0
        for i in group.tolist():
            end = begin + len(X[i])
            out[i] = rows[begin:end]
            begin = end
    return out
