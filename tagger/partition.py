"""A corpus into train, dev and test: by chance, but the same chance every time, with equal sentences on one side.

Sentences with the same words form a group. Each group has a number made of the seed and its words by a hash; in the
order of these numbers groups are given to a part until it has its share of the tokens. So neither the order of the
corpus nor the version of Python matters, and a model is never tested on a sentence it was trained on.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from hashlib import blake2b

from tagger.sentence import Sentence

REST = "train"


def partition(sentences: Sequence[Sentence], shares: dict[str, float], seed: int) -> list[str]:
    """The part of each sentence: one of `shares`, which are fractions of all tokens, or the rest, `train`."""
    groups: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for i, sentence in enumerate(sentences):
        groups[tuple(sentence.words)].append(i)
    order = iter(sorted(groups.items(), key=lambda group: number(group[0], seed)))
    total = sum(map(len, sentences))
    parts = [REST] * len(sentences)
    for name, share in shares.items():
        wanted, given = share * total, 0
        for words, members in order:
            size = len(words) * len(members)
            if given + size / 2 <= wanted:  # with it, the part is nearer to its share than without
                given += size
                for i in members:
                    parts[i] = name
            if given >= wanted:
                break
    return parts


def number(words: Sequence[str], seed: int) -> bytes:
    return blake2b("\0".join([str(seed), *words]).encode("utf-8", "surrogatepass"), digest_size=16).digest()
