"""`Predictor`: predict, n-best, marginals and score, written once on a `Lattice`.

A scorer keeps a cache of words and serves one thread at a time. A predictor keeps the scorers that are idle, and drops
them all as soon as one of its attributes is assigned. Threads that tag few words take turns (`arrays.thread_turns`),
so that one scorer serves them all.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import numpy as np

from tagger.arrays.ragged import consecutive
from tagger.arrays.thread_turns import PerThread, one_at_a_time
from tagger.chain.lattice import DenseLattice, Lattice, Scorer
from tagger.chain.pack import batches
from tagger.corpus.column_names import DEFAULT_NAMES, ColumnNames
from tagger.corpus.labels import tagged_sentences
from tagger.corpus.span_schemes import allowed_steps
from tagger.errors import TaggerError, check_count
from tagger.models.estimator import Taggings
from tagger.models.sentence_results import by_sentence, n_best
from tagger.models.text_methods import TextMethods
from tagger.sentence import FEATURES, Sentence, sentence_list, words_of
from tagger.words.lexicon import Lexicon

if TYPE_CHECKING:
    from tagger.chain.candidate_lattice import CandidateScorer
    from tagger.models.trellis import SentenceTrellis

LATTICE_CELLS = 1 << 21  # tokens × tags decoded together: half as many cost 10 % more time
MIN_LATTICE_TOKENS = 1 << 12
FEW_SENTENCES, FEW_WORDS = 16, 256  # that threads tag one after the other
# The attributes that hold the scorers.
SCORERS, SCORERS_IN_FORM, CANDIDATE_SCORERS = "_scorers", "_scorers_in_form", "_candidate_scorers"

Allowed = Callable[[Sequence[Any]], np.ndarray]  # from sentences to the tags allowed at their tokens (N, K)


class Predictor(TextMethods, ABC):
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
        return given.besides(self.columns_, self.column_, self.file_columns())

    def file_columns(self) -> tuple[str, ...]:
        """Return the names of the columns that a corpus must have; no file has dicts of features."""
        return tuple(name for name in self.wanted_columns_ if name != FEATURES)

    def sentence_list(self, X: Iterable[Any]) -> list[Any]:
        """List the sentences of X; a model of dicts of features accepts these in place of words."""
        return sentence_list(X, featured=FEATURES in self.wanted_columns_)

    @abstractmethod
    def build_scorer(self) -> Scorer:
        """Build a function from sentences to their lattice, for one thread.

        It must not refer to the tagger: threads keep the function, which would keep the tagger alive.
        """

    def scorer(self) -> Scorer:
        """Return the scorer of the calling thread."""
        return self.scorers().get(self.build_scorer)

    def scorers(self) -> PerThread[Scorer]:
        """Return the scorers of all threads."""
        self.check_fitted()
        scorers: PerThread[Scorer] | None = self.__dict__.get(SCORERS)
        return scorers or self.__dict__.setdefault(SCORERS, PerThread())  # atomic

    def one_at_a_time(self, X: Sequence[Any]) -> AbstractContextManager[None]:
        """Let one thread after the other work on few words; others may have its scorer after the block."""
        few = len(X) <= FEW_SENTENCES and sum(map(len, X)) <= FEW_WORDS
        return one_at_a_time(few, self.scorers(), self.build_scorer)

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
        for scorers in (SCORERS, SCORERS_IN_FORM, CANDIDATE_SCORERS):
            self.__dict__.pop(scorers, None)

    def lattices(self, X: Sequence[Any], allowed: Allowed | None = None) -> Iterator[tuple[np.ndarray, Lattice]]:
        """Yield the lattices of sentences in packs of similar length, each with the sentences' indices in X.

        X is a list, as `sentence_list` makes it; `allowed` restricts the tags.
        """
        score = self.scorer()
        sentences = X if self.wanted_columns_ else [words_of(sentence) for sentence in X]
        for group in batches([len(sentence) for sentence in sentences], self.lattice_tokens()):
            lattice = score([sentences[i] for i in group.tolist()])
            yield group, lattice.restrict(allowed([X[i] for i in group.tolist()])) if allowed else lattice

    def lattice_tokens(self) -> int:
        """Return about how many tokens to decode together."""
        return max(MIN_LATTICE_TOKENS, LATTICE_CELLS // len(self.classes_))

    def allowed_steps(self) -> np.ndarray | None:
        """Return which tag may follow which by the span scheme, (K + 1, K + 1); None without one."""
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
        with self.one_at_a_time(X):
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
        sentences = self.sentence_list(X)
        tags = np.array(self.classes_, dtype=object)[self.best_tags(sentences)].tolist()
        return Taggings(by_sentence(sentences, [(np.arange(len(sentences)), tags)]))

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
        sentences = self.sentence_list(X)
        with self.one_at_a_time(sentences):
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
        check_count("n", n, 0)
        sentences = self.sentence_list(X)
        out: list[list[tuple[float, list[str]]]] = [[] for _ in sentences]
        with self.one_at_a_time(sentences):
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

        check_count("n", n, 0)
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
        gold = tagged_sentences(X, y, featured=FEATURES in self.wanted_columns_)
        from tagger.evaluation.spans import score_by

        return score_by(self.metric, gold, self.predict(gold)) or 0.0
