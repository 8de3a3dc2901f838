"""Remove final punctuation from some training sentences, so that models can tag titles, captions and chat lines.

In most corpora every sentence ends in a punctuation mark. A CRF or a network then learns, from end weights and features
of the sentence end, that the last token is a mark whatever its word. No training sentence contradicts that. So at least
SHARE of the training sentences should end in a word: if fewer do, as many as are missing, spread evenly over the
corpus, lose the marks at their end. Rare endings are kept, because they may be the only example of a mark or of its
tag. An HMM needs none of this: its emissions outweigh P(end | tag).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tagger.sentence import Words

SHARE = 0.2  # of the training sentences
GOLDEN = (5**0.5 - 1) / 2  # its multiples modulo 1 are spread evenly, and have no period


def trained_lengths(sentences: Sequence[Words]) -> np.ndarray:
    """Return the number of tokens of each sentence (B,) to train on: all, or all but the marks at its end."""
    (choice,) = choose_marks([EndingCounts.of(sentences)])
    return choice.lengths(sentences)


@dataclass(frozen=True)
class EndingCounts:
    """Counts of the marks at the ends of the sentences of a corpus, or of a part of it."""

    sentences: int
    bare: int  # sentences that end in a word
    endings: Counter[tuple[str, ...]]
    removable: Counter[tuple[str, ...]]  # endings of sentences that have words before them

    @classmethod
    def of(cls, sentences: Sequence[Words]) -> EndingCounts:
        """Count the endings of sentences."""
        endings = [ending_of(words) for words in sentences]
        removable = Counter(end for end, words in zip(endings, sentences, strict=True) if 0 < len(end) < len(words))
        return cls(len(endings), sum(not end for end in endings), Counter(endings), removable)


@dataclass(frozen=True)
class MarkChoice:
    """The sentences of a part of a corpus that lose the marks at their end."""

    common: set[tuple[str, ...]]  # endings that are not rare
    chosen: np.ndarray  # whether each sentence with a removable common ending loses it, in order

    def lengths(self, sentences: Sequence[Words]) -> np.ndarray:
        """Return the number of tokens of each sentence (B,) to train on."""
        lengths = np.fromiter(map(len, sentences), np.int64, len(sentences))
        endings = [ending_of(words) for words in sentences]
        marks = np.fromiter(map(len, endings), np.int64, len(sentences))
        common = np.fromiter((ending in self.common for ending in endings), bool, len(sentences))
        marked = np.flatnonzero(common & (marks > 0) & (marks < lengths))[self.chosen]
        lengths[marked] -= marks[marked]
        return lengths


def choose_marks(parts: Sequence[EndingCounts]) -> list[MarkChoice]:
    """Choose the sentences that lose their marks, for each part of a corpus."""
    endings = sum((part.endings for part in parts), Counter[tuple[str, ...]]())
    common = {ending for ending, count in endings.items() if count * SHARE >= 1}
    marked = [sum(count for ending, count in part.removable.items() if ending in common) for part in parts]
    missing = int(SHARE * sum(part.sentences for part in parts)) - sum(part.bare for part in parts)
    # The n smallest multiples of the golden ratio modulo 1 choose n marked sentences.
    order = np.argsort(np.arange(sum(marked)) * GOLDEN % 1.0, kind="stable")
    chosen = np.zeros(len(order), bool)
    chosen[order[: max(0, missing)]] = True
    return [MarkChoice(common, part) for part in np.split(chosen, np.cumsum(marked)[:-1])]


def ending_of(words: Words) -> tuple[str, ...]:
    """Return the marks at the end of a sentence."""
    return tuple(words[bare_length(words) :])


def bare_length(words: Words) -> int:
    """Return the length of a sentence without the tokens at its end that have no letter or digit."""
    length = len(words)
    while length and not any(map(str.isalnum, words[length - 1])):
        length -= 1
    return length
