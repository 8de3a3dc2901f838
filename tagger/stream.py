"""Blocks of sentences, or of lines that hold one: many are tagged faster together, but nobody is kept waiting.

A block closes when it is large enough, or when the next line would have to be waited for: then whoever is typing on the
other side gets an answer at once. Where blocks end depends on the input only, never on how many processes share the
work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

BLOCK_TOKENS = 1 << 15

Item = TypeVar("Item")


def blocks(
    items: Iterable[Item], weigh: Callable[[Item], int], waiting: Callable[[], bool] = lambda: False
) -> Iterator[tuple[list[Item], bool]]:
    """Sentences or lines block by block, and whether somebody waits for the answer.

    `weigh` tells about how many tokens an item has, `waiting` whether the next one may take its time. What was read
    before an error comes out before it.
    """
    block: list[Item] = []
    tokens = 0
    source = iter(items)
    while True:
        try:
            item = next(source)
        except StopIteration:
            break
        except Exception:
            if block:
                yield block, True
            raise
        block.append(item)
        tokens += 1 + weigh(item)
        urgent = waiting()
        if tokens >= BLOCK_TOKENS or urgent:
            yield block, urgent
            block, tokens = [], 0
    if block:
        yield block, False
