"""The conditional random field: encode, optimise the penalised likelihood, fill a lattice.

A linear chain (Lafferty, McCallum & Pereira 2001): emissions are sums of feature weights, transitions, start and end
are weights themselves. A feature or tag bigram never seen in training has weight 0: unlikely to matter, not forbidden.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tagger.archive import Archive, Arrays
from tagger.chain import Chain
from tagger.emissions import Emissions
from tagger.errors import TemplateError, TrainingError
from tagger.features import Features, learn_features
from tagger.lattice import ChainLattice
from tagger.lexicon import Lexicon
from tagger.metrics import accuracy
from tagger.model import Scorer, Tagger, Words, tagged, training_data
from tagger.pack import Pack
from tagger.sentence import Sentence
from tagger.template import margin, parse_templates, template_text
from tagger.windows import Windows

if TYPE_CHECKING:
    from tagger.likelihood import Corpus
    from tagger.optimize import Result

DEV_EVERY = 10  # iterations between two looks at the dev set
WARM_UP = ((20, 20), (5, 15))  # iterations on every twentieth sentence, then on every fifth
WARM_UP_TOKENS = 5000  # parts smaller than this teach nothing
FIRST_STEP = 0.1


@dataclass(frozen=True)
class Progress:
    """What training tells its watcher after an iteration; `seconds` count from the end of encoding."""

    iteration: int
    loss: float | None  # of the whole corpus; None while warming up on a part of it
    seconds: float
    dev_accuracy: float | None


class CRFTagger(Tagger):
    """Settings: `features` names a shipped template or a file; the penalty is `l2 · ‖w‖²`; features seen fewer than
    `min_count` times are left out; training stops after `max_iterations`, or when the loss falls by less than
    `tolerance` of itself in ten iterations; `threads` 0 means all cores.
    """

    kind = "crf"
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
        max_iterations: int = 200,
        tolerance: float = 1e-3,
        min_count: int = 1,
        threads: int = 0,
    ) -> None:
        self.features = features
        self.l2 = l2
        self.max_iterations = max_iterations
        self.tolerance = tolerance
        self.min_count = min_count
        self.threads = threads

    def fit(
        self,
        X: Sequence[Any],
        y: Sequence[Sequence[str]] | None = None,
        X_dev: Sequence[Any] | None = None,
        y_dev: Sequence[Sequence[str]] | None = None,
        watch: Callable[[Progress], None] = lambda progress: None,
    ) -> CRFTagger:
        """Learn from tagged sentences; `watch` is told of every iteration."""
        from threadpoolctl import threadpool_limits

        self.check_settings()
        sentences, self.classes_, tags = training_data(X, y)
        dev = None if X_dev is None else tagged(X_dev, y_dev)
        corpus, counts = self.encode(sentences, tags)
        with threadpool_limits(limits=1, user_api="blas"):
            found = self.optimise(corpus, counts, dev, watch)
        if not np.isfinite(found.loss):
            raise TrainingError(f"the loss became {found.loss}: no model; try another --l2 (it was {self.l2})")
        self.summary_ = {
            "sentences": len(sentences),
            "tokens": len(tags),
            "parameters": len(found.x),
            "iterations": found.iterations,
            "evaluations": found.evaluations,
            "loss": found.loss,
            "stopped": found.reason,
        }
        return self

    def encode(self, sentences: list[Sentence], tags: np.ndarray) -> tuple[Corpus, np.ndarray]:
        """The corpus as numbers, and how often each parameter of a feature was seen."""
        from tagger.likelihood import Corpus

        K = len(self.classes_)
        self.template_ = template_text(self.features)
        templates = parse_templates(self.template_, self.features)
        windows = Windows.of([sentence.words for sentence in sentences], margin(templates))
        lengths = np.array([len(sentence) for sentence in sentences])
        self.lexicon_ = Lexicon.of(windows.words, windows.at(0), tags, K)
        self.features_, counts, values = learn_features(templates, windows, tags, K, self.min_count)
        return Corpus(self.features_, values, windows, lengths, tags, K), counts

    def optimise(
        self, corpus: Corpus, counts: np.ndarray, dev: list[Sentence] | None, watch: Callable[[Progress], None]
    ) -> Result:
        """Find the weights: first on parts of the corpus, which goes a long way for little, then on all of it."""
        from tagger.likelihood import Layout, Likelihood
        from tagger.optimize import minimise

        threads = self.threads or available_cores()
        layout = Layout(corpus, counts)
        likelihood = Likelihood(corpus, layout, self.l2, threads)
        begin = time.perf_counter()
        done = 0  # iterations before the present run

        def tell(iteration: int, loss: float | None, weights: np.ndarray) -> None:
            accuracy_now = None
            if dev is not None and (done + iteration) % DEV_EVERY == 0:
                self.set_weights(*layout.split(weights))
                accuracy_now = accuracy(dev, self.predict(dev))
            watch(Progress(done + iteration, loss, time.perf_counter() - begin, accuracy_now))

        # A weight's curvature grows with its count, slower than in proportion: the exponent was found by trial.
        scale = (layout.counts + max(2 * self.l2, 1.0)) ** -0.25
        weights = np.zeros(layout.size)
        evaluations = 0
        for every, iterations in WARM_UP:
            chosen = np.arange(every // 2, len(corpus.lengths), every)
            if corpus.lengths[chosen].sum() < WARM_UP_TOKENS:
                continue
            part = Likelihood(corpus, layout, self.l2, threads, chosen=chosen)
            limit = min(iterations, self.max_iterations - done)
            found = minimise(part, weights, scale, limit, watch=lambda i, loss, x: tell(i, None, x))
            weights, done, evaluations = found.x, done + found.iterations, evaluations + found.evaluations
        first_step = None
        if done:  # near the goal, the true curvature is known better
            scale = likelihood.curvature(weights) ** -0.45
            first_step = FIRST_STEP
        found = minimise(
            likelihood, weights, scale, self.max_iterations - done, self.tolerance, watch=tell, first_step=first_step
        )
        self.set_weights(*layout.split(found.x))
        iterations, evaluations = done + found.iterations, evaluations + found.evaluations
        return replace(found, iterations=iterations, evaluations=evaluations)

    def stored_settings(self) -> dict[str, Any]:
        settings = self.get_params()
        del settings["threads"]  # changes the time, not the result
        return settings | {"features": Path(self.features).name}

    def check_settings(self) -> None:
        if not (0 <= self.l2 < np.inf and self.tolerance >= 0):
            raise TrainingError(f"l2 and tolerance are finite numbers from 0 up, got {self.l2} and {self.tolerance}")
        if self.max_iterations < 1 or self.min_count < 1 or self.threads < 0:
            raise TrainingError("max_iterations and min_count are at least 1, threads at least 0")

    def set_weights(self, weights: np.ndarray, start: np.ndarray, transitions: np.ndarray, end: np.ndarray) -> None:
        self.weights_ = weights.astype(np.float32)
        self.start_ = start.astype(np.float32)
        self.transitions_ = transitions.astype(np.float32)
        self.end_ = end.astype(np.float32)

    def scorer(self) -> Scorer:
        emissions = Emissions(self.features_, self.weights_, len(self.classes_))

        def score(sentences: list[Words]) -> ChainLattice:
            pack = Pack.of([len(words) for words in sentences])
            chain = Chain(pack, self.start_, self.transitions_, self.end_, emissions(sentences, pack))
            return ChainLattice(chain)

        return score

    def arrays(self) -> Arrays:
        own = {
            "weights": self.weights_,
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
        self.features_ = Features.restore(archive, templates, K)
        self.weights_ = archive.take("weights", "f", len(self.features_.rows.tags))
        self.start_, self.end_ = archive.take("start", "f", K), archive.take("end", "f", K)
        self.transitions_ = archive.take("transitions", "f", K, K)

    def describe(self) -> dict[str, Any]:
        return {"template": self.template_}


def available_cores() -> int:
    """Those this process may use, which in a container are fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
