"""`tagger train-hmm`: a hidden Markov model."""

from __future__ import annotations

import time
from typing import Any

import click

from tagger.cli.console import print_message
from tagger.cli.corpus_input import CorpusOptions, read_training_corpus, remember_columns
from tagger.cli.options import FREE_MEMORY, Count, file_option, max_memory_option, partial_option
from tagger.cli.paths import INPUT
from tagger.cli.raw_text import check_class_sources, class_options, load_word_classes
from tagger.cli.spans import settle_scheme
from tagger.cli.training import closing_line, model_warnings, setting_option, training_command
from tagger.errors import several
from tagger.hmm.tagger import HMMTagger
from tagger.models.store import save_model
from tagger.tagging.constraints import read_lexicon


@training_command(
    HMMTagger,
    "tagger train-hmm corpus.txt",
    "tagger train-hmm people-daily.txt --encoding gbk --tokenize chinese -o chinese.npz",
    "tagger train-hmm en_ewt-ud-train.conllu --column xpos",
    "tagger train-hmm small.txt --unlabeled news.txt.gz --lexicon words.tsv",
)
@setting_option("--order", click.IntRange(1, 2), "Number of previous tags that a tag depends on.")
@setting_option("--rare-count", Count(1), "Words seen at most N times train the unknown-word model.")
@setting_option("--suffix-length", click.IntRange(0, 20), "Longest suffix, in characters, used for unknown words.")
@file_option("--lexicon", INPUT, "Tags allowed for words: lines word TAB TAG TAG …, e.g. words.tsv.")
@partial_option
@class_options
@setting_option("--em-iterations", Count(1), "EM iterations on partly tagged text.")
@max_memory_option(FREE_MEMORY)
def command(
    corpus: str,
    output: str,
    corpus_options: CorpusOptions,
    tokenizer: str | None,
    lexicon: str | None,
    unlabeled: tuple[str, ...],
    classes: str | None,
    quiet: bool,
    **settings: Any,
) -> None:
    """Train a hidden Markov model on a tagged corpus.

    CORPUS may be - for standard input. The closing line names the model and the command to try next. Raw text is plain
    lines, tokens between spaces, unless a suffix (.conllu, .jsonl, .tsv) says otherwise. Words seen more often than
    --rare-count also get transitions and emissions of their own.
    """
    begin = time.perf_counter()
    if settings["order"] == 1 and settings["partial"]:
        raise click.UsageError("--partial: expected --order 2, got --order 1, which has no EM training.")
    check_class_sources({"--unlabeled": unlabeled, "--classes": classes})
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
