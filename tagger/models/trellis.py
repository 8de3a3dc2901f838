"""`SentenceTrellis`: all numbers of the recursions of one sentence, with words and names of tags.

`chain.recursion_tables` computes them. Here the tags get their names, and a *view* (`trellis_view`) chooses the states
that are worth showing: the most probable tags of each token, and those of the best path. What a sum includes beyond the
states of a view is given as one number, so that every formula can be checked by hand:

    alpha[j] = log (Σ_i exp(alpha[i] + step[i, j]) + exp(alpha_rest[j])) + emission[j]
    beta[i]  = log (Σ_j exp(step[i, j] + emission[j] + beta[j]) + exp(beta_rest[i]))
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tagger.chain.candidate_lattice import CandidateLattice
from tagger.chain.lattice import Lattice
from tagger.chain.recursion_tables import RecursionTables, lattice_tables
from tagger.models.predictor import Predictor
from tagger.models.trellis_view import TrellisPath, TrellisState, TrellisStep, TrellisTag, TrellisView
from tagger.sentence import words_of

START, END = "<start>", "<end>"  # the tags of the marks
TAGS_SHOWN = 5  # per token
CALIBRATED = (
    "The probabilities of tags and taggings allow for right tags that are no candidates; "
    "those of states and steps are the chain's own."
)
NO_STEPS = "A CRF of order 0 has no weights of steps: they all score 0."
NO_CHAIN = (
    "Several models together have the mean of their probabilities and no chain: "
    "no emissions, transitions, delta, alpha, beta or log Z."
)


@dataclass(frozen=True)
class SentenceTrellis:
    """The recursions of one sentence: `print` shows tables of it, a notebook a page.

    Attributes
    ----------
    words, classes : list of str
        The words of the sentence, and all tags of the model.
    kind : str
        The kind of model.
    order : int or None
        1 or 2, the number of tags in a state; None without a chain.
    log_z : float or None
        log Σ exp of the scores of all paths; None without a chain.
    best : TrellisPath or None
        The best tagging; None if no path is allowed.
    paths : list of TrellisPath
        The n best taggings.
    probabilities : ndarray (T, K)
        The probability of each tag at each token.
    tables : RecursionTables or None
        All numbers as arrays (`tagger.chain.recursion_tables`).
    note : str or None
        What is not defined for this model, or defined in another way, and why.
    """

    words: list[str]
    classes: list[str]
    kind: str
    order: int | None
    log_z: float | None
    best: TrellisPath | None
    paths: list[TrellisPath]
    probabilities: np.ndarray  # (T, K)
    tables: RecursionTables | None  # None without a chain, and for a sentence without tokens
    note: str | None

    @property
    def order_name(self) -> str:
        """The order of the model as a word; empty without a chain."""
        if self.note == NO_STEPS:
            return "zeroth"
        return {1: "first", 2: "second"}.get(self.order or 0, "")

    def view(self, tags: int = TAGS_SHOWN) -> TrellisView:
        """Choose the most probable tags of each token and those of the best path; 0 means all that are considered.

        Parameters
        ----------
        tags : int
            The number of tags per token.

        Returns
        -------
        TrellisView
        """
        shown = self.tags_of(self.kept_tags(tags))
        if self.tables is None:
            return TrellisView(shown, [], [], int((self.probabilities > 0).sum()) - len(shown))
        tables, names = self.tables, [*self.classes, START]
        kept = self.kept_states(tags)
        number = np.cumsum(kept) - 1  # in the view
        inside = kept[tables.before] & kept[tables.after]
        best = set(tables.best_states()) if self.best else set()
        rests = rest_sums(tables, kept)
        states = [self.state(i, names, number, kept, rests, i in best) for i in np.flatnonzero(kept).tolist()]
        steps = [
            TrellisStep(
                int(number[tables.before[arc]]),
                int(number[tables.after[arc]]),
                float(tables.steps[arc]),
                float(tables.step_probabilities[arc]),
                {int(tables.before[arc]), int(tables.after[arc])} <= best,
            )
            for arc in np.flatnonzero(inside).tolist()
        ]
        return TrellisView(shown, states, steps, int((~kept).sum()))

    def kept_tags(self, tags: int) -> np.ndarray:
        """Return which tags of each token a view has, (T, K)."""
        T, K = self.probabilities.shape
        kept = np.zeros((T, K), bool)
        order = np.argsort(-self.probabilities, axis=1, kind="stable")[:, : tags or K]
        np.put_along_axis(kept, order, True, axis=1)
        if self.best:
            kept[np.arange(T), [self.classes.index(tag) for tag in self.best.tags]] = True
        return kept

    def kept_states(self, tags: int) -> np.ndarray:
        """Return which states a view has, (states,): those all of whose tags it has."""
        assert self.tables is not None
        marked = np.ones((len(self.words) + 2, len(self.classes) + 1), bool)
        marked[1:-1, :-1] = self.kept_tags(tags)
        kept = marked[self.tables.positions, self.tables.tags[:, -1]]
        if self.tables.order == 2:
            kept &= marked[np.maximum(self.tables.positions - 1, 0), self.tables.tags[:, 0]]
        return kept

    def state(
        self, i: int, names: list[str], number: np.ndarray, kept: np.ndarray, rests: Sequence[np.ndarray], is_best: bool
    ) -> TrellisState:
        """Make the state of a view from state i of the tables."""
        tables = self.tables
        assert tables is not None
        token, pointer = int(tables.positions[i]), int(tables.pointers[i])
        is_mark = not 0 < token <= len(self.words)
        return TrellisState(
            token=token,
            word=None if is_mark else self.words[token - 1],
            tag=END if token > len(self.words) else names[tables.tags[i, -1]],
            previous=names[tables.tags[i, 0]] if tables.order == 2 else None,
            emission=None if is_mark else float(tables.emissions[i]),
            delta=float(tables.delta[i]),
            pointer=int(number[pointer]) if pointer >= 0 and kept[pointer] else None,
            pointer_tag=names[tables.tags[pointer, 0]] if pointer >= 0 else None,
            alpha=float(tables.alpha[i]),
            alpha_rest=float(rests[0][i]),
            beta=float(tables.beta[i]),
            beta_rest=float(rests[1][i]),
            probability=float(tables.probabilities[i]),
            is_best=is_best,
        )

    def tags_of(self, kept: np.ndarray) -> list[TrellisTag]:
        """List the tags that are kept (T, K) and have a probability."""
        best = self.best.tags if self.best else [""] * len(self.words)
        return [
            TrellisTag(
                t + 1, self.words[t], self.classes[k], float(self.probabilities[t, k]), self.classes[k] == best[t]
            )
            for t, k in np.argwhere(kept & (self.probabilities > 0)).tolist()
        ]

    def __str__(self) -> str:
        from tagger.reports.trellis import as_text

        return as_text(self)

    def _repr_html_(self) -> str | None:
        from tagger.reports.trellis_page import notebook_frame

        return notebook_frame(self)


def rest_sums(tables: RecursionTables, kept: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sum up, for the alpha and the beta of each state, the arcs from and to states that are left out, in logs."""
    alpha, beta = np.full((2, len(kept)), -np.inf)
    away, on = ~kept[tables.before], ~kept[tables.after]
    np.logaddexp.at(alpha, tables.after[away], (tables.alpha[tables.before] + tables.steps)[away])
    onward = tables.steps + (tables.emissions + tables.beta)[tables.after]
    np.logaddexp.at(beta, tables.before[on], onward[on])
    return alpha, beta


def sentence_trellis(model: Predictor, sentence: Any, n: int) -> SentenceTrellis:
    """Compute the trellis of one sentence, with its n best taggings."""
    (sentence,) = model.sentence_list([sentence])
    words = list(words_of(sentence))
    kind = getattr(model, "kind", "mean of several models")
    if not words:
        nothing = TrellisPath([], 1.0, 0.0)
        empty = np.zeros((0, len(model.classes_)))
        return SentenceTrellis([], model.classes_, kind, None, 0.0, nothing, [nothing], empty, None, None)
    _, lattice = next(model.lattices([sentence]))
    tables = lattice_tables(lattice)
    note, log_z, probabilities = normalization(lattice, tables)
    if getattr(model, "order", None) == 0:
        note = NO_STEPS

    def path(score: float, numbers: np.ndarray) -> TrellisPath:
        tags = [model.classes_[k] for k in numbers.tolist()]
        return TrellisPath(tags, float(np.exp(score - log_z)), float(score) if tables else None)

    return SentenceTrellis(
        words=words,
        classes=model.classes_,
        kind=kind,
        order=tables.order if tables else None,
        log_z=tables.log_z if tables else None,
        best=path(*best_path(lattice, tables)) if np.isfinite(log_z) else None,
        paths=[path(score, tags) for score, tags in lattice.n_best(n)[0]],
        probabilities=probabilities,
        tables=tables,
        note=note,
    )


def normalization(lattice: Lattice, tables: RecursionTables | None) -> tuple[str | None, float, np.ndarray]:
    """Return what is to be noted about the probabilities, what normalises taggings, and the probabilities of tags.

    They are those of the chain, which are more exact than the lattice's own, unless the lattice calibrates them.
    """
    own = float(lattice.log_z()[0])
    if tables is None:
        return NO_CHAIN, own, lattice.marginals()
    if isinstance(lattice, CandidateLattice) and not np.isclose(own, tables.log_z, rtol=1e-9):
        return CALIBRATED, own, lattice.marginals()
    return None, tables.log_z, tables.marginals(lattice.marginals().shape[1])


def best_path(lattice: Lattice, tables: RecursionTables | None) -> tuple[float, np.ndarray]:
    """Return the score and the tags of the best path, which the back-pointers lead along."""
    if tables is None:
        tags = lattice.best()
        return float(lattice.path_scores(tags)[0]), tags
    states = tables.best_states()
    return float(tables.delta[states[-1]]), tables.tags[states[1:-1], -1]
