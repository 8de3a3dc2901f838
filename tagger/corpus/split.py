"""A corpus into train, dev and test: by chance, but the same chance every time, with equal sentences on one side.

Sentences with the same words form a group. Each group has a number made of the seed and its words by a hash; in the
order of these numbers a part takes every group that brings it nearer to its share of the tokens, and leaves the others
to the parts after it. So neither the order of the corpus nor the version of Python matters, and a model is never tested
on a sentence it was trained on.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from hashlib import blake2b

from tagger.sentence import Sentence

REST = "train"


def split_corpus(sentences: Sequence[Sentence], shares: dict[str, float], seed: int) -> list[str]:
    """The part of each sentence: one of `shares`, which are fractions of all tokens, or the rest, `train`."""
    groups: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for i, sentence in enumerate(sentences):
        groups[tuple(sentence.words)].append(i)
    left = sorted(groups.items(), key=lambda group: number(group[0], seed))
    total = sum(map(len, sentences))
    parts = [REST] * len(sentences)
    for name, share in shares.items():
        wanted, given = share * total, 0
        others = []
        for words, members in left:
            size = len(words) * len(members)
            if given + size / 2 > wanted:  # without it, the part is nearer to its share
                others.append((words, members))
                continue
            given += size
            for i in members:
                parts[i] = name
        left = others
    return parts


def number(words: Sequence[str], seed: int) -> bytes:
    return blake2b("\0".join([str(seed), *words]).encode("utf-8", "surrogatepass"), digest_size=16).digest()
