"""An HMM of shards: each is counted where it is, the counts are merged, and the driver estimates.

The counts are those of `tagger.hmm.counting`, and so is the estimator: the model has the bytes of an ordinary training.
Sentences can be left out, so that an HMM which has not seen them proposes candidates for them (`candidates`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import NamedTuple

import numpy as np

from tagger.arrays.npz import narrow
from tagger.arrays.string_table import StringTable
from tagger.corpus.span_schemes import OUTSIDE
from tagger.errors import TrainingError
from tagger.features.word_classes import WordClasses
from tagger.hmm.counting.counts import CellCounts, HMMCounts
from tagger.hmm.counting.frequent import EntryCounts, EntryTokens
from tagger.hmm.counting.tagged_text import TaggedText
from tagger.hmm.smoothing import subsample
from tagger.hmm.tagger import HMMTagger, check_memory
from tagger.hmm.transitions import Steps
from tagger.integrations.distributed.counting import scheme_of_steps
from tagger.integrations.distributed.placement import ShardWorkers, Shared
from tagger.integrations.distributed.shard_cache import LOCK, cache_of
from tagger.integrations.distributed.shards import Shard
from tagger.integrations.distributed.worker import Job, Selection, merged, read
from tagger.normalization import NFC, normalized_keys


class FrequentWords(NamedTuple):
    """The entries of an HMM, frequent words with a tag."""

    tag_set: list[str]  # K
    words: StringTable  # the frequent words
    entries: np.ndarray  # (E,) ascending: word · K + tag, words as in this table


class CountedEntries(NamedTuple):
    """The tags before and after entries, and the number of their tokens in each shard."""

    before: CellCounts
    after: CellCounts
    tokens: dict[int, int]


class Spacing(NamedTuple):
    """Evenly spaced tokens of entries: each `step`-th of the corpus."""

    step: int
    before: dict[int, int]  # by shard, the tokens of entries in the shards before


def text_of(job: Job, shard: Shard) -> TaggedText | None:
    """Return a shard as numbers, without strings; None if it has no sentences."""

    def make() -> TaggedText | None:
        sentences = read(job, shard)
        if not sentences:
            return None
        text = TaggedText.of(sentences, partial=False)
        return replace(text, strings=[], tags=narrow(text.tags), words=narrow(text.words))

    text: TaggedText | None = cache_of(job.token, job.on_disk).get((shard.number, "text"), make)
    return text


def texts_of(job: Job, shards: Sequence[Shard], selection: Selection | None) -> Iterator[tuple[int, TaggedText]]:
    """Yield the numbers and texts of shards that have sentences, all or those of a selection."""
    for shard in shards:
        text = text_of(job, shard)
        if text is None or (selection is not None and not len(selection[shard.number])):
            continue
        text = replace(text, tags=text.tags.astype(np.int64), words=text.words.astype(np.int64))
        yield shard.number, text if selection is None else text.only(selection[shard.number])


def count_text(job: Job, shards: Sequence[Shard], selection: Selection | None) -> HMMCounts | None:
    """Count shards; None if they have no sentences."""
    with LOCK:
        counts: Iterator[HMMCounts | None] = (HMMCounts.of(text) for _, text in texts_of(job, shards, selection))
        return merged(counts, merge_counts)


def merge_counts(several: Sequence[HMMCounts | None]) -> HMMCounts | None:
    """Merge the counts of shards that have sentences."""
    filled = [counts for counts in several if counts is not None]
    return HMMCounts.merged(filled) if filled else None


def add_counts(a: HMMCounts | None, b: HMMCounts | None) -> HMMCounts | None:
    """Merge the counts of two workers."""
    return merge_counts([a, b])


def entry_tokens(
    job: Job, shards: Sequence[Shard], words: FrequentWords, selection: Selection | None
) -> dict[int, EntryTokens]:
    """Find the tokens of entries in shards."""
    found, K = {}, len(words.tag_set)
    for number, text in texts_of(job, shards, selection):
        tags = np.searchsorted(words.tag_set, text.tag_set)[text.tags]
        ids = words.words.ids_of(text.lexicon.words)
        ids = np.where(ids < 0, len(words.words), ids)[text.words]  # one more number for all others
        found[number] = EntryTokens.of(Steps.of(tags, text.lengths, K), ids, words.entries)
    return found


def count_entries(
    job: Job, shards: Sequence[Shard], words: FrequentWords, selection: Selection | None
) -> CountedEntries:
    """Count the tags before and after the entries of shards."""
    E, width = len(words.entries), len(words.tag_set) + 1
    with LOCK:
        nothing = CountedEntries(CellCounts.none(), CellCounts.none(), {})
        tokens = entry_tokens(job, shards, words, selection)
        parts = [CountedEntries(*own.counts(E, width), {number: len(own)}) for number, own in tokens.items()]
        return reduce(add_entries, parts, nothing)


def add_entries(a: CountedEntries, b: CountedEntries) -> CountedEntries:
    """Add the counts of entries."""
    before, after = CellCounts.merged([a.before, b.before]), CellCounts.merged([a.after, b.after])
    return CountedEntries(before, after, a.tokens | b.tokens)


def sample_entries(
    job: Job, shards: Sequence[Shard], words: FrequentWords, selection: Selection | None, spacing: Spacing
) -> dict[int, EntryTokens]:
    """Return evenly spaced tokens of entries, by shard."""
    with LOCK:
        tokens = entry_tokens(job, shards, words, selection)
        first = {number: -spacing.before[number] % spacing.step for number in tokens}
        return {number: own.at(slice(first[number], None, spacing.step)) for number, own in tokens.items()}


@dataclass(frozen=True)
class ShardedText:
    """The text of all shards, or of some sentences: what `TaggedText` is to an ordinary training."""

    workers: ShardWorkers
    job: Job
    selection: Shared | None = None  # the sentences that count, by shard; None for all

    def counts(self) -> HMMCounts:
        """Count the shards, and merge the counts of two workers at a time."""
        counts: HMMCounts | None = self.workers.sum(count_text, add_counts, self.job, self.selection)
        if counts is None:
            raise TrainingError("expected at least one sentence to train on, got an empty corpus")
        return counts

    def count_entries(self, counts: HMMCounts, entries: np.ndarray) -> EntryCounts:
        """Count the tags before and after entries, given by the numbers word · K + tag of the lexicon."""
        words, K = np.unique(entries // counts.K), counts.K
        own = np.searchsorted(words, entries // K) * K + entries % K
        shared = Shared(self.workers.client, FrequentWords(counts.tag_set, counts.lexicon.words.taken(words), own))
        args = (self.job, shared, self.selection)
        counted: CountedEntries = self.workers.sum(count_entries, add_entries, *args)
        before, total = {}, 0
        for number in sorted(counted.tokens):
            before[number], total = total, total + counted.tokens[number]
        by_worker = self.workers.run(sample_entries, *args, Spacing(subsample(total).step, before))
        samples = {number: tokens for of_worker in by_worker for number, tokens in of_worker.items()}
        sample = EntryTokens.joined([samples[number] for number in sorted(samples)])
        return EntryCounts(counted.before, counted.after, sample)


def check_hmm(model: HMMTagger, lexicon: bool, classes: bool) -> None:
    """Refuse settings that are invalid, or need all sentences in one place."""
    model.check_settings()
    if model.partial:
        raise TrainingError("partial: expected False for a training on shards, got True")
    model.textbook.check({"lexicon": lexicon, "classes": classes and model.unknown != "default"})


def learn_hmm(
    model: HMMTagger,
    text: ShardedText,
    lexicon: Mapping[str, Sequence[str]] | None = None,
    classes: WordClasses | None = None,
) -> HMMTagger:
    """Learn an HMM from shards."""
    counts = text.counts()
    check_memory(counts.K, len(counts.lexicon.words))
    model.scheme_ = scheme_of_steps(model.scheme, counts.steps(OUTSIDE), set(counts.tag_set))
    allowed = normalized_keys(lexicon or {})
    normal = classes and classes.normalized(NFC)
    strings = counts.lexicon.words.strings()
    model.estimate(counts, strings, lambda entries: text.count_entries(counts, entries), allowed, normal)
    return model
