"""The BiLSTM-CRF: a network computes the emissions, the chain is that of the other models.

A bidirectional LSTM with a CRF on top (Huang, Xu & Yu 2015) over words and their characters (Lample et al. 2016). It is
trained with PyTorch by the likelihood of whole sentences; the result is plain arrays, and tagging needs NumPy alone.
Weights are rounded to float16 when training hands them over, so that a model file is half as large and the model that
was scored on the dev set is the one that is stored.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tagger.arrays.npz import Archive, Arrays, narrow_floats
from tagger.arrays.ragged import ranges
from tagger.chain.lattice import Scorer, dense_scorer
from tagger.corpus.final_marks import trained_lengths
from tagger.corpus.labels import check_dev, dev_sentences, tag_numbers, training_sentences
from tagger.corpus.span_schemes import training_scheme
from tagger.errors import TrainingError, several
from tagger.evaluation.spans import check_metric
from tagger.files import resources
from tagger.models.base import Tagger, Terms
from tagger.models.checkpoint import Checkpoint, corpus_fingerprint, fingerprint
from tagger.models.explain import step_terms
from tagger.models.monitor import INTERRUPTED, ProgressCallback, TrainingMonitor
from tagger.models.summary import Section, TransitionTable
from tagger.neural import ADAM, OPTIMIZERS, need_torch
from tagger.neural.lookup import InputLookup
from tagger.neural.numpy_network import MAX_WEIGHT, NumpyNetwork, Sizes, restore_weights
from tagger.neural.occlusion import occlusion_terms
from tagger.neural.summary import network_summary
from tagger.neural.word_vectors import WordVectors
from tagger.sentence import Sentence, Words
from tagger.words.lexicon import Lexicon
from tagger.words.overlap import fingerprints
from tagger.words.windows import Windows

SIZES = ("word_size", "letter_size", "spelling_size", "hidden_size", "layers")
SLOWER = "no model was made. Use a smaller learning_rate."
WEIGHT_COPIES = 10  # while training: gradient, average, moments, checkpoint, dev set
MAX_BATCH_SIZE = 32  # sentences
MIN_BATCHES = 200  # per epoch; small corpora get smaller batches


@dataclass(eq=False, repr=False, kw_only=True)
class BiLSTMTagger(Tagger):
    """A BiLSTM-CRF tagger over words and characters; `fit` needs PyTorch, everything else only NumPy.

    Parameters
    ----------
    word_size : int
        The size of a word embedding.
    letter_size : int
        The size of a character embedding.
    spelling_size : int
        The size of the states of the BiLSTM over characters, per direction.
    hidden_size : int
        The size of the states of the BiLSTM over words, per direction.
    layers : int
        The number of layers of the BiLSTM over words.
    dropout : float
        The dropout rate of inputs and states, from 0 to below 1.
    learning_rate : float
        The initial learning rate, above 0 and up to 1.
    epochs : int
        The maximum number of epochs.
    patience : int
        Training stops when the dev set has not improved for this number of epochs.
    batch_size : int
        The number of sentences in a batch; 0 chooses one from the size of the corpus.
    seed : int
        The seed of weights, dropout and the order of batches.
    scheme : str
        The span scheme of the tags: ``bio``, ``iob1``, ``bioes``, ``bmes`` or ``none``; ``auto`` recognises it. Steps
        that it forbids have no part in decoding.
    metric : str
        What is measured on a dev set, and by `score`: ``accuracy``, or ``span-f1`` for tags with a scheme.
    letters : bool
        Read the characters of words, too; without them a word is its embedding.
    optimizer : str
        ``adam``, or ``sgd``: plain gradient descent, which needs a higher learning rate.
    weight_decay : float
        The L2 penalty of the optimizer, 0 or above.
    """

    kind = "bilstm"
    later_settings = ("letters", "optimizer", "weight_decay")
    explanation_note = "the reasons of a network are found by occlusion: the change of the score when a word is hidden"
    lookup_: InputLookup = field(init=False)
    weights_: Arrays = field(init=False)  # float32, by the names of `Sizes.shapes`
    word_size: int = 100
    letter_size: int = 32
    spelling_size: int = 64
    hidden_size: int = 200
    layers: int = 1
    dropout: float = 0.33
    learning_rate: float = 0.002
    epochs: int = 20
    patience: int = 5
    batch_size: int = 0
    seed: int = 1
    scheme: str = "auto"
    metric: str = "accuracy"
    letters: bool = True
    optimizer: str = ADAM
    weight_decay: float = 0.0

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
        """Train on tagged sentences; with a dev set, keep the weights of the epoch that scores best on it.

        Parameters
        ----------
        X, y : iterable
            Tagged sentences, or lists of words and lists of tags.
        X_dev, y_dev : iterable, optional
            A dev set in the same form.
        watch : callable, optional
            Gets a `Progress` after each epoch; a string that it returns is a reason to stop.
        checkpoint : Checkpoint, optional
            Where to save the state of the training; the file is removed when training completes.
        vectors : WordVectors, optional
            Pretrained vectors from `read_vectors`, an additional input.
        pulse : callable, optional
            Gets the finished fraction of the epoch after each batch; training stops if it returns True.

        Returns
        -------
        BiLSTMTagger
            The tagger itself.

        Raises
        ------
        TaggerError
            If PyTorch is missing.
        TrainingError
            If a setting or the corpus is unusable, or the loss diverges.
        """
        need_torch()
        from tagger.neural.trainer import one_thread

        self.check_settings()
        sentences = training_sentences(X, y)
        dev = dev_sentences(X_dev, y_dev)
        self.classes_, tags = tag_numbers(sentences)
        self.scheme_ = training_scheme(self.scheme, sentences, self.classes_)
        check_dev(self.classes_, dev)
        check_metric(self.metric, self.scheme_)
        with one_thread():
            trainer = self.trainer(sentences, tags, vectors or WordVectors.none())

            def train(monitor: TrainingMonitor) -> tuple[np.ndarray, dict[str, Any]]:
                loss, reason = self.train(trainer, monitor, pulse)
                iterations = monitor.state.iteration
                return trainer.average_weights, {"iterations": iterations, "loss": loss, "stopped": reason}

            figures = TrainingMonitor(
                use_weights=lambda weights: self.set_weights(trainer.arrays(weights)),
                score=self.score,
                dev=dev,
                dev_every=1,
                patience=self.patience,
                watch=watch,
                checkpoint=checkpoint,
                fingerprints=lambda: self.training_fingerprints(sentences, dev),
                unit="epoch",
                metric=self.metric,
            ).run(train)
        sizes = {"sentences": len(sentences), "tokens": len(tags), "parameters": len(trainer.average)}
        self.summary_ = sizes | figures
        return self

    def trainer(self, sentences: list[Sentence], tags: np.ndarray, vectors: WordVectors) -> Any:
        """Encode the corpus and make a trainer with an untrained network."""
        from tagger.neural.trainer import NetworkCorpus, NetworkTrainer, new_module

        K = len(self.classes_)
        written = [sentence.words for sentence in sentences]
        windows = Windows.of(written, 0)
        lengths, trained = np.array(list(map(len, written))), trained_lengths(written)
        self.seen_ = fingerprints(windows.encoded, windows.at(0), lengths)
        self.lexicon_ = Lexicon.of(windows.encoded, windows.at(0), tags, K)
        self.lookup_ = InputLookup.of(windows.words, vectors, self.letters)
        shapes = self.sizes.shapes(len(self.lookup_.words) + 1, len(self.lookup_.alphabet), vectors.size, K)
        size = sum(map(math.prod, shapes.values()))
        resources.check(WEIGHT_COPIES * 4 * size, f"training a network of {size:,} weights", "choose smaller sizes")
        module = new_module(self.sizes, self.lookup_, K, self.dropout, self.seed)
        batch_size = self.batch_size or max(1, min(MAX_BATCH_SIZE, len(sentences) // MIN_BATCHES))
        kept = ranges(lengths) < np.repeat(trained, lengths)  # (N,) tokens to train on
        corpus = NetworkCorpus.of(windows.only(kept, trained, 0), trained, tags[kept], self.lookup_)
        options = (self.learning_rate, batch_size, self.epochs, self.seed, self.optimizer, self.weight_decay)
        return NetworkTrainer(corpus, self.lookup_, module, *options)

    def train(self, trainer: Any, monitor: TrainingMonitor, pulse: Any) -> tuple[float | None, str]:
        """Run the epochs; return the last loss, None without any, and the reason to stop."""
        state = monitor.start(trainer.state, len(trainer.average))
        loss = None
        if state.iteration:
            trainer.resume(state.weights, state.iteration)
        for number in range(state.iteration + 1, self.epochs + 1):
            epoch_loss = trainer.epoch(number, pulse)
            if epoch_loss is None:
                monitor.save()  # as it was after the last whole epoch
                monitor.score_dev(trainer.average_weights)
                return loss, INTERRUPTED
            loss = epoch_loss
            if not np.isfinite(loss):
                raise TrainingError(f"the loss became {loss}: {SLOWER}")
            reason = monitor.after(number, loss, trainer.state, trainer.average_weights)
            if reason:
                return loss, reason
        return loss, f"{several(self.epochs, 'epoch')} had been allowed"

    @property
    def sizes(self) -> Sizes:
        """The sizes of the network; 0 for characters if it does not read them."""
        sizes = Sizes(*(getattr(self, name) for name in SIZES))
        return sizes if self.letters else replace(sizes, letter=0, spelling=0)

    def training_fingerprints(self, sentences: list[Sentence], dev: list[Sentence] | None) -> dict[str, str]:
        """Compute fingerprints of the data and settings that a checkpoint belongs to."""
        settings = self.get_params()
        del settings["patience"], settings["epochs"]
        return {
            "corpus": corpus_fingerprint(sentences),
            "dev set": corpus_fingerprint(dev),
            "set of settings": fingerprint(sorted(settings.items())),
            "file of vectors": fingerprint(map(np.ndarray.tobytes, self.lookup_.vectors.arrays().values())),
        }

    def check_settings(self) -> None:
        """Raise a `TrainingError` if a setting is of a wrong type or out of range."""
        self.check_types()
        for name in (*SIZES, "epochs", "patience", "batch_size", "seed"):
            least, value = int(name not in ("batch_size", "seed")), getattr(self, name)
            if value < least:
                raise TrainingError(f"{name}: expected at least {least}, got {value}")
        if not (0 <= self.dropout < 1 and 0 < self.learning_rate <= 1):
            values = f"{self.dropout} and {self.learning_rate}"
            raise TrainingError(f"expected dropout from 0 to below 1 and learning_rate above 0, up to 1, got {values}")

        if self.optimizer not in OPTIMIZERS or not 0 <= self.weight_decay < math.inf:
            values = f"{self.optimizer!r} and {self.weight_decay}"
            raise TrainingError(f"expected optimizer {' or '.join(OPTIMIZERS)} and weight_decay from 0, got {values}")

    def set_weights(self, weights: Arrays) -> None:
        """Round weights to float16 and keep them as float32."""
        highest = max(float(np.abs(array).max()) for array in weights.values())
        if not highest <= MAX_WEIGHT:
            raise TrainingError(f"expected weights up to {MAX_WEIGHT:,.0f}, got {highest:.3g}: {SLOWER}")
        self.weights_ = {name: array.astype(np.float16).astype(np.float32) for name, array in weights.items()}

    def scorer_in_form(self) -> Scorer:
        network = NumpyNetwork(self.lookup_, self.sizes, self.weights_)
        start, transitions, end = (self.weights_[name] for name in ("start", "transitions", "end"))
        allowed = self.allowed_steps()
        return dense_scorer(start, transitions, end, lambda sentences, pack: network(sentences)[pack.tokens], allowed)

    def score_terms(self, words: Words) -> Terms:
        emission_terms = occlusion_terms(NumpyNetwork(self.lookup_, self.sizes, self.weights_), words)
        start, transitions, end = (self.weights_[name] for name in ("start", "transitions", "end"))

        def terms(path: Sequence[int], t: int) -> dict[str, float]:
            at_token = {name: float(scores[path[t]]) for name, scores in emission_terms[t].items()}
            return at_token | step_terms(self.classes_, start, transitions, end, path, t)

        return terms

    def summarize(self) -> list[Section]:
        return [*super().summarize(), *network_summary(self.classes_, self.lookup_, self.weights_, self.lexicon_)]

    def transition_table(self) -> TransitionTable:
        return TransitionTable.of("weight", *(self.weights_[name] for name in ("transitions", "start", "end")))

    def arrays(self) -> Arrays:
        network = {f"net.{name}": narrow_floats(array) for name, array in self.weights_.items()}
        return network | self.lexicon_.arrays() | self.lookup_.arrays()

    def restore(self, archive: Archive) -> None:
        archive.check(
            all(1 <= getattr(self, name) < 1 << 16 for name in SIZES), "its settings are not those of a BiLSTM"
        )
        self.lexicon_ = Lexicon.restore(archive, len(self.classes_))
        self.lookup_ = InputLookup.restore(archive)
        self.weights_ = restore_weights(archive, self.lookup_, self.sizes, len(self.classes_))
