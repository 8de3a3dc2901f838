"""The conditional random field tagger: the estimator `CRFTagger`.

A linear chain (Lafferty, McCallum & Pereira 2001): emissions are sums of feature weights; transitions, start and end
are weights themselves. A feature or tag bigram never seen in training has weight 0: unlikely to matter, not forbidden.

`encode` makes numbers of the corpus, `trainer` finds the weights, `scorer` scores text; the estimator joins the three.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tagger.arrays.npz import Archive, Arrays
from tagger.chain.lattice import Scorer, dense_scorer
from tagger.corpus.labels import corpus_size, dev_sentences, training_sentences
from tagger.crf.model_arrays import description, model_arrays, restore_model, rounded, set_rounded, used_settings
from tagger.crf.scorer import FeatureScorer, step_tokens
from tagger.crf.settings import check_dev_set, check_settings, function_of, training_fingerprints
from tagger.crf.summary import crf_summary, weight_rows
from tagger.crf.trigrams import TagTrigrams
from tagger.features.encoder import Features
from tagger.features.observer import FeatureFunction, Observer
from tagger.features.phrases import PhraseList
from tagger.features.tag_parts import TagParts
from tagger.features.template import column_names
from tagger.features.valued import ALL, Selection
from tagger.features.word_classes import WordClasses
from tagger.files.resources import available_cores
from tagger.models.base import Tagger, Terms
from tagger.models.summary import Section, TransitionTable
from tagger.sentence import Sentence, Words

if TYPE_CHECKING:
    from tagger.chain.candidate_lattice import CandidateScorer
    from tagger.crf.candidates.scorer import ProposalScorer
    from tagger.crf.encode import Encoding
    from tagger.crf.parameters import ChainWeights, EncodedCorpus, ParameterLayout
    from tagger.crf.trainer import Trainer
    from tagger.hmm.tagger import HMMTagger
    from tagger.models.checkpoint import Checkpoint
    from tagger.models.labeled import LabeledTables
    from tagger.models.monitor import ProgressCallback

MAX_DENSE_TAGS = 128  # from here on training on all tags takes minutes (docs/lab-notes/candidates.md)


@dataclass(eq=False, repr=False, kw_only=True)
class CRFTagger(Tagger):
    """A conditional random field over features of words, trained with L-BFGS.

    Parameters
    ----------
    order : int
        0, 1 or 2, the number of previous tags that a tag depends on; 0 is a softmax for each token, 2 needs candidates.
    candidates : str or float
        The tags that are considered for a token: ``all``, or those that an HMM, trained along, gives a probability
        above this number, e.g. 0.001. ``auto`` is 0.001 for order 2 and for more than 128 tags, else ``all``.
    features : str or callable
        Feature template: the name of a shipped one (``default``, ``comparison``) or a file; or a function from a
        `Sentence` to a dict of features for each token, which is not stored.
    l2, l1 : float
        Weights of the penalty ``l2 · ‖w‖² + l1 · ‖w‖₁``. With ``l1`` above 0 many weights become zero.
    max_iterations, tolerance
        Training stops after this number of iterations, or when the loss falls by less than this share in ten of them.
    min_count, min_pair_count : int
        Features that occur fewer times in the corpus are left out; the second is for features of several words.
    patience : int
        With a dev set, training stops after this number of scorings without a gain; it is scored every five iterations.
    scheme : str
        Span scheme of the tags: ``bio``, ``iob1``, ``bioes``, ``bmes`` or ``none``; ``auto`` recognises it. Steps that
        it forbids, such as ``O`` to ``I-PER``, have no part in training and decoding.
    metric : str
        What is measured on a dev set, and by `score`: ``accuracy``, or ``span-f1`` for tags with a scheme.
    partial : bool
        Read the tags ``?`` and ``A|B`` as any tag and as a choice of two; training sums over what they leave open.
    threads : int
        Threads used for training; 0 means all cores.

    Examples
    --------
    >>> X, y = [["The", "dog", "barks"], ["A", "cat"]], [["DT", "NN", "VBZ"], ["DT", "NN"]]
    >>> CRFTagger(max_iterations=50).fit(X, y).predict([["The", "cat", "barks"]])
    [['DT', 'NN', 'VBZ']]
    """

    kind = "crf"
    orders: ClassVar[tuple[int, ...]] = (0, 1, 2)
    order: int = 1
    candidates: str | float = "auto"
    features: str | FeatureFunction = "default"
    l2: float = 0.25
    l1: float = 0.0
    max_iterations: int = 200
    tolerance: float = 1e-3
    min_count: int = 1
    min_pair_count: int = 2
    patience: int = 10
    scheme: str = "auto"
    metric: str = "accuracy"
    partial: bool = False
    threads: int = 0
    template_: str = field(init=False)
    tag_parts_: TagParts = field(init=False)
    features_: Features = field(init=False)
    lists_: dict[str, PhraseList] = field(init=False)  # the lists of phrases that the template names
    weights_: np.ndarray = field(init=False)  # (P,) float32
    start_: np.ndarray = field(init=False)  # (K,) float32, as are the next two
    transitions_: np.ndarray = field(init=False)  # (K, K)
    end_: np.ndarray = field(init=False)  # (K,)
    trigrams_: TagTrigrams = field(init=False)
    threshold_: float | None = field(init=False)  # of candidates; None if all tags are candidates
    proposer_: HMMTagger | None = field(init=False)  # proposes candidates
    posterior_weight_: np.ndarray = field(init=False)  # (1,) of the HMM's log-probability; empty without candidates

    def fit(
        self,
        X: Iterable[Any],
        y: Iterable[Any] | None = None,
        X_dev: Iterable[Any] | None = None,
        y_dev: Iterable[Any] | None = None,
        watch: ProgressCallback = lambda progress: None,
        checkpoint: Checkpoint | None = None,
        init: CRFTagger | None = None,
        classes: WordClasses | None = None,
    ) -> CRFTagger:
        """Learn from tagged sentences.

        Parameters
        ----------
        X, y : iterables
            Sentences as lists of words, and lists of their tags. Without `y`, X holds tagged `Sentence` objects. A word
            may be a dict, or a list of strings, with the features of a token.
        X_dev, y_dev : iterables, optional
            A dev set. Of all weights scored on it, the best are kept.
        watch : callable, optional
            Gets a `Progress` after every iteration; a string it returns is the reason to stop there.
        checkpoint : Checkpoint, optional
            File in which training saves its state, to be resumed from; removed when training completes.
        init : CRFTagger, optional
            Model to continue from, with its template, tags and words; the L2 penalty is the distance from its weights.
        classes : WordClasses, optional
            Word classes for templates that name them; a template that names none gets features of them added.

        Returns
        -------
        CRFTagger

        Raises
        ------
        TrainingError
            If a setting is out of range, the corpus is empty, memory does not suffice or the loss is not finite.
        TemplateError
            If the template cannot be read, or names word classes that are not given.
        """
        from tagger.crf.encode import form_of
        from tagger.crf.trainer import learn_weights

        check_settings(self, init)
        sentences = training_sentences(X, y, form_of(init), featured=True)
        dev = dev_sentences(X_dev, y_dev, featured=True)
        corpus, layout = self.encode(sentences, init, classes)
        check_dev_set(self, dev)
        trainer = self.trainer(corpus, layout, sentences)
        trainer.check_memory()
        prints = partial(training_fingerprints, self, sentences, dev, init, corpus.valued)
        learn_weights(self, trainer, corpus_size(sentences), dev, watch, checkpoint, prints)
        return self

    def encode(
        self, sentences: Sequence[Sentence], init: CRFTagger | None = None, classes: WordClasses | None = None
    ) -> tuple[EncodedCorpus, ParameterLayout]:
        """Encode a corpus, and `keep` the encoding."""
        from tagger.crf.encode import encode_corpus

        encoding = encode_corpus(self, sentences, init, classes)
        if init is not None and function_of(init.features) and not function_of(self.features):
            self.features = init.features  # it makes the features of text, too
        return self.keep(encoding)

    def keep(self, encoding: Encoding) -> tuple[EncodedCorpus, ParameterLayout]:
        """Keep all that is learned by counting, and return what the weights are learned from."""
        self.classes_, self.template_, self.scheme_ = encoding.tag_set, encoding.template, encoding.scheme
        self.lexicon_, self.seen_, self.trigram_keys_ = encoding.lexicon, encoding.seen, encoding.layout.trigrams
        self.features_, self.tag_parts_ = encoding.corpus.features, encoding.corpus.tag_parts
        self.wanted_columns_, self.lists_ = column_names(self.features_.templates), encoding.lists
        self.threshold_, self.proposer_, self.missed_ = encoding.threshold, encoding.proposer, encoding.missed
        return encoding.corpus, encoding.layout

    def selection(self) -> Selection:
        """Return which parameters are learned, for features with values and for the chain."""
        return ALL

    def uses_candidates(self, K: int, columns: bool) -> bool:
        """Return what candidates="auto" means for K tags, and for templates that look at columns."""
        return self.order == 2 or (self.order == 1 and K > MAX_DENSE_TAGS and not columns)

    def trainer(self, corpus: EncodedCorpus, layout: ParameterLayout, sentences: Sequence[Sentence]) -> Trainer:
        """Make the trainer of an encoded corpus."""
        from tagger.crf.trainer import Trainer

        return Trainer(corpus, layout, **self.trainer_settings(), kept=layout.kept(self.selection()))

    def trainer_settings(self) -> dict[str, Any]:
        """Return the settings of a `Trainer`."""
        settings = {name: getattr(self, name) for name in ("l2", "l1", "max_iterations", "tolerance")}
        return settings | {"threads": self.threads or available_cores()}

    def conclude(self, size: dict[str, int], figures: dict[str, Any]) -> None:
        """Finish a training whose weights are set: drop those that are zero, and write the summary."""
        self.drop_zeros()
        self.summary_ = size | figures
        if self.proposer_ is not None:
            self.summary_ |= {"candidates": self.threshold_, "right tag no candidate": self.missed_}

    def drop_zeros(self) -> None:
        """Drop the parameters that an L1 penalty or rounding brought to zero, and features that have none left."""
        keep = self.weights_ != 0
        if not keep.all():
            self.features_, self.weights_ = self.features_.restricted(keep), self.weights_[keep]

    def stored_settings(self) -> dict[str, Any]:
        return used_settings(self, super().stored_settings())

    def set_weights(self, weights: ChainWeights) -> None:
        """Set all weights; those of features without values are rounded."""
        set_rounded(self, weights.features)
        self.start_, self.transitions_, self.end_ = (scores.astype(np.float32) for scores in weights[1:4])
        self.trigrams_ = TagTrigrams(len(self.classes_), self.trigram_keys_, rounded(weights.trigrams))
        self.posterior_weight_ = weights.posterior.astype(np.float32)

    def observer(self) -> Observer:
        features, function = self.features_, function_of(self.features)
        return Observer(self.lexicon_.form, features.sources, self.lists_, features.valued, function)

    def scorer_in_form(self) -> Scorer:
        if self.proposer_ is None:
            scorer = FeatureScorer(self.features_, self.weights_, self.tag_parts_)
            return dense_scorer(self.start_, self.transitions_, self.end_, scorer, self.allowed_steps(), scorer.steps)
        from tagger.crf.candidates.scorer import proposing_scorer

        propose, words = self.proposer_.kept_scorer_in_form(), self.observer().words
        return proposing_scorer(self.candidate_scorer_in_form(), lambda sentences: propose(words(sentences)))

    def candidate_scorer_in_form(self) -> CandidateScorer:
        """Build a scorer of candidates, for sentences whose words are in the model's normalisation form."""
        from tagger.crf.candidates.scorer import candidate_scorer

        assert self.threshold_ is not None
        return candidate_scorer(self.proposal_scorer(), self.threshold_, with_path=self.scheme_ is not None)

    def proposal_scorer(self) -> ProposalScorer:
        """Build a scorer of sentences with proposed candidates."""
        from tagger.crf.candidates.scorer import model_scorer

        return model_scorer(self)

    def lattice_tokens(self) -> int:
        return step_tokens(self.features_, len(self.classes_), super().lattice_tokens())

    def build_candidate_scorer(self) -> CandidateScorer | None:
        if self.proposer_ is not None:
            return None
        from tagger.crf.candidates.own_candidates import beside_hmm

        score, observe = beside_hmm(self), self.observer()
        return lambda sentences, proposer: score(observe(sentences), proposer)

    def summarize(self) -> list[Section]:
        return [*super().summarize(), *crf_summary(self)]

    def transition_table(self) -> TransitionTable:
        return TransitionTable.of("weight", self.transitions_, self.start_, self.end_)

    def weight_rows(self) -> Iterator[tuple[str, str, float]]:
        """List all weights as (feature, tag, weight)."""
        return weight_rows(self)

    def tables(self) -> LabeledTables:
        from tagger.models.labeled import LabeledRows

        return {"weights": lambda: LabeledRows(("feature", "tag", "weight"), self.weight_rows())}

    def score_terms(self, words: Words) -> Terms:
        from tagger.crf.terms import crf_terms

        return crf_terms(self, words)

    def arrays(self) -> Arrays:
        return model_arrays(self)

    def restore(self, archive: Archive) -> None:
        restore_model(self, archive)

    def describe(self) -> dict[str, Any]:
        return description(self)
