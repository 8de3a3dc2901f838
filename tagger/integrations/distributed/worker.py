"""The tasks of workers: each takes shards of one worker, and returns what they add up to.

Every stage of a shard is kept (`shard_cache`) and made from the stage before if it is missing, down to the file. So a
task may run on a worker that has never seen its shards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from tagger.corpus.final_marks import MarkChoice
from tagger.corpus.labels import tag_numbers, training_sentences
from tagger.corpus.partial import Choices, renumber_tags
from tagger.crf.candidates.objective import CandidateLikelihood
from tagger.crf.encode import CorpusPlan, EncodedPart, FeatureLimits, ObservedText, encode_text
from tagger.crf.objective import Objective, PenalizedLikelihood
from tagger.crf.parameters import EncodedCorpus, ParameterLayout
from tagger.errors import TrainingError
from tagger.features.encoder import Features
from tagger.features.tag_parts import TagParts
from tagger.integrations.distributed.counting import (
    Counted,
    ShardWords,
    Survey,
    merge_counts,
    renumbered,
    string_ids,
    template_counts,
)
from tagger.integrations.distributed.shard_cache import LOCK, cache_of
from tagger.integrations.distributed.shards import ReadOptions, Shard
from tagger.sentence import Sentence

if TYPE_CHECKING:
    from tagger.integrations.distributed.candidates import CandidatePlan

MERGED_TOGETHER = 8  # shards whose words or features are in memory at a time
Selection = Mapping[int, np.ndarray]  # by shard, the numbers of the sentences that count
Value = TypeVar("Value")
OBJECTIVE = "objective"  # begins the keys of objectives


@dataclass(frozen=True)
class Job:
    """A training, as its tasks see it."""

    token: str
    options: ReadOptions
    on_disk: bool  # whether shards are kept on disk


@dataclass(frozen=True)
class Plan:
    """The decisions about the corpus, and the sentences of each shard that lose their final marks."""

    corpus: CorpusPlan
    marks: list[MarkChoice]


class Numbering(NamedTuple):
    """The features of the corpus, and the tag bigrams that have a weight."""

    features: Features
    seen: np.ndarray


class NotEncoded(Exception):  # noqa: N818 (no error: the driver sends the numbering and asks again)
    """A shard has to be encoded, and the numbering was not sent."""


class Weights(NamedTuple):
    """Weights as they are sent: scores of features are computed in float32 in any case."""

    features: np.ndarray  # (P,) float32
    chain: np.ndarray  # float64

    def at(self, params: np.ndarray) -> np.ndarray:
        """Return the weights of a shard's parameters, the last of which are those of the chain."""
        own = params[: len(params) - len(self.chain)]
        return np.concatenate([self.features[own].astype(np.float64), self.chain])


class Sums(NamedTuple):
    """Losses by shard, and sums over shards in units of the quantum: whole numbers, whose sum has no order."""

    losses: dict[int, float]
    total: np.ndarray  # int64


def read(job: Job, shard: Shard) -> list[Sentence]:
    """Read the sentences of a shard."""
    sentences = list(shard.sentences(job.options))
    return training_sentences(sentences, None) if sentences else []


def survey(job: Job, shards: Sequence[Shard]) -> dict[int, Survey]:
    """Survey shards."""
    wanted = job.options.columns.wanted
    return {shard.number: Survey.of(read(job, shard), wanted) for shard in shards}


def part_of(job: Job, shard: Shard, plan: Plan) -> EncodedPart:
    """Return a shard, encoded by itself."""

    def make() -> EncodedPart:
        sentences = read(job, shard)
        names, tags = tag_numbers(sentences)
        tags, choices = renumber_tags(plan.corpus.tag_set, names, tags, Choices.none(len(names)))
        trained = plan.marks[shard.number].lengths([sentence.words for sentence in sentences])
        observed, limits = ObservedText.of(plan.corpus, sentences, tags, choices), FeatureLimits()
        return encode_text(plan.corpus, observed, trained, limits)

    part: EncodedPart = cache_of(job.token, job.on_disk).get((shard.number, "part"), make)
    return part


def ids_of(job: Job, shard: Shard, part: EncodedPart, strings: Any) -> np.ndarray:
    """Return the ids in the corpus of a shard's strings."""
    key = (shard.number, "strings")
    ids: np.ndarray = cache_of(job.token, job.on_disk).get(key, lambda: string_ids(part, strings))
    return ids


def count_words(job: Job, shards: Sequence[Shard], plan: Plan) -> ShardWords:
    """Encode shards, each by itself, and collect their words."""
    with LOCK:
        parts = ((shard.number, part_of(job, shard, plan)) for shard in shards)
        words = (ShardWords.of(number, part, ParameterLayout(part.corpus, part.counts)) for number, part in parts)
        return merged(words, ShardWords.merged)


def count_template(job: Job, shards: Sequence[Shard], plan: Plan, strings: Any, t: int) -> Counted:
    """Count the parameters of template t."""
    with LOCK:
        tag_parts = TagParts(plan.corpus.tag_set, plan.corpus.separator)
        parts = ((shard, part_of(job, shard, plan)) for shard in shards)
        with_ids = ((part, ids_of(job, shard, part, strings)) for shard, part in parts)
        counted = (template_counts(part, t, ids, int(ids[-2]) + 1) for part, ids in with_ids)
        return merged(counted, lambda several: merge_counts(several, tag_parts, 1))


def merged(values: Iterable[Value], merge: Callable[[list[Value]], Value]) -> Value:
    """Merge values as they come, a few at a time, so that no more are in memory."""
    waiting: list[Value] = []
    for value in values:
        waiting.append(value)
        if len(waiting) == MERGED_TOGETHER:
            waiting = [merge(waiting)]
    return merge(waiting)


def encoded(
    job: Job, shard: Shard, plan: Plan, numbering: Numbering | None
) -> tuple[EncodedCorpus, ParameterLayout, np.ndarray]:
    """Return a shard with the parameters of the corpus, their layout and their numbers.

    The numbering is needed the first time only.
    """
    cache = cache_of(job.token, job.on_disk)

    def make() -> tuple[EncodedCorpus, ParameterLayout, np.ndarray]:
        if numbering is None:
            raise NotEncoded
        part = part_of(job, shard, plan)
        ids = ids_of(job, shard, part, numbering.features.strings)
        return renumbered(part, numbering.features, ids, numbering.seen)

    found: tuple[EncodedCorpus, ParameterLayout, np.ndarray] = cache.get((shard.number, "encoded"), make)
    cache.drop(lambda key: key[0] == shard.number and key[1] in ("part", "strings"))
    return found


def encode_all(job: Job, shards: Sequence[Shard], plan: Plan, numbering: Numbering) -> None:
    """Encode shards, so that the numbering is no longer needed."""
    with LOCK:
        for shard in shards:
            encoded(job, shard, plan, numbering)


def objective_of(
    job: Job,
    shard: Shard,
    plan: Plan,
    numbering: Numbering | None,
    candidates: CandidatePlan | None,
    name: str,
    selection: Selection | None,
) -> tuple[Objective, np.ndarray]:
    """Return the objective of a shard's sentences, or of a selection of them, and the numbers of its parameters.

    On disk there is only its state, without the arrays that an evaluation fills.
    """

    def make() -> tuple[Objective, np.ndarray]:
        corpus, layout, params = encoded(job, shard, plan, numbering)
        if candidates is not None:
            assert numbering is not None
            corpus, layout, params = candidates.added(job, shard, plan, numbering)
        groups = None if selection is None else [selection[shard.number]]
        kind = PenalizedLikelihood if corpus.proposal is None else CandidateLikelihood
        objective = kind(corpus, layout, 0.0, worker_threads(), groups=groups)
        objective.scale = 1.0  # selections are scaled up as a whole
        return objective, params

    def make_state() -> tuple[ObjectiveState, np.ndarray]:
        objective, params = make()
        values = {key: value for key, value in vars(objective).items() if key not in ("residual", "pool")}
        residual = objective.residual
        return ObjectiveState(type(objective), values, residual.shape, residual.dtype), params

    cache, key = cache_of(job.token, job.on_disk), (shard.number, f"{OBJECTIVE} {name}")
    if not job.on_disk:
        kept: tuple[Objective, np.ndarray] = cache.get(key, make)
        return kept
    state, params = cache.get(key, make_state)
    return state.revived(worker_threads()), params


class ObjectiveState(NamedTuple):
    """An objective without the arrays that an evaluation fills."""

    kind: type[Objective]
    values: dict[str, Any]
    shape: tuple[int, ...]  # of the residual
    dtype: np.dtype[Any]

    def revived(self, threads: int) -> Objective:
        """Make the objective."""
        from concurrent.futures import ThreadPoolExecutor

        objective = self.kind.__new__(self.kind)
        vars(objective).update(self.values)
        objective.pool = ThreadPoolExecutor(threads) if threads > 1 else None
        objective.residual = np.empty(self.shape, self.dtype)
        return objective


def evaluate(
    job: Job,
    shards: Sequence[Shard],
    plan: Plan,
    numbering: Numbering | None,
    candidates: CandidatePlan | None,
    weights: Weights,
    quantum: float,
    method: str,
    name: str,
    selection: Selection | None = None,
) -> Sums:
    """Compute the losses of shards and the sum of their gradients, or with the method `curvature` of their curvatures.

    A shard's numbers are rounded to multiples of `quantum`.
    """
    from threadpoolctl import threadpool_limits

    losses = {}
    total = np.zeros(len(weights.features) + len(weights.chain), np.int64)
    cache = cache_of(job.token, job.on_disk)
    numbers = {shard.number for shard in shards}
    with LOCK, threadpool_limits(limits=1, user_api="blas"):
        own = f"{OBJECTIVE} {name}"  # those of samples and trainings that are over are dropped
        cache.drop(lambda key: key[0] not in numbers or (key[1].startswith(OBJECTIVE) and key[1] != own))
        for shard in shards:
            if selection is not None and not len(selection[shard.number]):
                continue
            objective, params = objective_of(job, shard, plan, numbering, candidates, name, selection)
            if method == "curvature":
                loss, result = 0.0, objective.curvature(weights.at(params))
            else:
                loss, result = objective(weights.at(params))
            losses[shard.number] = loss
            add_rounded(total, params, result, quantum)
    return Sums(losses, total)


def add_rounded(total: np.ndarray, params: np.ndarray, values: np.ndarray, quantum: float) -> None:
    """Add values, rounded to multiples of the quantum; the array of values is used up."""
    values *= 1 / quantum  # a power of 2, so exact
    if not max(values.max(initial=0.0), -values.min(initial=0.0)) < 2.0**62:
        raise TrainingError(f"the loss of a shard is too steep: expected numbers below {2.0**62 * quantum:g}")
    total[params] += np.rint(values, out=values).astype(np.int64)


def add(a: Sums, b: Sums) -> Sums:
    """Add sums."""
    return Sums(a.losses | b.losses, a.total + b.total)


def worker_threads() -> int:
    """Return the number of threads of this worker."""
    from distributed import get_worker

    return int(get_worker().state.nthreads)
