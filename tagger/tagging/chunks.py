"""Blocks of sentences, or of lines that hold one: many are tagged faster together, but nobody is kept waiting.

A block closes when it is large enough, or when the next line would have to be waited for: then whoever is typing on the
other side gets an answer at once. Where blocks end depends on the input only, never on how many processes share the
work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

NamedBlock = tuple[str, int, list[Any]]  # of which file, how many came before, and sentences or lines

BLOCK_TOKENS = 1 << 15
TOKEN_CHARACTERS = 16  # more count as further tokens: a block has at most half a million, whatever is in it

Item = TypeVar("Item")


def weight(tokens: int, characters: int) -> int:
    """The size of an item in tokens; what has few but long ones weighs as much as others that take its memory."""
    return max(tokens, characters // TOKEN_CHARACTERS)


def blocks(
    items: Iterable[Item], weigh: Callable[[Item], int], waiting: Callable[[], bool] = lambda: False
) -> Iterator[tuple[list[Item], bool]]:
    """Sentences or lines block by block, and whether somebody waits for the answer.

    `weigh` tells about how many tokens an item has (see `weight`), `waiting` whether the next one may take its time.
    What was read before an error comes out before it.
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
