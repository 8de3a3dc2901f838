"""`tagger train-hmm`: a hidden Markov model."""

from __future__ import annotations

import time
from typing import Any

import click

from tagger.cli.console import print_message
from tagger.cli.corpus_input import CorpusOptions, read_training_corpus, remember_columns
from tagger.cli.options import FREE_MEMORY, Count, Finite, file_option, max_memory_option, partial_option
from tagger.cli.paths import INPUT
from tagger.cli.raw_text import check_class_sources, class_options, load_word_classes
from tagger.cli.scheduler import scheduler_option
from tagger.cli.spans import settle_scheme
from tagger.cli.training import closing_line, model_warnings, setting_option, training_command
from tagger.errors import several
from tagger.hmm.tagger import HMMTagger
from tagger.hmm.textbook.settings import ADD_K, DEFAULT, NONE, SMOOTHING, UNKNOWN
from tagger.models.store import save_model
from tagger.tagging.constraints import read_lexicon


@training_command(
    HMMTagger,
    "tagger train-hmm corpus.txt",
    "tagger train-hmm people-daily.txt --encoding gbk --tokenize chinese -o chinese.npz",
    "tagger train-hmm en_ewt-ud-train.conllu --column xpos",
    "tagger train-hmm small.txt --unlabeled news.txt.gz --lexicon words.tsv",
    "tagger train-hmm corpus.txt --order 1 --smoothing none --unknown floor",
    "tagger train-hmm shards/ --scheduler local:2",
)
@setting_option("--order", click.IntRange(1, 2), "Number of previous tags that a tag depends on.")
@setting_option("--rare-count", Count(1), "Words seen at most N times train the unknown-word model.")
@setting_option("--suffix-length", click.IntRange(0, 20), "Longest suffix, in characters, used for unknown words.")
@setting_option(
    "--smoothing",
    click.Choice(SMOOTHING),
    "Estimates of probabilities: none (relative frequencies) and add-k with --order 1, interpolation, or default, "
    "which adds transitions and emissions of frequent words.",
)
@setting_option(
    "--unknown",
    click.Choice(UNKNOWN),
    "What unknown words get: --floor for every tag, a guess from their suffix, or a guess from all of their spelling "
    "(default).",
)
@setting_option(
    "--floor",
    Finite(0, 1, min_open=True, max_open=True),
    "Replaces every zero probability in scoring, e.g. 1e-8, unless --smoothing and --unknown are default.",
)
@setting_option("--pseudo-count", Finite(0, min_open=True), "What --smoothing add-k adds to each count, e.g. 0.5.")
@file_option("--lexicon", INPUT, "Tags allowed for words: lines word TAB TAG TAG …, e.g. words.tsv.")
@partial_option
@class_options
@setting_option("--em-iterations", Count(1), "EM iterations on partly tagged text.")
@max_memory_option(FREE_MEMORY)
@scheduler_option("Train")
def command(
    corpus: str,
    output: str,
    corpus_options: CorpusOptions,
    tokenizer: str | None,
    lexicon: str | None,
    unlabeled: tuple[str, ...],
    classes: str | None,
    scheduler: str | None,
    quiet: bool,
    **settings: Any,
) -> None:
    """Train a hidden Markov model on a tagged corpus.

    CORPUS may be - for standard input. The closing line names the model and the command to try next. Raw text is plain
    lines, tokens between spaces, unless a suffix (.conllu, .jsonl, .tsv) says otherwise. Words seen more often than
    --rare-count also get transitions and emissions of their own.

    With --scheduler, CORPUS is a file or a folder of files. Workers count it in shards, so that no process has all of
    it; with --max-memory, shards are kept on disk.
    """
    begin = time.perf_counter()
    check_options(lexicon, classes or unlabeled, settings)
    check_class_sources({"--unlabeled": unlabeled, "--classes": classes})
    if scheduler:
        from tagger.cli.sharded_training import count_on_shards

        described: dict[str, Any] = {"tokenizer": tokenizer, "lexicon": lexicon, "classes": classes}
        described["unlabeled"] = unlabeled
        count_on_shards(HMMTagger(**settings), scheduler, corpus, output, corpus_options, quiet, **described)
        return
    sentences = read_training_corpus(corpus, corpus_options, quiet, settings["partial"])
    settings["scheme"] = settle_scheme(settings["scheme"], sentences, corpus, settings["partial"], quiet)
    tags = {tag for sentence in sentences for tag in sentence.tags or ()}
    encoding = corpus_options.encoding
    model = HMMTagger(**settings).fit(
        sentences,
        lexicon=read_lexicon(lexicon, encoding, tags) if lexicon else None,
        classes=load_word_classes(classes, unlabeled, encoding, quiet, sentences),
        watch=lambda text, iteration, objective: print_message(
            f"{text}, after {several(iteration, 'iteration')}: log-likelihood + log prior {objective:,.1f}", quiet
        ),
    )
    remember_columns(model, corpus_options, sentences)
    model.tokenizer_ = tokenizer
    save_model(model, output)
    for message in [*model_warnings(model), closing_line(model, output, time.perf_counter() - begin)]:
        print_message(message, quiet)


def check_options(lexicon: str | None, classes: object, settings: dict[str, Any]) -> None:
    """Refuse options that contradict each other."""
    textbook = {name: settings[name] for name in ("smoothing", "unknown") if settings[name] != DEFAULT}
    options = " ".join(f"--{name} {value}" for name, value in textbook.items())
    if settings["order"] == 2 and settings["smoothing"] in (NONE, ADD_K):
        raise click.UsageError(f"{options}: expected --order 1, got --order 2. Add --order 1.")
    if settings["order"] == 1 and settings["partial"]:
        raise click.UsageError("--partial: expected --order 2, got --order 1, which has no EM training.")
    if textbook and (lexicon or settings["partial"]):
        raise click.UsageError(f"{options}: expected no --lexicon and no --partial, which the default HMM has.")
    if classes and settings["unknown"] != DEFAULT:
        raise click.UsageError(f"{options}: expected no --classes and no --unlabeled: only the default guess has them.")
