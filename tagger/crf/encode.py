"""The encoding of a training corpus: from tagged sentences to numbers, and all that a CRF learns by counting.

The tag set, the template, the features, the lexicon and the parameter layout come from here; only the weights are left
to the trainer. With an initial model, its tags, words and features join those of the corpus (`warm_start`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tagger.arrays.ragged import ranges
from tagger.corpus.column_names import ColumnNames
from tagger.corpus.final_marks import trained_lengths
from tagger.corpus.partial import OPEN, Choices, read_tags, renumber_tags
from tagger.corpus.span_schemes import AUTO, NO_SCHEME, allowed_steps, training_scheme
from tagger.crf.candidates.proposal import DEFAULT_THRESHOLD, cross_fit, joined, propose_all, with_gold
from tagger.crf.parameters import EncodedCorpus, ParameterLayout, step_events
from tagger.crf.settings import check_templates, check_words, features_name, function_of, uses_feature_dicts
from tagger.crf.warm_start import continue_from
from tagger.errors import TrainingError
from tagger.escaping import quote
from tagger.features.encoder import learn_features
from tagger.features.observer import FeatureFunction, Observer
from tagger.features.phrases import PhraseList, read_lists
from tagger.features.tag_parts import TagParts, separator_of
from tagger.features.template import (
    FEATURES_TEMPLATE,
    Template,
    check_classes,
    class_features,
    class_sizes,
    column_names,
    list_names,
    margin,
    parse_templates,
    sources_of,
    template_text,
    token_values,
    valued_sources,
)
from tagger.features.token_values import TokenValues
from tagger.features.valued import ALL, Selection
from tagger.features.word_classes import WordClasses
from tagger.files.resources import available_cores, return_freed_memory
from tagger.hmm.counting.tagged_text import TaggedText
from tagger.hmm.tagger import HMMTagger
from tagger.normalization import NFC, NormalizationForm
from tagger.sentence import Sentence
from tagger.words.lexicon import Lexicon
from tagger.words.windows import Windows

if TYPE_CHECKING:
    from tagger.crf.tagger import CRFTagger


@dataclass(frozen=True)
class Encoding:
    """An encoded corpus and its parameter layout, with what else a model keeps of the corpus."""

    corpus: EncodedCorpus
    layout: ParameterLayout
    tag_set: list[str]  # K, sorted
    template: str
    lexicon: Lexicon
    seen: np.ndarray  # marks of the sentences (`words.overlap`)
    threshold: float | None  # lowest probability of a candidate; None if all tags are candidates
    proposer: HMMTagger | None
    missed: int  # tokens whose right tag was no candidate
    scheme: str | None  # of spans
    lists: dict[str, PhraseList]  # by name, for templates that name any


@dataclass(frozen=True)
class CorpusPlan:
    """Decisions about a whole corpus, on which the encoding of every sentence depends."""

    tag_set: list[str]  # K, sorted
    scheme: str | None  # of spans
    separator: str | None  # of the parts of tags
    template: str
    template_name: str
    classes: WordClasses | None
    lists: dict[str, PhraseList]
    form: NormalizationForm
    function: FeatureFunction | str | None = None  # that makes dicts of features

    def templates(self) -> list[Template]:
        """Parse the template."""
        return parse_templates(self.template, self.template_name)


class FeatureLimits(NamedTuple):
    """How often features have to occur, and which of their parameters are learned."""

    min_count: int = 1
    min_pair_count: int = 1
    selection: Selection = ALL


@dataclass(frozen=True)
class ObservedText:
    """A tagged text as the templates look at it."""

    windows: Windows  # of words, or of tuples of a word and the values of sources
    valued: TokenValues | None  # numbers and dicts
    text: TaggedText

    @classmethod
    def of(
        cls,
        plan: CorpusPlan,
        sentences: Sequence[Sentence],
        tags: np.ndarray,
        choices: Choices,
        selection: Selection = ALL,
    ) -> ObservedText:
        """Number the words of sentences with these tags (N,)."""
        templates, words = plan.templates(), [sentence.words for sentence in sentences]
        observe = Observer(plan.form, sources_of(templates), plan.lists, valued_sources(templates), plan.function)
        observed = observe(sentences)
        windows = Windows.of(observed, margin(templates))
        by_word = Windows.of(words, 0) if observe.sources else windows
        text = TaggedText.numbered(plan.tag_set, tags, choices, by_word, np.array(list(map(len, words))))
        return cls(windows, token_values(templates, observed, selection.zeros), text)


@dataclass(frozen=True)
class EncodedPart:
    """Sentences as numbers, with the features that occur in them, and what was counted."""

    corpus: EncodedCorpus
    counts: np.ndarray  # (P,) of each parameter of a feature
    lexicon: Lexicon
    seen: np.ndarray  # marks of the sentences


def encode_corpus(
    settings: CRFTagger, sentences: Sequence[Sentence], init: CRFTagger | None, classes: WordClasses | None
) -> Encoding:
    """Encode a corpus with the settings of a model, adding the tags, words and features of an initial one."""
    tag_set, tags, choices = read_tags(sentences, settings.partial)
    if init:
        names, tag_set = tag_set, sorted({*tag_set, *init.classes_})
        tags, choices = renumber_tags(tag_set, names, tags, choices)
    K, scheme = len(tag_set), scheme_of(settings, init, sentences, tag_set)
    separator, name = (init and init.tag_parts_.separator) or separator_of(tag_set), features_name(settings.features)
    template, classes = choose_template(settings, init, classes, sentences[0])
    templates = parse_templates(template, name)
    check_templates(settings.order, templates)
    check_words(sentences, valued_sources(templates))
    lists = init.lists_ if init else read_lists(list_names(templates), name)
    function = function_of(settings.features) or (function_of(init.features) if init else None)
    plan = CorpusPlan(tag_set, scheme, separator, template, name, classes, lists, form_of(init), function)
    trained = trained_lengths([sentence.words for sentence in sentences])
    limits = FeatureLimits(settings.min_count, settings.min_pair_count, settings.selection())
    observed = ObservedText.of(plan, sentences, tags, choices, limits.selection)
    part = encode_text(plan, observed, trained, limits)
    return_freed_memory()
    corpus, lexicon = part.corpus, part.lexicon
    threshold = threshold_of(settings, init, K, bool(column_names(templates)))
    hmm, missed = None, 0
    if threshold is not None:
        corpus, hmm, missed = add_candidates(corpus, settings, sentences, observed.text, init, threshold, scheme)
        lexicon = lexicon if init else hmm.lexicon_  # the same words and counts
        return_freed_memory()
    all_steps = np.arange(K * K, dtype=np.int64) if settings.selection().all_transitions else None
    layout = ParameterLayout(corpus, part.counts, all_steps, order=settings.order)
    encoding = Encoding(corpus, layout, tag_set, template, lexicon, part.seen, threshold, hmm, missed, scheme, lists)
    return continue_from(init, encoding, part.counts) if init else encoding


def encode_text(plan: CorpusPlan, observed: ObservedText, trained: np.ndarray, limits: FeatureLimits) -> EncodedPart:
    """Encode a text, of each sentence of which `trained` tokens are learned from."""
    templates, tag_parts, K = plan.templates(), TagParts(plan.tag_set, plan.separator), len(plan.tag_set)
    windows, valued, text = observed.windows, observed.valued, observed.text
    tags, choices, lengths, allowed = text.tags, text.choices, text.lengths, allowed_steps(plan.scheme, plan.tag_set)
    trained = legal_lengths(trained, lengths, tags, allowed)
    # The lexicon counts all tokens; weights are learned from those that are kept.
    kept = ranges(lengths) < np.repeat(trained, lengths)  # (N,)
    windows, tags, choices = windows.only(kept, trained, margin(templates)), tags[kept], choices.only(kept)
    valued = valued and valued.only(kept, trained, margin(templates))
    # A token with a choice of tags is an event of each of them.
    tokens, event_tags = choices.events(tags)
    events = Windows(windows.words, windows.places[tokens], windows.around)
    followers, pairs = step_events(trained, tags, choices, K)
    steps = Windows(windows.words, windows.places[followers], windows.around), pairs
    counted = (limits.min_count, limits.min_pair_count, plan.classes, steps, valued and valued.at(tokens))
    features, counts, values = learn_features(templates, events, event_tags, tag_parts, *counted, limits.selection)
    corpus = EncodedCorpus(
        features, values, windows, trained, tags, choices, K, tag_parts, allowed=allowed, valued=valued
    )
    return EncodedPart(corpus, counts, text.lexicon, text.seen)


def scheme_of(
    settings: CRFTagger, init: CRFTagger | None, sentences: Sequence[Sentence], tag_set: list[str]
) -> str | None:
    """Return the span scheme of a new model: that of the initial model, whose rules the corpus must obey too."""
    if init is None:
        return training_scheme(settings.scheme, sentences, tag_set)
    brought = init.scheme_ or NO_SCHEME
    if settings.scheme not in (AUTO, brought):
        raise TrainingError(f"scheme: expected {brought} with init, whose scheme is used, got {settings.scheme}")
    return training_scheme(brought, sentences, tag_set)


def legal_lengths(trained: np.ndarray, lengths: np.ndarray, tags: np.ndarray, allowed: np.ndarray | None) -> np.ndarray:
    """Return the tokens of each sentence to train on, all of them where the tag before its final mark cannot end it."""
    if allowed is None:
        return trained
    last = tags[np.cumsum(lengths) - lengths + trained - 1]
    return np.where((last == OPEN) | allowed[last, -1], trained, lengths)


def threshold_of(settings: CRFTagger, init: CRFTagger | None, K: int, columns: bool) -> float | None:
    """Return the lowest probability of a candidate; None if all tags are candidates.

    An HMM sees no columns, so that without a number all tags are candidates of a template that looks at them.
    """
    if init is not None:
        if settings.order != init.order or settings.candidates != "auto":
            expected = f"expected order={init.order} and candidates='auto' with init, whose candidates are used"
            raise TrainingError(f"{expected}, got order={settings.order} and candidates={settings.candidates!r}")
        return init.threshold_
    if settings.candidates == "auto":
        return DEFAULT_THRESHOLD if settings.uses_candidates(K, columns) else None
    return None if settings.candidates == "all" else float(settings.candidates)


def add_candidates(
    corpus: EncodedCorpus,
    settings: CRFTagger,
    sentences: Sequence[Sentence],
    text: TaggedText,
    init: CRFTagger | None,
    threshold: float,
    scheme: str | None,
) -> tuple[EncodedCorpus, HMMTagger, int]:
    """Add the candidates of each token to a corpus.

    Returned are the corpus, the HMM that proposes, and the number of tokens whose right tag was no candidate. A model
    that is adapted keeps its HMM, which has not seen the new corpus.
    """
    if init is not None:
        hmm = init.proposer_
        assert hmm is not None  # it has a threshold
        if new := sorted(set(text.tag_set) - set(hmm.classes_)):
            known = "expected only tags of its model, whose HMM proposes no others"
            raise TrainingError(f"init: {known}, got also {quote(' '.join(new))}. Rename them, or train without init.")
        words = [s.words[:n] for s, n in zip(sentences, corpus.lengths.tolist(), strict=True)]
        proposal = joined(propose_all(hmm, words, threshold))
    else:
        threads = settings.threads or available_cores()
        chosen = {"partial": settings.partial, "scheme": NO_SCHEME if corpus.allowed is None else AUTO}
        classes = corpus.features.classes
        hmm, proposal = cross_fit(chosen, sentences, corpus.lengths, text.tag_set, threshold, threads, text, classes)
        hmm.scheme_ = scheme
    with_right, is_right, missed = with_gold(proposal, corpus.tags, corpus.choices, threshold)
    return replace(corpus, proposal=with_right, is_right=is_right, cross_fitted=proposal), hmm, missed


def template_columns(sentence: Sentence) -> list[str | None]:
    """Return the names of the columns of a sentence's file in order, None for the words: what `%x[0,1]` counts."""
    return ColumnNames.of_sentence(sentence).places() or [None, *(sentence.columns or {})]


def choose_template(
    settings: CRFTagger, init: CRFTagger | None, classes: WordClasses | None, first: Sentence
) -> tuple[str, WordClasses | None]:
    """Return the text of the template, and the word classes that it needs, given the first sentence of the corpus.

    An initial model brings both. A template that names no classes gets features of the classes given. Dicts of features
    have a template of their own.
    """
    if init:
        if classes is not None:
            raise TrainingError(
                "classes: expected none with init, whose own word classes are used. Leave one of them out"
            )
        return init.template_, init.features_.classes
    name = features_name(settings.features)
    if uses_feature_dicts(settings, first):
        return FEATURES_TEMPLATE, None
    text = template_text(name, template_columns(first))
    templates = parse_templates(text, name)
    if classes is not None and not class_sizes(templates):
        text += class_features(classes.sizes)
        templates = parse_templates(text, name)
    check_classes(templates, classes, name)
    return text, classes and classes.restricted(class_sizes(templates)).normalized(NFC)


def form_of(init: CRFTagger | None) -> NormalizationForm:
    """Return the normalisation form of a new model: that of the initial model, whose words it keeps, or NFC."""
    return init.lexicon_.form if init else NFC
