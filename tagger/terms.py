"""What the steps of a chain say of one token's tag: the parts of a path's score that lie between neighbouring tags."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def step_terms(
    names: Sequence[str], start: np.ndarray, transitions: np.ndarray, end: np.ndarray, path: Sequence[int], t: int
) -> dict[str, float]:
    """The score of the step to the tag of token t and of that away from it, by names that do not tell the tag."""
    k, found = path[t], {}
    if t == 0:
        found["start of sentence"] = float(start[k])
    else:
        found[f"previous tag {names[path[t - 1]]}"] = float(transitions[path[t - 1], k])
    if t + 1 == len(path):
        found["end of sentence"] = float(end[k])
    else:
        found[f"next tag {names[path[t + 1]]}"] = float(transitions[k, path[t + 1]])
    return found
