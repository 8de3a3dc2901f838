"""`CRF`: the constructor, methods and attributes of `sklearn_crfsuite.CRF`, for `algorithm="lbfgs"`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tagger.crf.tagger import CRFTagger
from tagger.errors import ModelError, TaggerError, TrainingError
from tagger.features.valued import Selection
from tagger.integrations.crfsuite.fitted import FittedTagger, ModelInfo, as_sequence, stored_bytes
from tagger.integrations.crfsuite.metrics import flat_accuracy_score
from tagger.integrations.crfsuite.training import CRFsuiteTagger, LinePerIteration, TrainingLog, holdout_scores
from tagger.models.estimator import Estimator
from tagger.models.store import load_model, save_model
from tagger.sentence import tag_lists

UNLIMITED = 10**6  # iterations
LINE_SEARCHES = (None, "MoreThuente", "Backtracking", "StrongBacktracking")
ALGORITHMS = {  # of CRFsuite that are not here, and what to use instead
    "l2sgd": "lbfgs minimises the same loss with c1=0",
    "ap": "use lbfgs, with max_iterations=30 if time is short",
    "pa": "use lbfgs, with max_iterations=30 if time is short",
    "arow": "use lbfgs, with max_iterations=30 if time is short",
}


@dataclass(eq=False, repr=False)
class CRF(Estimator):
    """A conditional random field on dicts of features, with the interface of `sklearn_crfsuite.CRF`.

    Parameters
    ----------
    algorithm : str, optional
        ``lbfgs``, the default. Other algorithms are refused.
    min_freq : float, optional
        Lowest sum of the values of a pair of attribute and label, and lowest count of a pair of labels. Default 0.
    all_possible_states, all_possible_transitions : bool, optional
        Learn weights for pairs of attribute and label, or of two labels, that do not occur in the training data.
    c1, c2 : float, optional
        Weights of the penalty ``c1 · ‖w‖₁ + c2 · ‖w‖²``, by default 0 and 1.
    max_iterations : int, optional
        Limit on the iterations; none by default, and with 0.
    period, delta : int and float, optional
        Training stops when the loss falls by less than `delta` of itself in `period` iterations; 10 and 1e-5. With a
        `period` of 0 it goes on.
    num_memories, epsilon, linesearch, max_linesearch
        Accepted and checked; the optimiser here has no use for them. So are the settings of other algorithms.
    verbose : bool
        Print a line for each iteration.
    model_filename : str, optional
        File for the model, of the format of `save_model`. It is written by `fit`, and read if `fit` is not called.
    keep_tempfiles : bool
        Accepted; there are no temporary files.
    trainer_cls : class, optional
        With `verbose`, an instance is made, whose methods `on_iteration(log, info)` and `on_optimization_end(log)` are
        called in place of the printing.

    Examples
    --------
    >>> X = [[{"word": "the"}, {"word": "dog"}], [{"word": "a"}, {"word": "cat"}]]
    >>> crf = CRF(c1=0.1, c2=0.1, max_iterations=100)
    >>> crf.fit(X, [["DT", "NN"], ["DT", "NN"]]).predict_single([{"word": "a"}, {"word": "dog"}])
    ['DT', 'NN']
    """

    algorithm: str | None = None
    min_freq: float | None = None
    all_possible_states: bool | None = None
    all_possible_transitions: bool | None = None
    c1: float | None = None
    c2: float | None = None
    max_iterations: int | None = None
    num_memories: int | None = None
    epsilon: float | None = None
    period: int | None = None
    delta: float | None = None
    linesearch: str | None = None
    max_linesearch: int | None = None
    calibration_eta: float | None = None
    calibration_rate: float | None = None
    calibration_samples: int | None = None
    calibration_candidates: int | None = None
    calibration_max_trials: int | None = None
    pa_type: int | None = None
    c: float | None = None
    error_sensitive: bool | None = None
    averaging: bool | None = None
    variance: float | None = None
    gamma: float | None = None
    verbose: bool = False
    model_filename: str | None = None
    keep_tempfiles: bool = False
    trainer_cls: Any = None

    def __post_init__(self) -> None:
        self.training_log_: TrainingLog | None = None
        self.fitted: FittedTagger | None = None

    def fit(self, X: Iterable[Any], y: Iterable[Any], X_dev: Any = None, y_dev: Any = None) -> CRF:
        """Train a model.

        Parameters
        ----------
        X, y : lists of sequences
            Dicts of features, and labels.
        X_dev, y_dev : lists of sequences, optional
            Data that the model is evaluated on when training is over; the figures are in the log's last iteration.

        Returns
        -------
        CRF
        """
        if (X_dev is None) != (y_dev is None):
            raise ValueError("X_dev, y_dev: expected both or none of them, got one")
        sequences, labels = [as_sequence(xseq) for xseq in X], tag_lists(y)
        model = self.new_model()
        model.hooks = self.hooks()
        model.fit(sequences, labels)
        own = list(dict.fromkeys(label for yseq in labels for label in yseq))
        self.fitted, self.training_log_ = FittedTagger(model, own), model.log_
        if X_dev is not None:
            gold = [list(yseq) for yseq in y_dev]
            (self.training_log_.last_iteration or {}).update(holdout_scores(own, gold, self.predict(X_dev).tolist()))
        if model.hooks is not None:
            model.hooks.on_optimization_end(f"Stopped because {model.summary_['stopped']}\n")
        model.hooks = None
        if self.model_filename is not None:
            save_model(model, self.model_filename)
        return self

    def new_model(self) -> CRFsuiteTagger:
        """Make the tagger of these settings, and check them."""
        if self.algorithm not in (None, "lbfgs"):
            advice = ALGORITHMS.get(self.algorithm, "leave it out")
            raise TrainingError(f"algorithm: expected lbfgs, got {self.algorithm!r}. Instead, {advice}.")
        if self.linesearch not in LINE_SEARCHES:
            known = ", ".join(map(str, LINE_SEARCHES[1:]))
            raise TrainingError(f"linesearch: expected {known}, got {self.linesearch!r}")
        model = CRFsuiteTagger(
            l1=self.number("c1", 0.0),
            l2=self.number("c2", 1.0),
            max_iterations=int(self.number("max_iterations", 0, whole=True)) or UNLIMITED,
            candidates="all",
            scheme="none",
        )
        model.period = int(self.number("period", 10, whole=True))
        model.delta = self.number("delta", 1e-5)
        all_states, all_steps = self.flag("all_possible_states"), self.flag("all_possible_transitions")
        model.chosen = Selection(self.number("min_freq", 0.0), all_states, all_steps, edges=False, zeros=True)
        return model

    def flag(self, name: str) -> bool:
        """Return a setting that is True or False; None is False."""
        if (value := getattr(self, name)) not in (None, False, True):
            raise TrainingError(f"{name}: expected True or False, got {value!r}")
        return bool(value)

    def number(self, name: str, default: float, whole: bool = False) -> float:
        """Return a setting that is a number from 0 up, and not infinite; a whole one may be a float, as in CRFsuite."""
        value = default if (given := getattr(self, name)) is None else given
        try:
            fits = 0 <= value < math.inf and (not whole or value == int(value))
        except TypeError:
            fits = False
        if not fits:
            raise TrainingError(f"{name}: expected a {'whole ' * whole}number from 0 up, got {given!r}")
        return float(value)

    def hooks(self) -> Any:
        """Return the object that is told of iterations, if `verbose`."""
        if not self.verbose:
            return None
        names = (name for name in self.get_params() if name not in ("verbose", "model_filename", "keep_tempfiles"))
        params = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        return (self.trainer_cls or LinePerIteration)(algorithm=self.algorithm, params=params, verbose=True)

    @property
    def tagger_(self) -> FittedTagger | None:
        """The fitted tagger; None before `fit`, unless `model_filename` names a model."""
        if self.fitted is None and self.model_filename is not None and Path(self.model_filename).exists():
            model = load_model(self.model_filename)
            if not isinstance(model, CRFTagger):
                raise ModelError(f"{self.model_filename}: expected a CRF, got another model. Call fit first.")
            self.fitted = FittedTagger(model, model.classes_)
        return self.fitted

    def predict(self, X: Iterable[Any]) -> np.ndarray:
        """Find the best labels of each sequence, as an array of lists."""
        tagged = self.model.predict([as_sequence(xseq) for xseq in X])
        return np.array(list(tagged), dtype=object)

    def predict_single(self, xseq: Any) -> list[str]:
        """Find the best labels of one sequence."""
        return self.model.predict([as_sequence(xseq)])[0]

    def predict_marginals(self, X: Iterable[Any]) -> np.ndarray:
        """Compute the probability of each label at each item: for each sequence a list of dicts, by label."""
        labels, names = self.classes_ or [], self.model.classes_
        columns = [names.index(label) for label in labels]
        tables = self.model.predict_marginals([as_sequence(xseq) for xseq in X])
        rows = [[dict(zip(labels, row, strict=True)) for row in P[:, columns].tolist()] for P in tables]
        return np.array(rows, dtype=object)

    def predict_marginals_single(self, xseq: Any) -> list[dict[str, float]]:
        """Compute the probability of each label at each item of one sequence."""
        return list(self.predict_marginals([xseq])[0])

    def score(self, X: Iterable[Any], y: Sequence[Sequence[str]]) -> float:
        """Compute the share of items with the right label."""
        return flat_accuracy_score(y, self.predict(X).tolist())

    @property
    def model(self) -> CRFTagger:
        """The tagger behind this estimator, for `save_model`, `explain` and all else; an error before `fit`."""
        if self.tagger_ is None:
            raise TaggerError("CRF: expected a fitted estimator. Call fit first.")
        return self.tagger_.model

    @property
    def info(self) -> ModelInfo | None:
        """All weights; None before `fit`."""
        return None if self.tagger_ is None else self.tagger_.info()

    @property
    def classes_(self) -> list[str] | None:
        """The labels, in the order of the training data."""
        return None if self.tagger_ is None else self.tagger_.labels()

    @property
    def size_(self) -> int | None:
        """The size of the model's file in bytes."""
        return None if self.tagger_ is None else stored_bytes(self.tagger_.model)

    @property
    def num_attributes_(self) -> int | None:
        """The number of attributes with a weight that is not zero."""
        return None if self.info is None else len(self.info.attributes)

    @property
    def attributes_(self) -> list[str] | None:
        """The attributes with a weight that is not zero."""
        return None if self.info is None else list(self.info.attributes)

    @property
    def state_features_(self) -> dict[tuple[str, str], float] | None:
        """The weights of pairs of an attribute and a label."""
        return None if self.info is None else self.info.state_features

    @property
    def transition_features_(self) -> dict[tuple[str, str], float] | None:
        """The weights of pairs of a label and the next one."""
        return None if self.info is None else self.info.transitions

    def __sklearn_is_fitted__(self) -> bool:
        return self.tagger_ is not None
