"""What a caller gave to learn from or to be judged by: tagged sentences, and their tags as numbers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, repeat
from operator import attrgetter
from typing import Any

import numpy as np

from tagger.errors import TrainingError, several
from tagger.escaping import quote
from tagger.normalization import NFC, Form, normalized_sentences
from tagger.sentence import NO_TAG, Sentence, Words

TAGS = attrgetter("tags")


def words_of(sentence: Sentence | Words) -> Words:
    """The words of a sentence."""
    if isinstance(sentence, str):
        raise ValueError(
            f"expected a list of sentences, each a list of words, got the string {quote(sentence)} for one"
        )
    return sentence.words if isinstance(sentence, Sentence) else sentence


def tagged(X: Sequence[Any], y: Sequence[Sequence[str]] | None) -> list[Sentence]:
    """Tagged sentences out of what the caller gave."""
    if y is None:
        if not all(map(isinstance, X, repeat(Sentence))) or None in map(TAGS, X):
            raise ValueError("without y, every item of X must be a Sentence with tags")
        return list(X)
    if len(X) != len(y):
        raise ValueError(f"{several(len(X), 'sentence')}, but the tags of {len(y):,}")
    return [Sentence(words_of(words), tags) for words, tags in zip(X, y, strict=True)]


def training_sentences(X: Sequence[Any], y: Sequence[Sequence[str]] | None, form: Form = NFC) -> list[Sentence]:
    """The sentences to learn from, their words in a normalisation form."""
    sentences = [sentence for sentence in tagged(X, y) if sentence.words]
    if not sentences:
        raise TrainingError("no sentence to learn from: the corpus is empty")
    written = [sentence.words for sentence in sentences]
    words = normalized_sentences(written, form)
    if words is written:
        return sentences
    return [Sentence(own, sentence.tags) for own, sentence in zip(words, sentences, strict=True)]


def written_tags(sentences: Sequence[Sentence]) -> tuple[list[str], set[str]]:
    """All tags, token after token, and the distinct ones."""
    written = list(chain.from_iterable(map(TAGS, sentences)))
    return written, set(written)


def tag_numbers(sentences: Sequence[Sentence]) -> tuple[list[str], np.ndarray]:
    """The tag set, and all tags as numbers (N,)."""
    written, distinct = written_tags(sentences)
    if NO_TAG in distinct:
        raise TrainingError("a token has an empty tag")
    names = sorted(distinct)
    numbers = {name: k for k, name in enumerate(names)}
    return names, np.fromiter(map(numbers.__getitem__, written), np.int64, len(written))


def check_dev(classes: list[str], dev: Sequence[Sentence] | None) -> None:
    """Refuse a dev set of which no tag could ever be guessed."""
    tags = set(chain.from_iterable(map(TAGS, dev or [])))
    if tags and tags.isdisjoint(classes):
        few = ", ".join(sorted(tags)[:5])
        raise TrainingError(f"the dev set has another tag set: none of its tags ({few}, …) is in the corpus")
