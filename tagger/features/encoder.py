"""The encoder from words to feature ids.

A template filled in at a token gives a *feature*: "the word before is *to* and this one is *run*". The idea to
understand is how a feature becomes a number without ever becoming a string:

1. Each function is evaluated once per distinct word (`Windows`), and its value, a string, becomes an id in one table of
   strings shared by all functions.
2. A template's *key* at a token is made of those ids: `(id_1 · R + id_2) · R + …`, with R larger than any id. Two more
   ids, R-2 and R-1, are the marks before and after the sentence; no string has them, so no word equals a mark.
3. A feature's id is the place of its key among the sorted keys of its template.

Where a function has no value, or one unseen in training, the whole key is -1: no feature.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import chain
from typing import Any

import numpy as np

from tagger.arrays.caching import cached_property
from tagger.arrays.keyed import count_keys, find_keys, number_keys
from tagger.arrays.npz import Archive, Arrays, narrow
from tagger.arrays.ragged import RaggedRows
from tagger.arrays.string_spans import StringSpans, distinct
from tagger.arrays.string_table import StringTable
from tagger.errors import TemplateError
from tagger.features.keys import JointIndex, join, restore_keys, split, token_keys, with_marks, word_keys
from tagger.features.syntax import ATTRIBUTES, Conjunct
from tagger.features.tag_parts import TagParts
from tagger.features.template import (
    Template,
    function_values,
    functions_of,
    group_values,
    grouped,
    margin,
    sources_of,
    token_values,
    valued_sources,
)
from tagger.features.token_values import TokenValues, Triples
from tagger.features.valued import ALL, Selection, count_values, named_spans, template_triples
from tagger.features.word_classes import WordClasses
from tagger.words.windows import MARKS, Windows


@dataclass(eq=False)
class Features:
    """The features of a training corpus, and the tags and tag parts that each was seen with.

    Features are numbered through all templates. Each pair of a feature and a tag (or tag part) is a parameter, an entry
    of the feature's row.
    """

    templates: list[Template]
    strings: StringTable
    keys: list[np.ndarray]  # for each template, ascending
    rows: RaggedRows
    classes: WordClasses | None = None  # if a template names any

    def __post_init__(self) -> None:
        self.bases = np.cumsum([0, *map(len, self.keys)], dtype=np.int64)  # first feature of each template
        self.functions = functions_of(self.templates)
        self.groups = grouped(self.functions)
        self.sources, self.valued = sources_of(self.templates), valued_sources(self.templates)
        self.radix = len(self.strings) + MARKS
        self.step_templates = [t for t, template in enumerate(self.templates) if template.of_steps]  # the last ones

    @cached_property
    def margin(self) -> int:
        """The largest distance from the token at which a template looks."""
        return margin(self.templates)

    @property
    def steps_begin(self) -> int:
        """The first parameter of the features of steps, which are the last ones."""
        return int(self.rows.bounds[self.bases[len(self.templates) - len(self.step_templates)]])

    @cached_property
    def offsets(self) -> list[int]:
        """The offsets at which templates look at one word."""
        return sorted({t.offset for t in self.templates if t.offset is not None and not t.of_steps})

    def values(self, words: Sequence[Any]) -> dict[str, np.ndarray]:
        """For each function, look up the ids (words + 2,) of its values at the words and of the two marks.

        A word is a tuple, if the templates look at more than words (`Observer`).
        """
        return {
            c.function: with_marks(ids, self.radix)
            for c, ids in zip(self.functions, self.value_ids(words), strict=True)
        }

    def value_ids(self, words: Sequence[Any]) -> np.ndarray:
        """Look up the ids (functions, words) of the values of all functions at the words."""
        spans = StringSpans.joined(group_values(self.groups, words, self.sources, self.classes))
        return self.strings.find(spans).reshape(len(self.functions), len(words))

    @cached_property
    def joint_index(self) -> JointIndex:
        """The keys of all templates in one index."""
        return JointIndex(self.templates, self.keys, self.radix)

    def ids(self, t: int, keys: np.ndarray) -> np.ndarray:
        """Find the features with these keys of template t, -1 where there is none."""
        place = find_keys(self.keys[t], keys)
        return np.where(place < 0, -1, self.bases[t] + place)

    def name_values(self, valued: TokenValues | None) -> dict[str, np.ndarray]:
        """For each source of dicts, look up the ids of its names and of the two marks."""
        spans = named_spans(valued)
        return {source: with_marks(self.strings.find(names), self.radix) for source, names in spans.items()}

    def triples(self, values: dict[str, np.ndarray], windows: Windows, valued: TokenValues | None) -> Triples:
        """Find the features with values at each token, ordered by token.

        `values` are those of functions at the distinct words of the windows, and of the names in dicts.
        """
        parts = [Triples.none()]
        for t, template in enumerate(self.templates):
            if valued is not None and template.valued:
                parts.append(template_triples(template, values, windows, valued, self.radix, partial(self.ids, t)))
        return Triples.joined(parts)

    def text(self, feature: int) -> str:
        """Write a feature, given by its number, as text."""
        t = int(np.searchsorted(self.bases, feature, side="right")) - 1
        conjuncts = self.templates[t].conjuncts
        ids = split(self.keys[t][feature - self.bases[t] :][:1], self.radix, len(conjuncts))
        texts = (self.conjunct_text(c, int(value[0])) for c, value in zip(conjuncts, ids, strict=True))
        return self.templates[t].marked(" & ".join(texts))

    def conjunct_text(self, conjunct: Conjunct, value: int) -> str:
        """Write a conjunct with the value of this id as text."""
        if value >= len(self.strings):
            return f"{conjunct}=<{('before', 'after')[value - len(self.strings)]}>"
        if conjunct.name == ATTRIBUTES and not conjunct.offset:
            return self.strings[value]
        return f"{conjunct}={self.strings[value]}" if self.strings[value] else str(conjunct)

    def present(self, words: Sequence[Any], of_steps: bool = False) -> list[list[tuple[str, int, float]]]:
        """List the features of each token of a sentence, or of the step to it, as text, number and value."""
        windows = Windows.of([words], self.margin)
        values = self.values(windows.words)
        plain = [t for t, own in enumerate(self.templates) if own.of_steps == of_steps and not own.valued]
        keys = [token_keys(self.templates[t], values, windows, self.radix) for t in plain]
        ids = np.array([self.ids(t, key) for t, key in zip(plain, keys, strict=True)]).reshape(len(plain), len(words))
        if of_steps:
            ids[:, :1] = -1  # there is no step to the first token
        present = [[(self.text(feature), feature, 1.0) for feature in row if feature >= 0] for row in ids.T.tolist()]
        valued = None if of_steps else token_values(self.templates, [words])
        triples = self.triples(values | self.name_values(valued), windows, valued)
        for t, feature, value in zip(*(part.tolist() for part in triples), strict=True):
            present[t].append((self.text(feature), feature, value))
        return present

    def restricted(self, keep: np.ndarray) -> Features:
        """Keep the parameters that are True in `keep` (P,), the features that have any, and the strings they need."""
        widths = np.bincount(self.rows.owners[keep], minlength=len(self.rows))
        alive = widths > 0
        bounds = zip(self.bases, self.bases[1:], strict=False)
        kept = [keys[alive[a:b]] for keys, (a, b) in zip(self.keys, bounds, strict=True)]
        ids = [split(keys, self.radix, len(t.conjuncts)) for keys, t in zip(kept, self.templates, strict=True)]
        used = np.zeros(self.radix, bool)
        for row in chain.from_iterable(ids):
            used[row] = True
        strings = self.strings.taken(np.flatnonzero(used[:-MARKS]))
        place = np.cumsum(used, dtype=np.int64) - used  # of each old id among those used; the marks come last in both
        place[-MARKS:] = len(strings) + np.arange(MARKS)
        joined = [join([place[row] for row in rows], len(strings) + MARKS) for rows in ids]
        return Features(self.templates, strings, joined, RaggedRows(widths[alive], self.rows.tags[keep]), self.classes)

    def arrays(self) -> Arrays:
        """Return the arrays of a model file but word classes; keys are stored as the steps from one to the next."""
        gaps = {f"keys.{t}": narrow(np.diff(keys, prepend=0)) for t, keys in enumerate(self.keys)}
        return self.strings.arrays("strings") | gaps | self.rows.arrays("features")

    @classmethod
    def restore(
        cls, archive: Archive, templates: list[Template], tag_parts: TagParts, classes: WordClasses | None
    ) -> Features:
        """Read the arrays of a model file with these tags and word classes."""
        strings = StringTable.restore(archive, "strings")
        keys = [restore_keys(archive, t, template, len(strings) + MARKS) for t, template in enumerate(templates)]
        rows = RaggedRows.restore(archive, "features", sum(map(len, keys)), tag_parts.all_columns)
        features = cls(templates, strings, keys, rows, classes)
        is_pair = rows.tags >= tag_parts.columns
        archive.check(
            not is_pair[: features.steps_begin].any() and bool(is_pair[features.steps_begin :].all()),
            "expected weights of pairs of tags for its features of steps, and for no others",
        )
        return features


def learn_features(
    templates: list[Template],
    windows: Windows,
    tags: np.ndarray,
    tag_parts: TagParts,
    min_count: int = 1,
    min_pair_count: int = 1,
    classes: WordClasses | None = None,
    steps: tuple[Windows, np.ndarray] | None = None,
    valued: TokenValues | None = None,
    selection: Selection = ALL,
) -> tuple[Features, np.ndarray, dict[str, np.ndarray]]:
    """Collect the features of a corpus that occur `min_count` times, those of several words `min_pair_count` times.

    Features of steps are counted at `steps`: windows like the others, and pairs of tags, previous · K + next. Numbers
    and dicts are in `valued`; `selection` is of their parameters. Returned are the features, the count of each
    parameter (P,), and `Features.values` of the distinct words.
    """
    spans = function_values(functions_of(templates), windows.words, sources_of(templates), classes)
    strings, values = learn_values(spans | named_spans(valued))
    radix, W = len(strings) + MARKS, tag_parts.columns
    tokens, columns = tag_parts.events(tags)  # for features of one word; those of several get whole tags only

    # Templates of one offset share the counts of (word, column) pairs. One offset is kept at a time: such templates
    # follow one another in a parsed list, and another order would only be slower.
    @lru_cache(maxsize=1)
    def pairs_at(offset: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return pair_counts(windows.at(offset)[tokens], columns, W)

    keys, cells, param_counts = [], [], []
    first = 0  # feature of the template
    for template in templates:
        if radix ** len(template.conjuncts) >= 2**63:
            raise TemplateError(f"{template}: too many functions joined by & for {len(strings):,} different values")
        if template.valued:
            assert valued is not None
            triples = template_triples(template, values, windows, valued, radix, zeros=selection.zeros)
            counted = count_values(triples, tags, tag_parts, min_count, selection)
        elif template.of_steps:
            assert steps is not None
            events = token_keys(template, values, steps[0], radix), W + steps[1], np.ones(len(steps[1]), np.int64)
            least = min_count if template.offset is not None else max(min_count, min_pair_count)
            counted = count_parameters(*events, tag_parts, least)
        elif template.offset is None:
            events = token_keys(template, values, windows, radix), tags, np.ones(len(tags), np.int64)
            counted = count_parameters(*events, tag_parts, max(min_count, min_pair_count))
        else:
            words, word_columns, counts = pairs_at(template.offset)
            events = word_keys(template, values, radix)[words], word_columns, counts
            counted = count_parameters(*events, tag_parts, min_count)
        template_keys, template_cells, cell_counts = counted
        keys.append(template_keys)
        cells.append(template_cells + first * tag_parts.all_columns)
        param_counts.append(cell_counts)
        first += len(template_keys)
    rows = RaggedRows.of(np.concatenate(cells), first, tag_parts.all_columns)
    return Features(templates, strings, keys, rows, classes), np.concatenate(param_counts), values


def learn_values(spans: dict[str, StringSpans]) -> tuple[StringTable, dict[str, np.ndarray]]:
    """Collect the values of all functions in one table; return it, and the ids (words + 2,) of each function's values.

    Each function's values are made distinct first, then those of all functions together: sorting strings is dear.
    """
    by_function = {name: distinct(values) for name, values in spans.items()}
    joined = StringSpans.joined([spans[name].take(firsts) for name, (firsts, _) in by_function.items()])
    firsts, numbers = distinct(joined)
    strings, ids = StringTable.build(joined.take(firsts))
    bounds = np.cumsum([0, *(len(firsts) for firsts, _ in by_function.values())]).tolist()
    values = {}
    for (name, (_, inverse)), begin, end in zip(by_function.items(), bounds, bounds[1:], strict=False):
        places = np.append(ids[numbers[begin:end]], -1)  # so that -1 stays -1
        values[name] = with_marks(places[inverse], len(strings) + MARKS)
    return strings, values


def pair_counts(words: np.ndarray, columns: np.ndarray, W: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Count the distinct pairs of a word and one of W columns: their words, their columns, their counts."""
    pairs, counts = count_keys(words.astype(np.int64) * W + columns, (int(words.max(initial=0)) + 1) * W)
    return pairs // W, pairs % W, counts


def count_parameters(
    keys: np.ndarray, columns: np.ndarray, counts: np.ndarray, tag_parts: TagParts, min_count: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Count the parameters of a template, given its keys, the columns they were seen with, and how often.

    Returned are the distinct keys that occur `min_count` times, ascending; their pairs with columns as ascending cells,
    number of the key · (K + A + K²) + column; and the counts of those.
    """
    there = keys >= 0
    distinct_keys, inverse = number_keys(keys[there], int(keys.max(initial=0)) + 1)
    is_part = (columns >= tag_parts.K) & (columns < tag_parts.columns)
    whole = np.where(is_part, 0, counts)  # a token counts once, not once more for each part of its tag
    frequent = np.bincount(inverse, weights=whole[there], minlength=len(distinct_keys)) >= min_count
    number = np.cumsum(frequent, dtype=np.int64) - 1  # of a key among those kept
    kept = frequent[inverse]
    cells = number[inverse[kept]] * tag_parts.all_columns + columns[there][kept]
    distinct_cells, place = np.unique(cells, return_inverse=True)
    cell_counts = np.bincount(place, weights=counts[there][kept], minlength=len(distinct_cells)).astype(np.int64)
    return distinct_keys[frequent], distinct_cells, cell_counts
