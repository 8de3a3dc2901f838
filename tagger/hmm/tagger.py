"""`HMMTagger`: count, smooth, guess unknown words, fill a lattice.

    p(words, tags) = Π_t P(y_t | y_{t-2}, y_{t-1}) · P(w_t | y_t) · P(end | y_{T-1}, y_T)

`transitions` estimates how tags follow each other, `lexicalized` what frequent words change in that, `emissions`
P(word | tag). A model of first order has P(y_t | y_{t-1}) instead, and nothing lexicalised.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tagger.arrays.npz import Archive, Arrays
from tagger.chain.lattice import Scorer
from tagger.corpus.labels import dev_sentences, tag_numbers, training_sentences
from tagger.corpus.partial import OPEN, Choices, read_choices
from tagger.corpus.schemes import training_scheme
from tagger.features.word_classes import WordClasses
from tagger.files import resources
from tagger.hmm.em import EMCallback, EMTrainer, partial_text
from tagger.hmm.emissions import EmissionModel
from tagger.hmm.lexicalized import LexicalizedTransitions
from tagger.hmm.scorer import first_order_scorer, path_terms, second_order_scorer
from tagger.hmm.summary import hmm_summary
from tagger.hmm.transitions import Steps, Transitions
from tagger.hmm.word_tags import WordTagTable
from tagger.models.base import Tagger, Terms
from tagger.models.summary import Section, TransitionTable
from tagger.normalization import NFC, normalized_keys
from tagger.sentence import Sentence, Words
from tagger.words.lexicon import Lexicon
from tagger.words.overlap import fingerprints
from tagger.words.windows import Windows


@dataclass(eq=False, repr=False, kw_only=True)
class HMMTagger(Tagger):
    """A hidden Markov model of first or second order.

    Parameters
    ----------
    order : int
        1 or 2, the number of previous tags that a tag depends on.
    rare_count : int
        Words seen up to this often train the guesser of unknown words, and are guessed at themselves.
    suffix_length : int
        The longest suffix that the guesser looks at, in letters.
    partial : bool
        Accept partly tagged sentences, with tags such as ``?`` or ``NN|VB``; only with order 2.
    em_iterations : int
        Iterations of EM on partly tagged sentences.
    scheme : str
        Span scheme of the tags: ``bio``, ``iob1``, ``bioes``, ``bmes`` or ``none``; ``auto`` recognises it. Steps that
        it forbids have no part in decoding.

    Attributes
    ----------
    classes_ : list of str
        The tags, sorted.
    pi_, A_, end_ : ndarray
        P(first tag), P(next tag | tag) and P(end | tag), smoothed.

    Examples
    --------
    >>> from tagger import HMMTagger
    >>> model = HMMTagger().fit([["the", "dog"], ["dogs", "bark"]], [["D", "N"], ["N", "V"]])
    >>> model.predict([["the", "dogs"]])
    [['D', 'N']]
    """

    kind = "hmm"
    order: int = 2
    rare_count: int = 10
    suffix_length: int = 6
    partial: bool = False
    em_iterations: int = 3
    scheme: str = "auto"
    transition_model_: LexicalizedTransitions = field(init=False)
    emission_model_: EmissionModel = field(init=False)

    @property
    def transitions_(self) -> Transitions:
        """P(tag | two tags before)."""
        return self.transition_model_.transitions

    @property
    def word_classes(self) -> WordClasses | None:
        """The word classes that the guesser looks at, if there are any."""
        return self.emission_model_.guesser.classes

    @property
    def pi_(self) -> np.ndarray:
        """P(first tag), (K,)."""
        return self.transitions_.A[-1, :-1]

    @property
    def A_(self) -> np.ndarray:
        """P(next | previous), (K, K); A_[i].sum() + end_[i] = 1."""
        return self.transitions_.A[:-1, :-1]

    @property
    def end_(self) -> np.ndarray:
        """P(end | last tag), (K,)."""
        return self.transitions_.A[:-1, -1]

    def fit(
        self,
        X: Iterable[Any],
        y: Iterable[Any] | None = None,
        X_dev: Iterable[Any] | None = None,
        y_dev: Iterable[Any] | None = None,
        *,
        lexicon: Mapping[str, Sequence[str]] | None = None,
        classes: WordClasses | None = None,
        watch: EMCallback = lambda text, iteration, objective: None,
    ) -> HMMTagger:
        """Learn from tagged sentences.

        Parameters
        ----------
        X : iterable of Sentence or of word lists
            The training sentences; tagged ones if `y` is not given.
        y : iterable of tag lists, optional
            The tags of X.
        X_dev, y_dev : optional
            A dev set; it is checked and otherwise unused, because counting has nothing to stop early.
        lexicon : mapping of str to tags, optional
            The tags that words may have.
        classes : WordClasses, optional
            Word classes, which help to guess the tags of rare and unknown words.
        watch : callable
            Gets the text's name, the iteration and the objective after each iteration of EM.

        Returns
        -------
        HMMTagger
            The tagger itself.

        Raises
        ------
        ValueError
            If a setting, or a combination of settings, is invalid.
        TaggerError
            If the sentences or the lexicon are.
        """
        self.check_settings()
        sentences = training_sentences(X, y)
        dev_sentences(X_dev, y_dev)
        return self.learn(sentences, normalized_keys(lexicon or {}), classes and classes.normalized(NFC), watch)

    def learn(
        self,
        sentences: list[Sentence],
        lexicon: Mapping[str, Sequence[str]] | None = None,
        classes: WordClasses | None = None,
        watch: EMCallback = lambda text, iteration, objective: None,
    ) -> HMMTagger:
        """Learn from sentences that are checked and in the model's normalisation form, as `fit` passes them."""
        choices = self.count(sentences, lexicon or {}, classes)
        self.scheme_ = training_scheme(self.scheme, sentences, self.classes_)
        for text in partial_text(sentences, choices, self.classes_, self.emission_model_):
            trainer = EMTrainer(text, self.transition_model_, self.emission_model_)
            self.transition_model_, self.emission_model_ = trainer.learn(self.em_iterations, watch)
        return self

    def check_settings(self) -> None:
        """Raise ValueError for settings that are invalid together."""
        if self.order not in (1, 2):
            raise ValueError(f"order: expected 1 or 2, got {self.order!r}")
        if self.partial and self.order == 1:
            raise ValueError("partial: expected False with order 1, which is counted only. Use order 2.")

    def count(
        self, sentences: list[Sentence], lexicon: Mapping[str, Sequence[str]], classes: WordClasses | None
    ) -> Choices:
        """Count everything that is tagged; return the choices of tokens whose tag is open."""
        if self.partial:
            self.classes_, tags, choices = read_choices(sentences)
        else:
            self.classes_, tags = tag_numbers(sentences)
            choices = Choices.none(len(self.classes_))
        K = len(self.classes_)
        need = 60 * (K + 1) ** 2 + 400 * len(tags)  # tables of tag pairs, tokens
        advice = "tables of tag pairs grow with their square; map some tags to one"
        resources.check(need, f"an HMM of {K:,} tags", advice)
        written = [sentence.words for sentence in sentences]
        lengths = np.array(list(map(len, written)))
        windows = Windows.of(written, margin=0)
        closed = tags != OPEN
        ids = windows.at(0)
        self.seen_ = fingerprints(windows.written, ids, lengths)
        self.lexicon_, places = Lexicon.with_places(windows.written, ids[closed], tags[closed], K)
        words = places[ids]  # (N,) as the lexicon numbers them
        order = np.empty(len(self.lexicon_.words), np.int64)
        order[places[places >= 0]] = np.flatnonzero(places >= 0)
        strings = [windows.words[i] for i in order.tolist()]
        first = np.zeros(len(tags), bool)
        first[np.cumsum(lengths) - lengths] = True
        allowed = WordTagTable.from_lexicon(lexicon, self.classes_)
        self.learn_emissions(strings, words[closed], first[closed], tags[closed], allowed, classes)
        self.count_transitions(Steps.of(tags, lengths, K), words, strings)
        self.summary_ = {"sentences": len(sentences), "tokens": len(tags)}
        return choices

    def learn_emissions(
        self,
        strings: list[str],
        words: np.ndarray,
        first: np.ndarray,
        tags: np.ndarray,
        allowed: WordTagTable,
        classes: WordClasses | None,
    ) -> None:
        """Set `emission_model_` from the lexicon's strings and the text's words (N,); `first` (N,) begin a sentence."""
        seen_inside = np.bincount(words[~first], minlength=len(strings)) > 0
        prior = np.bincount(tags, minlength=len(self.classes_)) / len(tags)
        self.emission_model_ = EmissionModel.learn(
            self.lexicon_, strings, seen_inside, prior, self.rare_count, self.suffix_length, allowed, classes
        )

    def count_transitions(self, steps: Steps, words: np.ndarray, strings: list[str]) -> None:
        """Set `transition_model_` from the steps, the text's words (N,), -1 if not in the lexicon, and its strings."""
        K, width = steps.K, steps.K + 1
        closed = steps.w != OPEN
        unigrams = np.bincount(steps.w[closed], minlength=width)
        closed &= steps.v != OPEN
        bigrams = np.bincount(steps.v[closed] * width + steps.w[closed], minlength=width**2).reshape(width, width)
        steps = steps.without(OPEN)
        transitions = Transitions.count(steps, unigrams, bigrams, self.order)
        rows = self.lexicon_.rows
        frequent = np.flatnonzero(np.bincount(words[words >= 0]) > self.rare_count)
        if self.order == 1 or not len(frequent):
            self.transition_model_ = LexicalizedTransitions.unlexicalized(transitions)
            return
        entries, widths = rows.entries(frequent)
        scores, _ = self.emission_model_([strings[i] for i in frequent.tolist()])
        P = np.exp(scores[np.repeat(np.arange(len(frequent)), widths), rows.tags[entries]])
        cells = rows.owners[entries] * K + rows.tags[entries]
        self.transition_model_ = LexicalizedTransitions.count(transitions, steps, words, cells, P)

    def scorer_in_form(self) -> Scorer:
        allowed = self.allowed_steps()
        if self.order == 2:
            return second_order_scorer(self.emission_model_, self.transition_model_, allowed)
        return first_order_scorer(self.emission_model_, np.log(self.pi_), np.log(self.A_), np.log(self.end_), allowed)

    def score_terms(self, words: Words) -> Terms:
        return path_terms(words, self.classes_, self.emission_model_, self.transition_model_)

    def summarize(self) -> list[Section]:
        return [*super().summarize(), *hmm_summary(self.classes_, self.transition_model_, self.emission_model_)]

    def transition_table(self) -> TransitionTable:
        values = self.transitions_.A.copy()
        values[-1, -1] = 0.0  # a sentence without words
        return TransitionTable("probability", values)

    def arrays(self) -> Arrays:
        return self.transitions_.arrays() | self.transition_model_.arrays() | self.emission_model_.arrays()

    def restore(self, archive: Archive) -> None:
        K = len(self.classes_)
        archive.check(self.order in (1, 2) and isinstance(self.rare_count, int), "expected the settings of an HMM")
        self.emission_model_ = EmissionModel.restore(archive, K, self.rare_count)
        self.lexicon_ = self.emission_model_.lexicon
        transitions = Transitions.restore(archive, K)
        self.transition_model_ = LexicalizedTransitions.restore(archive, transitions, len(self.lexicon_.words))
