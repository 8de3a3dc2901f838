"""`Tagger`, the contract of all models: predict, n-best, marginals and score, written once on a `Lattice`.

A `Predictor` tags; a `Tagger` also learns, can be stored and explains itself. To add a model:

1. Make a package with a subclass of `Tagger` that has a `kind` and keyword-only settings with defaults. `__init__`
   stores them unchanged (scikit-learn's convention). `fit` sets `classes_`, `lexicon_`, `seen_` and `summary_`; all
   attributes that it sets have a trailing underscore.
2. Write the abstract methods: `scorer_in_form` fills a lattice (`chain.lattice` has two forms), `score_terms` splits a
   score into terms, `arrays` and `restore` go to and from the model file.
3. Add its name to `tagger.__init__` and its kind to `models.store`, a command to `cli.commands`, and a row to the
   contract test (`tests/test_models.py`).

A scorer keeps a cache of words and serves one thread. A tagger keeps one scorer per thread, and drops them all as soon
as one of its attributes is assigned.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tagger.arrays.caching import PerThread
from tagger.arrays.npz import Archive, Arrays
from tagger.arrays.ragged import consecutive
from tagger.chain.lattice import DenseLattice, Lattice, Scorer
from tagger.chain.pack import batches
from tagger.corpus.column_names import DEFAULT_NAMES, ColumnNames
from tagger.corpus.labels import tagged_sentences
from tagger.errors import TaggerError
from tagger.evaluation.spans import score_by
from tagger.features.observer import Observer
from tagger.models.results import by_sentence, n_best
from tagger.models.summary import Section, TransitionTable, parameter_sizes, tag_frequencies
from tagger.schemes import allowed_steps
from tagger.sentence import Sentence, Words, sentence_list, words_of
from tagger.words.lexicon import Lexicon

if TYPE_CHECKING:
    from tagger.chain.candidate_lattice import CandidateScorer
    from tagger.models.trellis import SentenceTrellis

LATTICE_CELLS = 1 << 21  # tokens × tags decoded together: half as many cost 10 % more time
MIN_LATTICE_TOKENS = 1 << 12
SCORERS, CANDIDATE_SCORERS = "_scorers", "_candidate_scorers"  # the attributes that hold the scorers

Terms = Callable[[Sequence[int], int], dict[str, float]]  # from a path and a token to terms of the path's score
Allowed = Callable[[Sequence[Any]], np.ndarray]  # from sentences to the tags allowed at their tokens (N, K)


class Predictor(ABC):
    """A model that tags sentences. `X` holds word lists or Sentences, `y` tag lists, both in any iterable."""

    classes_: list[str]  # the K tags, sorted
    lexicon_: Lexicon
    seen_: np.ndarray  # hashes of the training sentences (`words.overlap`)
    column_: str = "upos"  # the CoNLL-U column of the tags, in the training corpus and in output
    scheme_: str | None = None  # of the spans that the tags mark
    metric: str = "accuracy"  # of `score`
    tokenizer_: str | None = None  # splits raw text into the words that the model expects: one of `TOKENIZERS`
    columns_: ColumnNames = DEFAULT_NAMES  # the names of the training corpus's columns

    wanted_columns_: tuple[str, ...] = ()  # the names of columns that features look at

    def corpus_columns(self, given: ColumnNames = DEFAULT_NAMES) -> ColumnNames:
        """Return the names for reading a corpus: those given, else those of the training corpus."""
        return given.besides(self.columns_, self.column_, self.wanted_columns_)

    @abstractmethod
    def build_scorer(self) -> Scorer:
        """Build a function from sentences to their lattice, for one thread.

        It must not refer to the tagger: threads keep the function, which would keep the tagger alive.
        """

    def scorer(self) -> Scorer:
        """Return the scorer of the calling thread."""
        self.check_fitted()
        scorers: PerThread[Scorer] = self.__dict__.setdefault(SCORERS, PerThread())  # atomic
        return scorers.get(self.build_scorer)

    def build_candidate_scorer(self) -> CandidateScorer | None:
        """Build a function that scores only the candidates of another model's lattice; None if there is none."""
        return None

    def candidate_scorer(self) -> CandidateScorer | None:
        """Return the candidate scorer of the calling thread, if there is one."""
        scorers: PerThread[CandidateScorer | None] = self.__dict__.setdefault(CANDIDATE_SCORERS, PerThread())
        return scorers.get(self.build_candidate_scorer)

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute and drop the scorers, which were built from the attributes."""
        super().__setattr__(name, value)
        self.__dict__.pop(SCORERS, None)
        self.__dict__.pop(CANDIDATE_SCORERS, None)

    def lattices(self, X: Sequence[Any], allowed: Allowed | None = None) -> Iterator[tuple[np.ndarray, Lattice]]:
        """Yield the lattices of sentences in packs of similar length, each with the sentences' indices in X.

        X is a list, as `sentence_list` makes it; `allowed` restricts the tags.
        """
        score = self.scorer()
        sentences = X if self.wanted_columns_ else [words_of(sentence) for sentence in X]
        tokens = max(MIN_LATTICE_TOKENS, LATTICE_CELLS // len(self.classes_))
        for group in batches([len(sentence) for sentence in sentences], tokens):
            lattice = score([sentences[i] for i in group.tolist()])
            yield group, lattice.restrict(allowed([X[i] for i in group.tolist()])) if allowed else lattice

    def allowed_steps(self) -> np.ndarray | None:
        """Tell which tag may follow which by the span scheme, (K + 1, K + 1); None without one."""
        return allowed_steps(self.scheme_, self.classes_)

    def check_fitted(self) -> None:
        """Raise TaggerError before `fit`."""
        if not hasattr(self, "classes_"):
            raise TaggerError(f"{type(self).__name__}: expected a fitted tagger. Call fit first, or load a model.")

    def best_tags(self, X: Sequence[Any]) -> np.ndarray:
        """Return the best tags of a list of sentences as numbers (N,), sentence after sentence."""
        lengths = np.array([len(sentence) for sentence in X], np.int64)
        begins = np.cumsum(lengths) - lengths
        tags = np.empty(int(lengths.sum()), np.int64)
        for group, lattice in self.lattices(X):
            tags[consecutive(begins[group], lengths[group])] = lattice.best()
        return tags

    def predict(self, X: Iterable[Any]) -> list[list[str]]:
        """Find the best tags of each sentence.

        Parameters
        ----------
        X : iterable of Sentence or of word lists

        Returns
        -------
        list of list of str
            One tag per word.
        """
        self.check_fitted()
        sentences = sentence_list(X)
        tags = np.array(self.classes_, dtype=object)[self.best_tags(sentences)].tolist()
        return by_sentence(sentences, [(np.arange(len(sentences)), tags)])

    def predict_marginals(self, X: Iterable[Any]) -> list[np.ndarray]:
        """Compute the probability of each tag at each token.

        Parameters
        ----------
        X : iterable of Sentence or of word lists

        Returns
        -------
        list of ndarray
            One array (T, K) per sentence, its columns in the order of `classes_`.
        """
        sentences = sentence_list(X)
        return by_sentence(sentences, ((group, lattice.marginals()) for group, lattice in self.lattices(sentences)))

    def predict_nbest(self, X: Iterable[Any], n: int) -> list[list[tuple[float, list[str]]]]:
        """Find the n best taggings of each sentence.

        Parameters
        ----------
        X : iterable of Sentence or of word lists
        n : int
            The number of taggings; a sentence that has fewer gets fewer.

        Returns
        -------
        list of list of (float, list of str)
            Per sentence pairs of probability and tags, best first.
        """
        sentences = sentence_list(X)
        out: list[list[tuple[float, list[str]]]] = [[] for _ in sentences]
        for group, lattice in self.lattices(sentences):
            for i, paths in zip(group.tolist(), n_best(lattice, n), strict=True):
                out[i] = [(probability, [self.classes_[k] for k in path.tolist()]) for probability, path in paths]
        return out

    def trellis(self, words: Any, n: int = 5) -> SentenceTrellis:
        """Compute all tables of the recursions for one sentence: Viterbi, forward, backward, probabilities.

        Parameters
        ----------
        words : Sentence or list of str
        n : int
            The number of best taggings to list.

        Returns
        -------
        SentenceTrellis
        """
        from tagger.models.trellis import sentence_trellis

        return sentence_trellis(self, words, n)

    def count_not_considered(self, gold: Sequence[Sentence]) -> int | None:
        """Count the tokens whose gold tag is one of the model's, but no candidate; None if all tags are candidates."""
        numbers, count = {tag: k for k, tag in enumerate(self.classes_)}, 0
        for group, lattice in self.lattices(gold):
            if isinstance(lattice, DenseLattice):
                return None
            tags = np.array([numbers.get(tag, -1) for i in group.tolist() for tag in gold[i].tags or ()], np.int64)
            count += int((~lattice.considers(tags) & (tags >= 0)).sum())
        return count

    def score(self, X: Iterable[Any], y: Iterable[Any] | None = None) -> float:
        """Compute the accuracy on tagged sentences, or span F1 if that is the model's `metric`.

        Parameters
        ----------
        X : iterable of Sentence or of word lists
        y : iterable of tag lists, optional
            The true tags; without them X holds tagged Sentences.

        Returns
        -------
        float
            The share of tokens with the right tag, or F1 of the spans; 0.0 without any.
        """
        gold = tagged_sentences(X, y)
        return score_by(self.metric, gold, self.predict(gold)) or 0.0


class Tagger(Predictor):
    """A part-of-speech tagger that learns, can be stored, and explains its tags."""

    kind: ClassVar[str]  # its name in model files
    explanation_note: ClassVar[str | None] = None  # how to read the terms of `score_terms`
    summary_: dict[str, Any]  # facts about the training, without dates and durations
    card_: str | None = None  # model card (`models.card`)

    @abstractmethod
    def fit(self, X: Iterable[Any], y: Iterable[Any] | None = None, X_dev: Any = None, y_dev: Any = None) -> Tagger:
        """Learn from tagged sentences; without `y`, X holds tagged Sentences."""

    @abstractmethod
    def scorer_in_form(self) -> Scorer:
        """Build a scorer of sentences whose words are in the model's normalisation form."""

    def observer(self) -> Observer:
        """Return the function from sentences to what the model sees of them: words in its normalisation form."""
        return Observer(self.lexicon_.form)

    def build_scorer(self) -> Scorer:
        score, observe = self.scorer_in_form(), self.observer()
        return lambda sentences: score(observe(sentences))

    @abstractmethod
    def score_terms(self, words: Words) -> Terms:
        """Make a function of a path (T tags as numbers) and a token t of a sentence as `observer` returns it.

        It returns the terms of the path's score that depend on the tag of t, by names that do not depend on it.
        """

    @abstractmethod
    def arrays(self) -> Arrays:
        """Return all that `fit` learned, as named arrays."""

    @abstractmethod
    def restore(self, archive: Archive) -> None:
        """Set the attributes from the arrays of a file; settings and `classes_` are set already."""

    def summarize(self) -> list[Section]:
        """Build the tables that `tagger inspect` prints."""
        sizes: list[list[Any]] = [
            ["kind", self.kind],
            ["tags", len(self.classes_)],
            ["words", len(self.lexicon_.words)],
            ["normalization", self.lexicon_.form or "none: words unchanged"],
            *([["span scheme", self.scheme_]] if self.scheme_ else []),
            ["ambiguous words", int((self.lexicon_.rows.widths > 1).sum())],
            *([["tokenizer", self.tokenizer_]] if self.tokenizer_ else []),
        ]
        return [
            Section("model", sizes),
            Section("settings", [[name, value] for name, value in self.stored_settings().items()]),
            Section("training", [[name, value] for name, value in self.summary_.items()]),
            tag_frequencies(self.classes_, self.lexicon_),
            parameter_sizes(self.arrays()),
        ]

    def tag_counts(self) -> np.ndarray:
        """Count the training tokens of each tag, (K,)."""
        return self.lexicon_.tag_counts(len(self.classes_))

    def transition_table(self) -> TransitionTable | None:
        """Return the table for the heat map of `tagger inspect`, or None if the model has none."""
        return None

    def describe(self) -> dict[str, Any]:
        """Return further entries of the model file's description."""
        return {}

    def stored_settings(self) -> dict[str, Any]:
        """Return the settings that the model file stores: those that change the result, so no paths and threads."""
        # `scheme_` and the score on the dev set are stored as the model's own
        return {name: value for name, value in self.get_params().items() if name not in ("scheme", "metric")}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the settings by name; `deep` is ignored (scikit-learn's signature)."""
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def set_params(self, **settings: Any) -> Tagger:
        """Set settings by name; return the tagger."""
        known = self.get_params()
        if unknown := sorted(settings.keys() - known.keys()):
            raise ValueError(f"{type(self).__name__}: expected one of {', '.join(known)}, got {', '.join(unknown)}.")
        for name, value in settings.items():
            setattr(self, name, value)
        return self
