"""Fast path for plain input and word/TAG output; builds no `Sentence`.

`Annotator` does the same and more, one `Sentence` at a time; reading and writing then take as long as scoring and
decoding.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain

import numpy as np

from tagger.corpus.formats.slash import TAG_SEPARATORS, Unfinished, tokens
from tagger.models.predictor import Predictor


def writable(tags: Sequence[str]) -> bool:
    """Return True if each of these tags can be written after a slash."""
    return all(tag and set(TAG_SEPARATORS).isdisjoint(tag) for tag in tags)


def line_tagger(model: Predictor, names: Sequence[str]) -> Callable[[Sequence[str]], tuple[str, int]]:
    """Make the function from lines to the text of the tagged lines; `names` are those of the model's tags in it."""
    endings = [f"/{name} " for name in names] + [f"/{name}\n" for name in names]
    after_word, K = np.array(endings, dtype=object), len(names)

    def work(lines: Sequence[str]) -> tuple[str, int]:
        """Return the text and its number of tokens."""
        sentences = [tokens(line) for line in lines]
        tags = model.best_tags(sentences)  # (N,)
        lengths = np.array([len(words) for words in sentences], np.int64)
        ends = np.cumsum(lengths)
        closed = np.array([not isinstance(line, Unfinished) for line in lines], bool)
        tags[ends[closed & (lengths > 0)] - 1] += K  # the last token of a line ends it
        # text[2 * i + 1] is word i, text[2 * i + 2] its tag and what follows it
        text = [""] * (2 * len(tags) + 1)
        text[1::2] = chain.from_iterable(sentences)
        text[2::2] = after_word[tags].tolist()
        for end in ends[closed & (lengths == 0)].tolist():  # blank lines
            text[2 * end] += "\n"
        return "".join(text), len(tags)

    return work
