"""`tagger train-bilstm`."""

from __future__ import annotations

import time
from typing import Any

import click

from tagger.cli.console import read_tagged
from tagger.cli.options import FREE, Count, Finite, corpus_options, examples, max_memory_option, quiet_option
from tagger.cli.paths import INPUT, FileCommand
from tagger.cli.training import (
    Stop,
    check_course,
    conclude,
    course_options,
    output_model_option,
    read_to_learn,
    watching,
)
from tagger.models.checkpoint import Checkpoint
from tagger.neural import need_torch
from tagger.neural.tagger import BiLSTMTagger
from tagger.neural.word_vectors import WordVectors, read_vectors
from tagger.normalization import NFC, normalized
from tagger.sentence import Sentence

SIZE = click.IntRange(1, 4096)


@click.command(
    "train-bilstm",
    cls=FileCommand,
    epilog=examples(
        "tagger train-bilstm train.txt --dev dev.txt",
        "tagger train-bilstm train.txt --dev dev.txt --vectors glove.6B.100d.txt.gz -o english.npz",
        "tagger train-bilstm train.txt --dev dev.txt --hidden-size 100 --epochs 10 --log train.jsonl",
        "tagger train-bilstm train.txt --dev dev.txt --resume",
    ),
)
@click.argument("corpus", type=INPUT)
@output_model_option
@corpus_options
@course_options(patience=5, every=1, unit="epoch")
@click.option("--epochs", type=Count(1), default=20, show_default=True, help="Passes through the corpus.")
@click.option("--batch-size", type=Count(0), default=0, help="Sentences.  [default: 32, fewer of a small corpus]")
@click.option("--learning-rate", type=Finite(0, 1, min_open=True), default=0.002, show_default=True, help="Of Adam.")
@click.option("--dropout", type=Finite(0, 1, max_open=True), default=0.33, show_default=True, help="Share left out.")
@click.option("--word-size", type=SIZE, default=100, show_default=True, help="Of a word's embedding.")
@click.option("--letter-size", type=SIZE, default=32, show_default=True, help="Of a letter's embedding.")
@click.option("--spelling-size", type=SIZE, default=64, show_default=True, help="Of the BiLSTM over letters, each way.")
@click.option("--hidden-size", type=SIZE, default=200, show_default=True, help="Of the BiLSTM over words, each way.")
@click.option("--layers", type=click.IntRange(1, 8), default=1, show_default=True, help="Of the BiLSTM over words.")
@click.option(
    "--seed", type=click.IntRange(0, 2**32 - 1), default=1, show_default=True, help="Other seeds give other models."
)
@click.option("--vectors", metavar="FILE", type=INPUT, help="Word vectors as text: word2vec, GloVe, fastText.")
@click.option(
    "--max-vectors",
    type=Count(0),
    default=100000,
    show_default=True,
    help="Keep so many of words that are not in CORPUS.",
)
@max_memory_option(FREE)
@quiet_option
def command(
    corpus: str,
    output: str,
    input_format: str | None,
    encoding: str,
    column: str,
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
    """Learn a BiLSTM-CRF from a tagged corpus. Needs PyTorch; the model does not.

    CORPUS may be - for standard input. The same corpus, settings and seed give the same model. Ctrl-C saves the best
    model so far.
    """
    begin = time.perf_counter()
    check_course(dev, checkpoint, quiet)
    need_torch()
    sentences = read_to_learn(corpus, input_format, encoding, column, quiet)
    dev_sentences = read_tagged(dev, input_format, encoding, column) if dev else None
    table = outside(vectors, sentences, max_vectors) if vectors else None
    model = BiLSTMTagger(**settings)
    model.column_ = column
    saved = Checkpoint(checkpoint, checkpoint_every, resume, keep=True)
    with Stop() as stop, watching(model.epochs, log, quiet, stop, "epoch") as watch:
        model.fit(sentences, X_dev=dev_sentences, watch=watch, checkpoint=saved, vectors=table, pulse=watch.pulse)
    conclude(model, output, begin, quiet, stop, saved, "epoch")


def outside(path: str, sentences: list[Sentence], others: int) -> WordVectors:
    """The vectors of a file that can be of use: for the words of the corpus, and so many others."""
    words = set(normalized(list({word for sentence in sentences for word in sentence.words}), NFC))
    return read_vectors(path, words | {word.lower() for word in words}, others)
