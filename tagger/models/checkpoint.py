"""Checkpoints: the state of a training on disk, so that it can be resumed.

A checkpoint holds the weights, the best ones on the dev set, and fingerprints of everything they depend on. Resuming
with another corpus, dev set, template or tag set is refused with the reason.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from tagger.arrays.npz import Archive, open_archive, write_archive
from tagger.errors import ModelError, TrainingError
from tagger.escaping import quote
from tagger.files.reading import exists, reason
from tagger.files.writing import atomic_writer
from tagger.sentence import Sentence

MAX_ITERATIONS = 1 << 31


def is_checkpoint(path: str) -> bool:
    """Return True for a regular file with the members that `Checkpoint.save` writes."""
    if not Path(path).is_file():
        return False
    with suppress(ModelError, FileNotFoundError), open_archive(path) as archive:
        return archive.left.keys() == {"meta.npy", "weights.npy", "best.npy"}
    return False


def corpus_fingerprint(sentences: Iterable[Sentence] | None, columns: Sequence[str] = ()) -> str:
    """Hash the words, tags and these columns of a corpus; None differs from an empty corpus."""
    if sentences is None:
        return fingerprint([None])
    return fingerprint((s.words, s.tags, *((s.columns or {}).get(name) for name in columns)) for s in sentences)


def fingerprint(values: Iterable[object]) -> str:
    """Hash the representations of values."""
    digest = hashlib.sha256()
    for value in values:
        digest.update(repr(value).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


@dataclass
class State:
    """The state of a training after an iteration."""

    iteration: int
    weights: np.ndarray
    best_iteration: int = 0
    best_accuracy: float | None = None
    best_weights: np.ndarray = field(default_factory=lambda: np.empty(0))


def read_state(archive: Archive, size: int, best_size: int) -> State:
    """Read the state from a checkpoint whose description has been read, and check it."""
    iteration, best_iteration = (archive.setting(name, int) for name in ("iteration", "best_iteration"))
    ordered = 0 <= best_iteration <= iteration < MAX_ITERATIONS
    archive.check(ordered, f"expected best_iteration up to iteration, got {best_iteration} and {iteration}")
    accuracy = archive.meta.get("best_accuracy")
    fits = accuracy is None or (isinstance(accuracy, float) and 0 <= accuracy <= 1)
    archive.check(fits, f"expected a best_accuracy from 0.0 to 1.0, got {quote(str(accuracy))}")
    best = archive.take("best", "f", 0 if accuracy is None else best_size)  # empty without a dev set
    return State(iteration, archive.take("weights", "f", size), best_iteration, accuracy, best)


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint file and its use.

    With `keep` it stays when training ends. The command line sets that, and removes the file after it has saved the
    model, so that one of the two always exists.
    """

    path: str | os.PathLike[str]
    every: int = 10  # iterations between two writes
    resume: bool = False  # start from the file
    keep: bool = False

    def check_place(self) -> None:
        """Raise TrainingError if the path is another file: it would be overwritten, and removed in the end."""
        if exists(self.path) and not is_checkpoint(os.fspath(self.path)):
            name = os.fspath(self.path)
            raise TrainingError(f"{name}: expected a checkpoint, got another file. Move it, or name another path.")

    def save(self, state: State, prints: dict[str, str]) -> None:
        """Write the state, with fingerprints of what it depends on, atomically."""
        meta = {
            "iteration": state.iteration,
            "best_iteration": state.best_iteration,
            "best_accuracy": state.best_accuracy,
            "prints": prints,
        }
        arrays = {
            "meta": np.frombuffer(json.dumps(meta).encode(), np.uint8),
            "weights": state.weights,
            "best": state.best_weights,
        }
        self.check_place()
        with atomic_writer(self.path) as stream:
            write_archive(stream, arrays, compressed=False)

    def load(self, prints: dict[str, str], size: int, best_size: int | None = None) -> State:
        """Read the state of a training with these fingerprints and `size` weights; `best_size` if the best differ."""
        name = os.fspath(self.path)
        if not exists(name):
            raise TrainingError(f"{name}: expected a checkpoint to resume from, got no file. Start without resuming.")
        try:
            with open_archive(name) as archive:
                archive.read_description()
                self.compare(archive.setting("prints", dict), prints)
                return read_state(archive, size, size if best_size is None else best_size)
        except (OSError, ModelError) as error:
            raise TrainingError(f"{name}: cannot resume: {reason(error)}") from error

    def compare(self, saved: dict[str, str], now: dict[str, str]) -> None:
        """Raise TrainingError if fingerprints differ."""
        differ = [name for name, value in now.items() if saved.get(name) != value]
        if differ:
            problem = f"cannot resume: it belongs to another {' and another '.join(differ)}"
            raise TrainingError(f"{os.fspath(self.path)}: {problem}. Use the same, or start without resuming.")

    def remove(self) -> None:
        """Remove the file, if it is a checkpoint."""
        self.check_place()
        Path(self.path).unlink(missing_ok=True)
