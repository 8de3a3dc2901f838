"""What a caller gave to learn from or to be judged by: tagged sentences, and their tags as numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain, repeat
from operator import attrgetter
from typing import Any

import numpy as np

from tagger.errors import TrainingError, several
from tagger.normalization import NFC, Form, normalized_sentences
from tagger.sentence import NO_TAG, Sentence, sentence_list, tag_lists, words_of

TAGS = attrgetter("tags")


def tagged(X: Iterable[Any], y: Iterable[Any] | None, names: tuple[str, str] = ("X", "y")) -> list[Sentence]:
    """Make tagged sentences of words and tags in any containers, whose `names` are for messages."""
    sentences = sentence_list(X, names[0])
    if y is None:
        if not all(map(isinstance, sentences, repeat(Sentence))) or None in map(TAGS, sentences):
            raise ValueError(f"without {names[1]}, every item of {names[0]} must be a Sentence with tags")
        tag_lists(map(TAGS, sentences), f"tags of {names[0]}")
        return sentences
    tags = tag_lists(y, names[1])
    if len(sentences) != len(tags):
        raise ValueError(f"{several(len(sentences), 'sentence')}, but the tags of {len(tags):,}")
    return [Sentence(words_of(words), own) for words, own in zip(sentences, tags, strict=True)]


def dev_sentences(X_dev: Iterable[Any] | None, y_dev: Iterable[Any] | None) -> list[Sentence] | None:
    """The same of a dev set, if there is one."""
    return None if X_dev is None else tagged(X_dev, y_dev, ("X_dev", "y_dev"))


def training_sentences(X: Iterable[Any], y: Iterable[Any] | None, form: Form = NFC) -> list[Sentence]:
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
