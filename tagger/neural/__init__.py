"""A BiLSTM-CRF: neural emissions under the same linear chain, trained with PyTorch, run with NumPy alone.

Read in this order:

- `tagger`: `BiLSTMTagger`, which trains, scores and stores like the HMM and the CRF;
- `lookup`, `characters`, `word_vectors`: from words to embedding indices, character sequences and pretrained vectors;
- `numpy_network`, `lstm`: the forward pass over packed sentences, for tagging;
- `torch_network`, `crf_layer`, `tensors`, `trainer`: the same network in PyTorch, its loss and its training loop;
- `occlusion`, `summary`: explanations of a decision and of a model;
- `feedforward`: a smaller network, trained in NumPy, that joins the pool of `tagger train`.

The idea: only training needs PyTorch. It is imported when `fit` is called or `tagger.neural.CRF`, a CRF layer for any
PyTorch network, is accessed; a stored model is plain arrays.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from tagger.errors import TaggerError

OPTIMIZERS = ADAM, SGD = "adam", "sgd"
MODULES = {"CRF": "crf_layer", "BiLSTMTagger": "tagger"}  # of the public names


def need_torch() -> None:
    """Raise a `TaggerError` if PyTorch cannot be imported; called before any other work."""
    try:
        import torch  # noqa: F401
    except ModuleNotFoundError:
        hint = "expected the library PyTorch: pip install 'hmm-crf-tagger[neural]'"
        raise TaggerError(f"cannot train a neural network: {hint}") from None
    except ImportError as error:
        raise TaggerError(f"cannot train a neural network: PyTorch does not load: {error}") from None


def __getattr__(name: str) -> Any:
    """Import `CRF` and `BiLSTMTagger` on first access."""
    if name not in MODULES:
        raise AttributeError(f"module 'tagger.neural' has no attribute {name!r}")
    if name == "CRF":
        need_torch()
    return getattr(import_module(f"tagger.neural.{MODULES[name]}"), name)
