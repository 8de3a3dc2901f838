"""What a run of tagging adds to sentences: the best tags, how sure they are, the n best taggings.

An `Annotator` holds the wishes of a run and nothing else, so that it can be sent to other processes; `start` gives the
function that does the work.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tagger.chain.lattice import Lattice
from tagger.errors import TaggerError
from tagger.models.base import Predictor, n_best
from tagger.sentence import ANY, Sentence
from tagger.tagging.constraints import Constraints

DIGITS = 6  # of a probability that count when it is compared: a float32 has no more

Work = Callable[[Sequence[Sentence]], list[Sentence]]


@dataclass(frozen=True)
class Annotator:
    model: Predictor
    constraints: Constraints | None = None
    probabilities: bool = False
    min_probability: float = 0.0  # less probable tags become `?`
    nbest: int = 0
    names: Sequence[str] | None = None  # what the model's tags are called in the output

    @property
    def only_tags(self) -> bool:
        """Whether nothing but the best tags is wished for."""
        return not (self.constraints or self.probabilities or self.min_probability or self.nbest)

    def start(self) -> Work:
        names = np.array(self.names or self.model.classes_, dtype=object)
        same = names[:, None] == names  # (K, K) tags with one name add up to one probability
        allowed = self.constraints.allowed if self.constraints else None

        def work(block: Sequence[Sentence]) -> list[Sentence]:
            out = list(block)
            for group, lattice in self.model.lattices(block, allowed):
                sentences = [block[i] for i in group.tolist()]
                for i, sentence in zip(group.tolist(), self.annotated(sentences, lattice, names, same), strict=True):
                    out[i] = sentence
            return out

        return work

    def annotated(
        self, sentences: list[Sentence], lattice: Lattice, names: np.ndarray, same: np.ndarray
    ) -> list[Sentence]:
        """The sentences of a lattice with what was found in it."""
        best, scores = lattice.best()  # (N,), (B,)
        if np.isneginf(scores).any():
            lost = " ".join(sentences[int(np.argmin(scores))].words)
            raise TaggerError(f"no tagging of this sentence is allowed: {lost[:200]}")
        tags = names[best]
        sure = None
        if self.probabilities or self.min_probability:
            sure = np.minimum((lattice.marginals() * same[best]).sum(axis=1), 1.0)  # (N,)
            tags = np.where(np.round(sure, DIGITS) < self.min_probability, ANY, tags)
        several = self.n_best(lattice, names) if self.nbest else [None] * len(sentences)
        chances = sure.tolist() if sure is not None and self.probabilities else None
        out, begin, written = [], 0, tags.tolist()
        for sentence, taggings in zip(sentences, several, strict=True):
            own = slice(begin, begin + len(sentence))
            out.append(sentence.with_tags(written[own], None if chances is None else chances[own], taggings))
            begin = own.stop
        return out

    def n_best(self, lattice: Lattice, names: np.ndarray) -> list[Sequence[tuple[float, Sequence[str]]] | None]:
        found = n_best(lattice, self.nbest)
        return [[(probability, names[path].tolist()) for probability, path in paths] for paths in found]
