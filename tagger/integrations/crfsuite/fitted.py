"""What `tagger_` of a fitted `CRF` offers: python-crfsuite's `Tagger`, over a `CRFTagger`."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tagger.crf.tagger import CRFTagger
from tagger.errors import several
from tagger.models.store import save_model


@dataclass
class ModelInfo:
    """All weights that are not zero, and the names they belong to, as python-crfsuite's `ParsedDump` has them."""

    transitions: dict[tuple[str, str], float] = field(default_factory=dict)
    state_features: dict[tuple[str, str], float] = field(default_factory=dict)
    header: dict[str, str] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    attributes: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, model: CRFTagger, labels: Sequence[str]) -> ModelInfo:
        """Read the weights of a model."""
        features, names = model.features_, model.classes_
        owners, tags, weights = features.rows.owners.tolist(), features.rows.tags.tolist(), model.weights_.tolist()
        texts = [features.text(feature) for feature in range(len(features.rows))]
        states = {(texts[f], names[k]): w for f, k, w in zip(owners, tags, weights, strict=True)}
        rows, columns = np.nonzero(model.transitions_)
        steps = {(names[i], names[j]): float(model.transitions_[i, j]) for i, j in zip(rows, columns, strict=True)}
        known = list(dict.fromkeys(text for text, _ in states))
        header = {"num_attrs": str(len(known)), "num_labels": str(len(labels))}
        header["num_features"] = str(len(states) + len(steps))
        numbered = ({name: str(i) for i, name in enumerate(own)} for own in (labels, known))
        return cls(steps, states, header, *numbered)


class FittedTagger:
    """Tags one sequence at a time."""

    def __init__(self, model: CRFTagger, labels: Sequence[str]) -> None:
        self.model, self.own_labels = model, list(labels)
        self.sequence: list[Any] = []
        self.marginals: np.ndarray | None = None  # of the sequence, when they are needed
        self.known: ModelInfo | None = None

    def labels(self) -> list[str]:
        """Return the labels, in the order of the training corpus."""
        return list(self.own_labels)

    def set(self, xseq: Any) -> None:
        """Set the sequence that `marginal` and `probability` are about."""
        self.sequence, self.marginals = as_sequence(xseq), None

    def tag(self, xseq: Any = None) -> list[str]:
        """Find the best labels of a sequence; without one, of that which was set."""
        if xseq is not None:
            self.set(xseq)
        return self.model.predict([self.sequence])[0]

    def marginal(self, y: str, pos: int) -> float:
        """Return the probability of a label at a position."""
        if self.marginals is None:
            (self.marginals,) = self.model.predict_marginals([self.sequence])
        return float(self.marginals[pos, self.model.classes_.index(y)])

    def probability(self, yseq: Sequence[str]) -> float:
        """Compute the probability of a sequence of labels."""
        if len(yseq) != len(self.sequence):
            raise ValueError(f"yseq: expected {several(len(self.sequence), 'label')}, got {len(yseq):,}")
        if not self.sequence:
            return 1.0
        tags = np.array([self.model.classes_.index(label) for label in yseq])
        _, lattice = next(self.model.lattices(self.model.sentence_list([self.sequence])))
        return float(np.exp(lattice.path_scores(tags) - lattice.log_z())[0])

    def info(self) -> ModelInfo:
        """Return the weights of the model."""
        self.known = self.known or ModelInfo.of(self.model, self.own_labels)
        return self.known

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"marginals": None, "known": None, "sequence": []}

    def close(self) -> None:
        """Do nothing: no file is open."""


def as_sequence(xseq: Any) -> list[Any]:
    """Return the items of a sequence; of python-crfsuite's `ItemSequence`, as dicts."""
    items = xseq.items() if hasattr(xseq, "items") and not isinstance(xseq, dict) else xseq
    sequence = list(items)
    if sequence and isinstance(sequence[0], str | bytes):
        raise TypeError(f"expected a dict of features for each item of a sequence, got the string {sequence[0]!r}")
    return sequence


def stored_bytes(model: CRFTagger) -> int:
    """Return the size of the model's file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.npz")
        save_model(model, path)
        return path.stat().st_size
