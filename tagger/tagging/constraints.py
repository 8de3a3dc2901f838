"""Which tags a token may have: what a user knows better than the model.

A user lexicon allows certain tags for certain words, in whichever Unicode normalisation form a text writes them, and a
token that comes tagged keeps its tag (`NN|VB`: one of the two). Both become a table of allowed tags that restricts a
lattice, so that everything around is decided in their light.
"""

from __future__ import annotations

import os
from collections.abc import Container, Sequence
from unicodedata import normalize

import numpy as np

from tagger.corpus.slash import tokens
from tagger.escaping import quote
from tagger.files.reading import Lines
from tagger.normalization import NFC, normalized_keys
from tagger.sentence import ANY, NO_TAG, Sentence

SHOWN = 8  # tags of a model, as examples
TagDictionary = dict[str, tuple[str, ...]]


def read_lexicon(
    path: str | os.PathLike[str], encoding: str = "utf-8", known: Container[str] | None = None
) -> TagDictionary:
    """The tags each word may have: lines `word TAB TAG[ TAG…]`. What several lines allow for a word is allowed.

    With `known`, other tags than those are an error.
    """
    found: TagDictionary = {}
    lines = Lines(path, encoding)
    for line in lines:
        if not line.strip(" \t"):
            continue
        word, tab, rest = line.partition("\t")
        tags = tokens(rest)
        if not (word and tab and tags):
            raise lines.error(f"expected a word, a tab and the tags it may have, got {quote(line)}")
        strange = [tag for tag in tags if known is not None and tag not in known]
        if strange:
            raise lines.error(f"expected tags of the model for {quote(word)}, got {quote(strange[0])}")
        found[word] = tuple(dict.fromkeys([*found.get(word, ()), *tags]))
    return found


class Constraints:
    """For a model with these tags: a lexicon, and whether tokens keep the tags they come with."""

    def __init__(self, classes: Sequence[str], lexicon: TagDictionary | None = None, keep_tags: bool = False) -> None:
        self.numbers = {tag: k for k, tag in enumerate(classes)}
        self.lexicon = {word: self.numbered(tags) for word, tags in normalized_keys(lexicon or {}).items()}
        self.keep_tags = keep_tags

    def numbered(self, tags: Sequence[str]) -> frozenset[int]:
        return frozenset(self.numbers[tag] for tag in tags)

    def kept(self, tag: str) -> frozenset[int] | None:
        """What a tag in the input allows, None if that is everything. A tag of the model is itself first."""
        if tag in self.numbers:
            return frozenset([self.numbers[tag]])
        return None if tag in (ANY, NO_TAG) else self.numbered(tag.split("|"))

    def of(self, word: str, tag: str) -> frozenset[int] | None:
        """The tags that a token may have, None for all."""
        kept = self.kept(tag) if self.keep_tags else None
        listed = self.lexicon.get(normalize(NFC, word)) if self.lexicon else None
        return kept & listed if kept is not None and listed is not None else kept if listed is None else listed

    def fault(self, sentence: Sentence) -> str | None:
        """What is wrong with a sentence, if no tagging of it could be right."""
        for i, (word, tag) in enumerate(zip(sentence.words, tags_of(sentence), strict=True), 1):
            try:
                if self.of(word, tag) == frozenset():
                    return f"token {i}: the lexicon does not allow the tag {quote(tag)} for {quote(word)}"
            except KeyError as error:
                token = f"{word}/{tag}"
                advice = f"it has {self.some_tags()}; if all of this is a word, write {token}/{ANY}"
                return f"token {i}, {quote(token)}: the model has no tag {quote(error.args[0])}; {advice}"
        return None

    def some_tags(self) -> str:
        """A few as examples, rather names than marks."""
        shown = sorted(self.numbers, key=lambda tag: not tag.isalnum())[:SHOWN]
        return ", ".join(shown) + ", …" * (len(self.numbers) > SHOWN)

    def allowed(self, sentences: Sequence[Sentence]) -> np.ndarray:
        """(N, K) True where a tag is allowed at a token."""
        rows = [
            self.of(word, tag)
            for sentence in sentences
            for word, tag in zip(sentence.words, tags_of(sentence), strict=True)
        ]
        out = np.ones((len(rows), len(self.numbers)), bool)
        for row, tags in enumerate(rows):
            if tags is not None:
                out[row] = False
                out[row, list(tags)] = True
        return out


def tags_of(sentence: Sentence) -> Sequence[str]:
    return [NO_TAG] * len(sentence) if sentence.tags is None else sentence.tags
