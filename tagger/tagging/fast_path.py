"""Plain lines to tagged lines, the way most text goes: no object is made for a sentence, and none for a token but its
own text.

`annotate` can do the same and much more, one `Sentence` at a time; reading and writing then cost as much again as
scoring and decoding.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from tagger.corpus.slash import TAG_SEPARATORS, Unfinished, tokens
from tagger.models.base import Predictor


def writable(tags: Sequence[str]) -> bool:
    """Whether each of these tags can stand behind a slash."""
    return all(tag and set(TAG_SEPARATORS).isdisjoint(tag) for tag in tags)


@dataclass(frozen=True)
class FastPath:
    """Starts the function from lines to the text of the tagged lines; it travels to other processes."""

    model: Predictor
    names: Sequence[str]  # what the model's tags are called in the output

    def start(self) -> Callable[[Sequence[str]], tuple[str, int]]:
        behind = [f"/{name} " for name in self.names] + [f"/{name}\n" for name in self.names]
        marks, K = np.array(behind, dtype=object), len(self.names)

        def work(lines: Sequence[str]) -> tuple[str, int]:
            """The text, and how many tokens it has."""
            sentences = [tokens(line) for line in lines]
            tags = self.model.best_tags(sentences)  # (N,)
            lengths = np.array([len(words) for words in sentences], np.int64)
            ends = np.cumsum(lengths)
            closed = np.array([not isinstance(line, Unfinished) for line in lines], bool)
            tags[ends[closed & (lengths > 0)] - 1] += K
            text = [""] * (2 * len(tags) + 1)
            text[1::2] = chain.from_iterable(sentences)
            text[2::2] = marks[tags].tolist()
            for end in ends[closed & (lengths == 0)].tolist():  # a blank line stays one
                text[2 * end] += "\n"
            return "".join(text), len(tags)

        return work
