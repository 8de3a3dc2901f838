"""`tagger train-hmm`."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import click

from tagger.cli.console import say, skipped
from tagger.cli.hints import InputHint, untagged
from tagger.cli.options import FREE, Count, corpus_options, examples, max_memory_option, quiet_option
from tagger.cli.paths import INPUT, FileCommand
from tagger.cli.training import closing_line, doubts, output_model_option, read_to_learn
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
    help="How many tags before a tag matter.",
)
@click.option(
    "--rare-count",
    type=Count(1),
    default=10,
    show_default=True,
    help="Words seen at most so often teach how unknown words behave; of more frequent ones the neighbours count, too.",
)
@click.option(
    "--suffix-length",
    type=click.IntRange(0, 20),
    default=6,
    show_default=True,
    help="Letters at a word's end that are looked at.",
)
@click.option("--lexicon", metavar="FILE", type=INPUT, help="Tags that words may have: lines of word, tab, tags.")
@click.option(
    "--partial",
    is_flag=True,
    help="word/? and words without a tag (_ in CoNLL-U) may have any tag, word/NN|VB one of two.",
)
@click.option("--unlabeled", metavar="FILE", type=INPUT, multiple=True, help="Untagged text to learn words from.")
@click.option(
    "--em-iterations",
    type=Count(1),
    default=3,
    show_default=True,
    help="Rounds through text that is not, or partly, tagged.",
)
@max_memory_option(FREE)
@quiet_option
def command(
    corpus: str,
    output: str,
    input_format: str | None,
    encoding: str,
    column: str,
    lexicon: str | None,
    unlabeled: tuple[str, ...],
    quiet: bool,
    **settings: Any,
) -> None:
    """Learn a hidden Markov model from a tagged corpus.

    CORPUS may be - for standard input. The closing line names the model and the command to try next. Untagged text is
    plain lines, tokens between spaces, unless a suffix (.conllu, .jsonl, .tsv) says otherwise.
    """
    begin = time.perf_counter()
    if settings["order"] == 1 and (unlabeled or settings["partial"]):
        raise click.UsageError("--unlabeled and --partial need --order 2: a model of first order is counted only.")
    sentences = read_to_learn(corpus, input_format, encoding, column, quiet, settings["partial"])
    hint = InputHint(untagged(known_tags(sentences)), quiet=quiet)
    raw = [sentence for path in unlabeled for sentence in read_untagged(path, encoding, hint)]
    model = HMMTagger(**settings).fit(
        sentences,
        unlabeled=raw,
        lexicon=read_lexicon(lexicon, encoding, known_tags(sentences)) if lexicon else None,
        watch=lambda text, iteration, objective: say(
            f"{text}, after {several(iteration, 'iteration')}: log-likelihood + log prior {objective:,.1f}", quiet
        ),
    )
    model.column_ = column
    save_model(model, output)
    for doubt in doubts(model):
        say(doubt, quiet)
    say(closing_line(model, output, time.perf_counter() - begin), quiet)


def read_untagged(path: str, encoding: str, hint: InputHint) -> Iterator[Sentence]:
    lines, format = Lines(path, encoding, skipped()), format_of(path)
    return hint.sentences(read_sentences(hint.opening(lines, format, by_name=True), format, tagged=False))


def known_tags(sentences: list[Sentence]) -> set[str]:
    return {tag for sentence in sentences for tag in sentence.tags or ()}
