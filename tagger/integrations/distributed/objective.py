"""The objective of a corpus whose shards are on many workers, and the trainer that uses it.

    loss(w) = Σ_shards loss_s(w) + l2 · ‖w - centre‖²

*Sums are exact.* Adding floating-point numbers gives other digits in another order. So each shard's gradient is rounded
to multiples of a quantum q, and whole numbers are added: in any order, on any number of workers, the sum has the same
bits. A gradient is at most the number of tokens N, so that |Σ| / q ≤ 2^61 for q = 2^-61 · N, rounded up to a power of
two. For a billion tokens that is 5e-10; the residuals of which gradients are sums are exact to 1e-7.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import numpy as np

from tagger.crf.lbfgs import LossFunction
from tagger.crf.parameters import ParameterLayout
from tagger.crf.trainer import Trainer
from tagger.errors import TaggerError
from tagger.integrations.distributed.placement import ATTEMPTS, ShardWorkers, Shared
from tagger.integrations.distributed.worker import Job, NotEncoded, Sums, Weights, add, encode_all, evaluate

BITS = 61  # of a sum; the 62nd and 63rd are left for the sign and for safety
POSTERIOR_BITS = 5  # more for the weight of the HMM's log-probability, whose feature is at least log(1e-10)


@dataclass
class ShardedCorpus:
    """A corpus on the workers of a cluster, encoded."""

    workers: ShardWorkers
    job: Job
    plan: Shared
    numbering: Shared
    lengths: list[np.ndarray]  # by shard, of the sentences as they are trained on
    candidates: Shared | None = None  # for a CRF over candidates
    is_encoded: bool = False  # whether workers have been sent the numbering, which is as large as the weights

    @property
    def tokens(self) -> int:
        """The number of tokens."""
        return sum(int(lengths.sum()) for lengths in self.lengths)

    @property
    def quantum(self) -> float:
        """The unit of sums over shards."""
        spare = 0 if self.candidates is None else POSTERIOR_BITS
        return 2.0 ** (math.ceil(math.log2(self.tokens)) + spare - BITS)

    def evaluate(self, *args: Any) -> Sums:
        """Evaluate all shards, without the numbering: it is sent to workers that have to encode a shard only."""
        if self.candidates is not None:
            return self.workers.sum(evaluate, add, self.job, self.plan, self.numbering, *args)
        for _ in range(ATTEMPTS):
            if not self.is_encoded:
                self.workers.run(encode_all, self.job, self.plan, self.numbering)
                self.numbering.renew()
                self.is_encoded = True
            with suppress(NotEncoded):  # another worker has the shards of one that died
                return self.workers.sum(evaluate, add, self.job, self.plan, None, *args)
            self.is_encoded = False
        raise TaggerError(f"scheduler: expected workers that stay alive, got {ATTEMPTS} failures of one task")

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
        kind = "all tags" if corpus.candidates is None else corpus.candidates.value.name
        self.name, self.scale = kind, 1.0
        if sentences is not None:
            tokens = int(np.concatenate(corpus.lengths)[sentences].sum())
            self.name = f"{kind}, {blake2b(sentences.tobytes(), digest_size=16).hexdigest()}"
            self.scale = corpus.tokens / tokens

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
        args = (corpus.candidates, sent, corpus.quantum, method, self.name, self.selection)
        return corpus.evaluate(*args)


@dataclass
class ShardedTrainer(Trainer):
    """A training on shards; `corpus` is a description without sentences."""

    shards: ShardedCorpus | None = field(default=None, kw_only=True)

    def check_memory(self) -> None:
        """Do nothing: the corpus is elsewhere."""

    def likelihood(self, sentences: np.ndarray | None) -> LossFunction:
        assert self.shards is not None
        return ShardedObjective(self.shards, self.layout, self.l2, sentences)
