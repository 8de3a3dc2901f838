"""What a training has reached, on disk, so that nothing is lost when the machine dies.

A checkpoint holds the weights, the best ones on the dev set, and fingerprints of everything they belong to: resuming
with another corpus, dev set, template or tag set would be nonsense, and is refused with the reason.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
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

MOST_ITERATIONS = 1 << 31


def is_checkpoint(path: str) -> bool:
    """A regular file that holds what `Checkpoint.save` writes; not a device, nor a model."""
    if not Path(path).is_file():
        return False
    with suppress(ModelError, FileNotFoundError), open_archive(path) as archive:
        return archive.left.keys() == {"meta.npy", "weights.npy", "best.npy"}
    return False


def corpus_fingerprint(sentences: Iterable[Sentence] | None) -> str:
    """Hash the words and tags of a corpus; none at all differs from an empty one."""
    return fingerprint([None] if sentences is None else ((sentence.words, sentence.tags) for sentence in sentences))


def fingerprint(parts: Iterable[object]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(repr(part).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


@dataclass
class State:
    """Where a training stands."""

    iteration: int
    weights: np.ndarray
    best_iteration: int = 0
    best_accuracy: float | None = None
    best_weights: np.ndarray = field(default_factory=lambda: np.empty(0))


def read_state(archive: Archive, size: int, best_size: int) -> State:
    """Take the state out of a checkpoint whose description has been read, and check that its parts fit together."""
    iteration, best_iteration = (archive.setting(name, int) for name in ("iteration", "best_iteration"))
    rising = 0 <= best_iteration <= iteration < MOST_ITERATIONS
    archive.check(rising, f"expected best_iteration up to iteration, got {best_iteration} and {iteration}")
    accuracy = archive.meta.get("best_accuracy")
    share = accuracy is None or (isinstance(accuracy, float) and 0 <= accuracy <= 1)
    archive.check(share, f"expected a best_accuracy from 0.0 to 1.0, got {quote(str(accuracy))}")
    best = archive.take("best", "f", 0 if accuracy is None else best_size)  # there are none without a dev set
    return State(iteration, archive.take("weights", "f", size), best_iteration, accuracy, best)


@dataclass(frozen=True)
class Checkpoint:
    """A file, how often it is written, whether to begin with what it holds, and whether it stays when training ends:
    whoever saves the model removes it after that, so that at any moment one of the two is there."""

    path: str | os.PathLike[str]
    every: int = 10
    resume: bool = False
    keep: bool = False

    def check_place(self) -> None:
        """Refuse a place where something else is: it would be written over, and removed in the end."""
        if exists(self.path) and not is_checkpoint(os.fspath(self.path)):
            raise TrainingError(f"{os.fspath(self.path)} is no checkpoint: move it away, or name another --checkpoint")

    def save(self, state: State, prints: dict[str, str]) -> None:
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
        """What was saved, if it belongs to the training with these fingerprints and so many weights; the best may be of
        another size."""
        name = os.fspath(self.path)
        if not exists(name):
            raise TrainingError(f"cannot resume: there is no checkpoint {name!r}; leave out --resume to begin anew")
        try:
            with open_archive(name) as archive:
                archive.read_description()
                self.compare(archive.setting("prints", dict), prints)
                return read_state(archive, size, size if best_size is None else best_size)
        except (OSError, ModelError) as error:
            raise TrainingError(f"cannot resume from {name}: {reason(error)}") from error

    def compare(self, saved: dict[str, str], now: dict[str, str]) -> None:
        differ = [name for name, value in now.items() if saved.get(name) != value]
        if differ:
            raise TrainingError(
                f"cannot resume from {os.fspath(self.path)}: it belongs to another {' and another '.join(differ)}; "
                "name the same as before, or leave out --resume to begin anew"
            )

    def remove(self) -> None:
        self.check_place()
        Path(self.path).unlink(missing_ok=True)
