"""`Tagger`, the contract of all models.

A `Predictor` tags; a `Tagger` also learns, can be stored and explains itself. To add a model:

1. Make a package with a subclass of `Tagger` that has a `kind` and keyword-only settings with defaults. `__init__`
   stores them unchanged (scikit-learn's convention). `fit` sets `classes_`, `lexicon_`, `seen_` and `summary_`; all
   attributes that it sets have a trailing underscore.
2. Write the abstract methods: `scorer_in_form` fills a lattice (`chain.lattice` has two forms), `score_terms` splits a
   score into terms, `arrays` and `restore` go to and from the model file.
3. Add its name to `tagger.__init__` and its kind to `models.store`, a command to `cli.commands`, and a row to the
   contract test (`tests/test_models.py`).
"""

from __future__ import annotations

import inspect
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tagger.arrays.npz import Archive, Arrays
from tagger.arrays.thread_turns import PerThread
from tagger.chain.lattice import Scorer
from tagger.features.observer import Observer
from tagger.files.resources import reuse_freed_memory
from tagger.models.estimator import Estimator
from tagger.models.predictor import SCORERS_IN_FORM, Predictor
from tagger.models.summary import Section, TransitionTable, parameter_sizes, tag_frequencies
from tagger.sentence import Words

if TYPE_CHECKING:
    from tagger.models.labeled import LabeledTables

Terms = Callable[[Sequence[int], int], dict[str, float]]  # from a path and a token to terms of the path's score


class Tagger(Estimator, Predictor):
    """A part-of-speech tagger that learns, can be stored, and explains its tags."""

    kind: ClassVar[str]  # its name in model files
    later_settings: ClassVar[tuple[str, ...]] = ()  # older versions lack them; not stored if all have their defaults
    uses_vectors: ClassVar[bool] = False  # whether it learns from the vectors of words in raw text
    explanation_note: ClassVar[str | None] = None  # how to read the terms of `score_terms`
    summary_: dict[str, Any]  # facts about the training, without dates and durations
    card_: str | None = None  # model card (`models.card`)

    @abstractmethod
    def fit(self, X: Iterable[Any], y: Iterable[Any] | None = None, X_dev: Any = None, y_dev: Any = None) -> Tagger:
        """Learn from tagged sentences; without `y`, X holds tagged Sentences."""

    @abstractmethod
    def scorer_in_form(self) -> Scorer:
        """Build a scorer of sentences whose words are in the model's normalisation form."""

    def observer(self) -> Observer:
        """Return the function from sentences to what the model sees of them: words in its normalisation form."""
        return Observer(self.lexicon_.form)

    def kept_scorer_in_form(self) -> Scorer:
        """Return such a scorer of the calling thread, with its cache, for a model that this one proposes tags to."""
        scorers: PerThread[Scorer] = self.__dict__.setdefault(SCORERS_IN_FORM, PerThread())
        return scorers.get(self.scorer_in_form)

    def build_scorer(self) -> Scorer:
        reuse_freed_memory()
        score, observe = self.scorer_in_form(), self.observer()
        return lambda sentences: score(observe(sentences))

    @abstractmethod
    def score_terms(self, words: Words) -> Terms:
        """Make a function of a path (T tags as numbers) and a token t of a sentence as `observer` returns it.

        It returns the terms of the path's score that depend on the tag of t, by names that do not depend on it.
        """

    @abstractmethod
    def arrays(self) -> Arrays:
        """Return all that `fit` learned, as named arrays."""

    @abstractmethod
    def restore(self, archive: Archive) -> None:
        """Set the attributes from the arrays of a file; settings and `classes_` are set already."""

    def summarize(self) -> list[Section]:
        """Build the tables that `tagger inspect` prints."""
        sizes: list[list[Any]] = [
            ["kind", self.kind],
            ["tags", len(self.classes_)],
            ["words", len(self.lexicon_.words)],
            ["normalization", self.lexicon_.form or "none: words unchanged"],
            *([["span scheme", self.scheme_]] if self.scheme_ else []),
            ["ambiguous words", int((self.lexicon_.rows.widths > 1).sum())],
            *([["tokenizer", self.tokenizer_]] if self.tokenizer_ else []),
        ]
        return [
            Section("model", sizes),
            Section("settings", [[name, value] for name, value in self.stored_settings().items()]),
            Section("training", [[name, value] for name, value in self.summary_.items()]),
            tag_frequencies(self.classes_, self.lexicon_),
            parameter_sizes(self.arrays()),
        ]

    def tag_counts(self) -> np.ndarray:
        """Count the training tokens of each tag, (K,)."""
        return self.lexicon_.tag_counts(len(self.classes_))

    def transition_table(self) -> TransitionTable | None:
        """Return the table for the heat map of `tagger inspect`, or None if the model has none."""
        return None

    def tables(self) -> LabeledTables:
        """Return functions that make the tables of `tagger inspect --table`, by name."""
        return {}

    def describe(self) -> dict[str, Any]:
        """Return further entries of the model file's description."""
        return {}

    def stored_settings(self) -> dict[str, Any]:
        """Return the settings that the model file stores: those that change the result, so no paths and threads."""
        # `scheme_` and the score on the dev set are stored as the model's own
        unstored, settings = {"scheme", "metric"}, self.get_params()
        defaults = inspect.signature(type(self)).parameters
        if all(settings[name] == defaults[name].default for name in self.later_settings):
            unstored.update(self.later_settings)
        return {
            name: value.item() if isinstance(value, np.generic) else value
            for name, value in settings.items()
            if name not in unstored
        }
