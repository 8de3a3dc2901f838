"""`PooledTagger`: an HMM and a CRF as one model.

The members are an HMM, a CRF of second order over the candidates of the HMM, and a CRF of first order that was trained
on all tags. The pool gives each a weight, in one chain:

    p(path | sentence) ∝ exp(Σ_c w_c · score of CRF c) · Π_t p_HMM(tag of t | sentence)^w_h

Both CRFs have the same features. So this is again a CRF over candidates, whose weights are a weighted sum, and whose
feature "probability by the HMM" weighs w_h more. The pool costs nothing when it tags, and everything that a CRF can do
it can do: n best taggings, constraints, explanations. Further members, such as a BiLSTM, get weights of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tagger.arrays.npz import Archive, Arrays
from tagger.chain.candidate_lattice import CandidateLattice
from tagger.corpus.labels import dev_sentences
from tagger.crf.parameters import ChainWeights
from tagger.crf.settings import check_initial
from tagger.crf.tagger import CRFTagger
from tagger.errors import TrainingError
from tagger.features.word_classes import WordClasses
from tagger.models.base import Tagger, Terms
from tagger.models.checkpoint import Checkpoint
from tagger.models.monitor import ProgressCallback
from tagger.models.summary import FormattedNumber, Section
from tagger.pooled.lattice import ModelOpinion, Opinion, pooled_scorer
from tagger.pooled.members import check_members, member_arrays, member_descriptions, member_terms, restore_members
from tagger.pooled.network_opinion import NetworkOpinion
from tagger.pooled.opinion_weights import MAX_WIDTH, OpinionSample
from tagger.sentence import Sentence, Words, contents, words_of

if TYPE_CHECKING:
    from tagger.chain.candidate_lattice import CandidateScorer
    from tagger.crf.encode import Encoding
    from tagger.crf.parameters import EncodedCorpus, ParameterLayout
    from tagger.pooled.trainer import PooledTrainer

MEMBERS = ("HMM", "CRF on candidates", "CRF on all tags")


@dataclass(eq=False, repr=False, kw_only=True)
class PooledTagger(CRFTagger):
    """An HMM and a CRF over its candidates, pooled.

    The parameters are those of `CRFTagger`, but for these.

    Parameters
    ----------
    order : int
        1 or 2, the number of previous tags that a tag depends on in the CRF.
    candidates : str or float
        The tags that are considered for a token: those that the HMM gives a probability above this number; ``auto`` is
        0.001.
    tolerance : float
        Each training stops when its loss falls by less than this share of itself in ten iterations.

    Attributes
    ----------
    pool_ : ndarray
        The weights of the HMM, of the CRF on candidates and of the CRF on all tags.
    coverage_ : ndarray
        The share of tokens with 1, 2, … candidates whose right tag is one of them.

    Examples
    --------
    >>> X, y = [["The", "dog", "barks"], ["A", "cat"]], [["DT", "NN", "VBZ"], ["DT", "NN"]]
    >>> PooledTagger(max_iterations=50).fit(X, y).predict([["The", "cat", "barks"]])
    [['DT', 'NN', 'VBZ']]
    """

    kind = "pooled"
    orders = (1, 2)
    uses_vectors = True
    order: int = 2
    tolerance: float = 1e-2
    pool_: np.ndarray = field(init=False)  # (3,), as MEMBERS
    coverage_: np.ndarray = field(init=False)  # (MAX_WIDTH,)
    network_: NetworkOpinion | None = field(init=False)  # where words have vectors from raw text
    members_: list[ModelOpinion] = field(init=False)
    joining_: Sequence[Tagger] = field(init=False, default=())  # models that join when the training is over

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
        add: Sequence[Tagger] = (),
    ) -> PooledTagger:
        """Learn from tagged sentences, as `CRFTagger.fit` does.

        Parameters
        ----------
        X, y, X_dev, y_dev, watch, checkpoint, init, classes
            As in `CRFTagger.fit`.
        add : sequence of Tagger
            Trained models with the same tags that join the pool. Their weights are learned on the dev set; without
            one, all members have equal weights.

        Returns
        -------
        PooledTagger
        """
        self.check_candidates(init)
        dev = dev_sentences(X_dev, y_dev)
        self.network_, self.members_ = None, []
        self.joining_ = list(contents(add, "add", "a list of taggers"))
        super().fit(X, y, dev, None, watch, checkpoint, init, classes)
        self.join_members(self.joining_, dev)
        return self

    def check_candidates(self, init: CRFTagger | None) -> None:
        """Refuse settings that leave no HMM to pool with."""
        check_initial(init)
        if self.candidates == "all":
            raise TrainingError("candidates: expected auto or a number, got all. A pool needs the HMM that proposes.")
        if init is not None and init.proposer_ is None:
            raise TrainingError("init: expected a pooled model or a CRF with candidates, got a CRF of all tags")

    def uses_candidates(self, K: int, columns: bool) -> bool:
        return True

    def trainer(self, corpus: EncodedCorpus, layout: ParameterLayout, sentences: Sequence[Sentence]) -> PooledTrainer:
        from tagger.pooled.trainer import PooledTrainer

        return PooledTrainer(corpus, layout, **self.trainer_settings(), model=self, corpus_sentences=sentences)

    def keep(self, encoding: Encoding) -> tuple[EncodedCorpus, ParameterLayout]:
        kept = super().keep(encoding)
        check_members(self, self.joining_, self.features_.sources)  # before the training, which may take hours
        return kept

    def join_members(self, models: Sequence[Tagger], dev: Sequence[Sentence] | None) -> None:
        """Add further members, with weights learned on the dev set, or equal ones."""
        if not models:
            return
        check_members(self, models, self.features_.sources)
        self.joining_ = ()
        share, *weights = self.learn_shares(models, dev) if dev else self.equal_weights(len(models))
        scores = (self.weights_, self.start_, self.transitions_, self.end_, self.trigrams_.weights)
        chain = ChainWeights(*scores, self.posterior_weight_)
        self.set_weights(ChainWeights(*(share * part for part in chain)))
        self.pool_ = share * self.pool_
        if self.network_:
            self.network_ = replace(self.network_, weight=share * self.network_.weight)
        self.members_ = [ModelOpinion(weight, model) for model, weight in zip(models, weights, strict=True)]

    @property
    def opinions(self) -> list[Opinion]:
        """The opinions that are added to the scores of the chain."""
        return [*([self.network_] if self.network_ else []), *self.members_]

    def equal_weights(self, added: int) -> list[float]:
        """Return the factor of the pool so far, and the weights of further members: the mean of those it has."""
        weights = np.append(self.pool_, [opinion.weight for opinion in self.opinions])
        members = int((weights > 0).sum())
        return [members / (members + added), *[float(weights.sum()) / (members + added)] * added]

    def learn_shares(self, models: Sequence[Tagger], dev: Sequence[Sentence]) -> list[float]:
        """Learn the factor of the pool so far, and the weights of further members, on the dev set."""
        numbers = {tag: k for k, tag in enumerate(self.classes_)}
        sample = OpinionSample(members=1 + len(models))
        for group, lattice in self.lattices(dev):
            assert isinstance(lattice, CandidateLattice)
            sentences = [dev[i] for i in group.tolist()]
            tags = np.array([numbers.get(tag, -1) for sentence in sentences for tag in sentence.tags or ()], np.int64)
            words = [words_of(sentence) for sentence in sentences]
            others = [ModelOpinion(1.0, model).probabilities(words, lattice.candidates) for model in models]
            sample.add(lattice.candidates, tags, [lattice.node_marginals, *others])
        weights: list[float] = sample.weights().tolist()
        return weights

    def candidate_scorer_in_form(self) -> CandidateScorer:
        score, counts = super().candidate_scorer_in_form(), self.tag_counts()
        by_token = self.scheme_ is None  # the best tags of tokens may form a tagging that a span scheme forbids
        return pooled_scorer(score, self.coverage_, counts / counts.sum(), self.opinions, by_token)

    def conclude(self, size: dict[str, int], figures: dict[str, Any]) -> None:
        super().conclude(size, figures)
        self.summary_ |= {f"weight of the {name}": weight for name, weight in self.member_weights()}

    def member_weights(self) -> list[tuple[str, float]]:
        """List the members and their weights."""
        own = zip(MEMBERS, self.pool_.tolist(), strict=True)
        return [*own, *((opinion.name, opinion.weight) for opinion in self.opinions)]

    def summarize(self) -> list[Section]:
        members = [[name, FormattedNumber(weight, ".3f")] for name, weight in self.member_weights()]
        rows = [[n, FormattedNumber(share, ".4f")] for n, share in enumerate(self.coverage_.tolist(), 1)]
        return [
            *super().summarize(),
            Section("pool", members, ["member", "weight"]),
            Section("coverage", rows, ["candidates", "share with the right tag"]),
        ]

    def score_terms(self, words: Words) -> Terms:
        return member_terms(super().score_terms(words), self.opinions, words)

    def arrays(self) -> Arrays:
        weights = np.array([*self.pool_, *(member.weight for member in self.members_)])
        pool = {"pool.weights": weights, "pool.coverage": self.coverage_}
        network = self.network_.arrays() if self.network_ else {}
        return super().arrays() | pool | network | member_arrays(self.members_)

    def describe(self) -> dict[str, Any]:
        return super().describe() | {"members": member_descriptions(self.members_)}

    def restore(self, archive: Archive) -> None:
        super().restore(archive)
        archive.check(self.proposer_ is not None, "expected the HMM of a pool")
        members = restore_members(self.classes_, archive, self.features_.sources)
        weights = archive.take("pool.weights", "f", len(MEMBERS) + len(members)).astype(np.float64)
        self.pool_ = weights[: len(MEMBERS)]
        self.members_ = [
            ModelOpinion(weight, model) for weight, model in zip(weights[len(MEMBERS) :].tolist(), members, strict=True)
        ]
        self.network_ = NetworkOpinion.restore(archive, self.features_.classes, len(self.classes_))
        self.coverage_ = archive.take("pool.coverage", "f", MAX_WIDTH).astype(np.float64)
        shares = bool((self.coverage_ > 0).all() and (self.coverage_ <= 1).all())
        archive.check(shares, "expected shares above 0 and up to 1 as its coverage")
