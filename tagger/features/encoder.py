"""The encoder from words to feature ids.

A template filled in at a token gives a *feature*: "the word before is *to* and this one is *run*". The idea to
understand is how a feature becomes a number without ever becoming a string:

1. Each function is evaluated once per distinct word (`Windows`), and its value, a string, becomes an id in one table of
   strings shared by all functions.
2. A template's *key* at a token is made of those ids: `(id_1 · R + id_2) · R + …`, with R larger than any id. Two more
   ids, R-2 and R-1, are the marks before and after the sentence; as they name no string, no word equals them.
3. A feature's id is the place of its key among the sorted keys of its template.

A part whose function says nothing, or something unseen in training, makes the whole key -1: no feature.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tagger.arrays.caching import cached_property
from tagger.arrays.keyed import find_keys
from tagger.arrays.npz import Archive, Arrays, narrow
from tagger.arrays.ragged import RaggedRows
from tagger.arrays.string_spans import StringSpans, distinct
from tagger.arrays.string_table import StringTable
from tagger.errors import TemplateError
from tagger.escaping import quote
from tagger.features.tag_parts import TagParts
from tagger.features.template import Part, Template, class_sizes, margin, parts_of, values_of
from tagger.features.word_classes import WordClasses
from tagger.words.windows import MARKS, Windows


class Features:
    """The features of a training corpus, and the tags (and parts of tags) each was seen with: those pairs are the
    parameters.

    Features are numbered through all templates; a feature's parameters are the entries of its row.
    """

    def __init__(
        self,
        templates: list[Template],
        strings: StringTable,
        keys: list[np.ndarray],
        rows: RaggedRows,
        classes: WordClasses | None = None,
    ) -> None:
        self.templates = templates
        self.strings = strings
        self.keys = keys  # for each template, ascending
        self.rows = rows
        self.classes = classes  # if a template asks for them
        self.bases = np.cumsum([0, *map(len, keys)])  # first feature of each template
        self.functions = parts_of(templates)
        self.radix = len(strings) + MARKS

    @cached_property
    def margin(self) -> int:
        return margin(self.templates)

    @cached_property
    def offsets(self) -> list[int]:
        """The offsets at which templates look at one word."""
        return sorted({t.offset for t in self.templates if t.offset is not None})

    def values(self, words: Sequence[str]) -> dict[str, np.ndarray]:
        """For each function (words + 2,): the ids of its values, then the two marks."""
        found = values_of(self.functions, words, self.classes)
        ids = self.strings.find(StringSpans.joined(list(found.values()))).reshape(len(found), len(words))
        return {name: with_marks(own, self.radix) for name, own in zip(found, ids, strict=True)}

    def ids(self, t: int, keys: np.ndarray) -> np.ndarray:
        """The features with these keys of template t, -1 where there is none."""
        place = find_keys(self.keys[t], keys)
        return np.where(place < 0, -1, self.bases[t] + place)

    def text(self, feature: int) -> str:
        """A feature as text, from its number."""
        t = int(np.searchsorted(self.bases, feature, side="right")) - 1
        template = self.templates[t]
        ids = split(self.keys[t][feature - self.bases[t] :][:1], self.radix, len(template.parts))
        return " & ".join(self.part_text(part, int(own[0])) for part, own in zip(template.parts, ids, strict=True))

    def part_text(self, part: Part, value: int) -> str:
        if value >= len(self.strings):
            return f"{part}=<{('before', 'after')[value - len(self.strings)]}>"
        return f"{part}={self.strings[value]}" if self.strings[value] else str(part)

    def present(self, words: Sequence[str]) -> list[list[tuple[str, int]]]:
        """For each token of a sentence, its features as text and number."""
        windows = Windows.of([words], self.margin)
        values = self.values(windows.words)
        keys = [token_keys(template, values, windows, self.radix) for template in self.templates]
        ids = np.array([self.ids(t, key) for t, key in enumerate(keys)])  # (templates, T)
        return [[(self.text(feature), feature) for feature in column if feature >= 0] for column in ids.T.tolist()]

    def restricted(self, keep: np.ndarray) -> Features:
        """Only the parameters that are True in `keep` (P,), the features that have any, and the strings those need."""
        widths = np.bincount(self.rows.owners[keep], minlength=len(self.rows))
        alive = widths > 0
        keys = [own[alive[a:b]] for own, a, b in zip(self.keys, self.bases, self.bases[1:], strict=False)]
        used = np.zeros(self.radix, bool)
        for template, own in zip(self.templates, keys, strict=True):
            for ids in split(own, self.radix, len(template.parts)):
                used[ids] = True
        strings = self.strings.taken(np.flatnonzero(used[:-MARKS]))
        place = np.cumsum(used) - used  # of each old id among those used; the marks come last in both
        place[-MARKS:] = len(strings) + np.arange(MARKS)
        joined = [
            join([place[ids] for ids in split(own, self.radix, len(template.parts))], len(strings) + MARKS)
            for template, own in zip(self.templates, keys, strict=True)
        ]
        return Features(self.templates, strings, joined, RaggedRows(widths[alive], self.rows.tags[keep]), self.classes)

    def arrays(self) -> Arrays:
        gaps = {f"keys.{t}": narrow(np.diff(keys, prepend=0)) for t, keys in enumerate(self.keys)}
        classes = self.classes.arrays() if self.classes else {}
        return self.strings.arrays("strings") | gaps | self.rows.arrays("features") | classes

    @classmethod
    def restore(cls, archive: Archive, templates: list[Template], columns: int) -> Features:
        strings = StringTable.restore(archive, "strings")
        keys = [restore_keys(archive, t, template, len(strings) + MARKS) for t, template in enumerate(templates)]
        rows = RaggedRows.restore(archive, "features", sum(map(len, keys)), columns)
        return cls(templates, strings, keys, rows, restore_classes(archive, templates))


def restore_keys(archive: Archive, t: int, template: Template, radix: int) -> np.ndarray:
    """The keys of template t, which are stored as the steps from one to the next."""
    gaps, most = archive.take(f"keys.{t}", "u", None), radix ** len(template.parts)
    steps = bool((gaps[1:] > 0).all()) and int(gaps.max(initial=0)) < most < 2**63  # so that no sum hides a wrap
    keys = np.cumsum(gaps, dtype=np.uint64)
    rising = steps and bool((keys[1:] > keys[:-1]).all()) and int(keys.max(initial=0)) < most
    archive.check(rising, f"the keys of {quote(str(template))} do not rise, or are too large")
    return keys.astype(np.int64)


def restore_classes(archive: Archive, templates: list[Template]) -> WordClasses | None:
    """Exactly the classes that the templates ask for."""
    sizes = class_sizes(templates)
    if not sizes:
        return None
    classes = WordClasses.restore(archive)
    archive.check(classes.sizes == sizes, f"it has word classes {classes.sizes}, where its template needs {sizes}")
    return classes


def with_marks(ids: np.ndarray, radix: int) -> np.ndarray:
    return np.concatenate([ids, radix - MARKS + np.arange(MARKS)])


def word_keys(template: Template, values: dict[str, np.ndarray], radix: int) -> np.ndarray:
    """(words + 2,) the template's key at each distinct word."""
    return join([values[part.function] for part in template.parts], radix)


def token_keys(template: Template, values: dict[str, np.ndarray], windows: Windows, radix: int) -> np.ndarray:
    """(N,) the template's key at each token."""
    return join([values[part.function][windows.at(part.offset)] for part in template.parts], radix)


def join(ids: list[np.ndarray], radix: int) -> np.ndarray:
    key = np.asarray(ids[0], np.int64)
    for other in ids[1:]:
        key = np.where((key < 0) | (other < 0), -1, key * radix + other)
    return key


def split(keys: np.ndarray, radix: int, parts: int) -> list[np.ndarray]:
    """The ids that keys were joined from."""
    return [keys // radix ** (parts - 1 - i) % radix for i in range(parts)]


def learn_features(
    templates: list[Template],
    windows: Windows,
    tags: np.ndarray,
    parts: TagParts,
    min_count: int = 1,
    min_pair_count: int = 1,
    classes: WordClasses | None = None,
) -> tuple[Features, np.ndarray, dict[str, np.ndarray]]:
    """The features of a corpus that occur `min_count` times, those of several words `min_pair_count` times; how often
    each parameter's pair was seen (P,); and what `Features.values` says of the distinct words."""
    strings, values = learn_values(values_of(parts_of(templates), windows.words, classes))
    radix = len(strings) + MARKS
    for template in templates:
        if radix ** len(template.parts) >= 2**63:
            raise TemplateError(f"{template}: too many parts for {len(strings)} different strings")

    K = parts.columns
    tokens, columns = parts.events(tags)  # features of one word vote for parts too, those of several for whole tags
    keys, cells, param_counts = [], [], []
    features = 0
    pairs: tuple[np.ndarray, np.ndarray, np.ndarray]
    seen_offset: int | None = None
    for template in templates:
        if template.offset is None:
            key = token_keys(template, values, windows, radix)
            found = observed(key, tags, np.ones(len(key), np.int64), parts, max(min_count, min_pair_count))
        else:
            if template.offset != seen_offset:
                seen_offset = template.offset
                pairs = word_tags(windows.at(seen_offset)[tokens], columns, K)
            words, word_tag, counts = pairs
            found = observed(word_keys(template, values, radix)[words], word_tag, counts, parts, min_count)
        keys.append(found[0])
        cells.append(found[1] + features * K)
        param_counts.append(found[2])
        features += len(found[0])
    rows = RaggedRows.of(np.concatenate(cells), features, K)
    return Features(templates, strings, keys, rows, classes), np.concatenate(param_counts), values


def learn_values(found: dict[str, StringSpans]) -> tuple[StringTable, dict[str, np.ndarray]]:
    """All strings that functions say, in one table, and for each function (words + 2,) the ids of its values."""
    own = {name: distinct(pieces) for name, pieces in found.items()}
    said = StringSpans.joined([found[name].take(firsts) for name, (firsts, _) in own.items()])
    firsts, numbers = distinct(said)
    strings, ids = StringTable.build(said.take(firsts))
    bounds = np.cumsum([0, *(len(firsts) for firsts, _ in own.values())]).tolist()
    values = {}
    for (name, (_, inverse)), begin, end in zip(own.items(), bounds, bounds[1:], strict=False):
        places = np.append(ids[numbers[begin:end]], -1)  # so that -1 stays -1
        values[name] = with_marks(places[inverse], len(strings) + MARKS)
    return strings, values


def word_tags(words: np.ndarray, tags: np.ndarray, K: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The distinct pairs of a word and a tag, and how often each occurs."""
    pairs, counts = np.unique(words.astype(np.int64) * K + tags, return_counts=True)
    return pairs // K, pairs % K, counts


def observed(
    keys: np.ndarray, tags: np.ndarray, counts: np.ndarray, parts: TagParts, min_count: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The distinct keys that are frequent, their pairs with tags and parts as ascending cells,
    number · (K + A) + column, and the counts of those."""
    there = keys >= 0
    distinct, inverse = np.unique(keys[there], return_inverse=True)
    whole = np.where(tags < parts.K, counts, 0)  # a token counts once, not once more for each part
    frequent = np.bincount(inverse, weights=whole[there], minlength=len(distinct)) >= min_count
    number = np.cumsum(frequent) - 1  # of a key among those kept
    kept = frequent[inverse]
    cells = number[inverse[kept]] * parts.columns + tags[there][kept]
    pairs, place = np.unique(cells, return_inverse=True)
    pair_counts = np.bincount(place, weights=counts[there][kept], minlength=len(pairs)).astype(np.int64)
    return distinct[frequent], pairs, pair_counts
