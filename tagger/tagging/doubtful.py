"""Pick the sentences that are most worth a look: those with the token that the model is least sure of.

The margin of a token is the probability of its best tag minus that of the next; the margin of a sentence is the least
of its tokens (margin sampling: Scheffer, Decomain & Wrobel 2001). Sentences with the same words count once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heappush, heappushpop
from itertools import islice

import numpy as np

from tagger.models.predictor import Allowed, Predictor
from tagger.sentence import Sentence

BLOCK_SENTENCES = 1000


def pick_doubtful(
    model: Predictor, sentences: Iterable[Sentence], count: int, allowed: Allowed | None = None
) -> list[Sentence]:
    """Return the `count` sentences with the least margins, in the order of the input; `allowed` restricts the tags."""
    kept: list[tuple[float, int, Sentence]] = []  # a heap with the largest margin first
    words: set[Sequence[str]] = set()  # of the sentences in the heap
    source, number = iter(sentences), 0
    while block := list(islice(source, BLOCK_SENTENCES)):
        for sentence, margin in zip(block, margins(model, block, allowed), strict=True):
            number += 1
            entry = (-margin, -number, sentence)
            if not len(sentence) or sentence.words in words or (len(kept) == count and entry[:2] < kept[0][:2]):
                continue
            words.add(sentence.words)
            if len(kept) < count:
                heappush(kept, entry)
            else:
                words.discard(heappushpop(kept, entry)[2].words)
    return [sentence for _, _, sentence in sorted(kept, key=lambda entry: -entry[1])]


def margins(model: Predictor, sentences: Sequence[Sentence], allowed: Allowed | None = None) -> np.ndarray:
    """Return the least difference between the two most probable tags of a token, for each sentence (B,)."""
    out = np.ones(len(sentences))
    for group, lattice in model.lattices(sentences, allowed):
        P = np.sort(lattice.marginals(), axis=1)  # (N, K)
        margin = P[:, -1] - (P[:, -2] if P.shape[1] > 1 else 0)
        of_token = np.repeat(group, [len(sentences[i]) for i in group.tolist()])  # the sentence of each token
        np.minimum.at(out, of_token, margin)
    return out
