"""The network in NumPy against the same network in PyTorch: what `scripts/bench.py neural` does.

Both get the same stored model and the same sentences in the same batches; both look words up, compute emissions and
decode them with the one Viterbi there is. NumPy has one thread, as when it tags, PyTorch as many as it is given. NumPy
may keep what it has computed for a word, but begins every round with nothing.
"""

from __future__ import annotations

import statistics
import time

import numpy as np
import torch

from tagger import load_model, read_corpus
from tagger.chain.kernels import DenseMax
from tagger.chain.pack import Pack, batches
from tagger.chain.scores import Chain
from tagger.chain.viterbi import viterbi
from tagger.neural.numpy_network import NumpyNetwork
from tagger.neural.torch_network import NetworkBatch, TorchNetwork
from tagger.words.windows import Windows

FEW = 32  # sentences of a small batch


def compare(path: str, text: str, rounds: int, threads: int) -> list[dict]:
    """For large and for small batches: the largest difference of emissions, and tokens a second on both sides."""
    model = load_model(path)
    sentences = [sentence.words for sentence in read_corpus(text)]
    lengths = [len(words) for words in sentences]
    by_length = np.argsort(lengths, kind="stable")
    sides = {"numpy": numpy_side, "pytorch": torch_side}
    found = []
    for name, groups in {
        "about 16,000 tokens": batches(lengths),
        f"{FEW} sentences": [by_length[i : i + FEW] for i in range(0, len(lengths), FEW)],
    }.items():
        work = [[sentences[i] for i in group.tolist()] for group in groups]
        seconds = {side: [] for side in sides}
        torch.set_num_threads(threads)
        difference = largest_difference(model, work)
        for _ in range(rounds):
            for side, start in sides.items():
                seconds[side].append(timed(start(model), model, work))
        speeds = {side: sum(lengths) / statistics.median(values) for side, values in seconds.items()}
        found.append({"batches": name, "difference": difference, **speeds})
    return found


def timed(emissions, model, work) -> float:
    begin = time.perf_counter()
    for sentences in work:
        pack = Pack.of([len(words) for words in sentences])
        scores = (model.weights_[name] for name in ("start", "transitions", "end"))
        viterbi(DenseMax(Chain(pack, *scores, emissions(sentences, pack))))
    return time.perf_counter() - begin


def largest_difference(model, work) -> float:
    a, b = numpy_side(model), torch_side(model)
    packs = [Pack.of([len(words) for words in sentences]) for sentences in work]
    differ = (np.abs(a(own, pack) - b(own, pack)).max(initial=0.0) for own, pack in zip(work, packs, strict=True))
    return float(max(differ))


def numpy_side(model):
    network = NumpyNetwork(model.lookup_, model.sizes, model.weights_)
    return lambda sentences, pack: network(sentences)[pack.tokens]


def torch_side(model):
    lookup = model.lookup_
    unknown = len(lookup.words)
    module = TorchNetwork(
        model.sizes, unknown + 1, len(lookup.alphabet), lookup.vectors.size, len(model.classes_), model.dropout
    )
    module.load_weights(model.weights_)
    module.eval()

    def emissions(sentences, pack):
        windows = Windows.of(sentences, 0)
        spelled, distinct = lookup(windows.words), windows.at(0)[pack.tokens]
        words = np.where(spelled.words < 0, unknown, spelled.words)[distinct]
        with torch.inference_mode():
            return module.emissions(NetworkBatch(pack, spelled, distinct, words)).numpy()

    return emissions


def show(found: list[dict], table) -> None:
    rows = [
        [
            row["batches"],
            f"{row['difference']:.1e}",
            f"{row['numpy']:,.0f}",
            f"{row['pytorch']:,.0f}",
            f"{row['numpy'] / row['pytorch']:.2f}",
        ]
        for row in found
    ]
    table(["batches of", "largest difference", "NumPy, tokens/s", "PyTorch, tokens/s", "NumPy ÷ PyTorch"], rows)
