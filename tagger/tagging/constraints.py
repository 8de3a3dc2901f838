"""Constraints on the tags of tokens: a user's lexicon, and tags given in the input.

A user's lexicon allows certain tags for certain words, in any Unicode normalisation form, and a token that is tagged in
the input keeps its tag (`NN|VB`: one of the two). Both become a table of allowed tags that restricts a lattice, so the
tags of all other tokens are decided given these.
"""

from __future__ import annotations

import os
from collections.abc import Container, Sequence
from contextlib import closing

import numpy as np

from tagger.corpus.formats.slash import tokens
from tagger.escaping import quote
from tagger.files.reading import Lines
from tagger.normalization import NFC, normalized, normalized_keys
from tagger.sentence import ANY, NO_TAG, Sentence

TAGS_SHOWN = 8  # in a message
TagDictionary = dict[str, tuple[str, ...]]  # the tags that each word may have


def read_lexicon(
    path: str | os.PathLike[str], encoding: str = "utf-8", known: Container[str] | None = None
) -> TagDictionary:
    """Read a lexicon of lines `word TAB TAG[ TAG…]`; several lines of one word are joined.

    With `known`, any other tag is an error.
    """
    lexicon: TagDictionary = {}
    with closing(Lines(path, encoding)) as lines:
        for line in lines:
            if not line.strip(" \t"):
                continue
            word, tab, rest = line.partition("\t")
            tags = tokens(rest)
            if not (word and tab and tags):
                raise lines.error(f"expected a word, a tab and the tags it may have, got {quote(line)}")
            unknown = [tag for tag in tags if known is not None and tag not in known]
            if unknown:
                raise lines.error(f"expected tags of the model for {quote(word)}, got {quote(unknown[0])}")
            lexicon[word] = tuple(dict.fromkeys([*lexicon.get(word, ()), *tags]))
    return lexicon


class Constraints:
    """The constraints for a model with these tags: a lexicon, and whether tokens keep their tags in the input."""

    def __init__(self, classes: Sequence[str], lexicon: TagDictionary | None = None, keep_tags: bool = False) -> None:
        self.numbers = {tag: k for k, tag in enumerate(classes)}
        self.lexicon = {word: self.tag_set(tags) for word, tags in normalized_keys(lexicon or {}).items()}
        self.keep_tags = keep_tags

    def tag_set(self, tags: Sequence[str]) -> frozenset[int]:
        """Return the numbers of tags; KeyError for one that the model lacks."""
        return frozenset(self.numbers[tag] for tag in tags)

    def input_tags(self, tag: str) -> frozenset[int] | None:
        """Return the tags that a tag in the input allows, None for all; a tag of the model is never split at `|`."""
        if tag in self.numbers:
            return frozenset([self.numbers[tag]])
        return None if tag in (ANY, NO_TAG) else self.tag_set(tag.split("|"))

    def allowed_tags(self, word: str, tag: str) -> frozenset[int] | None:
        """Return the tags that a token may have, None for all."""
        given = self.input_tags(tag) if self.keep_tags else None
        listed = self.lexicon.get(normalized([word], NFC)[0]) if self.lexicon else None
        return given & listed if given is not None and listed is not None else given if listed is None else listed

    def fault(self, sentence: Sentence) -> str | None:
        """Describe the first token that no tag is allowed for; None if there is no such token."""
        for i, (word, tag) in enumerate(zip(sentence.words, tags_of(sentence), strict=True), 1):
            try:
                if self.allowed_tags(word, tag) == frozenset():
                    problem = f"expected a tag that the lexicon allows for {quote(word)}, got {quote(tag)}"
                    return f"token {i}: {problem}. Change the tag or the lexicon."
            except KeyError as error:
                token = f"{word}/{tag}"
                problem = f"expected a tag of the model ({self.some_tags()}), got {quote(error.args[0])}"
                return f"token {i}, {quote(token)}: {problem}. Write {quote(f'{token}/{ANY}')} if all of it is a word."
        return None

    def some_tags(self) -> str:
        """List a few tags of the model, names before punctuation."""
        shown = sorted(self.numbers, key=lambda tag: not tag.isalnum())[:TAGS_SHOWN]
        return ", ".join(shown) + ", …" * (len(self.numbers) > TAGS_SHOWN)

    def allowed(self, sentences: Sequence[Sentence]) -> np.ndarray:
        """Return True for each tag that a token may have, (N, K)."""
        rows = [
            self.allowed_tags(word, tag)
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
    """Return the tags of a sentence, NO_TAG if it is untagged."""
    return [NO_TAG] * len(sentence) if sentence.tags is None else sentence.tags
