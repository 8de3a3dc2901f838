"""Keys of features: what a template looks at, as ids of strings, joined to one number.

    key = (id_1 · R + id_2) · R + …        R: the number of strings, plus the two marks

The marks before and after a sentence are the last two ids. Where a function has no value, the whole key is -1.

Template by template, a look-up costs a dozen NumPy calls for each. In a `JointIndex` the keys of all templates are in
one ascending array: those of template t are raised by first[t], the number of possible keys of the templates before it.
A feature's place in that array is its id.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tagger.arrays.caching import cached_property
from tagger.arrays.keyed import find_keys
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


class JointIndex:
    """The keys of all templates in one ascending array; `fits` is False if they are too many for 64 bits."""

    def __init__(self, templates: Sequence[Template], keys: Sequence[np.ndarray], radix: int) -> None:
        first = [0]
        for template in templates:
            first.append(first[-1] + radix ** len(template.conjuncts))
        self.fits, self.by_template = first[-1] < 2**63, keys
        self.first = np.array(first[:-1] if self.fits else [], np.int64)  # (templates,)

    @cached_property
    def keys(self) -> np.ndarray:
        """All keys, ascending."""
        raised = [own + start for own, start in zip(self.by_template, self.first.tolist(), strict=True)]
        return np.concatenate([np.empty(0, np.int64), *raised])

    def find(self, templates: np.ndarray, keys: np.ndarray) -> np.ndarray:
        """Find the features with these keys (templates, n), -1 for none, of some templates; -1 where there is none."""
        return find_keys(self.keys, np.where(keys < 0, -1, keys + self.first[templates][:, None]))


class JointTemplates:
    """Some templates, to compute their keys at once from the values of `functions`.

    With `at_words` they are templates of one word, and their keys are those of that word, whatever its offset.
    """

    def __init__(
        self,
        templates: Sequence[Template],
        numbers: Sequence[int],
        functions: Sequence[str],
        radix: int,
        at_words: bool = False,
    ) -> None:
        self.numbers, self.radix = np.array(numbers, np.int64), radix
        own, place_of = [templates[t].conjuncts for t in numbers], {name: i for i, name in enumerate(functions)}
        # For each place in a conjunction: the templates that have a conjunct there, its function and its offset.
        self.conjuncts = []
        for place in range(max(map(len, own), default=0)):
            there = [i for i, conjuncts in enumerate(own) if place < len(conjuncts)]
            used = [place_of[own[i][place].function] for i in there]
            offsets = [0 if at_words else own[i][place].offset for i in there]
            rows = np.array(there) if len(there) < len(own) else slice(None)
            self.conjuncts.append((rows, np.array(used)[:, None], np.array(offsets)[:, None]))

    def keys(self, values: np.ndarray, places: np.ndarray) -> np.ndarray:
        """Compute the keys (templates, n) at places (n,) of a text; `values` (functions, text) are those of its words.

        key = (id_1 · R + id_2) · R + …, -1 where any id is (`join`)
        """
        flat, width = values.reshape(-1), values.shape[1]
        keys = np.empty((len(self.numbers), len(places)), np.int64)
        for place, (rows, functions, offsets) in enumerate(self.conjuncts):
            ids = flat[functions * width + offsets + places]
            before = keys[rows]
            keys[rows] = ids if place == 0 else np.where((before < 0) | (ids < 0), -1, before * self.radix + ids)
        return keys
