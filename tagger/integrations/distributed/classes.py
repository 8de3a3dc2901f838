"""Word classes from raw text on a cluster: words and their neighbours are counted by shard, and added in order.

Clustering itself sees the counts only (`features.clustering`), so that the classes are those of one process, as long as
there are no more different words than it holds at a time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from tagger.corpus.formats import format_of
from tagger.features.clustering import (
    MIN_COUNT,
    ClusteringCallback,
    NeighbourCounter,
    NeighbourCounts,
    WordCounts,
    blocks,
    count_words,
    learn_from_counts,
    neighbour_counts,
)
from tagger.features.word_classes import SIZES, WordClasses
from tagger.integrations.distributed.executor import DaskExecutor
from tagger.integrations.distributed.shards import ReadOptions, Shard, cut

if TYPE_CHECKING:
    from distributed import Client

    from tagger.tagging.workers import Work

ShardToRead = tuple[Shard, ReadOptions]


def learn_classes(
    client: Client,
    files: Sequence[str],
    sizes: Sequence[int] = SIZES,
    min_count: int = MIN_COUNT,
    *,
    encoding: str = "utf-8",
    corpora: Sequence[str] = (),
    corpus_options: ReadOptions | None = None,
    watch: ClusteringCallback = lambda progress: None,
    vectors: bool = False,
) -> WordClasses:
    """Learn word classes from files that the workers of a cluster read.

    Parameters
    ----------
    client : distributed.Client
        Connection to the cluster.
    files : sequence of str
        Raw text: lines of words between spaces, unless the suffix is .conllu, .jsonl or .tsv.
    sizes : sequence of int
        Numbers of classes.
    min_count : int
        Words that occur fewer times get no class.
    encoding : str
        Encoding of the raw text.
    corpora : sequence of str
        Tagged files whose words count, too.
    corpus_options : ReadOptions, optional
        How to read them.
    watch : callable
        Gets a `ClusteringProgress` after every shard and iteration.
    vectors : bool
        Whether words get vectors, too, for the network of a pool.

    Returns
    -------
    WordClasses
    """
    options = corpus_options or ReadOptions()
    shards: list[ShardToRead] = [(shard, options) for shard in cut(corpora, options)]
    for path in files:
        raw = ReadOptions(format_of(path), encoding, tagged=False)
        shards += [(shard, raw) for shard in cut([path], raw)]
    run = DaskExecutor(client)

    def count_shards(start: Callable[[], Work]) -> Iterator[Any]:
        return run(start, ((shard, False) for shard in shards))

    def count_neighbours(words: list[str]) -> Iterator[NeighbourCounts]:
        return count_shards(partial(neighbour_task, words))

    return learn_from_counts(count_shards(word_task), count_neighbours, sizes, min_count, watch, vectors)


def word_task() -> Work:
    """Make the task that counts the words of a shard."""

    def count(shard: ShardToRead) -> WordCounts:
        total: Counter[str] = Counter()
        tokens = 0
        for block in map(count_words, blocks(words_of(*shard))):
            total.update(block.words)
            tokens += block.tokens
        return WordCounts(total, tokens)

    return count


def neighbour_task(words: list[str]) -> Work:
    """Make the task that counts the neighbours of words in a shard."""
    counter = NeighbourCounter(words)

    def count(shard: ShardToRead) -> NeighbourCounts:
        parts = [*map(counter, blocks(words_of(*shard))), counter([])]  # a shard may be empty
        table = neighbour_counts(parts, 0, lambda progress: None)
        return NeighbourCounts(table, sum(part.tokens for part in parts))

    return count


def words_of(shard: Shard, options: ReadOptions) -> Iterator[Sequence[str]]:
    """Yield the sentences of a shard."""
    return (sentence.words for sentence in shard.sentences(options))
