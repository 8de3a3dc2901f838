"""Neural emissions under the same chain: learned with PyTorch, run with NumPy alone.

`tagger.neural.CRF` is a layer for anybody's network. PyTorch is imported when something is to be learned, or when the
layer is asked for; a stored model never needs it.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from tagger.errors import TaggerError

HOMES = {"CRF": "crf_layer", "BiLSTMTagger": "tagger"}


def need_torch() -> None:
    """Before any work is done: whether there is what learns."""
    try:
        import torch  # noqa: F401
    except ModuleNotFoundError:
        hint = "expected the library PyTorch: pip install 'hmm-crf-tagger[neural]'"
        raise TaggerError(f"cannot train a neural network: {hint}") from None
    except ImportError as error:
        raise TaggerError(f"cannot train a neural network: PyTorch does not load: {error}") from None


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        raise AttributeError(f"module 'tagger.neural' has no attribute {name!r}")
    if name == "CRF":
        need_torch()
    return getattr(import_module(f"tagger.neural.{HOMES[name]}"), name)
