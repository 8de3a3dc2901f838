"""Templates (plain text, data not code) and the encoder from words to feature ids.

A template line such as `lower[-1] & lower[0]` names functions of `spelling` at offsets from a token. Filled in at a
token it gives a *feature*: "the word before is *to* and this one is *run*". The idea to understand is how a feature
becomes a number without ever becoming a string:

1. A text has few distinct words (`Windows`), and most functions look at one word. So each function is evaluated once
   per distinct word, and its value, a string, becomes an id in one table of strings shared by all functions.
2. A template's *key* at a token is made of those ids: `(id_1 · R + id_2) · R + …`, with R larger than any id. Two more
   ids, R-2 and R-1, are the marks before and after the sentence; as they name no string, no word equals them.
3. A feature's id is the place of its key among the sorted keys of its template.

A part whose function says nothing, or something unseen in training, makes the whole key -1: no feature.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from importlib import resources
from pathlib import Path

import numpy as np

from tagger.archive import Archive, Arrays, narrow
from tagger.errors import TemplateError, quote
from tagger.files import Lines
from tagger.rows import Rows
from tagger.spelling import FUNCTIONS, NUMBERED, Function
from tagger.vocab import StringTable, Vocabulary

SHIPPED = ("default", "comparison")
MAX_OFFSET = 100
PART = re.compile(r"(?P<name>[a-z]+)(:(?P<low>\d+)(-(?P<high>\d+))?)?(\[(?P<offset>[+-]?\d+)\])?")


@dataclass(frozen=True)
class Part:
    """A function of one word at an offset from the token."""

    name: str
    number: int | None
    offset: int

    @property
    def function(self) -> str:
        return self.name if self.number is None else f"{self.name}:{self.number}"

    def __str__(self) -> str:
        return f"{self.function}[{self.offset}]"


@dataclass(frozen=True)
class Template:
    """One kind of feature: the conjunction of its parts."""

    parts: tuple[Part, ...]

    @cached_property
    def offset(self) -> int | None:
        """The one offset that all parts look at, else None. With one, it is a feature of a distinct word."""
        offsets = {part.offset for part in self.parts}
        return offsets.pop() if len(offsets) == 1 else None

    def __str__(self) -> str:
        return " & ".join(map(str, self.parts))


def template_text(name_or_path: str) -> str:
    """A template shipped with the package, or a file of the user's own."""
    if name_or_path in SHIPPED:
        return (resources.files("tagger") / "templates" / f"{name_or_path}.txt").read_text("utf-8")
    if not Path(name_or_path).exists():
        raise TemplateError(f"no template {name_or_path!r}: expected {', '.join(SHIPPED)} or a file")
    return "\n".join(Lines(name_or_path))


def parse_templates(text: str, name: str = "template") -> list[Template]:
    """The templates of a text: those of one offset first, ordered by it, because they are computed together."""
    found: dict[Template, None] = {}
    for number, line in enumerate(text.split("\n"), 1):
        line = line.split("#")[0].strip()
        if not line:
            continue
        try:
            found.update(dict.fromkeys(expand([parse_part(part.strip()) for part in line.split("&")])))
        except TemplateError as error:
            raise TemplateError(f"{name}:{number}: {error}") from None
    if not found:
        raise TemplateError(f"{name}: no feature in it; expected lines such as word[0] or suffix:1-4[0]")
    return sorted(found, key=lambda template: (template.offset is None, template.offset or 0))


def parse_part(text: str) -> list[Part]:
    """All parts that `suffix:1-4[0]` stands for."""
    match = PART.fullmatch(text)
    if not match:
        raise TemplateError(f"expected function[:number][offset], got {quote(text)}")
    name, low, offset = match["name"], match["low"], int(match["offset"] or 0)
    if name not in FUNCTIONS and name not in NUMBERED:
        known = ", ".join(sorted([*FUNCTIONS, *(f"{name}:n" for name in NUMBERED)]))
        raise TemplateError(f"unknown function {quote(name)}; expected one of {known}")
    if (name in NUMBERED) != (low is not None):
        raise TemplateError(f"{name} takes {'a number, as in ' + name + ':3' if name in NUMBERED else 'no number'}")
    if abs(offset) > MAX_OFFSET:
        raise TemplateError(f"an offset is at most {MAX_OFFSET}, got {offset}")
    if low is None:
        return [Part(name, None, offset)]
    numbers = range(int(low), int(match["high"] or low) + 1)
    if not numbers or numbers[0] < 1 or numbers[-1] > MAX_OFFSET:
        raise TemplateError(f"expected a rising range of numbers from 1 to {MAX_OFFSET}, got {quote(text)}")
    return [Part(name, number, offset) for number in numbers]


def expand(choices: list[list[Part]]) -> list[Template]:
    """One template for each choice of parts."""
    chosen: list[tuple[Part, ...]] = [()]
    for parts in choices:
        chosen = [(*left, part) for left in chosen for part in parts]
    return [Template(parts) for parts in chosen]


def margin(templates: list[Template]) -> int:
    """How far the templates look to either side."""
    return max(abs(part.offset) for template in templates for part in template.parts)


def function_of(part: Part) -> Function:
    return FUNCTIONS[part.name] if part.number is None else partial(NUMBERED[part.name], part.number)


@dataclass(frozen=True)
class Windows:
    """Sentences as ids of their distinct words, with room around each, so that a neighbour is one addition away."""

    words: list[str]  # V distinct words
    places: np.ndarray  # (N,) where each token stands in `around`
    around: np.ndarray  # word ids; V before a sentence, V + 1 after it

    @classmethod
    def of(cls, sentences: Iterable[Sequence[str]], margin: int, order: np.ndarray | None = None) -> Windows:
        """`order` (N,) rearranges the tokens, into the rows of a pack say."""
        ids = Vocabulary()
        rows = [[ids[word] for word in words] for words in sentences]
        lengths = np.fromiter(map(len, rows), np.int64, len(rows))
        tokens = np.fromiter((i for row in rows for i in row), np.int32, int(lengths.sum()))
        places = np.arange(len(tokens)) + margin * (2 * np.repeat(np.arange(len(rows)), lengths) + 1)
        around = np.full(len(tokens) + 2 * margin * len(rows), len(ids) + 1, np.int32)
        begins = np.cumsum(lengths + 2 * margin) - lengths - 2 * margin
        around[(begins[:, None] + np.arange(margin)).ravel()] = len(ids)
        around[places] = tokens
        return cls(list(ids), places if order is None else places[order], around)

    def at(self, offset: int) -> np.ndarray:
        """(N,) the id of the word at that offset from each token."""
        return self.around[self.places + offset]


class Features:
    """The features of a training corpus, and the tags each was seen with: those pairs are the parameters.

    Features are numbered through all templates; a feature's parameters are the entries of its row.
    """

    def __init__(self, templates: list[Template], strings: StringTable, keys: list[np.ndarray], rows: Rows) -> None:
        self.templates = templates
        self.strings = strings
        self.keys = keys  # for each template, ascending
        self.rows = rows
        self.bases = np.cumsum([0, *map(len, keys)])  # first feature of each template
        self.functions = {part.function: function_of(part) for t in templates for part in t.parts}
        self.radix = len(strings) + 2

    @cached_property
    def margin(self) -> int:
        return margin(self.templates)

    @cached_property
    def offsets(self) -> list[int]:
        """The offsets at which templates look at one word."""
        return sorted({t.offset for t in self.templates if t.offset is not None})

    def values(self, words: Sequence[str]) -> dict[str, np.ndarray]:
        """For each function (words + 2,): the ids of its values, then the two marks."""
        return {
            name: with_marks(self.find([function(word) for word in words]), self.radix)
            for name, function in self.functions.items()
        }

    def find(self, values: list[str | None]) -> np.ndarray:
        """The ids of strings, -1 for None and for those never seen."""
        ids = np.full(len(values), -1)
        said = [i for i, value in enumerate(values) if value is not None]
        ids[said] = self.strings.find([value for value in values if value is not None])
        return ids

    def ids(self, t: int, keys: np.ndarray) -> np.ndarray:
        """The features with these keys of template t, -1 where there is none."""
        own = self.keys[t]
        if not len(own):
            return np.full(len(keys), -1)
        place = np.minimum(np.searchsorted(own, keys), len(own) - 1)
        return np.where(own[place] == keys, self.bases[t] + place, -1)

    def arrays(self) -> Arrays:
        gaps = {f"keys.{t}": narrow(np.diff(keys, prepend=0)) for t, keys in enumerate(self.keys)}
        return self.strings.arrays("strings") | gaps | self.rows.arrays("features")

    @classmethod
    def restore(cls, archive: Archive, templates: list[Template], K: int) -> Features:
        strings = StringTable.restore(archive, "strings")
        gaps = [archive.take(f"keys.{t}", "u", None) for t in range(len(templates))]
        keys = [np.cumsum(gap, dtype=np.int64) for gap in gaps]
        rows = Rows.restore(archive, "features", sum(map(len, keys)), K)
        return cls(templates, strings, keys, rows)


def with_marks(ids: np.ndarray, radix: int) -> np.ndarray:
    return np.concatenate([ids, [radix - 2, radix - 1]])


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


def learn_features(
    templates: list[Template], windows: Windows, tags: np.ndarray, K: int, min_count: int = 1
) -> tuple[Features, np.ndarray]:
    """The features of a corpus that occur `min_count` times, and how often each parameter's pair was seen (P,)."""
    functions = {part.function: function_of(part) for template in templates for part in template.parts}
    pool = Vocabulary()
    numbers = {
        name: [-1 if (value := function(word)) is None else pool[value] for word in windows.words]
        for name, function in functions.items()
    }
    strings, ids = pool.freeze()
    ids = np.append(ids, -1)  # so that -1 stays -1
    radix = len(strings) + 2
    for template in templates:
        if radix ** len(template.parts) >= 2**63:
            raise TemplateError(f"{template}: too many parts for {len(strings)} different strings")
    values = {name: with_marks(ids[found], radix) for name, found in numbers.items()}

    keys, cells, param_counts = [], [], []
    features = 0
    pairs: tuple[np.ndarray, np.ndarray, np.ndarray]
    seen_offset: int | None = None
    for template in templates:
        if template.offset is None:
            key = token_keys(template, values, windows, radix)
            found = observed(key, tags, np.ones(len(key), np.int64), K, min_count)
        else:
            if template.offset != seen_offset:
                seen_offset = template.offset
                pairs = word_tags(windows.at(seen_offset), tags, K)
            words, word_tag, counts = pairs
            found = observed(word_keys(template, values, radix)[words], word_tag, counts, K, min_count)
        keys.append(found[0])
        cells.append(found[1] + features * K)
        param_counts.append(found[2])
        features += len(found[0])
    rows = Rows.of(np.concatenate(cells), features, K)
    return Features(templates, strings, keys, rows), np.concatenate(param_counts)


def word_tags(words: np.ndarray, tags: np.ndarray, K: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The distinct pairs of a word and a tag, and how often each occurs."""
    pairs, counts = np.unique(words.astype(np.int64) * K + tags, return_counts=True)
    return pairs // K, pairs % K, counts


def observed(
    keys: np.ndarray, tags: np.ndarray, counts: np.ndarray, K: int, min_count: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The distinct keys that are frequent, their pairs with tags as ascending cells number · K + tag, their counts."""
    there = keys >= 0
    distinct, inverse = np.unique(keys[there], return_inverse=True)
    frequent = np.bincount(inverse, weights=counts[there], minlength=len(distinct)) >= min_count
    number = np.cumsum(frequent) - 1  # of a key among those kept
    kept = frequent[inverse]
    cells = number[inverse[kept]] * K + tags[there][kept]
    pairs, place = np.unique(cells, return_inverse=True)
    pair_counts = np.bincount(place, weights=counts[there][kept], minlength=len(pairs)).astype(np.int64)
    return distinct[frequent], pairs, pair_counts


def describe(sentence: Sequence[str], templates: list[Template]) -> list[list[str]]:
    """Each token's features as text: `suffix:3[0]=ing`. The marks outside the sentence are `<before>` and `<after>`."""
    functions = {part: function_of(part) for template in templates for part in template.parts}

    def fill(part: Part, i: int) -> str | None:
        place = i + part.offset
        if not 0 <= place < len(sentence):
            return f"{part}=<{'before' if place < 0 else 'after'}>"
        value = functions[part](sentence[place])
        return None if value is None else f"{part}={value}" if value else str(part)

    rows = []
    for i in range(len(sentence)):
        filled = [[fill(part, i) for part in template.parts] for template in templates]
        rows.append([" & ".join(map(str, parts)) for parts in filled if None not in parts])
    return rows
