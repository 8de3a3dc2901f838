"""Tagging without end: sentences come in, tagged ones go out in the same order, in constant memory.

Sentences are gathered into blocks, because many are tagged faster together. A block closes when it is large enough, or
when the next line would have to be waited for: then whoever is typing on the other side gets an answer at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from tagger.model import Tagger
from tagger.sentence import Sentence

BLOCK_TOKENS = 1 << 15


def tag_stream(
    model: Tagger, sentences: Iterable[Sentence], waiting: Callable[[], bool] = lambda: False
) -> Iterator[list[Sentence]]:
    """Tagged sentences, block by block; `waiting` tells whether the next sentence may take its time."""
    scorer = model.scorer()
    for block in blocks(sentences, waiting):
        yield [sentence.with_tags(tags) for sentence, tags in zip(block, model.predict(block, scorer), strict=True)]


def blocks(sentences: Iterable[Sentence], waiting: Callable[[], bool]) -> Iterator[list[Sentence]]:
    block: list[Sentence] = []
    tokens = 0
    for sentence in sentences:
        block.append(sentence)
        tokens += len(sentence) + 1
        if tokens >= BLOCK_TOKENS or waiting():
            yield block
            block, tokens = [], 0
    if block:
        yield block
