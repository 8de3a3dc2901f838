"""Features with values, from numbers and dicts: their keys, their counts in a corpus, and how to find them in a text.

A template of numbers has one feature at a token, whose value is the product of the numbers. A template of dicts has as
many as the token's dict has names; their keys are the ids of the names in the table of strings.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce

import numpy as np

from tagger.arrays.string_spans import StringSpans
from tagger.features.keys import token_keys
from tagger.features.syntax import ATTRIBUTES, ATTRIBUTES_PREFIX
from tagger.features.tag_parts import TagParts
from tagger.features.template import Template
from tagger.features.token_values import TokenValues, Triples, check_products
from tagger.words.windows import Windows

SORTING_CELLS = 16  # with more cells than this for each triple, sorting takes less memory than an array of all cells


@dataclass(frozen=True)
class Selection:
    """Which pairs of a feature with values and a tag become parameters, and which tag bigrams; CRFsuite's options."""

    min_value: float | None = None  # lowest sum of the values of a pair, and lowest count of a tag bigram
    all_states: bool = False  # also pairs that do not occur
    all_transitions: bool = False  # also tag bigrams that do not occur
    edges: bool = True  # weights of the first and the last tag of a sentence
    zeros: bool = False  # also pairs that occur with the value 0 only


ALL = Selection()


def named_spans(tokens: TokenValues | None) -> dict[str, StringSpans]:
    """Return the names in dicts, by source."""
    sources = tokens.sources if tokens else {}
    return {name: StringSpans.of(own.names) for name, own in sources.items() if name.startswith(ATTRIBUTES_PREFIX)}


def template_triples(
    template: Template,
    values: dict[str, np.ndarray],
    windows: Windows,
    valued: TokenValues,
    radix: int,
    find: Callable[[np.ndarray], np.ndarray] = lambda keys: keys,
    zeros: bool = False,
) -> Triples:
    """Find the features of a template at each token, with their values; `find` finds features by keys, -1 for none.

    `values` are the ids of functions' values at the distinct words of the windows, and of the names in dicts. By
    default keys take the place of features. Features of the value 0 add nothing to a score and are left out, unless
    `zeros` asks for them.
    """
    first = template.conjuncts[0]
    if first.name == ATTRIBUTES:
        ids = find(values[first.function])  # of each name
        rows, numbers, amounts = valued.sources[first.function].pairs(valued.windows.at(first.offset))
        ids = ids[numbers]
    else:
        ids = find(token_keys(template, values, windows, radix))
        rows = np.arange(len(ids), dtype=np.int64)
        with np.errstate(over="ignore", invalid="ignore"):
            amounts = reduce(np.multiply, (valued.numbers(str(c.column), c.offset) for c in template.valued))
        check_products(amounts, template)
    there, triples = (ids >= 0) & (zeros | (amounts != 0)), Triples(rows, ids, amounts)
    return triples if there.all() else triples.only(there)


def count_values(
    triples: Triples, tags: np.ndarray, tag_parts: TagParts, min_count: int, selection: Selection = ALL
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Count the parameters of a template, given the keys of its features at tokens and the tags (N,).

    Returned are the keys with parameters, ascending; the parameters as ascending cells, number of the key ·
    (K + A + K²) + tag; and the sum of the squared values of each, which is its count if all values are 1.
    """
    K, (keys, inverse) = tag_parts.K, distinct_numbers(triples.ids)
    amounts = triples.values.astype(np.float64)
    frequent = np.bincount(inverse, minlength=len(keys)) >= min_count
    cells = inverse * K + tags[triples.rows]
    if selection.all_states or len(keys) * K <= SORTING_CELLS * len(cells):
        seen = np.arange(len(keys) * K, dtype=np.int64)
        if not selection.all_states:
            seen = seen[np.bincount(cells, minlength=len(seen)) > 0]
        sums, squares = (np.bincount(cells, v, minlength=len(keys) * K)[seen] for v in (amounts, amounts * amounts))
    else:
        seen, place = np.unique(cells, return_inverse=True)
        sums, squares = (np.bincount(place, v, minlength=len(seen)) for v in (amounts, amounts * amounts))
    kept = frequent[seen // K]
    if selection.min_value is not None:
        kept &= sums >= selection.min_value
    alive = np.bincount(seen[kept] // K, minlength=len(keys)) > 0
    number = np.cumsum(alive, dtype=np.int64) - 1  # of a key among those kept
    return keys[alive], number[seen[kept] // K] * tag_parts.all_columns + seen[kept] % K, squares[kept]


def distinct_numbers(numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct numbers from 0 up, ascending, and the place of each number among them."""
    if numbers.max(initial=0) > 4 * len(numbers) + 1000:
        return np.unique(numbers, return_inverse=True)
    there = np.bincount(numbers) > 0
    return np.flatnonzero(there), (np.cumsum(there, dtype=np.int64) - 1)[numbers]
