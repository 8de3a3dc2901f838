"""Values of tokens that are no strings: numbers, and dicts of features made by other code.

Most of what a template looks at is a string and is encoded once per distinct word. A number, or a dict of features, is
different at almost every token. Both are rows of pairs here, a name and a value; a feature adds its weight times the
value to the score of a tag:

    score(t, k) = … + Σ_(name, value) of t  value · w[name, k]

The pairs of a dict are those that python-crfsuite makes of it: `"a": "b"` is the name `a:b` with the value 1,
`"a": 2.5` the name `a` with 2.5, True is 1 and False 0, and dicts, lists and sets inside have the outer name and a
colon before theirs. A list of strings is a list of names with the value 1. The row of a `number:` column is one pair,
whose name is the empty string.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from tagger.arrays.ragged import consecutive
from tagger.errors import CorpusError
from tagger.escaping import quote, shortened
from tagger.features.syntax import NUMBER_PREFIX, Conjunct
from tagger.words.vocabulary import Vocabulary
from tagger.words.windows import MARKS, Windows, laid_out

NESTED = (dict, list, set)  # values that are items themselves
LISTS = frozenset([list, tuple])
MAX_VALUE = 1e8  # beyond it, one outlier stops a training, and float32 has no digits left for other features


class Pair(NamedTuple):
    """A name and a value."""

    name: str
    value: float


ITEMS = frozenset([str, Pair])


class Triples(NamedTuple):
    """Features of rows with their values: feature ids[i] has values[i] in row rows[i]."""

    rows: np.ndarray  # (E,)
    ids: np.ndarray  # (E,)
    values: np.ndarray  # (E,)

    @classmethod
    def none(cls) -> Triples:
        """Return no triples."""
        return cls(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float32))

    def only(self, kept: np.ndarray | slice) -> Triples:
        """Keep some of the triples."""
        return Triples(self.rows[kept], self.ids[kept], self.values[kept])

    @classmethod
    def joined(cls, parts: Sequence[Triples]) -> Triples:
        """Join triples of one text, ordered by row."""
        filled = [part for part in parts if len(part.rows)]
        if len(filled) < 2:
            return filled[0] if filled else cls.none()
        rows, ids, values = (np.concatenate([part[i] for part in filled]) for i in range(3))
        order = np.argsort(rows, kind="stable")
        return cls(rows[order], ids[order], values[order])


class ObservedSentence(list[Any]):
    """The tokens of a sentence, with the values of other sources by name: numbers (T,), or a dict for each token."""

    def __init__(self, tokens: Sequence[Any], values: Mapping[str, Any], line: int | None = None) -> None:
        super().__init__(tokens)
        self.values, self.line = values, line


@dataclass(frozen=True)
class NamedValues:
    """Rows of pairs of a name and a value: those of N tokens, then of the two marks, which are names with value 1."""

    names: list[str]  # distinct; the marks are numbered behind them
    bounds: np.ndarray  # (N + 3,) row i has the pairs bounds[i] : bounds[i + 1]
    numbers: np.ndarray  # (pairs,) the number of each name
    values: np.ndarray  # (pairs,) float32

    @classmethod
    def of(cls, names: list[str], widths: np.ndarray, numbers: np.ndarray, values: np.ndarray) -> NamedValues:
        """Append the rows of the marks to the rows of tokens, with `widths` (N,) pairs each."""
        bounds = np.cumsum(np.concatenate([[0], widths, np.ones(MARKS, np.int64)]))
        marks = len(names) + np.arange(MARKS)
        ones = np.ones(MARKS, np.float32)
        return cls(names, bounds, np.append(numbers, marks), np.append(values.astype(np.float32, copy=False), ones))

    def pairs(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """List the pairs of these rows, row after row: the place of the row, the number of the name, the value."""
        widths = self.bounds[rows + 1] - self.bounds[rows]
        pairs = consecutive(self.bounds[rows], widths)
        return np.repeat(np.arange(len(rows), dtype=np.int64), widths), self.numbers[pairs], self.values[pairs]

    def in_fixed_order(self) -> Iterator[bytes]:
        """Yield all rows as bytes, whatever the order in which names came, as those of a set do in another process."""
        by_name = sorted(range(len(self.names)), key=self.names.__getitem__)
        place = np.append(np.argsort(by_name), len(by_name) + np.arange(MARKS))[self.numbers]  # of each pair's name
        rows = np.repeat(np.arange(len(self.bounds) - 1), np.diff(self.bounds))
        order = np.lexsort((self.values, place, rows))
        yield from (self.names[i].encode("utf-8", "surrogatepass") + b"\0" for i in by_name)
        yield from (array.tobytes() for array in (self.bounds, place[order], self.values[order]))


@dataclass(frozen=True)
class TokenValues:
    """The values of the tokens of sentences, by source."""

    windows: Windows  # of the numbers of the tokens themselves: each is a row of its own
    sources: dict[str, NamedValues]

    @classmethod
    def of(
        cls, sentences: Sequence[ObservedSentence], sources: Sequence[str], margin: int, zeros: bool = False
    ) -> TokenValues:
        """Collect the values of sentences; zeros in dicts only if they are asked for."""
        lengths = np.fromiter(map(len, sentences), np.int64, len(sentences))
        N = int(lengths.sum())
        windows = Windows((), *laid_out(np.arange(N), lengths, margin, (N, N + 1)))
        return cls(windows, {source: named_values(sentences, source, zeros) for source in sources})

    @property
    def size(self) -> int:
        """The number of names and values of all tokens."""
        return sum(len(named.values) for named in self.sources.values())

    def only(self, kept: np.ndarray, lengths: np.ndarray, margin: int) -> TokenValues:
        """Keep the tokens where `kept` (N,) is True; `lengths` are those of the sentences that result."""
        N = len(kept)
        return replace(self, windows=Windows((), *laid_out(np.flatnonzero(kept), lengths, margin, (N, N + 1))))

    def at(self, places: np.ndarray) -> TokenValues:
        """Choose tokens by their places (n,); their neighbours stay the same."""
        return replace(self, windows=Windows((), self.windows.places[places], self.windows.around))

    def numbers(self, source: str, offset: int) -> np.ndarray:
        """Return the numbers (N,) at an offset from each token; a mark is 1."""
        return self.sources[source].values[self.windows.at(offset)]


def named_values(sentences: Sequence[ObservedSentence], source: str, zeros: bool) -> NamedValues:
    """Collect the values of one source: numbers, or dicts."""
    if source.startswith(NUMBER_PREFIX):
        values = np.concatenate([np.empty(0, np.float32), *(sentence.values[source] for sentence in sentences)])
        return NamedValues.of([""], np.ones(len(values), np.int64), np.zeros(len(values), np.int64), values)
    return read_items(sentences, source, zeros)


def read_items(sentences: Sequence[ObservedSentence], source: str, zeros: bool = False) -> NamedValues:
    """Read the dicts, or lists of strings, of all tokens; names with the value 0 only if `zeros` asks for them."""
    tokens = list(chain.from_iterable(sentence.values[source] for sentence in sentences))
    try:
        names, values, widths, items = distinct_items(tokens)
    except (TypeError, ValueError, OverflowError):  # a container in a dict, or an error, whose place is still unknown
        names, values, widths, items = distinct_items(list(flat_tokens(sentences, source)))
    vocabulary = Vocabulary()
    numbers = np.fromiter(map(vocabulary.__getitem__, names), np.int32, len(names))[items]
    pair_values = values[items]
    there = pair_values != 0  # a zero adds nothing to a score
    if not zeros and not there.all():
        widths = np.bincount(np.repeat(np.arange(len(widths)), widths)[there], minlength=len(widths))
        numbers, pair_values = numbers[there], pair_values[there]
    return NamedValues.of(list(vocabulary), widths, numbers, pair_values)


def distinct_items(tokens: Sequence[Any]) -> tuple[list[str], np.ndarray, np.ndarray, np.ndarray]:
    """Return the names and values of the distinct items, the number of items of each token, and each item's number.

    An item is a string, or a pair of a key and a value without containers. It is looked up before it is read, because
    few are distinct. Tokens that are not all dicts, or all lists of strings or of pairs, are a TypeError.
    """
    known, types = Vocabulary(), set(map(type, tokens))
    rows: Iterable[Iterable[Any]] = tokens
    if types == {dict}:
        rows = map(dict.items, tokens)
    elif not types <= LISTS or len(set(map(type, chain.from_iterable(tokens))) - ITEMS):
        raise TypeError("expected dicts or lists of strings")
    widths = np.fromiter(map(len, tokens), np.int64, len(tokens))
    items = np.fromiter(map(known.__getitem__, chain.from_iterable(rows)), np.int64, int(widths.sum()))
    pairs = [(item, 1.0) if isinstance(item, str) else named(*item) for item in known]
    return [name for name, _ in pairs], np.array([value for _, value in pairs], np.float32), widths, items


def named(key: Any, value: Any) -> tuple[str, float]:
    """Return the name and the value of an item of a dict; TypeError or ValueError if it has none."""
    name = as_text(key)
    if isinstance(value, str | bytes):
        return f"{name}:{as_text(value)}", 1.0
    return name, finite(value)


def as_text(key: Any) -> str:
    """Return a key as a string."""
    if isinstance(key, bytes):
        return key.decode("utf-8", "surrogateescape")
    if not isinstance(key, str):
        raise TypeError("expected a string")
    return key


def finite(value: Any) -> float:
    """Return a number; OverflowError if it is too large, ValueError if it is not finite."""
    number = float(value)
    if not math.isfinite(number):
        raise ValueError("expected a finite number")
    if abs(number) > MAX_VALUE:
        raise OverflowError("expected a smaller number")
    return number


def check_products(products: np.ndarray, template: object) -> None:
    """Refuse products of numbers that are too large for a feature."""
    if not (np.abs(products) <= MAX_VALUE).all():
        expected = f"{template}: expected products of numbers up to {MAX_VALUE:g}"
        raise CorpusError(f"{expected}, got {np.abs(products).max():g}. Scale the columns.")


def flat_tokens(sentences: Sequence[ObservedSentence], source: str) -> Iterator[list[Pair]]:
    """Read each token one by one; an error has its place."""
    for sentence in sentences:
        for t, token in enumerate(sentence.values[source], 1):
            place = f"token {t}" if sentence.line is None else f"sentence {sentence.line}, token {t}"
            yield list(flattened(token, place))


def flattened(token: Any, place: str) -> Iterator[Pair]:
    """Yield the names and values of a dict, with those of containers in it, or of a list of strings."""
    if isinstance(token, str | bytes) or not hasattr(token, "__iter__"):
        raise CorpusError(f"{place}: expected a dict or a list of features, got {shortened(repr(token))}")
    for key, value in token.items() if isinstance(token, dict) else ((key, 1.0) for key in token):
        if not isinstance(key, str | bytes):
            raise CorpusError(f"{place}: expected a string as the name of a feature, got {shortened(repr(key))}")
        name = as_text(key)
        if isinstance(value, NESTED):
            yield from (Pair(f"{name}:{inner}", number) for inner, number in flattened(value, place))
            continue
        try:
            yield Pair(*named(key, value))
        except OverflowError:
            expected = f"{place}: feature {quote(name)}: expected a number up to {MAX_VALUE:g}"
            raise CorpusError(f"{expected}, got {shortened(repr(value))}. Scale the feature.") from None
        except (TypeError, ValueError):
            expected = f"{place}: feature {quote(name)}: expected a string or a finite number"
            raise CorpusError(f"{expected}, got {shortened(repr(value))}") from None


def written_pairs(sentence: ObservedSentence, attributes: Conjunct) -> list[list[str]]:
    """Write the features of each token that come from dicts as text."""
    named = read_items([sentence], str(attributes.column))
    texts = [*named.names, "<before>", "<after>"]
    begin = f"{attributes}=" if attributes.offset else ""
    rows: list[list[str]] = [[] for _ in sentence]
    at = TokenValues.of([sentence], (), abs(attributes.offset)).windows.at(attributes.offset)
    for t, number, value in zip(*(part.tolist() for part in named.pairs(at)), strict=True):
        rows[t].append(begin + texts[number] + ("" if value == 1 else f"={value:g}"))
    return rows
