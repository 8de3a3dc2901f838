"""Tags, probabilities and n-best taggings for blocks of sentences.

An `Annotator` holds the model and options of a run and nothing else, so it can be pickled and sent to other processes;
`start` returns the function that does the work.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tagger.chain.lattice import Lattice
from tagger.errors import TaggerError
from tagger.models.predictor import Predictor
from tagger.models.sentence_results import n_best
from tagger.sentence import ANY, Sentence
from tagger.tagging.constraints import Constraints

PROBABILITY_DIGITS = 6  # compared with `min_probability`: a float32 has no more
CHARACTERS_SHOWN = 200  # of a sentence in a message

Work = Callable[[Sequence[Sentence]], list[Sentence]]


@dataclass(frozen=True)
class Annotator:
    """The model and the options of a run."""

    model: Predictor
    constraints: Constraints | None = None
    probabilities: bool = False
    min_probability: float = 0.0  # less probable tags become `?`
    nbest: int = 0
    names: Sequence[str] | None = None  # the names of the model's tags in the output

    @property
    def only_tags(self) -> bool:
        """True if the options ask for nothing but the best tags."""
        return not (self.constraints or self.probabilities or self.min_probability or self.nbest)

    def start(self) -> Work:
        """Make the function from sentences to annotated sentences."""
        names = np.array(self.names or self.model.classes_, dtype=object)
        same = names[:, None] == names if self.names else np.eye(len(names), dtype=bool)  # (K, K) tags with one name
        allowed = self.constraints.allowed if self.constraints else None

        def work(block: Sequence[Sentence]) -> list[Sentence]:
            out = list(block)
            with self.model.one_at_a_time(block):
                for group, lattice in self.model.lattices(block, allowed):
                    chosen = group.tolist()
                    annotated = self.annotated([block[i] for i in chosen], lattice, names, same)
                    for i, sentence in zip(chosen, annotated, strict=True):
                        out[i] = sentence
            return out

        return work

    def annotated(
        self, sentences: list[Sentence], lattice: Lattice, names: np.ndarray, same: np.ndarray
    ) -> list[Sentence]:
        """Return the sentences of a lattice with their tags and whatever else the options ask for."""
        best = lattice.best()  # (N,)
        scores = np.zeros(0) if self.only_tags else lattice.path_scores(best)  # (B,)
        if np.isneginf(scores).any():
            impossible = " ".join(sentences[int(np.argmin(scores))].words)[:CHARACTERS_SHOWN]
            raise TaggerError(f"{impossible}: expected an allowed tagging, got none. Check lexicon and input tags.")
        tags, probabilities = names[best], None
        if self.probabilities or self.min_probability:
            probabilities = np.minimum(lattice.probabilities(best, same), 1.0)  # (N,) those of one name are summed
            tags = np.where(np.round(probabilities, PROBABILITY_DIGITS) < self.min_probability, ANY, tags)
        nbest = self.n_best(lattice, names) if self.nbest else [None] * len(sentences)
        listed = probabilities.tolist() if probabilities is not None and self.probabilities else None
        out, begin, tag_list = [], 0, tags.tolist()
        for sentence, taggings in zip(sentences, nbest, strict=True):
            inside = slice(begin, begin + len(sentence))
            out.append(sentence.with_tags(tag_list[inside], None if listed is None else listed[inside], taggings))
            begin = inside.stop
        return out

    def n_best(self, lattice: Lattice, names: np.ndarray) -> list[Sequence[tuple[float, Sequence[str]]] | None]:
        """Find the n best taggings of each sentence."""
        sentences = n_best(lattice, self.nbest)
        return [[(probability, names[path].tolist()) for probability, path in paths] for paths in sentences]
