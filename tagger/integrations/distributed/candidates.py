"""Candidates of shards: HMMs that have not seen a sentence propose its candidates, as in an ordinary training.

The folds are those of `crf.candidates.proposal`, made of blocks from all over the corpus. Each fold is counted without
the others on all shards, so that its HMM is that of an ordinary training; workers have all HMMs, and propose for the
sentences of their shards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from tagger.arrays.ragged import consecutive
from tagger.chain.candidate_lattice import Candidates
from tagger.corpus.span_schemes import AUTO, NO_SCHEME
from tagger.crf.candidates.proposal import Proposal, block_folds, joined, propose_all, renumbered, with_gold
from tagger.crf.encode import Encoding
from tagger.crf.parameters import EncodedCorpus, ParameterLayout, tag_trigrams
from tagger.hmm.counting.counts import CellCounts
from tagger.hmm.tagger import HMMTagger
from tagger.integrations.distributed.hmm import ShardedText, learn_hmm
from tagger.integrations.distributed.objective import ShardedCorpus
from tagger.integrations.distributed.placement import Shared
from tagger.integrations.distributed.shard_cache import LOCK, cache_of
from tagger.integrations.distributed.shards import Shard
from tagger.integrations.distributed.worker import Job, Numbering, Plan, encoded, merged, part_of, read

EncodedShard = tuple[EncodedCorpus, ParameterLayout, np.ndarray]  # a shard, its layout, the numbers of its parameters


@dataclass(frozen=True)
class CandidatePlan:
    """The HMMs that propose, and the chain of the CRF over their candidates."""

    name: str
    order: int
    trigrams: np.ndarray  # the tag trigrams of the corpus
    threshold: float
    hmms: list[HMMTagger]
    folds: Mapping[int, np.ndarray]  # by shard, the HMM that proposes for each sentence

    def added(self, job: Job, shard: Shard, plan: Plan, numbering: Numbering) -> EncodedShard:
        """Return an encoded shard with its candidates; the right tags are among them."""
        corpus, layout, params = encoded(job, shard, plan, numbering)
        proposed = self.proposed(job, shard, plan, corpus)
        with_right, is_right, _ = with_gold(proposed, corpus.tags, corpus.choices, self.threshold)
        corpus = replace(corpus, proposal=with_right, is_right=is_right, cross_fitted=proposed)
        no_counts = np.zeros(layout.features_end)
        layout = ParameterLayout(corpus, no_counts, layout.seen, self.order, self.trigrams)
        chain = len(numbering.features.rows.tags) + np.arange(layout.size - layout.features_end)
        return corpus, layout, np.concatenate([params[: layout.features_end], chain])

    def proposed(self, job: Job, shard: Shard, plan: Plan, corpus: EncodedCorpus) -> Proposal:
        """Return the candidates of a shard, without the right tags."""

        def make() -> Proposal:
            sentences, folds = read(job, shard), self.folds[shard.number]
            words = [s.words[:n] for s, n in zip(sentences, corpus.lengths.tolist(), strict=True)]
            begins = np.cumsum(corpus.lengths) - corpus.lengths
            proposals, tokens = [], []
            for number, hmm in enumerate(self.hmms):
                fold = np.flatnonzero(folds == number)
                of_fold = propose_all(hmm, [words[i] for i in fold.tolist()], self.threshold) if len(fold) else []
                proposals += [renumbered(one, hmm.classes_, plan.corpus.tag_set) for one in of_fold]
                tokens.append(consecutive(begins[fold], corpus.lengths[fold]))
            return joined(proposals).only(np.argsort(np.concatenate(tokens)))

        key = (shard.number, f"proposal {self.name}")
        proposal: Proposal = cache_of(job.token, job.on_disk).get(key, make)
        return proposal


class ProposalFigures(NamedTuple):
    """Number of candidates of some shards, and of right tags that are none of them."""

    nodes: int
    missed: int  # tokens whose right tag was no candidate


def count_trigrams(job: Job, shards: Sequence[Shard], plan: Plan) -> CellCounts:
    """Count the tag trigrams of shards."""
    with LOCK:
        parts = (CellCounts(*tag_trigrams(part_of(job, shard, plan).corpus)) for shard in shards)
        return merged(parts, CellCounts.merged)


def propose_candidates(
    job: Job, shards: Sequence[Shard], plan: Plan, numbering: Numbering, candidates: CandidatePlan
) -> ProposalFigures:
    """Propose the candidates of shards, and count them."""
    nodes = missed = 0
    with LOCK:
        for shard in shards:
            corpus, _, _ = encoded(job, shard, plan, numbering)
            proposed = candidates.proposed(job, shard, plan, corpus)
            with_right, _, missing = with_gold(proposed, corpus.tags, corpus.choices, candidates.threshold)
            nodes, missed = nodes + len(with_right.log_posterior), missed + missing
    return ProposalFigures(nodes, missed)


def no_proposal() -> Proposal:
    """Propose nothing, for the description of a corpus whose tokens are elsewhere."""
    nothing = np.empty(0, np.int64)
    return Proposal(Candidates(nothing, nothing), np.empty(0), np.empty(0, bool))


def cross_fit(
    shards: ShardedCorpus, settings: dict[str, Any], classes: Any, sentences: np.ndarray
) -> tuple[list[HMMTagger], np.ndarray]:
    """Learn the HMMs of the folds of these sentences, given by ascending numbers, each from the other folds.

    Returned are the HMMs, and the number of the one that has not seen each sentence. A single sentence has no others:
    then there is none.
    """
    hmms, fold_of = [], np.full(len(sentences), -1, np.int64)
    for number, fold in enumerate(block_folds(len(sentences))):
        rest = np.delete(sentences, fold)
        fold_of[fold] = number
        if len(rest):
            text = ShardedText(shards.workers, shards.job, shards.selection(rest))
            hmms.append(learn_hmm(HMMTagger(**settings), text, classes=classes))
    return hmms, fold_of


def hmm_settings(corpus: EncodedCorpus) -> dict[str, Any]:
    """Return the settings of HMMs that propose."""
    return {"scheme": NO_SCHEME if corpus.allowed is None else AUTO}


def add_candidates(
    shards: ShardedCorpus, encoding: Encoding, order: int, threshold: float
) -> tuple[ShardedCorpus, Encoding]:
    """Add candidates to an encoded corpus on shards; the layout gets the weights of a chain of this order."""
    workers, job = shards.workers, shards.job
    trigrams = CellCounts.none()
    if order == 2:
        trigrams = CellCounts.merged(workers.run(count_trigrams, job, shards.plan))
    settings, classes = hmm_settings(encoding.corpus), encoding.corpus.features.classes
    sentences = np.arange(sum(map(len, shards.lengths)))
    hmms, fold_of = cross_fit(shards, settings, classes, sentences)
    proposer = learn_hmm(HMMTagger(**settings), ShardedText(workers, job), classes=classes)
    proposer.scheme_ = encoding.scheme
    folds = split_by_shard(shards, np.maximum(fold_of, 0))
    plan = CandidatePlan("candidates", order, trigrams.keys, threshold, hmms or [proposer], folds)
    with_plan = replace(shards, candidates=Shared(workers.client, plan))
    figures = workers.run(propose_candidates, job, shards.plan, shards.numbering, with_plan.candidates)
    corpus = replace(encoding.corpus, proposal=no_proposal())
    dense = encoding.layout
    nowhere = replace(corpus, lengths=np.empty(0, np.int64))  # its tokens
    layout = ParameterLayout(nowhere, dense.counts[: dense.features_end], dense.seen, order, trigrams.keys)
    nodes = sum(own.nodes for own in figures)
    layout.counts = np.concatenate([dense.counts, trigrams.counts, [nodes]])
    encoding = replace(encoding, corpus=corpus, layout=layout, threshold=threshold, proposer=proposer)
    return with_plan, replace(encoding, lexicon=proposer.lexicon_, missed=sum(own.missed for own in figures))


def split_by_shard(shards: ShardedCorpus, values: np.ndarray) -> dict[int, np.ndarray]:
    """Cut values of all sentences into those of each shard."""
    ends = np.cumsum([len(lengths) for lengths in shards.lengths])
    return dict(enumerate(np.split(values, ends[:-1])))
