"""`HMMTagger`: count, smooth, guess unknown words, fill a lattice.

    p(words, tags) = Π_t P(y_t | y_{t-2}, y_{t-1}) · P(w_t | y_t) · P(end | y_{T-1}, y_T)

`transitions` estimates how tags follow each other, `lexicalized` what frequent words change in that, `emissions`
P(word | tag). A model of first order has P(y_t | y_{t-1}) instead, and nothing lexicalised.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from tagger.arrays.npz import Archive, Arrays
from tagger.chain.lattice import Scorer
from tagger.corpus.labels import dev_sentences, training_sentences
from tagger.corpus.span_schemes import training_scheme
from tagger.features.word_classes import WordClasses
from tagger.files import resources
from tagger.hmm.emissions import EmissionModel
from tagger.hmm.lexicalized import LexicalizedTransitions, learn_transitions
from tagger.hmm.model_arrays import model_arrays, restore_model
from tagger.hmm.scorer import first_order_scorer, path_terms, second_order_scorer
from tagger.hmm.textbook.settings import DEFAULT, TextbookSettings
from tagger.hmm.transitions import Transitions
from tagger.hmm.word_tags import WordTagTable
from tagger.models.base import Tagger, Terms
from tagger.models.summary import Section, TransitionTable
from tagger.normalization import MAX_WORD_LENGTH, NFC, normalized_keys
from tagger.sentence import Sentence, Words

if TYPE_CHECKING:
    from tagger.hmm.counting.counts import HMMCounts
    from tagger.hmm.counting.frequent import CountEntries
    from tagger.hmm.counting.tagged_text import TaggedText
    from tagger.hmm.em import EMCallback
    from tagger.hmm.textbook.emissions import TextbookEmissions
    from tagger.models.labeled import LabeledTables, SparseTable


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
    smoothing : str
        ``none`` (relative frequencies), ``add-k``, ``interpolation`` (Brants 2000) or ``default``, which adds
        transitions and emissions of frequent words; the first two only with order 1.
    unknown : str
        What unknown words get: the ``floor`` for every tag, a guess from their ``suffix`` (Brants 2000), or the
        ``default``, a guess from all of their spelling.
    floor : float
        Replaces every zero of pi, A and B in scoring, unless both of the above are ``default``.
    pseudo_count : float
        What ``add-k`` adds to each count.

    Attributes
    ----------
    classes_ : list of str
        The tags, sorted.
    pi_, A_, end_ : ndarray
        P(first tag), P(next tag | tag) and P(end | tag). With ``none`` and ``add-k`` there is no end: 1.
    B_ : SparseTable
        P(word | tag) of the pairs that were seen, tags × words.

    Examples
    --------
    >>> from tagger import HMMTagger
    >>> model = HMMTagger().fit([["the", "dog"], ["dogs", "bark"]], [["D", "N"], ["N", "V"]])
    >>> model.predict([["the", "dogs"]])
    [['D', 'N']]
    """

    kind = "hmm"
    later_settings = ("smoothing", "unknown", "floor", "pseudo_count")
    order: int = 2
    rare_count: int = 10
    suffix_length: int = 6
    partial: bool = False
    em_iterations: int = 3
    scheme: str = "auto"
    smoothing: str = DEFAULT
    unknown: str = DEFAULT
    floor: float = 1e-8
    pseudo_count: float = 1.0
    transition_model_: LexicalizedTransitions = field(init=False)
    emission_model_: EmissionModel | TextbookEmissions = field(init=False)

    @property
    def textbook(self) -> TextbookSettings:
        """The settings that make parts of the model those of textbooks."""
        return TextbookSettings(*(getattr(self, setting.name) for setting in fields(TextbookSettings)))

    @property
    def transitions_(self) -> Transitions:
        """P(tag | two tags before)."""
        return self.transition_model_.transitions

    @property
    def word_classes(self) -> WordClasses | None:
        """The word classes that the guesser looks at, if there are any."""
        return self.emission_model_.word_classes

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

    @property
    def B_(self) -> SparseTable:
        """P(word | tag) of the pairs that were seen, tags × words."""
        from tagger.hmm.summary import word_table

        return word_table(self.classes_, self.emission_model_)

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
        given = {"partial": self.partial, "lexicon": bool(lexicon)}
        self.textbook.check(given | {"classes": classes is not None and self.unknown != DEFAULT})
        sentences = training_sentences(X, y)
        dev_sentences(X_dev, y_dev)
        return self.learn(sentences, normalized_keys(lexicon or {}), classes and classes.normalized(NFC), watch)

    def learn(
        self,
        sentences: list[Sentence],
        lexicon: Mapping[str, Sequence[str]] | None = None,
        classes: WordClasses | None = None,
        watch: EMCallback = lambda text, iteration, objective: None,
        text: TaggedText | None = None,
    ) -> HMMTagger:
        """Learn from sentences that are checked and in the model's normalisation form, as `fit` passes them.

        `text` is their `TaggedText`, if there is one already.
        """
        from tagger.hmm.counting.counts import HMMCounts
        from tagger.hmm.counting.frequent import entry_counter
        from tagger.hmm.counting.tagged_text import TaggedText

        text = text or TaggedText.of(sentences, self.partial)
        check_memory(text.K, len(text.tags))
        self.estimate(HMMCounts.of(text), text.strings, entry_counter(text), lexicon, classes)
        self.scheme_ = training_scheme(self.scheme, sentences, self.classes_)
        if isinstance(self.emission_model_, EmissionModel):
            from tagger.hmm.em import EMTrainer, partial_text

            for open_text in partial_text(sentences, text.choices, self.classes_, self.emission_model_):
                trainer = EMTrainer(open_text, self.transition_model_, self.emission_model_)
                self.transition_model_, self.emission_model_ = trainer.learn(self.em_iterations, watch)
        return self

    def check_settings(self) -> None:
        """Raise ValueError for settings that are invalid, alone or together."""
        self.check_types(ValueError)
        if self.order not in (1, 2):
            raise ValueError(f"order: expected 1 or 2, got {self.order!r}")
        numbers = {name: getattr(self, name) for name in ("rare_count", "suffix_length", "em_iterations")}
        if min(numbers.values()) < 0 or self.suffix_length > MAX_WORD_LENGTH:
            got = ", ".join(f"{name}={number}" for name, number in numbers.items())
            raise ValueError(f"expected numbers from 0 up (suffix_length up to {MAX_WORD_LENGTH}), got {got}")
        if self.partial and self.order == 1:
            raise ValueError("partial: expected False with order 1, which is counted only. Use order 2.")

    def estimate(
        self,
        counts: HMMCounts,
        strings: list[str],
        count_entries: CountEntries,
        lexicon: Mapping[str, Sequence[str]] | None = None,
        classes: WordClasses | None = None,
    ) -> None:
        """Estimate all probabilities from the counts of a text, with the strings of its words."""
        from tagger.hmm.textbook.emissions import learn_emissions

        self.classes_, self.lexicon_, self.seen_ = counts.tag_set, counts.lexicon, counts.seen
        allowed = WordTagTable.from_lexicon(lexicon or {}, self.classes_)
        self.emission_model_ = learn_emissions(self.textbook, counts, strings, allowed, classes)
        if self.textbook.counts_only:
            from tagger.hmm.textbook.tables import textbook_transitions

            self.transition_model_ = textbook_transitions(counts.bigrams, self.textbook.k)
        else:
            settings = (self.emission_model_, self.order, self.rare_count, self.smoothing == DEFAULT)
            self.transition_model_ = learn_transitions(counts, strings, count_entries, *settings)
        self.summary_ = {"sentences": counts.sentences, "tokens": counts.tokens}

    def scored_transitions(self) -> LexicalizedTransitions:
        """Return the transitions without zeros."""
        if not self.textbook.counts_only:
            return self.transition_model_
        from tagger.hmm.textbook.tables import with_floor

        return with_floor(self.transition_model_, self.floor)

    def scorer_in_form(self) -> Scorer:
        allowed, transitions = self.allowed_steps(), self.scored_transitions()
        if self.order == 2:
            return second_order_scorer(self.emission_model_, transitions, allowed)
        A = transitions.transitions.A
        pi, steps, end = (np.log(table) for table in (A[-1, :-1], A[:-1, :-1], A[:-1, -1]))
        return first_order_scorer(self.emission_model_, pi, steps, end, allowed)

    def score_terms(self, words: Words) -> Terms:
        return path_terms(words, self.classes_, self.emission_model_, self.scored_transitions())

    def summarize(self) -> list[Section]:
        from tagger.hmm.summary import hmm_summary, shown_transitions

        return [*super().summarize(), *hmm_summary(self.classes_, shown_transitions(self), self.emission_model_)]

    def transition_table(self) -> TransitionTable:
        from tagger.hmm.summary import shown_transitions

        values = shown_transitions(self).transitions.A.copy()
        values[-1, -1] = 0.0  # a sentence without words
        return TransitionTable("probability", values)

    def tables(self) -> LabeledTables:
        from tagger.hmm.summary import hmm_tables

        return hmm_tables(self)

    def arrays(self) -> Arrays:
        return model_arrays(self)

    def restore(self, archive: Archive) -> None:
        restore_model(self, archive)


def check_memory(K: int, tokens: int) -> None:
    """Raise an error if an HMM of K tags, and a text of this number of tokens, need more memory than there is."""
    need = 60 * (K + 1) ** 2 + 400 * tokens  # tables of tag pairs, tokens
    resources.check(need, f"an HMM of {K:,} tags", "tables of tag pairs grow with their square; map some tags to one")
