"""Cut sentences or lines into blocks, which are tagged together.

A block ends when it is large enough, or when the next line is not available yet, so that an interactive user gets a
result at once. Where blocks end depends on the input only, never on the number of processes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, TypeVar

BLOCK_TOKENS = 1 << 15
TOKEN_CHARACTERS = 16  # longer tokens count as several: a block has at most half a million characters

Item = TypeVar("Item")


class NamedBlock(NamedTuple):
    """A block of sentences or lines, with its file and the number of items before it there."""

    name: str
    before: int
    items: list[Any]
    begins_output: bool = False


def weight(tokens: int, characters: int) -> int:
    """Compute the size of an item in tokens; long tokens count by the memory they need."""
    return max(tokens, characters // TOKEN_CHARACTERS)


def blocks(
    items: Iterable[Item],
    weigh: Callable[[Item], int],
    waiting: Callable[[], bool] = lambda: False,
    most_items: int | None = None,
) -> Iterator[tuple[list[Item], bool]]:
    """Yield blocks of sentences or lines, each with True if its result is urgent.

    `weigh` estimates the tokens of an item (see `weight`); `waiting` returns True if the next item is not available
    yet; `most_items` limits the items of a block. Items read before an error are yielded before it is raised.
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
        if tokens >= BLOCK_TOKENS or urgent or len(block) == most_items:
            yield block, urgent
            block, tokens = [], 0
    if block:
        yield block, False
