"""What is counted of a corpus before weights are learned: tags, words and features, by shard, and merged.

A shard is encoded by itself first, with all features that occur in it. Strings, words and features then get the
numbers that they have in the whole corpus; those are the numbers of an ordinary training, since strings are numbered by
their hash and counts are added. Features are merged template by template, so that the many that occur once, and are
left out, are never in one place all together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from tagger.arrays.ragged import RaggedRows
from tagger.arrays.string_table import StringTable
from tagger.corpus.final_marks import EndingCounts
from tagger.corpus.span_schemes import AUTO, NO_SCHEME, OUTSIDE, SCHEMES, fits, may_follow
from tagger.crf.encode import EncodedPart
from tagger.crf.parameters import EncodedCorpus, ParameterLayout
from tagger.crf.warm_start import with_none
from tagger.errors import TrainingError
from tagger.escaping import quote
from tagger.features.encoder import Features, count_parameters
from tagger.features.keys import join, split
from tagger.features.tag_parts import TagParts
from tagger.features.template import Template
from tagger.features.word_classes import WordClasses
from tagger.models.checkpoint import corpus_fingerprint
from tagger.sentence import Sentence
from tagger.words.lexicon import Lexicon
from tagger.words.windows import MARKS

MERGED_ENTRIES = 1 << 19  # parameters that are sorted at a time, about
Counted = tuple[np.ndarray, np.ndarray, np.ndarray]  # keys, columns and counts, of the parameters of a template


@dataclass(frozen=True)
class Survey:
    """Facts about all shards that are needed before any of them can be encoded."""

    lengths: np.ndarray  # (sentences,)
    tags: frozenset[str]
    steps: frozenset[tuple[str, str]]  # pairs of tags, with O outside of sentences
    endings: EndingCounts
    first: Sentence | None
    fingerprint: str

    @classmethod
    def of(cls, sentences: Sequence[Sentence], wanted: Sequence[str]) -> Survey:
        """Survey the sentences of a shard; `wanted` are the columns that features look at."""
        steps: set[tuple[str, str]] = set()
        for sentence in sentences:
            steps.update(pairwise([OUTSIDE, *(sentence.tags or ()), OUTSIDE]))
        return cls(
            np.fromiter(map(len, sentences), np.int64, len(sentences)),
            frozenset(tag for sentence in sentences for tag in sentence.tags or ()),
            frozenset(steps),
            EndingCounts.of([sentence.words for sentence in sentences]),
            sentences[0] if sentences else None,
            corpus_fingerprint(sentences, wanted),
        )


@dataclass(frozen=True)
class ShardWords:
    """The words, strings and steps of some shards."""

    lexicon: Lexicon
    strings: StringTable
    seen: np.ndarray  # marks of the sentences
    bigrams: np.ndarray  # (K, K) counts
    edges: np.ndarray  # (2, K) counts of first and last tags
    lengths: dict[int, np.ndarray]  # by shard, of the sentences as they are trained on

    @classmethod
    def of(cls, number: int, part: EncodedPart, layout: ParameterLayout) -> ShardWords:
        """Collect the words of a shard."""
        K, bounds = layout.K, layout.bounds
        bigrams = np.zeros(K * K)
        bigrams[layout.seen] = layout.counts[bounds[0] : bounds[1]]
        edges = layout.counts[bounds[1] : bounds[3]].reshape(2, K)
        strings, lengths = part.corpus.features.strings, {number: part.corpus.lengths}
        return cls(part.lexicon, strings, part.seen, bigrams.reshape(K, K), edges, lengths)

    @classmethod
    def merged(cls, several: Sequence[ShardWords]) -> ShardWords:
        """Merge the words of shards."""
        return cls(
            Lexicon.union([words.lexicon for words in several], len(several[0].bigrams)),
            StringTable.union([words.strings for words in several])[0],
            np.unique(np.concatenate([words.seen for words in several])),
            np.sum([words.bigrams for words in several], axis=0),
            np.sum([words.edges for words in several], axis=0),
            {number: lengths for words in several for number, lengths in words.lengths.items()},
        )


def global_keys(features: Features, t: int, strings: np.ndarray, radix: int) -> np.ndarray:
    """Translate the keys of a shard's template t to the ids that its strings, marks and none have in the corpus."""
    ids = split(features.keys[t], features.radix, len(features.templates[t].conjuncts))
    return join([strings[row] for row in ids], radix)


def template_counts(part: EncodedPart, t: int, strings: np.ndarray, radix: int) -> Counted:
    """List the parameters of template t in a shard, by ascending key: key, column and count."""
    features = part.corpus.features
    a, b = features.bases[t : t + 2].tolist()
    entries = slice(*features.rows.bounds[[a, b]].tolist())
    keys = np.repeat(global_keys(features, t, strings, radix), features.rows.widths[a:b])
    columns, counts = features.rows.tags[entries], part.counts[entries]
    if (keys[1:] < keys[:-1]).any():  # strings of one hash may have another order in the corpus
        order = np.argsort(keys, kind="stable")
        return keys[order], columns[order], counts[order]
    return keys, columns, counts


def merge_counts(several: Sequence[Counted], tag_parts: TagParts, min_count: int) -> Counted:
    """Add the counts of the same parameters, and keep those of features that occur `min_count` times.

    Keys are ascending in each list, so that one range of keys after the other can be merged, in little memory.
    """
    parts = [merge_range(lists, tag_parts, min_count) for lists in key_ranges(several)]
    keys, columns, counts = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return keys, columns, counts


def key_ranges(several: Sequence[Counted]) -> Iterator[list[Counted]]:
    """Cut lists of parameters at the same keys, into ranges of about MERGED_ENTRIES entries together."""
    longest = max((keys for keys, _, _ in several), key=len)
    step = max(1, MERGED_ENTRIES // len(several))
    borders = np.unique(longest[step::step])  # the first key of each range but the first
    bounds = [[0, *np.searchsorted(keys, borders).tolist(), len(keys)] for keys, _, _ in several]
    for i in range(len(borders) + 1):
        places = [slice(own[i], own[i + 1]) for own in bounds]
        yield [
            (keys[own], columns[own], counts[own]) for (keys, columns, counts), own in zip(several, places, strict=True)
        ]


def merge_range(several: Sequence[Counted], tag_parts: TagParts, min_count: int) -> Counted:
    """Merge lists of parameters by sorting them."""
    keys, columns, counts = (np.concatenate(arrays) for arrays in zip(*several, strict=True))
    distinct, cells, totals = count_parameters(keys, columns, counts, tag_parts, min_count)
    numbers, columns = np.divmod(cells, tag_parts.all_columns)
    return distinct[numbers], columns.astype(np.int32), totals


def least_count(template: Template, min_count: int, min_pair_count: int) -> int:
    """Return how often a feature of a template has to occur."""
    return min_count if template.offset is not None else max(min_count, min_pair_count)


def joined_features(
    templates: list[Template], strings: StringTable, merged: Sequence[Counted], classes: WordClasses | None
) -> tuple[Features, np.ndarray]:
    """Build the features of a corpus from the parameters of its templates; and the count of each parameter."""
    distinct = [np.unique(template_keys, return_counts=True) for template_keys, _, _ in merged]
    keys, widths = zip(*distinct, strict=True)
    columns = np.concatenate([template_columns for _, template_columns, _ in merged])
    rows = RaggedRows(np.concatenate(widths), columns)
    features = Features(templates, strings, list(keys), rows, classes)
    return features, np.concatenate([counts for _, _, counts in merged])


def renumbered(
    part: EncodedPart, features: Features, strings: np.ndarray, seen: np.ndarray
) -> tuple[EncodedCorpus, ParameterLayout, np.ndarray]:
    """Give the features of a shard the parameters of the corpus.

    Returned are the shard with the features that are left, the layout of its parameters, and the number that each of
    its parameters has in the corpus.
    """
    local, radix = part.corpus.features, features.radix
    ids = [features.ids(t, global_keys(local, t, strings, radix)) for t in range(len(local.templates))]
    kept = [row >= 0 for row in ids]
    params, widths = features.rows.entries(np.concatenate([row[row >= 0] for row in ids]))
    keys = [own[mask] for own, mask in zip(local.keys, kept, strict=True)]
    rows = RaggedRows(widths, features.rows.tags[params])
    own = Features(local.templates, local.strings, keys, rows, local.classes)
    corpus = replace(part.corpus, features=own)
    layout = ParameterLayout(corpus, np.zeros(len(params)), also_seen=seen)  # counts are those of the corpus
    chain = len(features.rows.tags) + np.arange(layout.size - layout.features_end)
    return corpus, layout, np.concatenate([params, chain])


def string_ids(part: EncodedPart, strings: StringTable) -> np.ndarray:
    """Find the ids in the corpus of a shard's strings, then of the two marks, then -1 for none."""
    return with_none(strings.ids_of(part.corpus.features.strings), len(strings) + MARKS)


def scheme_of_steps(scheme: str, steps: frozenset[tuple[str, str]], tags: set[str]) -> str | None:
    """Return the span scheme of a corpus with these pairs of tags; refuse one that the tags do not fit."""
    if scheme == NO_SCHEME:
        return None
    for name in SCHEMES if scheme == AUTO else (scheme,):
        if name not in SCHEMES:
            raise TrainingError(f"scheme: expected {', '.join([AUTO, *SCHEMES, NO_SCHEME])}, got {quote(name)}")
        forbidden = sorted(step for step in steps if not may_follow(name, *step))
        if fits(name, tags) and not forbidden:
            return name
        if scheme != AUTO:
            got = " then ".join(map(quote, forbidden[0])) if forbidden else "tags without spans"
            raise TrainingError(f"scheme {name}: expected tags that follow its rules, got {got}. Use scheme none.")
    return None
