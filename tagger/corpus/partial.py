"""Partial annotation: `word/?` and a word without a tag may have any tag, `word/NN|VB` one of two.

Real tag sets contain `|` too. So `NN|VB` is a choice only if both `NN` and `VB` occur as tags in the corpus; otherwise
it is a tag. Training sums over the tags that a choice allows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tagger.corpus.labels import tag_numbers, token_tags
from tagger.errors import TrainingError
from tagger.sentence import ANY, NO_TAG, Sentence

OPEN = -1  # instead of a tag index: the token has a choice


@dataclass(frozen=True)
class Choices:
    """The tokens with more than one allowed tag."""

    tokens: np.ndarray  # (M,) ascending
    allowed: np.ndarray  # (M, K) True for allowed tags

    @classmethod
    def none(cls, K: int) -> Choices:
        """Return no choices."""
        return cls(np.empty(0, np.int64), np.empty((0, K), bool))

    def only(self, kept: np.ndarray) -> Choices:
        """Return the choices at the tokens where `kept` (N,) is True; tokens are renumbered among those."""
        selected = kept[self.tokens]
        return Choices((np.cumsum(kept) - 1)[self.tokens[selected]], self.allowed[selected])

    def events(self, tags: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """List all pairs (token, allowed tag), by token; tokens that may have any tag have no pairs."""
        restricted = ~self.allowed.all(axis=1)
        choice, tag = np.nonzero(self.allowed[restricted])
        fixed = np.flatnonzero(tags != OPEN)
        tokens = np.concatenate([fixed, self.tokens[restricted][choice]])
        order = np.argsort(tokens, kind="stable")
        return tokens[order], np.concatenate([tags[fixed], tag])[order]


def read_tags(sentences: Sequence[Sentence], partial: bool) -> tuple[list[str], np.ndarray, Choices]:
    """Return the sorted tag set, the tag index of each token (N,), and the choices; none unless `partial`."""
    if partial:
        return read_choices(sentences)
    names, tags = tag_numbers(sentences)
    return names, tags, Choices.none(len(names))


def read_choices(sentences: Sequence[Sentence]) -> tuple[list[str], np.ndarray, Choices]:
    """Return the sorted tag set, the tag index of each token (N,), OPEN where it has a choice, and the choices."""
    written, distinct = token_tags(sentences)
    distinct -= {ANY, NO_TAG}
    split = {tag: tag.split("|") for tag in distinct if "|" in tag}
    choices = {tag: options for tag, options in split.items() if distinct.issuperset(options)}
    names = sorted(distinct - choices.keys())
    if not names:
        raise TrainingError("expected some word/TAG among the word/?, got no word with a tag")
    indices = {name: k for k, name in enumerate(names)}
    tags = np.array([indices.get(tag, OPEN) for tag in written])
    tokens = np.flatnonzero(tags == OPEN)
    allowed = np.zeros((len(tokens), len(names)), bool)
    for row, token in enumerate(tokens.tolist()):
        allowed[row, [indices[option] for option in choices.get(written[token], names)]] = True
    return names, tags, Choices(tokens, allowed)


def renumber_tags(names: list[str], old: list[str], tags: np.ndarray, choices: Choices) -> tuple[np.ndarray, Choices]:
    """Convert tags and choices from the tag set `old` to a larger sorted one; any tag then means any of these."""
    index = np.searchsorted(names, old)
    allowed = np.zeros((len(choices.tokens), len(names)), bool)
    allowed[:, index] = choices.allowed
    allowed[choices.allowed.all(axis=1)] = True
    return np.where(tags == OPEN, OPEN, index[tags]), Choices(choices.tokens, allowed)
