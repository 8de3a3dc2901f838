"""`tagger train-hmm`: a hidden Markov model."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import click

from tagger.cli.console import print_message, skipped_lines
from tagger.cli.corpus_input import CorpusOptions, read_training_corpus
from tagger.cli.hints import InputHint, tag_check
from tagger.cli.options import (
    FREE_MEMORY,
    Count,
    corpus_options,
    examples,
    max_memory_option,
    partial_option,
    quiet_option,
)
from tagger.cli.paths import INPUT, FileCommand
from tagger.cli.training import closing_line, model_warnings, output_model_option
from tagger.corpus import format_of, read_sentences
from tagger.errors import several
from tagger.files.reading import Lines
from tagger.hmm.tagger import HMMTagger
from tagger.models.store import save_model
from tagger.sentence import Sentence
from tagger.tagging.constraints import read_lexicon


@click.command(
    "train-hmm",
    cls=FileCommand,
    epilog=examples(
        "tagger train-hmm corpus.txt",
        "tagger train-hmm people-daily.txt --encoding gbk -o chinese.npz",
        "tagger train-hmm en_ewt-ud-train.conllu --column xpos",
        "tagger train-hmm small.txt --unlabeled news.txt.gz --lexicon words.tsv",
    ),
)
@click.argument("corpus", type=INPUT)
@output_model_option
@corpus_options
@click.option(
    "--order",
    type=click.IntRange(1, 2),
    default=2,
    show_default=True,
    help="Number of previous tags that a tag depends on.",
)
@click.option(
    "--rare-count",
    type=Count(1),
    metavar="N",
    default=10,
    show_default=True,
    help="Words with at most N occurrences train the model of unknown words; more frequent ones get parameters that "
    "depend on their neighbours.",
)
@click.option(
    "--suffix-length",
    type=click.IntRange(0, 20),
    metavar="N",
    default=6,
    show_default=True,
    help="Longest suffix, in characters, used for unknown words.",
)
@click.option(
    "--lexicon", metavar="FILE", type=INPUT, help="Tags allowed for words: lines word TAB TAG TAG …, e.g. words.tsv."
)
@partial_option
@click.option(
    "--unlabeled",
    metavar="FILE",
    type=INPUT,
    multiple=True,
    help="Untagged text to learn words from, e.g. news.txt.gz. Repeatable.",
)
@click.option(
    "--em-iterations",
    type=Count(1),
    metavar="N",
    default=3,
    show_default=True,
    help="EM iterations on untagged or partly tagged text.",
)
@max_memory_option(FREE_MEMORY)
@quiet_option
def command(
    corpus: str,
    output: str,
    corpus_options: CorpusOptions,
    lexicon: str | None,
    unlabeled: tuple[str, ...],
    quiet: bool,
    **settings: Any,
) -> None:
    """Train a hidden Markov model on a tagged corpus.

    CORPUS may be - for standard input. The closing line names the model and the command to try next. Untagged text is
    plain lines, tokens between spaces, unless a suffix (.conllu, .jsonl, .tsv) says otherwise.
    """
    begin = time.perf_counter()
    if settings["order"] == 1 and (unlabeled or settings["partial"]):
        raise click.UsageError(
            "--unlabeled and --partial: expected --order 2, got --order 1, which has no EM training."
        )
    sentences = read_training_corpus(corpus, corpus_options, quiet, settings["partial"])
    tags = {tag for sentence in sentences for tag in sentence.tags or ()}
    encoding, hint = corpus_options.encoding, InputHint(tag_check(tags), quiet=quiet)
    model = HMMTagger(**settings).fit(
        sentences,
        unlabeled=[sentence for path in unlabeled for sentence in read_untagged(path, encoding, hint)],
        lexicon=read_lexicon(lexicon, encoding, tags) if lexicon else None,
        watch=lambda text, iteration, objective: print_message(
            f"{text}, after {several(iteration, 'iteration')}: log-likelihood + log prior {objective:,.1f}", quiet
        ),
    )
    model.column_ = corpus_options.column
    save_model(model, output)
    for message in [*model_warnings(model), closing_line(model, output, time.perf_counter() - begin)]:
        print_message(message, quiet)


def read_untagged(path: str, encoding: str, hint: InputHint) -> Iterator[Sentence]:
    """Read untagged text in the format of its suffix."""
    lines, format = Lines(path, encoding, skipped_lines()), format_of(path)
    return hint.sentences(read_sentences(hint.check_first_line(lines, format, by_name=True), format, tagged=False))
