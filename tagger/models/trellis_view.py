"""The rows of a trellis that are shown: tags, states, steps and paths, each with its names and numbers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TrellisPath:
    """A tagging of the sentence."""

    tags: list[str]
    probability: float
    score: float | None  # None without a chain


@dataclass(frozen=True)
class TrellisTag:
    """A tag of a token, with its marginal probability."""

    token: int  # from 1
    word: str
    tag: str
    probability: float
    is_best: bool  # whether it is on the best path


@dataclass(frozen=True)
class TrellisState:
    """A state of the chain: a token with a tag and, in a chain of second order, the tag before.

    Attributes
    ----------
    token : int
        The number of the token from 1; 0 is the start, T + 1 the end.
    word, tag : str
        The word is None for start and end, whose tags are ``<start>`` and ``<end>``.
    previous : str or None
        The tag before, in a chain of second order.
    emission : float or None
        The score of the word with the tag; None for start and end.
    delta : float
        The score of the best path up to this state.
    pointer, pointer_tag : int, str
        The state before it on that path: its number in the view, None if it is not there, and its first tag.
    alpha, beta : float
        log Σ exp of all paths up to this state, and of all ways on from it.
    alpha_rest, beta_rest : float
        The share of the states that the view leaves out, before the emission is added; -inf for nothing.
    probability : float
        exp(alpha + beta - log Z).
    is_best : bool
        Whether it is on the best path.
    """

    token: int
    word: str | None
    previous: str | None
    tag: str
    emission: float | None
    delta: float
    pointer: int | None
    pointer_tag: str | None
    alpha: float
    alpha_rest: float
    beta: float
    beta_rest: float
    probability: float
    is_best: bool


@dataclass(frozen=True)
class TrellisStep:
    """A step between two states of a view, which have these numbers."""

    before: int
    after: int
    score: float
    probability: float
    is_best: bool


@dataclass(frozen=True)
class TrellisView:
    """The tags, states and steps that are shown; a model without a chain has tags only."""

    tags: list[TrellisTag]
    states: list[TrellisState]
    steps: list[TrellisStep]
    left_out: int  # states, or tags without a chain
