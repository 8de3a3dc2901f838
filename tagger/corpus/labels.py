"""Tagged sentences from the arguments `X` and `y` of public functions, and their tags as integers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain, repeat
from operator import attrgetter
from typing import Any

import numpy as np

from tagger.errors import TrainingError, several
from tagger.normalization import NFC, NormalizationForm, normalized_sentences
from tagger.sentence import NO_TAG, Sentence, sentence_list, tag_lists, words_of

get_tags = attrgetter("tags")


def tagged_sentences(
    X: Iterable[Any], y: Iterable[Any] | None, names: tuple[str, str] = ("X", "y"), featured: bool = False
) -> list[Sentence]:
    """Combine words and tags in any containers to sentences; without `y`, X must hold tagged sentences.

    `names` are those of the two parameters, for messages. If `featured`, dicts of features may take the place of words.
    """
    sentences = sentence_list(X, names[0], featured)
    if y is None:
        if not all(map(isinstance, sentences, repeat(Sentence))) or None in map(get_tags, sentences):
            raise ValueError(f"{names[0]}: expected Sentences with tags, got others. Pass {names[1]}, or tag them")
        tag_lists(map(get_tags, sentences), f"tags of {names[0]}")
        return sentences
    tags = tag_lists(y, names[1])
    if len(sentences) != len(tags):
        raise ValueError(f"{names[1]}: expected {several(len(sentences), 'list')} of tags, got {len(tags):,}")
    for i, (x, sentence_tags) in enumerate(zip(sentences, tags, strict=True)):
        if len(x) != len(sentence_tags):
            expected = f"{names[1]}[{i}]: expected {several(len(x), 'tag')}, one for each word"
            raise ValueError(f"{expected}, got {len(sentence_tags):,}")
    pairs = zip(sentences, tags, strict=True)
    return [Sentence(words_of(x), sentence_tags, **beside_words(x)) for x, sentence_tags in pairs]


def beside_words(x: Any) -> dict[str, Any]:
    """Return the columns of a sentence, and the number that messages about them use."""
    return {"columns": x.columns, "line": x.line} if isinstance(x, Sentence) and x.columns else {}


def dev_sentences(
    X_dev: Iterable[Any] | None, y_dev: Iterable[Any] | None, featured: bool = False
) -> list[Sentence] | None:
    """Return the sentences of a dev set, as `tagged_sentences` does; None if there is none."""
    return None if X_dev is None else tagged_sentences(X_dev, y_dev, ("X_dev", "y_dev"), featured)


def training_sentences(
    X: Iterable[Any], y: Iterable[Any] | None, form: NormalizationForm = NFC, featured: bool = False
) -> list[Sentence]:
    """Return the non-empty training sentences, their words normalized."""
    sentences = [sentence for sentence in tagged_sentences(X, y, featured=featured) if sentence.words]
    if not sentences:
        raise TrainingError("expected at least one sentence to train on, got an empty corpus")
    original = [sentence.words for sentence in sentences]
    normalized = normalized_sentences(original, form)
    if normalized is original:
        return sentences
    pairs = zip(normalized, sentences, strict=True)
    return [Sentence(words, sentence.tags, **beside_words(sentence)) for words, sentence in pairs]


def corpus_size(sentences: Sequence[Sentence]) -> dict[str, int]:
    """Count sentences and tokens, for the summary of a model."""
    return {"sentences": len(sentences), "tokens": sum(map(len, sentences))}


def token_tags(sentences: Sequence[Sentence]) -> tuple[list[str], set[str]]:
    """Return the tag of each token, and the set of distinct tags."""
    tags = list(chain.from_iterable(map(get_tags, sentences)))
    return tags, set(tags)


def tag_numbers(sentences: Sequence[Sentence]) -> tuple[list[str], np.ndarray]:
    """Return the sorted tag set, and the index of each token's tag (N,)."""
    tags, distinct = token_tags(sentences)
    if NO_TAG in distinct:
        raise TrainingError("expected a tag for every token, got an empty one")
    names = sorted(distinct)
    indices = {name: k for k, name in enumerate(names)}
    return names, np.fromiter(map(indices.__getitem__, tags), np.int64, len(tags))


def check_dev(classes: list[str], dev: Sequence[Sentence] | None) -> None:
    """Raise a TrainingError if no tag of the dev set is in the tag set."""
    tags = token_tags(dev or [])[1]
    if tags and tags.isdisjoint(classes):
        first = ", ".join(sorted(tags)[:5])
        raise TrainingError(f"dev set: expected tags of the training corpus, got none of them but {first}, …")
