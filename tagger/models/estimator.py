"""`Estimator`: scikit-learn's conventions, without scikit-learn.

`clone`, `GridSearchCV`, `cross_val_score` and `Pipeline` find here what they ask an estimator for. scikit-learn itself
is imported only when it asks for tags of its own (`__sklearn_tags__`).
"""

from __future__ import annotations

import inspect
import math
from typing import Any, TypeVar

import numpy as np

from tagger.arrays.npz import MAX_INTEGER
from tagger.errors import TrainingError
from tagger.escaping import Displayable, shortened

Self = TypeVar("Self", bound="Estimator")
TYPES: dict[type, tuple[str, tuple[type, ...]]] = {  # what a setting may be, by the type of its default
    bool: ("True or False", (bool, np.bool_)),
    int: ("a whole number", (int, np.integer)),
    float: ("a finite number", (int, float, np.integer, np.floating)),
    str: ("a string", (str,)),
}


class Estimator(Displayable):
    """An object whose settings are the keyword arguments of its constructor, stored unchanged."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the settings by name; `deep` is ignored (scikit-learn's signature)."""
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def set_params(self: Self, **settings: Any) -> Self:
        """Set settings by name; return the tagger."""
        known = self.get_params()
        if unknown := sorted(settings.keys() - known.keys()):
            raise ValueError(f"{type(self).__name__}: expected one of {', '.join(known)}, got {', '.join(unknown)}.")
        for name, value in settings.items():
            setattr(self, name, value)
        return self

    def check_types(self, kind: type[Exception] = TrainingError) -> None:
        """Refuse a setting that is not of its default's type, and a number that a model file cannot hold.

        Settings that may be of several types are left to others.
        """
        for name, parameter in inspect.signature(type(self)).parameters.items():
            value, (expected, types) = getattr(self, name), TYPES.get(type(parameter.default), ("", ()))
            if types and "|" not in str(parameter.annotation) and not is_setting(value, types):
                raise kind(f"{name}: expected {expected}, got {shortened(repr(value))}")

    def __repr__(self) -> str:
        """Return the call that makes the tagger: the settings that differ from their defaults."""
        defaults = inspect.signature(type(self)).parameters
        settings = {name: value for name, value in self.get_params().items() if value is not defaults[name].default}
        changed = {name: value for name, value in settings.items() if repr(value) != repr(defaults[name].default)}
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in changed.items())})"

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "classes_")

    def __sklearn_tags__(self) -> Any:
        """Return what scikit-learn 1.6 and newer ask for.

        A tagger is no classifier in scikit-learn's sense, where a target is one label: folds are not stratified.
        """
        from sklearn.utils import InputTags, Tags, TargetTags

        inputs = InputTags(one_d_array=True, two_d_array=False, string=True)
        return Tags(estimator_type=None, target_tags=TargetTags(required=False), input_tags=inputs)


def is_setting(value: Any, types: tuple[type, ...]) -> bool:
    """Return whether a value is of these types, and finite or of at most 64 bits, so that a model file can hold it."""
    if not isinstance(value, types) or (isinstance(value, bool) and int in types):
        return False
    if isinstance(value, int | np.integer):
        return abs(int(value)) <= MAX_INTEGER
    return not isinstance(value, float | np.floating) or math.isfinite(value)


class Taggings(list[list[str]]):
    """A list of tag lists that NumPy takes for an array of lists, (B,): scikit-learn joins the folds' predictions."""

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        out = np.empty(len(self), dtype=object)
        for i, tags in enumerate(self):  # an assignment of all would make a matrix of lists of one length
            out[i] = tags
        return out
