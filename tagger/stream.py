"""Tagging without end: sentences come in, results go out in the same order, in constant memory.

Sentences are gathered into blocks, because many are tagged faster together. A block closes when it is large enough, or
when the next line would have to be waited for: then whoever is typing on the other side gets an answer at once. Where
blocks end depends on the input only, never on how many processes share the work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from tagger.sentence import Sentence

BLOCK_TOKENS = 1 << 15


def blocks(
    sentences: Iterable[Sentence], waiting: Callable[[], bool] = lambda: False
) -> Iterator[tuple[list[Sentence], bool]]:
    """Sentences block by block, and whether somebody waits for the answer.

    `waiting` tells whether the next sentence may take its time. What was read before an error comes out before it.
    """
    block: list[Sentence] = []
    tokens = 0
    source = iter(sentences)
    while True:
        try:
            sentence = next(source)
        except StopIteration:
            break
        except Exception:
            if block:
                yield block, True
            raise
        block.append(sentence)
        tokens += len(sentence) + 1
        urgent = waiting()
        if tokens >= BLOCK_TOKENS or urgent:
            yield block, urgent
            block, tokens = [], 0
    if block:
        yield block, False
