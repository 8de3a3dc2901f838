"""`tagger train-bilstm`: a BiLSTM-CRF, trained with PyTorch."""

from __future__ import annotations

import time
from typing import Any

import click

from tagger.cli.corpus_input import CorpusOptions, read_tagged, read_training_corpus, remember_columns
from tagger.cli.interrupt import GracefulStop
from tagger.cli.options import FREE_MEMORY, Count, Finite, file_option, max_memory_option, value_option
from tagger.cli.paths import INPUT
from tagger.cli.spans import settle_scheme
from tagger.cli.training import (
    check_monitoring,
    monitor_options,
    progress_reporter,
    save_and_report,
    setting_option,
    training_command,
)
from tagger.models.checkpoint import Checkpoint
from tagger.neural import OPTIMIZERS, need_torch
from tagger.neural.tagger import BiLSTMTagger
from tagger.neural.word_vectors import WordVectors, read_vectors
from tagger.normalization import NFC, normalized
from tagger.sentence import Sentence

SIZE = click.IntRange(1, 4096)


@training_command(
    BiLSTMTagger,
    "tagger train-bilstm train.txt --dev dev.txt",
    "tagger train-bilstm train.txt --dev dev.txt --vectors glove.6B.100d.txt.gz -o english.npz",
    "tagger train-bilstm train.txt --dev dev.txt --hidden-size 100 --epochs 10 --log train.jsonl",
    "tagger train-bilstm train.txt --dev dev.txt --resume",
)
@monitor_options(every=1, unit="epoch")
@setting_option("--epochs", Count(1), "Passes through the corpus.")
@click.option("--batch-size", type=Count(0), metavar="N", help="Sentences per batch.  [default: 32, or fewer]")
@setting_option("--learning-rate", Finite(0, 1, min_open=True), "Initial learning rate.")
@setting_option("--optimizer", click.Choice(OPTIMIZERS), "adam, or sgd for plain gradient descent.")
@setting_option("--weight-decay", Finite(0), "L2 penalty of the optimizer, e.g. 1e-4.")
@setting_option("--dropout", Finite(0, 1, max_open=True), "Fraction of units dropped in training.")
@setting_option("--word-size", SIZE, "Size of a word embedding.")
@click.option("--letters/--no-letters", help="Read the characters of words, or only the words.  [default: letters]")
@setting_option("--letter-size", SIZE, "Size of a character embedding.")
@setting_option("--spelling-size", SIZE, "Size of the BiLSTM over characters, per direction.")
@setting_option("--hidden-size", SIZE, "Size of the BiLSTM over words, per direction.")
@setting_option("--layers", click.IntRange(1, 8), "Layers of the BiLSTM over words.")
@setting_option("--seed", click.IntRange(0, 2**32 - 1), "Seed of initial weights, batches and dropout.")
@file_option("--vectors", INPUT, "Word vectors as text (word2vec, GloVe, fastText), e.g. glove.6B.100d.txt.gz.")
@value_option("--max-vectors", Count(0), 100000, "Number of vectors kept for words that are not in CORPUS.")
@max_memory_option(FREE_MEMORY)
def command(
    corpus: str,
    output: str,
    corpus_options: CorpusOptions,
    tokenizer: str | None,
    dev: str | None,
    log: str | None,
    checkpoint: str,
    checkpoint_every: int,
    resume: bool,
    vectors: str | None,
    max_vectors: int,
    quiet: bool,
    **settings: Any,
) -> None:
    """Train a BiLSTM-CRF on a tagged corpus. Training needs PyTorch; tagging does not.

    CORPUS may be - for standard input. The same corpus, settings and seed give the same model. Ctrl-C saves the best
    model so far.
    """
    begin = time.perf_counter()
    check_monitoring(dev, checkpoint, quiet)
    need_torch()
    sentences = read_training_corpus(corpus, corpus_options, quiet)
    settings["scheme"] = settle_scheme(settings["scheme"], sentences, corpus, False, quiet)
    dev_sentences = read_tagged(dev, corpus_options) if dev else None
    table = load_vectors(vectors, sentences, max_vectors) if vectors else None
    model = BiLSTMTagger(**settings)
    remember_columns(model, corpus_options, sentences)
    model.tokenizer_ = tokenizer
    saved = Checkpoint(checkpoint, checkpoint_every, resume, keep=True)
    with GracefulStop() as stop, progress_reporter(model.epochs, log, quiet, stop, "epoch") as watch:
        model.fit(sentences, X_dev=dev_sentences, watch=watch, checkpoint=saved, vectors=table, pulse=watch.pulse)
    save_and_report(model, output, begin, quiet, stop, saved, "epoch")


def load_vectors(path: str, sentences: list[Sentence], max_others: int) -> WordVectors:
    """Read the vectors of the words of the corpus, and up to `max_others` more."""
    words = set(normalized(list({word for sentence in sentences for word in sentence.words}), NFC))
    return read_vectors(path, words | {word.lower() for word in words}, max_others)
