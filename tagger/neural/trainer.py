"""Training a network: epochs of Adam or plain gradient descent over batches of sentences of similar length.

A word is replaced by the unknown word with probability a / (a + its count), so that the embedding of unknown words is
trained and the characters carry rare words (Kiperwasser & Goldberg 2016). The learning rate falls linearly. A model
gets a running average of the weights (Polyak & Juditsky 1992), which varies less than the last ones.

All weights are views of one vector, and each epoch seeds its own random generator with the seed and its number. So a
vector and the number of the epoch are enough to resume a training.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch

from tagger.arrays.npz import Arrays
from tagger.chain.pack import Pack
from tagger.neural import ADAM
from tagger.neural.lookup import InputLookup
from tagger.neural.numpy_network import Sizes
from tagger.neural.torch_network import NetworkBatch, TorchNetwork
from tagger.words.windows import Windows

WORD_DROPOUT = 0.25  # a, above
AVERAGE_DECAY = 0.998  # weight of the old average at every step
FINAL_RATE = 0.1  # of the learning rate, at the end
BETAS = (0.9, 0.99)
MOMENTS = ("exp_avg", "exp_avg_sq")  # their names in the state dict of Adam
MAX_GRADIENT_NORM = 5.0
LENGTH_NOISE = 2.0  # tokens; the most by which random sorting takes a longer sentence for a shorter one

BatchCallback = Callable[[float], bool]  # gets the finished fraction of the epoch; True stops the training


@dataclass(frozen=True)
class NetworkCorpus:
    """An encoded training corpus with V distinct words."""

    words: Sequence[str]  # distinct
    ids: list[np.ndarray]  # for each sentence the words (T,)
    tags: list[np.ndarray]  # for each sentence the tags (T,)
    forms: np.ndarray  # (V,) rows of the word embeddings
    dropout: np.ndarray  # (V,) the probability of being replaced by the unknown word

    @classmethod
    def of(cls, windows: Windows, lengths: np.ndarray, tags: np.ndarray, lookup: InputLookup) -> NetworkCorpus:
        """Encode a corpus whose sentences have these lengths (B,) and tags (N,)."""
        cuts = np.cumsum(lengths)[:-1]
        forms = lookup.words.find([word.lower() for word in windows.words])
        counts = np.bincount(forms[windows.at(0)], minlength=len(lookup.words))
        dropout = WORD_DROPOUT / (WORD_DROPOUT + counts[forms])
        return cls(windows.words, np.split(windows.at(0), cuts), np.split(tags, cuts), forms, dropout)


class NetworkTrainer:
    """The training of a network: `epoch` is one pass over the corpus, `average_weights` are those of the model."""

    def __init__(
        self,
        corpus: NetworkCorpus,
        lookup: InputLookup,
        module: TorchNetwork,
        learning_rate: float,
        batch_size: int,
        epochs: int,
        seed: int,
        optimizer: str = ADAM,
        weight_decay: float = 0.0,
    ) -> None:
        self.corpus, self.lookup, self.module = corpus, lookup, module
        self.learning_rate, self.batch_size, self.epochs, self.seed = learning_rate, batch_size, epochs, seed
        self.steps = -(-len(corpus.ids) // batch_size)  # per epoch
        self.weights = flattened(module)  # (P,)
        self.average = self.weights.detach().clone()
        options = {"lr": learning_rate, "weight_decay": weight_decay}
        self.optimizer: torch.optim.Optimizer = torch.optim.SGD([self.weights], **options)
        if optimizer == ADAM:
            self.optimizer = torch.optim.Adam([self.weights], betas=BETAS, **options)

    def epoch(self, number: int, pulse: BatchCallback) -> float | None:
        """Train on all batches once and return the sum of their losses, each taken before its step.

        Epochs count from 1. `pulse` is called after each batch; if it returns True, the epoch stops there and the
        result is None.
        """
        random = np.random.default_rng([self.seed, number])
        total = 0.0
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(random.integers(1 << 62)))
            for step, batch in enumerate(self.batches(random)):
                total += self.train_batch(batch, (number - 1) * self.steps + step)
                if pulse((step + 1) / self.steps) and step + 1 < self.steps:
                    return None
        return total

    def train_batch(self, batch: NetworkBatch, step: int) -> float:
        """Take one step of the optimizer, update the average, and return the loss before the step."""
        done = step / (self.steps * self.epochs)
        self.optimizer.param_groups[0]["lr"] = self.learning_rate * max(FINAL_RATE, 1.0 - (1.0 - FINAL_RATE) * done)
        assert self.weights.grad is not None
        self.weights.grad.zero_()
        loss = self.module.loss(batch)
        (loss / len(batch.pack.order)).backward()
        torch.nn.utils.clip_grad_norm_([self.weights], MAX_GRADIENT_NORM)
        self.optimizer.step()
        with torch.no_grad():
            # average = d average + (1 - d) weights; d grows from 0.1, so that the random first weights do not last
            self.average.lerp_(self.weights, 1.0 - min(AVERAGE_DECAY, (1 + step) / (10 + step)))
        return float(loss.detach())

    def batches(self, random: np.random.Generator) -> Iterator[NetworkBatch]:
        """Yield batches of sentences of similar length, in random order."""
        lengths = np.array([len(ids) for ids in self.corpus.ids])
        order = np.argsort(lengths + random.uniform(0, LENGTH_NOISE, len(lengths)), kind="stable")
        for i in random.permutation(self.steps).tolist():
            yield self.batch(order[i * self.batch_size : (i + 1) * self.batch_size].tolist(), random)

    def batch(self, chosen: list[int], random: np.random.Generator | None = None) -> NetworkBatch:
        """Make a batch of the chosen sentences; with `random`, some words are replaced by the unknown word."""
        corpus = self.corpus
        pack = Pack.of([len(corpus.ids[i]) for i in chosen])
        ids = np.concatenate([corpus.ids[i] for i in chosen])[pack.tokens]
        tags = np.concatenate([corpus.tags[i] for i in chosen])[pack.tokens]
        distinct, places = np.unique(ids, return_inverse=True)
        words = corpus.forms[ids]
        if random:
            words = np.where(random.random(len(ids)) < corpus.dropout[ids], len(self.lookup.words), words)
        return NetworkBatch(pack, self.lookup([corpus.words[i] for i in distinct.tolist()]), places, words, tags)

    def arrays(self, weights: np.ndarray) -> Arrays:
        """Convert weights (P,) to arrays by the names of `Sizes.shapes`."""
        present = self.weights.detach().clone()
        with torch.no_grad():
            self.weights.copy_(torch.from_numpy(weights))
            exported = self.module.export()
            self.weights.copy_(present)
        return exported

    @property
    def average_weights(self) -> np.ndarray:
        """The averaged weights (P,), those of the model."""
        return self.average.numpy().copy()

    @property
    def state(self) -> np.ndarray:
        """Everything needed to resume, (4P,): weights, average, and the two moments of Adam, else zeros."""
        saved = self.optimizer.state_dict()["state"].get(
            0, {}
        )  # of parameter 0, the only one; empty before the first step
        moments = (saved.get(name, torch.zeros_like(self.average)) for name in MOMENTS)
        return torch.cat([self.weights.detach(), self.average, *moments]).numpy()

    def resume(self, state: np.ndarray, epochs: int) -> None:
        """Resume from the `state` after this number of epochs."""
        weights, average, *moments = torch.from_numpy(state).clone().split(len(self.average))
        with torch.no_grad():
            self.weights.copy_(weights)
        self.average = average
        if isinstance(self.optimizer, torch.optim.Adam):
            step = {"step": torch.tensor(float(epochs * self.steps))}
            saved = step | dict(zip(MOMENTS, moments, strict=True))
            self.optimizer.load_state_dict(self.optimizer.state_dict() | {"state": {0: saved}})


def flattened(module: torch.nn.Module) -> torch.nn.Parameter:
    """Join all trained parameters of a module in one vector (P,); they and their gradients become views of it."""
    parameters = [parameter for parameter in module.parameters() if parameter.requires_grad]
    whole = torch.nn.Parameter(torch.cat([parameter.detach().flatten() for parameter in parameters]))
    whole.grad = torch.zeros_like(whole)
    sizes = [parameter.numel() for parameter in parameters]
    for parameter, values, slopes in zip(parameters, whole.data.split(sizes), whole.grad.split(sizes), strict=True):
        parameter.data, parameter.grad = values.view_as(parameter), slopes.view_as(parameter)
    return whole


def new_module(sizes: Sizes, lookup: InputLookup, tags: int, dropout: float, seed: int) -> TorchNetwork:
    """Make a network with random weights from a seed; the global random state of PyTorch is left alone."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return TorchNetwork(sizes, len(lookup.words) + 1, len(lookup.alphabet), lookup.vectors.size, tags, dropout)


@contextmanager
def one_thread() -> Iterator[None]:
    """Run PyTorch on one thread: small batches gain nothing from more, and sums would depend on their number."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
