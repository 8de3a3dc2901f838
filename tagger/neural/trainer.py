"""Learning a network: epochs of Adam over batches of sentences of like length.

A word is hidden, as if it were unknown, with probability a / (a + its count), so that the spelling learns to speak for
rare words (Kiperwasser & Goldberg 2016). The steps get shorter from the first epoch to the last, and the weights that
count are a running average of those that were learned (Polyak & Juditsky 1992): it is smoother than any of them.

All weights live in one vector, and chance begins anew with every epoch, from the seed and the epoch's number: so a
vector and a number are all that has to be kept to go on where a training was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch

from tagger.arrays.npz import Arrays
from tagger.chain.pack import Pack
from tagger.neural.lookup import InputLookup
from tagger.neural.numpy_network import Sizes
from tagger.neural.torch_network import NetworkBatch, TorchNetwork
from tagger.words.windows import Windows

HIDE = 0.25  # a, above
AVERAGE = 0.998  # of the average stays at every step
LAST_STEP = 0.1  # of the learning rate, at the end
BETAS = (0.9, 0.99)
MOMENTS = ("exp_avg", "exp_avg_sq")  # as PyTorch calls them
LONGEST_GRADIENT = 5.0
MOST_PADDED = 2.0  # tokens by which like lengths may differ, in chance

Pulse = Callable[[float], bool]


@dataclass(frozen=True)
class NetworkCorpus:
    """Sentences as words by number, and their tags."""

    words: Sequence[str]  # distinct
    ids: list[np.ndarray]  # of the words of each sentence
    tags: list[np.ndarray]
    forms: np.ndarray  # (V,) the line of each word in the table of embeddings
    hide: np.ndarray  # (V,) how likely it is to be hidden

    @classmethod
    def of(cls, windows: Windows, lengths: np.ndarray, tags: np.ndarray, lookup: InputLookup) -> NetworkCorpus:
        cuts = np.cumsum(lengths)[:-1]
        forms = lookup.words.find([word.lower() for word in windows.words])
        counts = np.bincount(forms[windows.at(0)], minlength=len(lookup.words))
        hide = HIDE / (HIDE + counts[forms])
        return cls(windows.words, np.split(windows.at(0), cuts), np.split(tags, cuts), forms, hide)


class NetworkTrainer:
    """A network on its way: `epoch` takes it through the corpus once, `judged` is what has come of it."""

    def __init__(
        self,
        corpus: NetworkCorpus,
        lookup: InputLookup,
        module: TorchNetwork,
        rate: float,
        batch_size: int,
        epochs: int,
        seed: int,
    ) -> None:
        self.corpus, self.lookup, self.module = corpus, lookup, module
        self.rate, self.batch_size, self.epochs, self.seed = rate, batch_size, epochs, seed
        self.steps = -(-len(corpus.ids) // batch_size)  # of an epoch
        self.weights = one_vector(module)
        self.average = self.weights.detach().clone()
        self.adam = torch.optim.Adam([self.weights], lr=rate, betas=BETAS)

    def epoch(self, number: int, pulse: Pulse) -> float | None:
        """Pass through the corpus for that time, counted from 1; returns the loss as it was on the way.

        `pulse` hears after each batch which part of the epoch is done; if it answers with True, the epoch ends there,
        and its loss is None.
        """
        random = np.random.default_rng([self.seed, number])
        total = 0.0
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(random.integers(1 << 62)))
            for step, batch in enumerate(self.batches(random)):
                total += self.learn(batch, (number - 1) * self.steps + step)
                if pulse((step + 1) / self.steps) and step + 1 < self.steps:
                    return None
        return total

    def learn(self, batch: NetworkBatch, step: int) -> float:
        done = step / (self.steps * self.epochs)
        self.adam.param_groups[0]["lr"] = self.rate * max(LAST_STEP, 1.0 - (1.0 - LAST_STEP) * done)
        assert self.weights.grad is not None
        self.weights.grad.zero_()
        loss = self.module.loss(batch)
        (loss / len(batch.pack.order)).backward()
        torch.nn.utils.clip_grad_norm_([self.weights], LONGEST_GRADIENT)
        self.adam.step()
        with torch.no_grad():
            self.average.lerp_(self.weights, 1.0 - min(AVERAGE, (1 + step) / (10 + step)))
        return float(loss.detach())

    def batches(self, random: np.random.Generator) -> Iterator[NetworkBatch]:
        """Sentences of about the same length together, the batches in any order."""
        lengths = np.array([len(ids) for ids in self.corpus.ids])
        order = np.argsort(lengths + random.uniform(0, MOST_PADDED, len(lengths)), kind="stable")
        for i in random.permutation(self.steps).tolist():
            yield self.batch(order[i * self.batch_size : (i + 1) * self.batch_size].tolist(), random)

    def batch(self, chosen: list[int], random: np.random.Generator | None = None) -> NetworkBatch:
        """These sentences; by chance, some of their words are hidden."""
        corpus = self.corpus
        pack = Pack.of([len(corpus.ids[i]) for i in chosen])
        ids = np.concatenate([corpus.ids[i] for i in chosen])[pack.tokens]
        tags = np.concatenate([corpus.tags[i] for i in chosen])[pack.tokens]
        distinct, place = np.unique(ids, return_inverse=True)
        words = corpus.forms[ids]
        if random:
            words = np.where(random.random(len(ids)) < corpus.hide[ids], len(self.lookup.words), words)
        return NetworkBatch(pack, self.lookup([corpus.words[i] for i in distinct.tolist()]), place, words, tags)

    def arrays(self, weights: np.ndarray) -> Arrays:
        """The weights (P,) as the network in NumPy names them."""
        present = self.weights.detach().clone()
        with torch.no_grad():
            self.weights.copy_(torch.from_numpy(weights))
            found = self.module.export()
            self.weights.copy_(present)
        return found

    @property
    def judged(self) -> np.ndarray:
        """(P,) the average, which is what a model gets."""
        return self.average.numpy().copy()

    @property
    def state(self) -> np.ndarray:
        """(4P,) all there is to go on from: weights, average, and the two moments of Adam."""
        moments = self.adam.state[self.weights]
        parts = (
            self.weights.detach(),
            self.average,
            *(moments.get(name, torch.zeros_like(self.average)) for name in MOMENTS),
        )
        return torch.cat(parts).numpy()

    def go_on(self, state: np.ndarray, epochs: int) -> None:
        """From what `state` was after so many epochs."""
        weights, average, *moments = torch.from_numpy(state).clone().split(len(self.average))
        with torch.no_grad():
            self.weights.copy_(weights)
        self.average = average
        steps = torch.tensor(float(epochs * self.steps))
        self.adam.state[self.weights] = {"step": steps, **dict(zip(MOMENTS, moments, strict=True))}


def one_vector(module: torch.nn.Module) -> torch.nn.Parameter:
    """All weights of a module in one vector, of which they and their gradients become views."""
    own = [weights for weights in module.parameters() if weights.requires_grad]
    whole = torch.nn.Parameter(torch.cat([weights.detach().flatten() for weights in own]))
    whole.grad = torch.zeros_like(whole)
    for weights, there, slope in zip(own, *(split(vector, own) for vector in (whole.data, whole.grad)), strict=True):
        weights.data, weights.grad = there, slope
    return whole


def split(vector: torch.Tensor, own: list[torch.nn.Parameter]) -> list[torch.Tensor]:
    parts = vector.split([weights.numel() for weights in own])
    return [part.view_as(weights) for part, weights in zip(parts, own, strict=True)]


def new_module(sizes: Sizes, lookup: InputLookup, tags: int, dropout: float, seed: int) -> TorchNetwork:
    """A network with random weights, the same for the same seed; the caller's own chance is not touched."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return TorchNetwork(sizes, len(lookup.words) + 1, len(lookup.alphabet), lookup.vectors.size, tags, dropout)


@contextmanager
def one_thread() -> Iterator[None]:
    """PyTorch on one thread: for batches this small, threads cost more than they bring, and sums depend on them."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
