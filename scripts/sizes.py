"""What storing a CRF's weights in fewer bits does to the file, the time to load it, and the accuracy.

    python scripts/sizes.py TRAIN DEV

Trains once with the default settings, keeps the weights as they are, then stores them in several ways.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from tagger import CRFTagger, load_model, read_corpus, save_model
from tagger.crf import model_arrays


def half(weights: np.ndarray) -> np.ndarray:
    return weights.astype(np.float16).astype(np.float32)


def rounded_to(levels: int):
    def change(weights: np.ndarray) -> np.ndarray:
        model_arrays.LEVELS = levels
        return model_arrays.rounded(weights)

    return change


WAYS = {
    "float32": lambda weights: weights,
    "float16": half,
    "float16, below 0.01 left out": lambda weights: half(np.where(np.abs(weights) < 0.01, 0.0, weights)),
    **{f"rounded to {levels} levels": rounded_to(levels) for levels in (2048, 512, 128)},
}


def main(train: str, dev: str) -> None:
    model_arrays.LEVELS = 1 << 22  # as good as none
    model, gold = CRFTagger().fit(read_corpus(train)), read_corpus(dev)
    features, weights = model.features_, model.weights_
    print("| stored as | MB | loading, ms | accuracy |\n|---|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.npz")
        for name, change in WAYS.items():
            model.features_, model.weights_ = features, change(weights)
            model.drop_zeros()
            save_model(model, path)
            seconds = []
            for _ in range(7):
                begin = time.perf_counter()
                load_model(path)
                seconds.append(time.perf_counter() - begin)
            size, loading = path.stat().st_size / 1e6, 1000 * statistics.median(seconds)
            print(f"| {name} | {size:.2f} | {loading:.0f} | {100 * model.score(gold):.2f} |", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
