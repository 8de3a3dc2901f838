"""The objective of a corpus whose shards are on many workers, and the trainer that uses it.

    loss(w) = Σ_shards loss_s(w) + l2 · ‖w - centre‖²

*Sums are exact.* Adding floating-point numbers gives other digits in another order. So each shard's gradient is rounded
to multiples of a quantum q, and whole numbers are added: in any order, on any number of workers, the sum has the same
bits. A gradient is at most the number of tokens N, so that |Σ| / q ≤ 2^61 for q = 2^-61 · N, rounded up to a power of
two. For a billion tokens that is 5e-10; the residuals of which gradients are sums are exact to 1e-7.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from tagger.crf.lbfgs import LossFunction
from tagger.crf.parameters import ParameterLayout
from tagger.crf.trainer import Trainer
from tagger.integrations.distributed.placement import ShardWorkers, Shared
from tagger.integrations.distributed.worker import Job, Sums, Weights, add, evaluate

BITS = 61  # of a sum; the 62nd and 63rd are left for the sign and for safety


@dataclass
class ShardedCorpus:
    """A corpus on the workers of a cluster, encoded."""

    workers: ShardWorkers
    job: Job
    plan: Shared
    numbering: Shared
    lengths: list[np.ndarray]  # by shard, of the sentences as they are trained on

    @property
    def tokens(self) -> int:
        """The number of tokens."""
        return sum(int(lengths.sum()) for lengths in self.lengths)

    @property
    def quantum(self) -> float:
        """The unit of sums over shards."""
        return 2.0 ** (math.ceil(math.log2(self.tokens)) - BITS)

    def selection(self, sentences: np.ndarray) -> Shared:
        """Distribute a selection of sentences, given by ascending numbers, to the workers."""
        ends = np.cumsum([len(lengths) for lengths in self.lengths])
        parts = np.split(sentences, np.searchsorted(sentences, ends[:-1]))
        begins = [0, *ends[:-1].tolist()]
        numbers = {i: part - begin for i, (part, begin) in enumerate(zip(parts, begins, strict=True))}
        return Shared(self.workers.client, numbers)


class ShardedObjective(LossFunction):
    """The penalised loss of all shards, or of a selection of their sentences, scaled up."""

    def __init__(
        self, corpus: ShardedCorpus, layout: ParameterLayout, l2: float, sentences: np.ndarray | None = None
    ) -> None:
        self.corpus, self.layout, self.l2 = corpus, layout, l2
        self.selection = None if sentences is None else corpus.selection(sentences)
        self.name, self.scale = "all", 1.0
        if sentences is not None:
            tokens = int(np.concatenate(corpus.lengths)[sentences].sum())
            self.name, self.scale = f"sample of {len(sentences)}", corpus.tokens / tokens

    def __call__(self, weights: np.ndarray) -> tuple[float, np.ndarray]:
        sums = self.sums(weights, "loss")
        distance = weights - self.layout.centre
        loss = self.scale * math.fsum(sums.losses.values()) + self.l2 * (distance @ distance)
        gradient = self.unrounded(sums)
        del sums  # arrays of all parameters are large here
        distance *= 2 * self.l2
        gradient += distance
        return float(loss), gradient

    def curvature(self, weights: np.ndarray) -> np.ndarray:
        diagonal = self.unrounded(self.sums(weights, "curvature"))
        of_steps = slice(self.layout.steps_begin, None)
        diagonal[of_steps] = 0.1 * self.layout.counts[of_steps]
        return diagonal + 2 * self.l2

    def unrounded(self, sums: Sums) -> np.ndarray:
        """Return sums over shards, scaled up to the corpus."""
        return sums.total * (self.corpus.quantum * self.scale)

    def sums(self, weights: np.ndarray, method: str) -> Sums:
        """Add the losses and gradients, or curvatures, of all shards."""
        corpus, end = self.corpus, self.layout.features_end
        sent = Shared(corpus.workers.client, Weights(weights[:end].astype(np.float32), weights[end:]))
        args = (corpus.plan, corpus.numbering, sent, corpus.quantum, method, self.name, self.selection)
        sums: Sums = corpus.workers.sum(evaluate, add, corpus.job, *args)
        return sums


@dataclass
class ShardedTrainer(Trainer):
    """A training on shards; `corpus` is a description without sentences."""

    shards: ShardedCorpus | None = field(default=None, kw_only=True)

    def check_memory(self) -> None:
        """Do nothing: the corpus is elsewhere."""

    def likelihood(self, sentences: np.ndarray | None) -> LossFunction:
        assert self.shards is not None
        return ShardedObjective(self.shards, self.layout, self.l2, sentences)
