"""What a run of tagging adds to sentences: the best tags, how sure they are, the n best taggings.

An `Annotator` holds the wishes of a run and nothing else, so that it can be sent to other processes; `start` gives the
function that does the work, with caches of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tagger.constraints import Constraints
from tagger.errors import TaggerError
from tagger.lattice import Lattice
from tagger.model import Tagger
from tagger.sentence import ANY, Sentence

Work = Callable[[Sequence[Sentence]], list[Sentence]]


@dataclass(frozen=True)
class Annotator:
    model: Tagger
    constraints: Constraints | None = None
    probabilities: bool = False
    min_probability: float = 0.0  # less probable tags become `?`
    nbest: int = 0
    names: Sequence[str] | None = None  # what the model's tags are called in the output

    def start(self) -> Work:
        names = np.array(self.names or self.model.classes_, dtype=object)
        same = np.unique(names, return_inverse=True)[1]  # (K,) tags with one name add up to one probability
        scorer = self.model.scorer()
        allowed = self.constraints.allowed if self.constraints else None

        def work(block: Sequence[Sentence]) -> list[Sentence]:
            out = list(block)
            for group, lattice in self.model.lattices(block, scorer, allowed):
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
            P = lattice.marginals()  # (N, K)
            sure = np.zeros(len(best))
            for k in range(P.shape[1]):
                sure += np.where(same[best] == same[k], P[:, k], 0.0)
            sure = np.minimum(sure, 1.0)
            tags = np.where(sure < self.min_probability, ANY, tags)
        several = self.n_best(lattice, names) if self.nbest else None
        out, begin, written = [], 0, tags.tolist()
        for b, sentence in enumerate(sentences):
            end = begin + len(sentence)
            own = tuple(sure[begin:end].tolist()) if sure is not None and self.probabilities else None
            out.append(sentence.with_tags(written[begin:end], own, several[b] if several else None))
            begin = end
        return out

    def n_best(self, lattice: Lattice, names: np.ndarray) -> list[list[tuple[float, Sequence[str]]]]:
        found = zip(lattice.n_best(self.nbest), lattice.log_z().tolist(), strict=True)
        return [[(float(np.exp(score - z)), tuple(names[path])) for score, path in paths] for paths, z in found]
