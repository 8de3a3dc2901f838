"""Keys of features: what a template looks at, as ids of strings, joined to one number.

    key = (id_1 · R + id_2) · R + …        R: the number of strings, plus the two marks

The marks before and after a sentence are the last two ids. Where a function has no value, the whole key is -1.
"""

from __future__ import annotations

import numpy as np

from tagger.arrays.npz import Archive
from tagger.escaping import quote
from tagger.features.template import Template
from tagger.words.windows import MARKS, Windows


def restore_keys(archive: Archive, t: int, template: Template, radix: int) -> np.ndarray:
    """Read the keys of template t, and check that they rise and stay below radix ** conjuncts."""
    gaps, most = archive.take(f"keys.{t}", "u", None), radix ** len(template.conjuncts)
    steps = bool((gaps[1:] > 0).all()) and int(gaps.max(initial=0)) < most < 2**63  # so that no sum hides a wrap
    keys = np.cumsum(gaps, dtype=np.uint64)
    rising = steps and bool((keys[1:] > keys[:-1]).all()) and int(keys.max(initial=0)) < most
    archive.check(rising, f"the keys of {quote(str(template))} do not rise, or are too large")
    return keys.astype(np.int64)


def with_marks(ids: np.ndarray, radix: int) -> np.ndarray:
    """Append the ids of the two marks."""
    return np.concatenate([ids, radix - MARKS + np.arange(MARKS)])


def word_keys(template: Template, values: dict[str, np.ndarray], radix: int) -> np.ndarray:
    """Compute the keys (words + 2,) of a template of one word, at each distinct word and mark."""
    return join([values[conjunct.function] for conjunct in template.conjuncts], radix)


def token_keys(template: Template, values: dict[str, np.ndarray], windows: Windows, radix: int) -> np.ndarray:
    """Compute the keys (N,) of a template at each token."""
    return join([values[conjunct.function][windows.at(conjunct.offset)] for conjunct in template.conjuncts], radix)


def join(ids: list[np.ndarray], radix: int) -> np.ndarray:
    """Compute the keys (id_1 · R + id_2) · R + …, -1 where any id is."""
    key = np.asarray(ids[0], np.int64)
    for other in ids[1:]:
        key = np.where((key < 0) | (other < 0), -1, key * radix + other)
    return key


def split(keys: np.ndarray, radix: int, count: int) -> list[np.ndarray]:
    """Split keys into the `count` ids that they are joined from."""
    return [keys // radix ** (count - 1 - i) % radix for i in range(count)]
