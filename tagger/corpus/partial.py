"""Partly tagged text: `word/?` and a word without a tag may have any tag, `word/NN|VB` one of two.

Real tag sets contain `|` too. So `NN|VB` is a choice only if both `NN` and `VB` stand alone somewhere in the corpus;
otherwise it is a tag like any other. What a choice leaves open is summed over in training.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tagger.corpus.labels import written_tags
from tagger.errors import TrainingError
from tagger.sentence import ANY, NO_TAG, Sentence

OPEN = -1  # in the place of a tag's number


@dataclass(frozen=True)
class Choices:
    """The tokens whose tag is open, and what each of them may be."""

    tokens: np.ndarray  # (M,) ascending
    allowed: np.ndarray  # (M, K) True for the tags allowed

    @classmethod
    def none(cls, K: int) -> Choices:
        return cls(np.empty(0, np.int64), np.empty((0, K), bool))

    def only(self, kept: np.ndarray) -> Choices:
        """The choices at the tokens that are True in `kept` (N,), among which tokens are numbered now."""
        own = kept[self.tokens]
        return Choices((np.cumsum(kept) - 1)[self.tokens[own]], self.allowed[own])

    def events(self, tags: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """All pairs of a token and a tag that are said of it, by token; `?` says nothing."""
        token, tag = np.nonzero(self.allowed[~self.allowed.all(axis=1)])
        fixed = np.flatnonzero(tags != OPEN)
        tokens = np.concatenate([fixed, self.tokens[~self.allowed.all(axis=1)][token]])
        order = np.argsort(tokens, kind="stable")
        return tokens[order], np.concatenate([tags[fixed], tag])[order]


def read_choices(sentences: Sequence[Sentence]) -> tuple[list[str], np.ndarray, Choices]:
    """The tag set, all tags as numbers (N,) with OPEN where a choice is left, and the choices."""
    written, distinct = written_tags(sentences)
    distinct -= {ANY, NO_TAG}
    split = {tag: tag.split("|") for tag in distinct if "|" in tag}
    choices = {tag: parts for tag, parts in split.items() if all(part in distinct for part in parts)}
    names = sorted(distinct - choices.keys())
    if not names:
        raise TrainingError("no word of the corpus has a tag: expected some word/TAG among the word/?")
    numbers = {name: k for k, name in enumerate(names)}
    tags = np.array([numbers.get(tag, OPEN) for tag in written])
    tokens = np.flatnonzero(tags == OPEN)
    allowed = np.zeros((len(tokens), len(names)), bool)
    for row, token in enumerate(tokens.tolist()):
        allowed[row, [numbers[part] for part in choices.get(written[token], names)]] = True
    return names, tags, Choices(tokens, allowed)


def among(names: list[str], old: list[str], tags: np.ndarray, choices: Choices) -> tuple[np.ndarray, Choices]:
    """Tags and choices in the numbers of a larger sorted tag set; what could be any tag may now be any of those."""
    place = np.searchsorted(names, old)
    allowed = np.zeros((len(choices.tokens), len(names)), bool)
    allowed[:, place] = choices.allowed
    allowed[choices.allowed.all(axis=1)] = True
    return np.where(tags == OPEN, OPEN, place[tags]), Choices(choices.tokens, allowed)
