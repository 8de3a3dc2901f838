"""The training of a pool on shards: the steps of `pooled.trainer`, where sentences are on the workers.

What differs is where things are counted. The trainers of both CRFs are those of shards; occurrences of parameters,
coverage, and opinions on sentences left out are computed by shard and joined in the order of shards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from tagger.crf.lbfgs import LossFunction
from tagger.crf.parameters import ParameterLayout
from tagger.crf.tagger import CRFTagger
from tagger.crf.trainer import Trainer
from tagger.integrations.distributed.candidates import CandidatePlan, cross_fit, hmm_settings, split_by_shard
from tagger.integrations.distributed.objective import ShardedCorpus, ShardedObjective, ShardedTrainer
from tagger.integrations.distributed.placement import Shared
from tagger.integrations.distributed.shard_cache import LOCK
from tagger.integrations.distributed.shards import Shard
from tagger.integrations.distributed.worker import Job, Numbering, Plan, Selection, encoded, read
from tagger.pooled.held_out import ParameterCounts
from tagger.pooled.lattice import Opinion
from tagger.pooled.opinion_weights import OpinionSample, count_coverage, estimate_coverage
from tagger.pooled.trainer import PooledTrainer, add_opinions


def count_parameters(
    job: Job,
    shards: Sequence[Shard],
    plan: Plan,
    numbering: Numbering,
    candidates: CandidatePlan,
    selection: Selection,
    size: int,
) -> np.ndarray:
    """Count how often each of the corpus's parameters (P,) is on the right paths of a selection of sentences."""
    total = np.zeros(size)  # whole numbers, whose sum is exact
    with LOCK:
        for shard in shards:
            corpus, layout, params = candidates.added(job, shard, plan, numbering)
            total[params] += ParameterCounts(corpus, layout).of(selection[shard.number])
    return total


def count_candidates(
    job: Job, shards: Sequence[Shard], plan: Plan, numbering: Numbering, candidates: CandidatePlan
) -> np.ndarray:
    """Count the candidates of shards for their coverage."""
    counts = []
    with LOCK:
        for shard in shards:
            corpus, _, _ = encoded(job, shard, plan, numbering)
            counts.append(count_coverage(candidates.proposed(job, shard, plan, corpus).candidates, corpus.tags))
    return np.sum(counts, axis=0)


def give_opinions(
    job: Job,
    shards: Sequence[Shard],
    plan: Plan,
    numbering: Numbering,
    candidates: CandidatePlan,
    selection: Selection,
    members: Sequence[CRFTagger],
) -> dict[int, OpinionSample]:
    """Compute the opinions of the HMM and of CRFs on a selection of sentences, by shard."""
    samples = {}
    with LOCK:
        for shard in shards:
            samples[shard.number] = OpinionSample(members=1 + len(members))
            if len(fold := selection[shard.number]):
                corpus, _, _ = encoded(job, shard, plan, numbering)
                corpus = replace(corpus, cross_fitted=candidates.proposed(job, shard, plan, corpus))
                add_opinions(samples[shard.number], corpus, read(job, shard), fold, members)
    return samples


@dataclass
class ShardedPooledTrainer(PooledTrainer):
    """A training of the CRFs of a pool on shards; `corpus` is a description without sentences."""

    shards: ShardedCorpus = field(kw_only=True)

    def check_memory(self) -> None:
        """Do nothing: the corpus is elsewhere."""

    def network_training(self) -> None:
        """Return None: a network needs the sentences here."""

    def likelihood(self, sentences: np.ndarray | None) -> LossFunction:
        return ShardedObjective(self.shards, self.layout, self.l2, sentences)

    def dense_trainer(self) -> Trainer:
        corpus, end = replace(self.corpus, proposal=None), self.layout.bounds[3]  # of the weights that it has too
        nowhere = replace(corpus, lengths=np.empty(0, np.int64))  # its tokens
        layout = ParameterLayout(nowhere, self.layout.counts[: self.layout.features_end], self.layout.seen)
        layout.counts = self.layout.counts[:end]
        return ShardedTrainer(corpus, layout, *self.settings(), shards=replace(self.shards, candidates=None))

    def trainer_without(self, fold: np.ndarray, others: np.ndarray, kept: np.ndarray) -> Trainer:
        plan, number = self.candidate_plan, self.fold_of(fold)
        hmms, numbers = cross_fit(self.shards, hmm_settings(self.corpus), self.corpus.features.classes, others)
        chosen = np.full(len(self.corpus.lengths), len(hmms), np.int64)  # the HMM of the fold, which has not seen it
        chosen[others] = np.maximum(numbers, 0)
        hmms = [*hmms, plan.hmms[number]]
        name, folds = f"{plan.name} without fold {number}", split_by_shard(self.shards, chosen)
        without = Shared(self.shards.workers.client, replace(plan, name=name, hmms=hmms, folds=folds))
        shards = replace(self.shards, candidates=without)
        return ShardedTrainer(self.corpus, self.layout, *self.settings(), others, kept, shards=shards)

    @property
    def candidate_plan(self) -> CandidatePlan:
        """The candidates of the whole corpus."""
        assert self.shards.candidates is not None
        plan: CandidatePlan = self.shards.candidates.value
        return plan

    def fold_of(self, sentences: np.ndarray) -> int:
        """Return the number of the fold that the first of these sentences belongs to."""
        folds = self.candidate_plan.folds
        return int(np.concatenate([folds[number] for number in sorted(folds)])[sentences[0]])

    def counts_of(self, sentences: np.ndarray) -> np.ndarray:
        args = (*self.arguments(), self.shards.selection(sentences), self.layout.size)
        counts: np.ndarray = self.shards.workers.sum(count_parameters, np.add, *args)
        return counts

    def coverage(self) -> np.ndarray:
        return estimate_coverage(self.shards.workers.sum(count_candidates, np.add, *self.arguments()))

    def add_opinions(
        self, sample: OpinionSample, weights: Sequence[np.ndarray], fold: np.ndarray, others: Sequence[Opinion]
    ) -> None:
        selection, members = self.shards.selection(fold), Shared(self.shards.workers.client, self.members(weights))
        by_worker = self.shards.workers.run(give_opinions, *self.arguments(), selection, members)
        samples = {number: own for of_worker in by_worker for number, own in of_worker.items()}
        for number in sorted(samples):
            sample.extend(samples[number])

    def arguments(self) -> tuple[Job, Shared, Shared, Shared | None]:
        """Return the first arguments of tasks on the corpus and its candidates."""
        shards = self.shards
        return shards.job, shards.plan, shards.numbering, shards.candidates
