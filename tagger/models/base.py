"""`Tagger`: the contract of all models; predict, n-best, marginals and score, built once on a `Lattice`.

A model learns (`fit`) and scores (`scorer`); the rest is here. What tags and does nothing else is a `Predictor`.
Estimators follow scikit-learn's habits: keyword-only settings kept as given by `__init__`, fitted attributes with a
trailing underscore. A scorer keeps a cache of words it has met and is for one thread only; a tagger keeps one for each
thread that uses it, and drops them as soon as any of its attributes is assigned.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tagger.arrays.caching import PerThread
from tagger.arrays.npz import Archive, Arrays
from tagger.arrays.ragged import consecutive
from tagger.chain.lattice import Lattice, Scorer
from tagger.chain.pack import batches
from tagger.corpus.labels import tagged_sentences
from tagger.errors import TaggerError
from tagger.evaluation.metrics import accuracy
from tagger.models.summary import FormattedNumber, Section
from tagger.normalization import normalized_sentences
from tagger.sentence import Words, sentence_list, words_of
from tagger.words.lexicon import Lexicon

LATTICE_CELLS = 1 << 21  # tokens × tags decoded together: half as many cost 10 % more time
LEAST_TOKENS = 1 << 12
SCORERS = "_scorers"  # the attribute that holds them

Terms = Callable[[Sequence[int], int], dict[str, float]]
Allowed = Callable[[Sequence[Any]], np.ndarray]  # from sentences to the tags allowed at their tokens (N, K)


@dataclass(frozen=True)
class TransitionTable:
    """What a model thinks of each tag after each other."""

    unit: str  # of the numbers: weight or probability
    values: np.ndarray  # (K + 1, K + 1) [previous, next]; last the sentence's beginning (row) and its end (column)

    @classmethod
    def of(cls, unit: str, transitions: np.ndarray, start: np.ndarray, end: np.ndarray) -> TransitionTable:
        """Of a first-order chain."""
        K = len(start)
        values = np.zeros((K + 1, K + 1))
        values[:K, :K], values[K, :K], values[:K, K] = transitions, start, end
        return cls(unit, values)


def parts_section(arrays: Arrays) -> Section:
    """What takes how much room; arrays that belong together, as their names tell, in one row."""
    numbers: Counter[str] = Counter()
    room: Counter[str] = Counter()
    for name, array in arrays.items():
        part = name.split(".")[0]
        numbers[part] += array.size
        room[part] += array.nbytes
    rows = [[part, numbers[part], FormattedNumber(size / 1e3, ",.1f")] for part, size in room.most_common()]
    return Section("parts of the file", rows, ["part", "numbers", "kB unpacked"])


class Predictor(ABC):
    """What can tag. `X` holds lists of words or Sentences, `y` lists of tags, both in any iterable."""

    classes_: list[str]  # the K tags, sorted
    lexicon_: Lexicon
    seen_: np.ndarray  # fingerprints of the training sentences (`overlap`)
    column_: str = "upos"  # of CoNLL-U: where the tags came from, and where to put them

    @abstractmethod
    def build_scorer(self) -> Scorer:
        """Build a function from sentences to their lattice, for one thread. It must not refer to the tagger itself:
        the threads that keep it would keep the tagger alive."""

    def scorer(self) -> Scorer:
        """Return the scorer of the calling thread."""
        self.check_fitted()
        kept: PerThread[Scorer] = self.__dict__.setdefault(SCORERS, PerThread())  # atomic
        return kept.get(self.build_scorer)

    def __setattr__(self, name: str, value: Any) -> None:
        """Scorers were built from the attributes: when one changes, they are built again."""
        super().__setattr__(name, value)
        self.__dict__.pop(SCORERS, None)

    def lattices(self, X: Sequence[Any], allowed: Allowed | None = None) -> Iterator[tuple[np.ndarray, Lattice]]:
        """Sentences in packs of like length: which ones, and their lattice, with only the tags `allowed`.

        X is a list, as `sentence_list` makes it.
        """
        score = self.scorer()
        sentences = [words_of(sentence) for sentence in X]
        tokens = max(LEAST_TOKENS, LATTICE_CELLS // len(self.classes_))
        for group in batches([len(words) for words in sentences], tokens):
            lattice = score([sentences[i] for i in group.tolist()])
            yield group, lattice.restrict(allowed([X[i] for i in group.tolist()])) if allowed else lattice

    def check_fitted(self) -> None:
        if not hasattr(self, "classes_"):
            raise TaggerError("this tagger has learned nothing yet: call fit first")

    def best_tags(self, X: Sequence[Any]) -> np.ndarray:
        """(N,) the best tags of a list of sentences as numbers, sentence after sentence."""
        lengths = np.array([len(sentence) for sentence in X], np.int64)
        begins = np.cumsum(lengths) - lengths
        tags = np.empty(int(lengths.sum()), np.int64)
        for group, lattice in self.lattices(X):
            tags[consecutive(begins[group], lengths[group])] = lattice.best()[0]
        return tags

    def predict(self, X: Iterable[Any]) -> list[list[str]]:
        """The best tags of each sentence."""
        self.check_fitted()
        sentences = sentence_list(X)
        tags = np.array(self.classes_, dtype=object)[self.best_tags(sentences)].tolist()
        return by_sentence(sentences, [(np.arange(len(sentences)), tags)])

    def predict_marginals(self, X: Iterable[Any]) -> list[np.ndarray]:
        """For each sentence (T, K): the probability of each tag at each token, columns in the order of `classes_`."""
        sentences = sentence_list(X)
        return by_sentence(sentences, ((group, lattice.marginals()) for group, lattice in self.lattices(sentences)))

    def predict_nbest(self, X: Iterable[Any], n: int) -> list[list[tuple[float, list[str]]]]:
        """For each sentence up to n taggings as (probability, tags), best first."""
        sentences = sentence_list(X)
        out: list[list[tuple[float, list[str]]]] = [[] for _ in sentences]
        for group, lattice in self.lattices(sentences):
            for i, paths in zip(group.tolist(), n_best(lattice, n), strict=True):
                out[i] = [(probability, [self.classes_[k] for k in path.tolist()]) for probability, path in paths]
        return out

    def score(self, X: Iterable[Any], y: Iterable[Any] | None = None) -> float:
        """The accuracy on tagged sentences."""
        gold = tagged_sentences(X, y)
        return accuracy(gold, self.predict(gold)) or 0.0


class Tagger(Predictor):
    """A part-of-speech tagger that learns, can be stored, and says why."""

    kind: ClassVar[str]
    explanation_note: ClassVar[str | None] = None  # what to know of the parts that `score_terms` names
    summary_: dict[str, Any]  # of training, for a reader; no clocks

    @abstractmethod
    def fit(self, X: Iterable[Any], y: Iterable[Any] | None = None, X_dev: Any = None, y_dev: Any = None) -> Tagger:
        """Learn from tagged sentences. Without `y`, X holds tagged Sentences."""

    @abstractmethod
    def scorer_in_form(self) -> Scorer:
        """A scorer of sentences whose words are in the model's normalisation form."""

    def build_scorer(self) -> Scorer:
        score, form = self.scorer_in_form(), self.lexicon_.form
        return lambda sentences: score(list(normalized_sentences(sentences, form)))

    @abstractmethod
    def score_terms(self, words: Words) -> Terms:
        """A function of a path (T tags as numbers) and a token: the parts of the path's score that look at the token's
        tag, by names that do not tell the tag."""

    @abstractmethod
    def arrays(self) -> Arrays:
        """All that was learned, as named arrays."""

    @abstractmethod
    def restore(self, archive: Archive) -> None:
        """Take back what `arrays` gave; settings and `classes_` are there already."""

    def summarize(self) -> list[Section]:
        """What a person may want to know of the learned, as `tagger inspect` prints it."""
        settings = Section("settings", [[name, value] for name, value in self.stored_settings().items()])
        summary = Section("training", [[name, value] for name, value in self.summary_.items()])
        rows, counts = self.lexicon_.rows, self.tag_counts()
        words = np.bincount(rows.tags, minlength=len(self.classes_))
        order = np.argsort(-counts, kind="stable").tolist()
        tags = [[self.classes_[k], int(counts[k]), int(words[k])] for k in order]
        sizes: list[list[Any]] = [
            ["kind", self.kind],
            ["tags", len(self.classes_)],
            ["words", len(self.lexicon_.words)],
            ["normalization", self.lexicon_.form or "none: words as they are written"],
            ["ambiguous words", int((rows.widths > 1).sum())],
        ]
        return [
            Section("model", sizes),
            settings,
            summary,
            Section("tags", tags, ["tag", "tokens", "words"]),
            parts_section(self.arrays()),
        ]

    def tag_counts(self) -> np.ndarray:
        """(K,) how often each tag was seen in training."""
        return self.lexicon_.tag_counts(len(self.classes_))

    def transition_table(self) -> TransitionTable | None:
        """For the heat map of `tagger inspect`; None if the model has no such numbers."""
        return None

    def describe(self) -> dict[str, Any]:
        """What else of the learned the model file tells in words."""
        return {}

    def stored_settings(self) -> dict[str, Any]:
        """The settings that change the result, as the model file tells them: no paths, no threads."""
        return self.get_params()

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The settings, as scikit-learn asks for them."""
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def set_params(self, **settings: Any) -> Tagger:
        unknown = settings.keys() - self.get_params().keys()
        if unknown:
            raise ValueError(f"{type(self).__name__} has no setting {', '.join(sorted(unknown))}")
        for name, value in settings.items():
            setattr(self, name, value)
        return self


def n_best(lattice: Lattice, n: int) -> list[list[tuple[float, np.ndarray]]]:
    """For each sentence up to n paths as (probability, tags), best first."""
    found = zip(lattice.n_best(n), lattice.log_z().tolist(), strict=True)
    return [[(float(np.exp(score - z)), path) for score, path in paths] for paths, z in found]


def by_sentence(X: Sequence[Any], answers: Iterable[tuple[np.ndarray, Any]]) -> list[Any]:
    """Answers token after token (lists or arrays), group by group, cut into sentences in their order."""
    out: list[Any] = [[]] * len(X)
    for group, rows in answers:
        begin = 0
        for i in group.tolist():
            end = begin + len(X[i])
            out[i] = rows[begin:end]
            begin = end
    return out
