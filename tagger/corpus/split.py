"""Deterministic pseudo-random split of a corpus into train, dev and test; duplicates stay together.

Sentences with the same words form a group. Groups are sorted by a hash of the seed and their words. In that order a set
takes every group that brings it nearer to its share of the tokens, and leaves the others to the sets after it. So the
split does not depend on the order of the corpus or the version of Python, and no test sentence is a training sentence.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from hashlib import blake2b

from tagger.sentence import Sentence

REST = "train"  # the set that gets all other sentences


def split_corpus(sentences: Sequence[Sentence], shares: dict[str, float], seed: int) -> list[str]:
    """Return the name of the set of each sentence: a key of `shares`, which are fractions of all tokens, or REST."""
    groups: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for i, sentence in enumerate(sentences):
        groups[tuple(sentence.words)].append(i)
    remaining = sorted(groups.items(), key=lambda group: group_hash(group[0], seed))
    total = sum(map(len, sentences))
    names = [REST] * len(sentences)
    for name, share in shares.items():
        target, size = share * total, 0  # tokens
        others = []
        for words, members in remaining:
            group_size = len(words) * len(members)
            if size + group_size / 2 > target:  # without this group, the set is nearer to its share
                others.append((words, members))
                continue
            size += group_size
            for i in members:
                names[i] = name
        remaining = others
    return names


def group_hash(words: Sequence[str], seed: int) -> bytes:
    """Hash the seed and the words of a group, the same on every machine."""
    return blake2b("\0".join([str(seed), *words]).encode("utf-8", "surrogatepass"), digest_size=16).digest()
