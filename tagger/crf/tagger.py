"""The conditional random field: encode, optimise the penalised likelihood, fill a lattice.

A linear chain (Lafferty, McCallum & Pereira 2001): emissions are sums of feature weights, transitions, start and end
are weights themselves. A feature or tag bigram never seen in training has weight 0: unlikely to matter, not forbidden.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tagger.arrays.npz import Archive, Arrays, narrow_floats
from tagger.arrays.ragged import ranges
from tagger.chain.lattice import Scorer, dense_scorer
from tagger.chain.pack import PACK_TOKENS
from tagger.corpus.final_marks import trained_lengths
from tagger.corpus.labels import check_dev, dev_sentences, tag_numbers, training_sentences
from tagger.corpus.partial import OPEN, Choices, read_choices, renumber_tags
from tagger.crf.scorer import FeatureScorer
from tagger.crf.summary import crf_summary
from tagger.crf.trainer import DEV_EVERY, Trainer
from tagger.errors import TemplateError, TrainingError, several
from tagger.features.encoder import Features, learn_features
from tagger.features.tag_parts import SEPARATORS, TagParts, separator_of
from tagger.features.template import (
    Template,
    check_classes,
    class_features,
    class_sizes,
    margin,
    parse_templates,
    template_text,
)
from tagger.features.word_classes import WordClasses
from tagger.files import resources
from tagger.files.resources import available_cores
from tagger.models.base import Tagger, Terms, TransitionTable
from tagger.models.checkpoint import Checkpoint, corpus_fingerprint, fingerprint
from tagger.models.explain import step_terms
from tagger.models.monitor import ProgressCallback, TrainingMonitor
from tagger.models.summary import Section
from tagger.normalization import NFC, NormalizationForm
from tagger.sentence import Sentence, Words
from tagger.words.lexicon import Lexicon
from tagger.words.overlap import fingerprints
from tagger.words.windows import Windows

if TYPE_CHECKING:
    from tagger.crf.lbfgs import Result
    from tagger.crf.parameters import EncodedCorpus, ParameterLayout

LEVELS = 512  # of a stored weight's size
LARGEST_PENALTY = 1e15  # leaves no weight; more does the same, but overflows


class CRFTagger(Tagger):
    """Settings: `features` names a shipped template or a file; the penalty is `l2 · ‖w‖² + l1 · ‖w‖₁`; features seen
    fewer than `min_count` times are left out, as are those of several words seen fewer than `min_pair_count` times;
    training stops after `max_iterations`, when the loss falls by less than `tolerance` of itself in ten iterations, or
    when a dev set has not got better in `patience` scorings; `threads` 0 means all cores; with `partial`, the tags `?`
    and `A|B` leave a choice.
    """

    kind = "crf"
    template_: str
    parts_: TagParts
    features_: Features
    weights_: np.ndarray  # (P,) float32
    start_: np.ndarray  # (K,) float32, as are the next two
    transitions_: np.ndarray  # (K, K)
    end_: np.ndarray  # (K,)

    def __init__(
        self,
        *,
        features: str = "default",
        l2: float = 0.25,
        l1: float = 0.0,
        max_iterations: int = 200,
        tolerance: float = 1e-3,
        min_count: int = 1,
        min_pair_count: int = 2,
        patience: int = 10,
        partial: bool = False,
        threads: int = 0,
    ) -> None:
        self.features = features
        self.l2 = l2
        self.l1 = l1
        self.max_iterations = max_iterations
        self.tolerance = tolerance
        self.min_count = min_count
        self.min_pair_count = min_pair_count
        self.patience = patience
        self.partial = partial
        self.threads = threads

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
        """Learn from tagged sentences; of all weights tried, the best on a dev set are kept.

        `watch` is told of every iteration and may answer with a reason to stop. With a `checkpoint`, what has been
        reached is saved now and then; the file is removed when training completes. With `init`, training goes on from
        that model: it keeps its template and all it knows, and the penalty is the distance from its weights. Word
        `classes` are for templates that name them; a template that does not gets features of them added.
        """
        from threadpoolctl import threadpool_limits

        self.check_settings()
        sentences = training_sentences(X, y, form_of(init))
        dev = dev_sentences(X_dev, y_dev)
        corpus, layout = self.encode(sentences, init, classes)
        check_dev(self.classes_, dev)
        advice = "a part of the corpus, fewer tags, --min-count 2 or --features comparison need less"
        numbers = {"token": len(corpus.tags), "tag": corpus.K, "word": len(corpus.windows.words)}
        sizes = ", ".join(several(count, noun) for noun, count in numbers.items())
        resources.check(self.memory_need(corpus, layout), f"training on {sizes}", advice)

        def dev_score(weights: np.ndarray) -> float:
            self.set_weights(*layout.split(weights))
            return self.score(dev or [])

        with threadpool_limits(limits=1, user_api="blas"):
            found, state = Trainer(
                corpus=corpus,
                layout=layout,
                l2=min(self.l2, LARGEST_PENALTY),
                l1=min(self.l1, LARGEST_PENALTY),
                max_iterations=self.max_iterations,
                tolerance=self.tolerance,
                threads=self.threads or available_cores(),
                course=TrainingMonitor(
                    patience=self.patience,
                    dev_every=DEV_EVERY,
                    dev_score=dev_score if dev else None,
                    watch=watch,
                    checkpoint=checkpoint,
                    prints=self.prints(sentences, dev, init) if checkpoint else {},
                ),
            ).train()
        if not np.isfinite(found.loss):
            raise TrainingError(f"the loss became {found.loss}: no model; try another --l2 (it was {self.l2})")
        self.conclude(sentences, layout.split(state.best_weights if dev else found.x), found)
        if dev:
            self.summary_ |= {"dev_accuracy": state.best_accuracy, "best_iteration": state.best_iteration}
        if checkpoint and not checkpoint.keep:
            checkpoint.remove()
        return self

    def conclude(self, sentences: list[Sentence], weights: Iterable[np.ndarray], found: Result) -> None:
        """Keep these weights, of the features, start, transitions and end, and what is told of how they were found."""
        self.set_weights(*weights)
        self.drop_zeros()
        self.summary_ = {
            "sentences": len(sentences),
            "tokens": sum(map(len, sentences)),
            "parameters": len(found.x),
            "iterations": found.iterations,
            "evaluations": found.evaluations,
            "loss": found.loss,
            "stopped": found.reason,
        }

    def memory_need(self, corpus: EncodedCorpus, layout: ParameterLayout) -> float:
        """Bytes: the large things that are there at once, and a fifth more for what comes and goes. docs/training.md
        compares it with what was measured."""
        N, V, K, columns = len(corpus.tags), len(corpus.windows.words), corpus.K, corpus.parts.columns
        return 1.2 * (
            N * (8 * columns + 700)  # residuals twice; tokens and their cells
            + 8 * columns * V * len(self.features_.offsets)  # tables of words, and their gradients
            + 8 * columns * PACK_TOKENS * (self.threads or available_cores())
            + 8 * K * K * (N // PACK_TOKENS + 8)  # expected steps of each pack
            + 150 * layout.size  # the optimiser's memory
            + 1e8
        )

    def prints(self, sentences: list[Sentence], dev: list[Sentence] | None, init: CRFTagger | None) -> dict[str, str]:
        """Fingerprints of what a checkpoint belongs to."""
        classes = self.features_.classes
        return {
            "corpus": corpus_fingerprint(sentences),
            "dev set": corpus_fingerprint(dev),
            "template": fingerprint([self.template_, self.min_count, self.min_pair_count]),
            "tag set": fingerprint(self.classes_),
            "penalty": fingerprint([self.l1, self.l2]),
            "word classes": fingerprint(() if classes is None else map(np.ndarray.tobytes, classes.arrays().values())),
            "initial model": fingerprint([] if init is None else [init.weights_.tobytes(), init.template_]),
        }

    def drop_zeros(self) -> None:
        """Leave out the parameters that an L1 penalty or rounding brought to zero, and features that have none left."""
        keep = self.weights_ != 0
        if not keep.all():
            self.features_ = self.features_.restricted(keep)
            self.weights_ = self.weights_[keep]

    def encode(
        self, sentences: list[Sentence], init: CRFTagger | None = None, classes: WordClasses | None = None
    ) -> tuple[EncodedCorpus, ParameterLayout]:
        """The corpus as numbers, and where the weights live."""
        from tagger.crf.parameters import EncodedCorpus, ParameterLayout

        if self.partial:
            names, tags, choices = read_choices(sentences)
        else:
            names, tags = tag_numbers(sentences)
            choices = Choices.none(len(names))
        self.classes_ = sorted({*names, *init.classes_}) if init else names
        if init:
            tags, choices = renumber_tags(self.classes_, names, tags, choices)
        K = len(self.classes_)
        self.parts_ = TagParts(self.classes_, (init and init.parts_.separator) or separator_of(self.classes_))
        templates, classes = self.choose_template(init, classes)
        written = [sentence.words for sentence in sentences]
        windows = Windows.of(written, margin(templates))
        lengths, trained = np.array(list(map(len, written))), trained_lengths(written)
        seen = fingerprints(windows.written, windows.at(0), lengths)
        self.seen_ = np.union1d(seen, init.seen_) if init else seen
        fixed = tags != OPEN
        self.lexicon_ = Lexicon.of(windows.written, windows.at(0)[fixed], tags[fixed], K)
        kept = ranges(lengths) < np.repeat(trained, lengths)  # (N,) tokens to learn weights from
        windows, tags, choices = windows.only(kept, trained, margin(templates)), tags[kept], choices.only(kept)
        tokens, said = choices.events(tags)
        told = Windows(windows.words, windows.places[tokens], windows.around)
        self.features_, counts, values = learn_features(
            templates, told, said, self.parts_, self.min_count, self.min_pair_count, classes
        )
        corpus = EncodedCorpus(self.features_, values, windows, trained, tags, choices, K, self.parts_)
        return self.go_on_from(init, corpus, counts) if init else (corpus, ParameterLayout(corpus, counts))

    def choose_template(
        self, init: CRFTagger | None, classes: WordClasses | None
    ) -> tuple[list[Template], WordClasses | None]:
        """What to look at, and the classes of words needed for that."""
        if init:
            if classes is not None:
                raise TrainingError("a model to go on from brings its own word classes, or none: give no others")
            self.template_, classes = init.template_, init.features_.classes
            return parse_templates(self.template_, self.features), classes
        self.template_ = template_text(self.features)
        templates = parse_templates(self.template_, self.features)
        if classes is not None and not class_sizes(templates):
            self.template_ += class_features(classes.sizes)
            templates = parse_templates(self.template_, self.features)
        check_classes(templates, classes, self.features)
        return templates, classes and classes.restricted(class_sizes(templates)).normalized(NFC)

    def go_on_from(
        self, init: CRFTagger, corpus: EncodedCorpus, counts: np.ndarray
    ) -> tuple[EncodedCorpus, ParameterLayout]:
        """The same with the features, words and tags of an older model, whose weights are the centre of the penalty."""
        from tagger.crf.parameters import ParameterLayout
        from tagger.crf.warm_start import Union, renumbered

        K = corpus.K
        place = np.searchsorted(self.classes_, init.classes_)  # of the old tags among the new
        rows, order = renumbered(init.features_.rows, np.append(place, self.parts_.places(init.parts_)))
        known = init.features_
        old = Features(known.templates, known.strings, known.keys, rows, known.classes)
        union = Union(old, corpus.features, self.parts_.columns)
        lexicon_rows, lexicon_order = renumbered(init.lexicon_.rows, place)
        old_lexicon = Lexicon(
            init.lexicon_.words, lexicon_rows, init.lexicon_.counts[lexicon_order], init.lexicon_.form
        )
        self.lexicon_ = old_lexicon.joined(self.lexicon_, K)

        all_counts, w = np.zeros((2, len(union.features.rows.tags)))
        all_counts[union.places[corpus.features]] = counts
        w[union.places[old]] = init.weights_[order]
        start, end, transitions = np.zeros(K), np.zeros(K), np.zeros((K, K))
        start[place], end[place], transitions[np.ix_(place, place)] = init.start_, init.end_, init.transitions_
        values = {name: union.ids[corpus.features][ids] for name, ids in corpus.values.items()}
        self.features_ = union.features
        corpus = replace(corpus, features=union.features, values=values)
        layout = ParameterLayout(corpus, all_counts, also_seen=np.flatnonzero(transitions))
        layout.centre = layout.join(w, start, transitions, end)
        return corpus, layout

    def stored_settings(self) -> dict[str, Any]:
        settings = self.get_params()
        del settings["threads"], settings["partial"]  # of the time, and of the corpus
        return settings | {"features": Path(self.features).name}

    def check_settings(self) -> None:
        if not (0 <= self.l2 < np.inf and 0 <= self.l1 < np.inf and self.tolerance >= 0):
            raise TrainingError(f"l1, l2 and tolerance start at 0, got {self.l1}, {self.l2} and {self.tolerance}")
        if min(self.max_iterations, self.min_count, self.min_pair_count, self.patience) < 1 or self.threads < 0:
            raise TrainingError("max_iterations, patience and the counts are at least 1, threads at least 0")

    def set_weights(self, weights: np.ndarray, start: np.ndarray, transitions: np.ndarray, end: np.ndarray) -> None:
        self.weights_ = rounded(weights)
        self.start_ = start.astype(np.float32)
        self.transitions_ = transitions.astype(np.float32)
        self.end_ = end.astype(np.float32)

    def scorer_in_form(self) -> Scorer:
        emissions = FeatureScorer(self.features_, self.weights_, self.parts_)
        return dense_scorer(self.start_, self.transitions_, self.end_, emissions)

    def summarize(self) -> list[Section]:
        own = crf_summary(
            self.classes_, self.parts_.names, self.features_, self.weights_, self.transitions_, self.start_
        )
        return [*super().summarize(), *own]

    def transition_table(self) -> TransitionTable:
        return TransitionTable.of("weight", self.transitions_, self.start_, self.end_)

    def score_terms(self, words: Words) -> Terms:
        present, rows = self.features_.present(words), self.features_.rows

        def weight(feature: int, k: int) -> float:
            begin, end = rows.bounds[feature : feature + 2]
            there = np.isin(rows.tags[begin:end], self.parts_.columns_of(k))
            return float(self.weights_[begin:end][there].sum(dtype=np.float64))

        def terms(path: Sequence[int], t: int) -> dict[str, float]:
            found = {text: weight(feature, path[t]) for text, feature in present[t]}
            return found | step_terms(self.classes_, self.start_, self.transitions_, self.end_, path, t)

        return terms

    def arrays(self) -> Arrays:
        own = {
            "weights": narrow_floats(self.weights_),
            "start": self.start_,
            "transitions": self.transitions_,
            "end": self.end_,
        }
        return own | self.lexicon_.arrays() | self.features_.arrays()

    def restore(self, archive: Archive) -> None:
        K = len(self.classes_)
        self.template_ = archive.setting("template", str)
        self.lexicon_ = Lexicon.restore(archive, K)
        try:
            templates = parse_templates(self.template_)
        except TemplateError as error:
            raise archive.error(str(error)) from None
        separator = archive.meta.get("separator")
        archive.check(separator in (None, *SEPARATORS), "its tags are joined in an unknown way")
        self.parts_ = TagParts(self.classes_, separator)
        self.features_ = Features.restore(archive, templates, self.parts_.columns)
        self.weights_ = archive.take("weights", "f", len(self.features_.rows.tags)).astype(np.float32)
        self.start_, self.end_ = (archive.take(name, "f", K).astype(np.float32) for name in ("start", "end"))
        self.transitions_ = archive.take("transitions", "f", K, K).astype(np.float32)

    def describe(self) -> dict[str, Any]:
        return {"template": self.template_, "separator": self.parts_.separator}


def form_of(init: CRFTagger | None) -> NormalizationForm:
    """The normalisation form of a new model: that of the model it goes on from, whose words it keeps."""
    return init.lexicon_.form if init else NFC


def rounded(weights: np.ndarray) -> np.ndarray:
    """Whole multiples of a power of two, the largest of them at most LEVELS: a third of the model's size, and no
    accuracy lost (docs/training.md)."""
    highest = np.abs(weights).max(initial=0.0)
    step = np.exp2(np.ceil(np.log2(highest / LEVELS))) if highest else 1.0
    return np.asarray(np.round(weights / step) * step, np.float32)
