"""Lists of words and phrases (gazetteers): whether a token is part of a phrase in a list, and its place there.

A list is a table of its phrases, words joined by one space. All sequences of n words of a text are substrings of the
joined text, so that they are looked up together, for each n. Where phrases overlap, the leftmost and longest counts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from unicodedata import normalize

import numpy as np

from tagger.arrays.npz import Archive, Arrays
from tagger.arrays.string_spans import SPANS_TOGETHER, ByteStrings, StringSpans
from tagger.arrays.string_table import StringTable
from tagger.errors import TemplateError
from tagger.files.reading import Lines, exists
from tagger.normalization import NFC
from tagger.sentence import Words

MAX_PHRASE = 10  # words; longer phrases are left out
SINGLE, FIRST, INSIDE, LAST = "S", "B", "I", "E"  # the place of a token in a phrase
SPACE, LINE_FEED = b" \n"
LINE_ENDS, SPACES = re.compile(r"[ \t\r]*\n[ \t\r]*"), re.compile(r"[ \t]{2,}|\t")


class PhraseList:
    """An immutable set of phrases."""

    def __init__(self, phrases: StringTable) -> None:
        self.phrases = phrases
        self.lengths = sorted({*range(1, MAX_PHRASE + 1)} & {*np.unique(word_counts(phrases.encoded)).tolist()})

    @classmethod
    def of(cls, text: str) -> PhraseList:
        """Build the list from a text with a phrase on each line, words between spaces or tabs."""
        text = SPACES.sub(" ", LINE_ENDS.sub("\n", f"\n{normalize(NFC, text)}\n"))
        blob = np.frombuffer(text.encode("utf-8", "surrogatepass"), np.uint8)
        ends = np.flatnonzero(blob == LINE_FEED)
        encoded = ByteStrings(blob, ends[:-1] + 1, ends[1:])
        encoded = encoded.take(np.flatnonzero((encoded.lengths > 0) & (word_counts(encoded) <= MAX_PHRASE)))
        table, _ = StringTable.build(encoded)
        same = table.hashes[1:] == table.hashes[:-1]
        repeated = np.flatnonzero(same)
        same[repeated] = table.encoded.equal(repeated, table.encoded, repeated + 1)
        return cls(table.taken(np.flatnonzero(np.append(True, ~same)[: len(table)])) if same.any() else table)

    @classmethod
    def read(cls, name: str, template: str) -> PhraseList:
        """Read a file with a phrase on each line; the name counts from the folder of the template."""
        path = Path(template).parent / name
        if not exists(path):
            raise TemplateError(f"{template}: list:{name}: expected a file with a phrase per line, got no file {path}")
        phrases = cls.of("\n".join(Lines(path)))
        if not phrases.lengths:
            raise TemplateError(f"{template}: list:{name}: expected a phrase per line, got an empty file")
        return phrases

    def places(self, sentences: Sequence[Words]) -> list[list[str | None]]:
        """Return the place of each token in a phrase of the list; None for tokens in no phrase."""
        lengths = np.array([len(words) for words in sentences], np.int64)
        ends, N = np.repeat(np.cumsum(lengths), lengths), int(lengths.sum())  # ends of the token's sentence
        spaced = StringSpans.of([f"{word} " for words in sentences for word in words])
        longest = np.zeros(N, np.int64)  # words of the longest phrase that begins at each token
        for n in self.lengths:
            begins = np.flatnonzero(np.arange(N) + n <= ends)
            spans = StringSpans(spaced.text, spaced.starts[begins], spaced.ends[begins + n - 1] - 1)
            longest[begins[self.phrases.find(spans) >= 0]] = n
        places: list[str | None] = [None] * N
        free = 0  # the first token behind the last phrase
        for begin in np.flatnonzero(longest).tolist():
            if begin >= free:
                n = int(longest[begin])
                free = begin + n
                places[begin:free] = [SINGLE] if n == 1 else [FIRST, *[INSIDE] * (n - 2), LAST]
        bounds = np.cumsum([0, *lengths]).tolist()
        return [places[begin:end] for begin, end in pairwise(bounds)]

    def arrays(self, name: str) -> Arrays:
        """Return the arrays to store under names that begin with `name`."""
        return self.phrases.arrays(name)

    @classmethod
    def restore(cls, archive: Archive, name: str) -> PhraseList:
        """Read a list from a model file."""
        return cls(StringTable.restore(archive, name))


def word_counts(phrases: ByteStrings) -> np.ndarray:
    """Count the words of phrases that follow one another in their blob, separated by single spaces, (phrases,)."""
    counts = np.ones(len(phrases), np.int32)
    for begin in range(0, len(phrases), SPANS_TOGETHER):  # part by part, to save memory
        part = slice(begin, begin + SPANS_TOGETHER)
        first, last = int(phrases.starts[begin]), int(phrases.ends[part][-1])
        spaces = first + np.flatnonzero(phrases.blob[first:last] == SPACE)
        counts[part] += np.searchsorted(spaces, phrases.ends[part]) - np.searchsorted(spaces, phrases.starts[part])
    return counts


def read_lists(names: Sequence[str], template: str) -> dict[str, PhraseList]:
    """Read the lists that a template names."""
    return {name: PhraseList.read(name, template) for name in names}
