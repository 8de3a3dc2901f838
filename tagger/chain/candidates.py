"""The layout of chains of first and second order over the candidate tags of each token.

The score of a tag path y of a sentence with T tokens, with the mark K before the sentence and after it, is

    order 1:  s(y) = Σ_t emissions[t, y_t] + Σ_t transitions[y_{t-1}, y_t]              t = 1 … T + 1
    order 2:  s(y) = Σ_t emissions[t, y_t] + Σ_t transitions[y_{t-2}, y_{t-1}, y_t]

A *node* is a token with one of its candidates. The *states* of the recursions are nodes (order 1) or pairs of
neighbouring nodes (order 2), and *arcs* lead from the states of a token to those of the next. Tokens have different
numbers of candidates, so all of these are ragged: they are in long flat arrays, the arcs into a state side by side, and
one `reduceat` takes the maximum (or the sum) of every group at once, for a whole step of a pack.

*Pieces.* A token with one candidate is fixed. As many fixed tokens in a row as the order has make what is before them
independent of what is after them, so a sentence is cut there into short pieces, which are packed by length like
sentences. A piece begins with one state, the fixed tokens before it, and ends with the fixed tokens after it, or with
the mark. What lies between the pieces is the same on every path. Marks are fixed tokens too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tagger.arrays.caching import cached_property
from tagger.arrays.ragged import consecutive, ranges
from tagger.chain.pack import Pack

BLOCK_ARCS = 1 << 20  # arcs laid out at a time
MARK = -1  # instead of a token


@dataclass(frozen=True)
class Arcs:
    """All arcs into consecutive states, those into one state side by side."""

    states: slice
    before: np.ndarray  # (arcs,) the state that each comes from
    begins: np.ndarray  # (states,) the first arc of each state
    widths: np.ndarray  # (states,) the number of its arcs

    @property
    def after(self) -> np.ndarray:
        """The state that each arc leads to, (arcs,)."""
        return np.repeat(np.arange(self.states.start, self.states.stop), self.widths)

    def part(self, begin: int, end: int) -> tuple[Arcs, slice]:
        """Cut out the arcs into the states from `begin` to `end`; return them, and where they are among all."""
        own = slice(begin - self.states.start, end - self.states.start)
        begins, widths = self.begins[own], self.widths[own]
        inside = slice(int(begins[0]), int(begins[-1] + widths[-1]))
        return Arcs(slice(begin, end), self.before[inside], begins - inside.start, widths), inside


class Trellis:
    """The pieces of sentences whose N tokens have `widths` candidates each, with their states and arcs.

    Nodes are numbered token after token; the mark is one more node. With `cut=False` a piece is a whole sentence.
    Sentences without tokens have no piece.
    """

    def __init__(self, widths: np.ndarray, lengths: np.ndarray, order: int, cut: bool = True) -> None:
        self.order, self.mark = order, int(widths.sum())
        lengths = lengths[lengths > 0]
        tokens, width, first = with_marks(widths, lengths, order)  # of all positions
        begins, ends = find_pieces(width, lengths + order + 1, order, cut)
        # A piece has a row for the position before it, where it begins, and one for each of its own positions.
        self.pack = Pack.of(ends - begins + 1)
        position = consecutive(begins - 1, ends - begins + 1)[self.pack.tokens]
        self.tokens = tokens[position]  # (rows,) MARK for a mark
        self.row_nodes = width[position]
        # The nodes row after row, and then those before the first rows, for order 2. A *slot* is a place in this list:
        # states of a step have neighbouring slots, whatever the order of the tokens.
        before = first[position[: self.pack.first] - 1]
        self.nodes = np.append(consecutive(first[position], self.row_nodes), before)
        # The states of a row: for each node, one (order 1), or one for each node of the row before (order 2).
        self.per_node = np.ones(len(position), np.int64)
        if order == 2:
            self.per_node[self.pack.first :] = self.row_nodes[self.pack.before]
        self.bounds = np.append(0, np.cumsum(self.row_nodes * self.per_node))  # (rows + 1,) first state of each row

    @property
    def first(self) -> int:
        """Number of states that begin a piece, one for each piece."""
        return self.pack.first

    @cached_property
    def rows(self) -> np.ndarray:
        """Row of each state, (states,)."""
        return np.repeat(np.arange(len(self.tokens)), np.diff(self.bounds))

    @cached_property
    def slot_states(self) -> np.ndarray:
        """Number of states in the node of each slot, (slots of rows,)."""
        return np.repeat(self.per_node, self.row_nodes)

    @cached_property
    def here(self) -> np.ndarray:
        """Slot of the node of each state, (states,)."""
        return self.at_states(np.arange(len(self.slot_states)))

    def at_states(self, values: np.ndarray) -> np.ndarray:
        """Return the values (slots,) of the nodes of states, (states,)."""
        return np.repeat(values[: len(self.slot_states)], self.slot_states)

    def slot_sums(self, values: np.ndarray) -> np.ndarray:
        """Sum the values (states,) of the states in the node of each slot, (slots of rows,)."""
        if self.order == 1 or not len(values):
            return values
        return np.asarray(np.add.reduceat(values, np.cumsum(self.slot_states) - self.slot_states))

    @cached_property
    def there(self) -> np.ndarray:
        """Slot of the node before that of each state, (states,), for order 2."""
        slots = np.cumsum(self.row_nodes) - self.row_nodes  # first of each row
        begins = len(self.slot_states) + np.arange(self.first, dtype=np.int64)
        rows_before = np.append(begins, slots[self.pack.before])
        return np.repeat(rows_before, np.diff(self.bounds)) + ranges(self.slot_states)

    @cached_property
    def sources(self) -> tuple[np.ndarray, np.ndarray]:
        """For each state after the first ones, the first state that leads to it, and how many do."""
        if self.order == 1:  # all of the row before
            before, counts = self.pack.before, np.diff(self.bounds)[self.first :]
            return np.repeat(self.bounds[before], counts), np.repeat(self.row_nodes[before], counts)
        there = self.there[self.first :]  # those in the node that the state comes from
        return (np.cumsum(self.slot_states) - self.slot_states)[there], self.slot_states[there]

    def arcs(self, states: slice) -> Arcs:
        """Lay out the arcs into these states, which come after the first ones."""
        first, widths = (array[states.start - self.first : states.stop - self.first] for array in self.sources)
        return Arcs(states, consecutive(first, widths), np.cumsum(widths) - widths, widths)

    @cached_property
    def step_bounds(self) -> list[int]:
        """First state of each step, and the number of states."""
        bounds: list[int] = self.bounds[np.append(self.pack.starts, len(self.tokens))].tolist()
        return bounds

    @cached_property
    def blocks(self) -> list[list[int]]:
        """Steps after the first, in groups of about BLOCK_ARCS arcs."""
        bounds = np.array(self.step_bounds[1:], np.int64)  # of no pieces at all, an empty list
        before = np.append(0, np.cumsum(self.sources[1]))[bounds - self.first] // BLOCK_ARCS  # blocks before each step
        steps = np.arange(1, len(bounds))
        return [block.tolist() for block in np.split(steps, np.flatnonzero(np.diff(before[:-1])) + 1) if len(block)]

    def block_arcs(self, block: list[int]) -> Arcs:
        """Lay out the arcs of a block of steps."""
        return self.all_arcs if len(self.blocks) == 1 else self.arcs_between(block[0], block[-1] + 1)

    def arcs_between(self, first: int, end: int) -> Arcs:
        """Lay out the arcs of the steps from `first` to the one before `end`."""
        return self.arcs(slice(self.step_bounds[first], self.step_bounds[end]))

    @cached_property
    def all_arcs(self) -> Arcs:
        """All arcs, kept where they fit one block."""
        return self.arcs_between(1, len(self.step_bounds) - 1)

    def forget_layout(self) -> None:
        """Free what only the layout of arcs needs, if all arcs are kept; it is computed again where it is needed."""
        if len(self.blocks) == 1 and self.all_arcs:
            for name in ("here", "there", "sources", "slot_states"):
                self.__dict__.pop(name, None)

    @cached_property
    def ends(self) -> tuple[np.ndarray, np.ndarray]:
        """States that end pieces, and how many each piece has, by rank."""
        last = self.pack.last
        widths = self.bounds[last + 1] - self.bounds[last]
        return consecutive(self.bounds[last], widths), widths


def with_marks(widths: np.ndarray, lengths: np.ndarray, order: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Lay out sentences with `order` marks before and one after each; return tokens, widths and first nodes."""
    token = consecutive(np.cumsum(lengths + order + 1) - lengths - 1, lengths)  # positions of the tokens
    positions = int((lengths + order + 1).sum())
    tokens, width, first = (
        np.full(positions, MARK, np.int64),
        np.ones(positions, np.int64),
        np.full(positions, widths.sum(), np.int64),
    )
    tokens[token], width[token], first[token] = np.arange(len(widths)), widths, np.cumsum(widths) - widths
    return tokens, width, first


def find_pieces(width: np.ndarray, lengths: np.ndarray, order: int, cut: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return the first position of each piece, and the one after its last; `lengths` are those with marks."""
    stops = np.cumsum(lengths)
    if not cut:
        return stops - lengths + order, stops
    free = np.flatnonzero(width > 1)
    sentence = np.repeat(np.arange(len(lengths)), lengths)[free]
    new = np.ones(len(free), bool)  # whether a piece begins here: `order` fixed positions are between, or a border
    new[1:] = (np.diff(free) > order) | (sentence[1:] != sentence[:-1])
    begins = np.flatnonzero(new)
    lasts = np.append(begins[1:], len(free))[: len(begins)] - 1
    return free[begins], np.minimum(free[lasts] + order + 1, stops[sentence[lasts]])


def steps_of(trellis: Trellis, block: list[int], backwards: bool) -> Iterator[tuple[int, int]]:
    """Yield the states of each step of a block, from the first to the one after the last."""
    for t in reversed(block) if backwards else block:
        yield trellis.step_bounds[t], trellis.step_bounds[t + 1]
