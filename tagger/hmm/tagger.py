"""The hidden Markov model: count, smooth, guess unknown words, fill a lattice.

    p(words, tags) = Π_t P(y_t | y_{t-2}, y_{t-1}) · P(w_t | y_t) · P(end | y_{T-1}, y_T)

`transitions` says how tags follow each other, `neighbours` what frequent words change in that, `wordmodel` how likely a
word is under a tag. A model of first order knows one tag before instead of two, and nothing of neighbours.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from tagger.arrays.npz import Archive, Arrays
from tagger.chain.lattice import CandidateLattice, Lattice, Scorer, best_tags, dense_scorer
from tagger.chain.pack import Pack
from tagger.corpus.labels import dev_sentences, tag_numbers, training_sentences
from tagger.corpus.partial import OPEN, Choices, read_choices
from tagger.files import resources
from tagger.hmm.em import Candidates, EMCallback, EMText, EMTrainer
from tagger.hmm.emissions import EmissionModel, Entries, WordForm, check_choices, read_allowed
from tagger.hmm.lexicalized import LexicalizedTransitions
from tagger.hmm.summary import hmm_summary
from tagger.hmm.transitions import Steps, Transitions
from tagger.models.base import Tagger, Terms, TransitionTable
from tagger.models.summary import Section
from tagger.normalization import NFC, normalized_keys, normalized_sentences
from tagger.sentence import Sentence, Words, sentence_list, words_of
from tagger.words.cache import WordCache
from tagger.words.lexicon import Lexicon
from tagger.words.overlap import fingerprints
from tagger.words.windows import Windows

CANDIDATES, SLIGHT = 10, 3e-3  # tags considered for a word, unless so many times less likely than its best


class HMMTagger(Tagger):
    """Settings: words seen up to `rare_count` times teach the guesser, which looks at up to `suffix_length` letters."""

    kind = "hmm"
    transition_model_: LexicalizedTransitions
    emission_model_: EmissionModel

    def __init__(
        self,
        *,
        order: int = 2,
        rare_count: int = 10,
        suffix_length: int = 6,
        partial: bool = False,
        em_iterations: int = 3,
    ) -> None:
        self.order = order
        self.rare_count = rare_count
        self.suffix_length = suffix_length
        self.partial = partial
        self.em_iterations = em_iterations

    @property
    def transitions_(self) -> Transitions:
        return self.transition_model_.transitions

    @property
    def pi_(self) -> np.ndarray:
        """(K,) P(first tag)"""
        return self.transitions_.A[-1, :-1]

    @property
    def A_(self) -> np.ndarray:
        """(K, K) P(next | previous); A_[i].sum() + end_[i] = 1"""
        return self.transitions_.A[:-1, :-1]

    @property
    def end_(self) -> np.ndarray:
        """(K,) P(end | last tag)"""
        return self.transitions_.A[:-1, -1]

    def fit(
        self,
        X: Iterable[Any],
        y: Iterable[Any] | None = None,
        X_dev: Iterable[Any] | None = None,
        y_dev: Iterable[Any] | None = None,
        *,
        unlabeled: Iterable[Any] = (),
        lexicon: Mapping[str, Sequence[str]] | None = None,
        watch: EMCallback = lambda text, iteration, objective: None,
    ) -> HMMTagger:
        """Learn from tagged sentences. A dev set changes nothing: counting has nothing to stop early.

        Partly tagged sentences and those of `unlabeled` are then learned from in `em_iterations` rounds of EM, each of
        which tells `watch` how likely all that is. `lexicon` says which tags words may have.
        """
        self.check_settings()
        raw = [words_of(sentence) for sentence in sentence_list(unlabeled, "unlabeled")]
        if raw and self.order == 1:
            raise ValueError("untagged text needs order 2: a model of first order is counted only")
        sentences = training_sentences(X, y)
        dev_sentences(X_dev, y_dev)
        choices = self.count(sentences, normalized_keys(lexicon or {}))
        for text in [*self.open_text(sentences, choices), *self.raw_text(raw)]:
            teacher = EMTrainer(
                text,
                self.transition_model_,
                self.emission_model_,
                candidates(self.emission_model_, self.transition_model_),
            )
            self.transition_model_, self.emission_model_ = teacher.learn(self.em_iterations, watch)
        return self

    def check_settings(self) -> None:
        if self.order not in (1, 2):
            raise ValueError(f"order is 1 or 2, not {self.order!r}")
        if self.partial and self.order == 1:
            raise ValueError("partly tagged text needs order 2: a model of first order is counted only")

    def count(self, sentences: list[Sentence], lexicon: Mapping[str, Sequence[str]]) -> Choices:
        """All that can be counted; the tokens whose tag is open are returned."""
        if self.partial:
            self.classes_, tags, choices = read_choices(sentences)
        else:
            self.classes_, tags = tag_numbers(sentences)
            choices = Choices.none(len(self.classes_))
        K = len(self.classes_)
        need = 60 * (K + 1) ** 2 + 400 * len(tags)  # tables of tag pairs, tokens
        resources.check(
            need, f"an HMM of {K:,} tags", "tables of tag pairs grow with their square; map some tags to one"
        )
        written = [sentence.words for sentence in sentences]
        lengths = np.array(list(map(len, written)))
        windows = Windows.of(written, margin=0)
        told = tags != OPEN
        ids = windows.at(0)
        self.seen_ = fingerprints(windows.written, ids, lengths)
        self.lexicon_, places = Lexicon.with_places(windows.written, ids[told], tags[told], K)
        words = places[ids]  # (N,) as the lexicon numbers them
        order = np.empty(len(self.lexicon_.words), np.int64)
        order[places[places >= 0]] = np.flatnonzero(places >= 0)
        strings = [windows.words[i] for i in order.tolist()]
        first = np.zeros(len(tags), bool)
        first[np.cumsum(lengths) - lengths] = True
        self.learn_emissions(strings, words[told], first[told], tags[told], read_allowed(lexicon, self.classes_))
        self.count_transitions(Steps.of(tags, lengths, K), words, strings)
        self.summary_ = {"sentences": len(sentences), "tokens": len(tags)}
        return choices

    def open_text(self, sentences: list[Sentence], choices: Choices) -> list[EMText]:
        """The sentences that leave something open."""
        if not len(choices.tokens):
            return []
        numbers = {name: k for k, name in enumerate(self.classes_)}
        lengths = np.array([len(sentence) for sentence in sentences])
        owner = np.repeat(np.arange(len(lengths)), lengths)
        begins = np.cumsum(lengths) - lengths
        allowed = {}
        for i in sorted(set(owner[choices.tokens].tolist())):
            allowed[i] = np.zeros((int(lengths[i]), len(numbers)), bool)
            for t, tag in enumerate(sentences[i].tags or ()):
                if tag in numbers:
                    allowed[i][t, numbers[tag]] = True
        forms = dict(zip(allowed, self.emission_model_.forms([sentences[i].words for i in allowed]), strict=True))
        of = owner[choices.tokens]
        places = list(zip(of.tolist(), (choices.tokens - begins[of]).tolist(), strict=True))
        for (i, t), row in zip(places, choices.allowed, strict=True):
            allowed[i][t] = row
        check_choices(self.emission_model_, [forms[i][t] for i, t in places], choices.allowed, self.classes_)
        return [EMText("partly tagged text", list(forms.values()), list(allowed.values()))]

    def raw_text(self, unlabeled: list[Words]) -> list[EMText]:
        """Untagged sentences, which together weigh no more than the tagged ones."""
        sentences = list(normalized_sentences([words for words in unlabeled if len(words)], NFC))
        tokens = sum(map(len, sentences))
        if not tokens:
            return []
        self.summary_["unlabeled"] = tokens
        return [
            EMText(
                "untagged text", self.emission_model_.forms(sentences), None, min(1.0, self.summary_["tokens"] / tokens)
            )
        ]

    def learn_emissions(
        self, strings: list[str], words: np.ndarray, first: np.ndarray, tags: np.ndarray, allowed: Entries
    ) -> None:
        """`emission_model_`, from the lexicon's strings, and the text as words (N,) of it, some the first of a sentence."""
        elsewhere = np.bincount(words[~first], minlength=len(strings)) > 0
        prior = np.bincount(tags, minlength=len(self.classes_)) / len(tags)
        self.emission_model_ = EmissionModel.learn(
            self.lexicon_, strings, elsewhere, prior, self.rare_count, self.suffix_length, allowed
        )

    def count_transitions(self, steps: Steps, words: np.ndarray, strings: list[str]) -> None:
        """`transition_model_`, from the steps, the lexicon's words (N,), -1 for others, and how those are written."""
        K, width = steps.K, steps.K + 1
        told = steps.w != OPEN
        unigrams = np.bincount(steps.w[told], minlength=width)
        told &= steps.v != OPEN
        bigrams = np.bincount(steps.v[told] * width + steps.w[told], minlength=width**2).reshape(width, width)
        steps = steps.known(OPEN)
        transitions = Transitions.count(steps, unigrams, bigrams, self.order)
        rows = self.lexicon_.rows
        often = np.flatnonzero(np.bincount(words[words >= 0]) > self.rare_count)
        if self.order == 1 or not len(often):
            self.transition_model_ = LexicalizedTransitions.none(transitions)
            return
        entries, widths = rows.entries(often)
        scores, _ = self.emission_model_([strings[i] for i in often.tolist()])
        P = np.exp(scores[np.repeat(np.arange(len(often)), widths), rows.tags[entries]])
        cells = rows.owners[entries] * K + rows.tags[entries]
        self.transition_model_ = LexicalizedTransitions.count(transitions, steps, words, cells, P)

    def scorer_in_form(self) -> Scorer:
        if self.order == 2:
            return second_order(self.emission_model_, self.transition_model_)
        return first_order(self.emission_model_, np.log(self.pi_), np.log(self.A_), np.log(self.end_))

    def score_terms(self, words: Words) -> Terms:
        forms, *_ = self.emission_model_.forms([words])
        scores, ids = self.emission_model_(forms)
        model = self.transition_model_
        K, T = len(self.classes_), len(words)
        names = [*self.classes_, "end of sentence"]

        def terms(path: Sequence[int], t: int) -> dict[str, float]:
            """Emissions of this token and the next, which may look at this tag, too; steps to this tag and two more."""
            marked = np.array([K, K, *path, K])  # the tag of token i is marked[i + 2]
            pairs = marked[:-1] * (K + 1) + marked[1:]  # (u, v) with v the tag of token i at pairs[i + 1]
            places = np.append(-1, model.places(ids, marked[2:-1]))  # of token i at places[i + 1]
            found = {}
            for i in range(t, min(t + 2, T)):
                kind = "known word" if ids[i] >= 0 else "guess for unknown word"
                name = f"{kind} {words[i]}" if i == t else f"next word {words[i]}"
                own = slice(i + 1, i + 2)
                found[name] = float(model.arrivals(pairs[own], scores[i, path[i] : path[i] + 1], places[own])[0])
            for i in range(t, min(t + 3, T + 1)):
                name = ("tags before", f"next tag {names[marked[t + 3]]}", "tag after the next")[i - t]
                found[name] = float(model.onward(pairs[i : i + 1], marked[i + 2 : i + 3], places[i : i + 1])[0])
            return found

        return terms

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
        archive.check(self.order in (1, 2) and isinstance(self.rare_count, int), "its settings are not those of an HMM")
        self.emission_model_ = EmissionModel.restore(archive, K, self.rare_count)
        self.lexicon_ = self.emission_model_.lexicon
        transitions = Transitions.restore(archive, K)
        self.transition_model_ = LexicalizedTransitions.restore(archive, transitions, len(self.lexicon_.words))


def first_order(words: EmissionModel, start: np.ndarray, transitions: np.ndarray, end: np.ndarray) -> Scorer:
    cache = WordCache(lambda new: {"scores": words(new)[0]})

    def emissions(sentences: list[Words], pack: Pack) -> np.ndarray:
        rows = cache.find(words.forms(sentences))[pack.tokens]
        return cache.arrays["scores"][rows]

    return dense_scorer(start, transitions, end, emissions)


def second_order(words: EmissionModel, neighbours: LexicalizedTransitions) -> Scorer:
    cache = WordCache(candidates(words, neighbours))

    def score(sentences: list[Words]) -> Lattice:
        pack = Pack.of([len(own) for own in sentences])
        lines = cache.find(words.forms(sentences))[pack.tokens]
        known = (cache.arrays[name] for name in ("words", "scores", "candidates", "places"))
        return CandidateLattice(pack, neighbours, lines, *known)

    return score


def candidates(model: EmissionModel, neighbours: LexicalizedTransitions) -> Candidates:
    """A function from words to the number of each, its scores, its candidates, best first, and their places."""

    def find(words: Sequence[WordForm]) -> dict[str, np.ndarray]:
        scores, ids = model(words)
        likely = scores + np.log(model.prior)  # P(t | w), but for a factor
        likely[likely < likely.max(axis=1, keepdims=True) + np.log(SLIGHT)] = -np.inf
        tags = best_tags(likely, CANDIDATES)
        places = neighbours.places(np.repeat(ids, tags.shape[1]), np.maximum(tags, 0).ravel())
        return {"words": ids, "scores": scores, "candidates": tags, "places": places.reshape(tags.shape)}

    return find
