"""The BiLSTM-CRF: a network makes the emissions, the chain is that of the other models.

A bidirectional LSTM with a CRF on top (Huang, Xu & Yu 2015) over words and their letters (Lample et al. 2016). It is
learned with PyTorch, as one network, by the likelihood of whole sentences; what was learned is plain arrays, and
tagging needs NumPy alone. Weights are rounded to 16 bits as they are taken over, so that a model file is half as
large and the model that was judged is the one that is stored.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from tagger.arrays.npz import Archive, Arrays, narrow_floats
from tagger.arrays.ragged import ranges
from tagger.chain.lattice import Scorer, dense_scorer
from tagger.corpus.final_marks import trained_lengths
from tagger.corpus.labels import check_dev, dev_sentences, tag_numbers, training_sentences
from tagger.errors import TrainingError, several
from tagger.files import resources
from tagger.models.base import Tagger, Terms, TransitionTable
from tagger.models.checkpoint import Checkpoint, corpus_fingerprint, fingerprint
from tagger.models.explain import step_terms
from tagger.models.monitor import INTERRUPTED, ProgressCallback, TrainingMonitor
from tagger.models.summary import Section
from tagger.neural import need_torch
from tagger.neural.lookup import InputLookup
from tagger.neural.numpy_network import LARGEST, NumpyNetwork, Sizes, restore_weights
from tagger.neural.occlusion import occluded
from tagger.neural.summary import network_summary
from tagger.neural.word_vectors import WordVectors
from tagger.sentence import Sentence, Words
from tagger.words.lexicon import Lexicon
from tagger.words.overlap import marks
from tagger.words.windows import Windows

SIZES = ("word_size", "letter_size", "spelling_size", "hidden_size", "layers")
SLOWER = "no model; try a smaller --learning-rate"
COPIES = 10  # of the weights while learning: gradient, average, moments, what is saved and judged
MOST_IN_A_BATCH, BATCHES = 32, 200  # a small corpus is cut into so many batches


class BiLSTMTagger(Tagger):
    """Settings: the sizes of a word's embedding, of a letter's, and of the states of the two BiLSTMs in each direction;
    the number of `layers` of the second one; `dropout`; Adam's `learning_rate`; training ends after `epochs`, or when a
    dev set has not got better in `patience` of them; `batch_size` 0 means one that suits the corpus.
    """

    kind = "bilstm"
    explanation_note = "the reasons of a network are found by occlusion: how the score changes when a word is hidden"
    lookup_: InputLookup
    weights_: Arrays  # float32, by the names of `Sizes.shapes`

    def __init__(
        self,
        *,
        word_size: int = 100,
        letter_size: int = 32,
        spelling_size: int = 64,
        hidden_size: int = 200,
        layers: int = 1,
        dropout: float = 0.33,
        learning_rate: float = 0.002,
        epochs: int = 20,
        patience: int = 5,
        batch_size: int = 0,
        seed: int = 1,
    ) -> None:
        self.word_size = word_size
        self.letter_size = letter_size
        self.spelling_size = spelling_size
        self.hidden_size = hidden_size
        self.layers = layers
        self.dropout = dropout
        self.learning_rate = learning_rate
        self.epochs = epochs
        self.patience = patience
        self.batch_size = batch_size
        self.seed = seed

    def fit(
        self,
        X: Iterable[Any],
        y: Iterable[Any] | None = None,
        X_dev: Iterable[Any] | None = None,
        y_dev: Iterable[Any] | None = None,
        watch: ProgressCallback = lambda progress: None,
        checkpoint: Checkpoint | None = None,
        vectors: WordVectors | None = None,
        pulse: Callable[[float], bool] = lambda part: False,
    ) -> BiLSTMTagger:
        """Learn from tagged sentences; of the weights at the ends of epochs, the best on a dev set are kept.

        `watch` is told of every epoch and may answer with a reason to stop, `pulse` hears after each batch which part
        of the epoch is done and may answer True, to stop there. With a `checkpoint`, what has been reached is saved
        now and then; the file is removed when training completes. `vectors` from outside stand beside what is learned.
        """
        need_torch()
        from tagger.neural.trainer import one_thread

        self.check_settings()
        sentences = training_sentences(X, y)
        dev = dev_sentences(X_dev, y_dev)
        self.classes_, tags = tag_numbers(sentences)
        check_dev(self.classes_, dev)
        with one_thread():
            learner = self.learner(sentences, tags, vectors or WordVectors.none())

            def train(monitor: TrainingMonitor) -> tuple[np.ndarray, dict[str, Any]]:
                loss, reason = self.train(learner, monitor, pulse)
                iterations = monitor.state.iteration
                return learner.judged, {"iterations": iterations, "loss": loss, "stopped": reason}

            figures = TrainingMonitor(
                use_weights=lambda weights: self.set_weights(learner.arrays(weights)),
                score=self.score,
                dev=dev,
                dev_every=1,
                patience=self.patience,
                watch=watch,
                checkpoint=checkpoint,
                fingerprints=self.prints(sentences, dev) if checkpoint else {},
                unit="epoch",
            ).run(train)
        sizes = {"sentences": len(sentences), "tokens": len(tags), "parameters": len(learner.average)}
        self.summary_ = sizes | figures
        return self

    def learner(self, sentences: list[Sentence], tags: np.ndarray, vectors: WordVectors) -> Any:
        """The corpus as numbers, and a network that has learned nothing yet."""
        from tagger.neural.trainer import NetworkCorpus, NetworkTrainer, new_module

        K = len(self.classes_)
        written = [sentence.words for sentence in sentences]
        windows = Windows.of(written, 0)
        lengths, trained = np.array(list(map(len, written))), trained_lengths(written)
        self.seen_ = marks(windows.written, windows.at(0), lengths)
        self.lexicon_ = Lexicon.of(windows.written, windows.at(0), tags, K)
        self.lookup_ = InputLookup.of(windows.words, vectors)
        shapes = self.sizes.shapes(len(self.lookup_.words) + 1, len(self.lookup_.alphabet), vectors.size, K)
        size = sum(map(math.prod, shapes.values()))
        resources.check(COPIES * 4 * size, f"learning a network of {size:,} weights", "choose smaller sizes")
        module = new_module(self.sizes, self.lookup_, K, self.dropout, self.seed)
        size = self.batch_size or max(1, min(MOST_IN_A_BATCH, len(sentences) // BATCHES))
        kept = ranges(lengths) < np.repeat(trained, lengths)  # (N,) tokens to learn weights from
        corpus = NetworkCorpus.of(windows.only(kept, trained, 0), trained, tags[kept], self.lookup_)
        return NetworkTrainer(corpus, self.lookup_, module, self.learning_rate, size, self.epochs, self.seed)

    def train(self, learner: Any, course: TrainingMonitor, pulse: Any) -> tuple[float | None, str]:
        """Epoch after epoch; returns the last loss, if there was any epoch, and why there is no other."""
        state = course.start(learner.state, len(learner.average))
        loss = None
        if state.iteration:
            learner.go_on(state.weights, state.iteration)
        for number in range(state.iteration + 1, self.epochs + 1):
            found = learner.epoch(number, pulse)
            if found is None:
                course.save()  # as it was after the last whole epoch
                course.score_dev(learner.judged)
                return loss, INTERRUPTED
            loss = found
            if not np.isfinite(loss):
                raise TrainingError(f"the loss became {loss}: {SLOWER}")
            reason = course.after(number, loss, learner.state, learner.judged)
            if reason:
                return loss, reason
        return loss, f"{several(self.epochs, 'epoch')} had been allowed"

    @property
    def sizes(self) -> Sizes:
        return Sizes(*(getattr(self, name) for name in SIZES))

    def prints(self, sentences: list[Sentence], dev: list[Sentence] | None) -> dict[str, str]:
        """Fingerprints of what a checkpoint belongs to."""
        settings = self.get_params()
        del settings["patience"], settings["epochs"]
        return {
            "corpus": corpus_fingerprint(sentences),
            "dev set": corpus_fingerprint(dev),
            "set of settings": fingerprint(sorted(settings.items())),
            "file of vectors": fingerprint(map(np.ndarray.tobytes, self.lookup_.vectors.arrays().values())),
        }

    def check_settings(self) -> None:
        if min(*(getattr(self, name) for name in SIZES), self.epochs, self.patience) < 1 or self.batch_size < 0:
            raise TrainingError("sizes, layers, epochs and patience are at least 1, batch_size at least 0")
        if not (0 <= self.dropout < 1 and 0 < self.learning_rate <= 1):
            found = f"{self.dropout} and {self.learning_rate}"
            raise TrainingError(f"expected a dropout from 0 to below 1 and a learning rate up to 1, got {found}")

    def set_weights(self, weights: Arrays) -> None:
        highest = max(float(np.abs(array).max()) for array in weights.values())
        if not highest <= LARGEST:
            raise TrainingError(f"the weights became as large as {highest:.3g}: {SLOWER}")
        self.weights_ = {name: array.astype(np.float16).astype(np.float32) for name, array in weights.items()}

    def scorer_in_form(self) -> Scorer:
        network = NumpyNetwork(self.lookup_, self.sizes, self.weights_)
        start, transitions, end = (self.weights_[name] for name in ("start", "transitions", "end"))
        return dense_scorer(start, transitions, end, lambda sentences, pack: network(sentences)[pack.tokens])

    def score_terms(self, words: Words) -> Terms:
        parts = occluded(NumpyNetwork(self.lookup_, self.sizes, self.weights_), words)
        start, transitions, end = (self.weights_[name] for name in ("start", "transitions", "end"))

        def terms(path: Sequence[int], t: int) -> dict[str, float]:
            found = {name: float(scores[path[t]]) for name, scores in parts[t].items()}
            return found | step_terms(self.classes_, start, transitions, end, path, t)

        return terms

    def summarize(self) -> list[Section]:
        return [*super().summarize(), *network_summary(self.classes_, self.lookup_, self.weights_, self.lexicon_)]

    def transition_table(self) -> TransitionTable:
        return TransitionTable.of("weight", *(self.weights_[name] for name in ("transitions", "start", "end")))

    def arrays(self) -> Arrays:
        own = {f"net.{name}": narrow_floats(array) for name, array in self.weights_.items()}
        return own | self.lexicon_.arrays() | self.lookup_.arrays()

    def restore(self, archive: Archive) -> None:
        archive.check(
            all(1 <= getattr(self, name) < 1 << 16 for name in SIZES), "its settings are not those of a BiLSTM"
        )
        self.lexicon_ = Lexicon.restore(archive, len(self.classes_))
        self.lookup_ = InputLookup.restore(archive)
        self.weights_ = restore_weights(archive, self.lookup_, self.sizes, len(self.classes_))
