"""Training on a cluster: `--scheduler` of `train`, `train-crf` and `train-hmm`, with the messages of every training."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tagger.cli.console import print_message, skipped_lines
from tagger.cli.corpus_input import CorpusOptions, no_sentence_error, read_tagged, remember_columns, wanted_columns
from tagger.cli.interrupt import GracefulStop
from tagger.cli.options import is_given
from tagger.cli.raw_text import learn_on_cluster
from tagger.cli.scheduler import open_client
from tagger.cli.training import closing_line, model_warnings, progress_reporter, save_and_report
from tagger.corpus import read_sentences
from tagger.corpus.span_schemes import NO_SCHEME
from tagger.crf.tagger import CRFTagger
from tagger.features.word_classes import WordClasses
from tagger.files import resources
from tagger.files.reading import Lines
from tagger.hmm.tagger import HMMTagger
from tagger.models.base import Tagger
from tagger.models.checkpoint import Checkpoint
from tagger.models.store import load_classes, save_model
from tagger.pooled.tagger import PooledTagger
from tagger.sentence import Sentence

if TYPE_CHECKING:
    from distributed import Client

REFUSED = ("init", "partial", "threads")  # options that need the whole corpus in one process
UNTOUCHED = 150_000_000  # bytes that a process reserves, for the stacks of its threads, and does not use


def train_on_shards(
    model: CRFTagger,
    scheduler: str,
    corpus: str,
    output: str,
    corpus_options: CorpusOptions,
    quiet: bool,
    *,
    tokenizer: str | None,
    dev: str | None,
    log: str | None,
    checkpoint: Checkpoint,
    classes: str | None,
    unlabeled: Sequence[str],
    add: Sequence[Tagger],
) -> None:
    """Train a CRF, or a pool, on the files of a folder, or on one file, that the workers of a cluster read."""
    from tagger.integrations.distributed.training import fit

    begin = time.perf_counter()
    check_options(corpus)
    columns = corpus_options.with_wanted(wanted_columns(str(model.features), corpus_options.columns, quiet))
    files = corpus_files(corpus)
    remember_columns(model, columns, [first_sentence(files, columns)])
    model.tokenizer_ = tokenizer
    dev_sentences = read_tagged(dev, columns) if dev else None
    if isinstance(model, PooledTagger):
        model.joining_ = add
    client = limited_client(scheduler)
    table = shared_classes(client, classes, unlabeled, files, columns, quiet)
    with GracefulStop() as stop, progress_reporter(model.max_iterations, log, quiet, stop) as watch:
        fit(
            client,
            model,
            files,
            dev_sentences,
            **reading(columns),
            watch=watch,
            checkpoint=checkpoint,
            classes=table,
            on_disk=is_given("max_memory"),
        )
    if isinstance(model, PooledTagger):
        model.join_members(add, dev_sentences)
    save_and_report(model, output, begin, quiet, stop, checkpoint, "iteration")


def count_on_shards(
    model: HMMTagger,
    scheduler: str,
    corpus: str,
    output: str,
    corpus_options: CorpusOptions,
    quiet: bool,
    *,
    tokenizer: str | None,
    lexicon: str | None,
    classes: str | None,
    unlabeled: Sequence[str],
) -> None:
    """Train an HMM on the files of a folder, or on one file, that the workers of a cluster read."""
    from tagger.integrations.distributed.training import fit
    from tagger.tagging.constraints import read_lexicon

    begin = time.perf_counter()
    check_options(corpus)
    files = corpus_files(corpus)
    remember_columns(model, corpus_options, [first_sentence(files, corpus_options)])
    model.tokenizer_ = tokenizer
    client = limited_client(scheduler)
    fit(
        client,
        model,
        files,
        **reading(corpus_options),
        lexicon=read_lexicon(lexicon, corpus_options.encoding) if lexicon else None,
        classes=shared_classes(client, classes, unlabeled, files, corpus_options, quiet),
        on_disk=is_given("max_memory"),
    )
    model.scheme = model.scheme_ or NO_SCHEME  # as without a cluster
    save_model(model, output)
    for message in [*model_warnings(model), closing_line(model, output, time.perf_counter() - begin)]:
        print_message(message, quiet)


def shared_classes(
    client: Client,
    path: str | None,
    unlabeled: Sequence[str],
    corpora: Sequence[str],
    options: CorpusOptions,
    quiet: bool,
) -> WordClasses | None:
    """Load word classes, or let workers learn them from raw text and the corpus; None without either."""
    if path:
        return load_classes(path)
    if not unlabeled:
        return None
    from tagger.integrations.distributed.shards import ReadOptions

    check_options(*unlabeled)
    described = {"corpora": corpora, "corpus_options": ReadOptions(**reading(options))}
    return learn_on_cluster(client, unlabeled, options.encoding, quiet, "--unlabeled", **described)


def reading(options: CorpusOptions) -> dict[str, Any]:
    """Return the arguments of `fit` that say how to read files."""
    return {"format": options.input_format, "encoding": options.encoding, "columns": options.columns}


def check_options(*files: str) -> None:
    """Refuse options that need the whole corpus in one process."""
    parameters = {parameter.name for parameter in click.get_current_context().command.params}
    given = [f"--{name.replace('_', '-')}" for name in REFUSED if name in parameters and is_given(name)]
    if skipped_lines() is not None:
        given.append("--on-error skip")
    if given:
        raise click.UsageError(
            f"--scheduler: expected a training without {' and '.join(given)}. Leave out one of them."
        )
    if "-" in files:
        raise click.UsageError("--scheduler: expected files, or a folder as CORPUS, which workers can read, got '-'.")


def corpus_files(corpus: str) -> list[str]:
    """List the files of a folder, by name; or the one file."""
    folder = Path(corpus)
    if not folder.is_dir():
        return [corpus]
    files = sorted(str(path) for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))
    if not files:
        raise no_sentence_error(corpus, "files with tagged sentences")
    return files


def first_sentence(files: list[str], options: CorpusOptions) -> Sentence:
    """Read the first sentence of a corpus."""
    for path in files:
        lines = Lines(path, options.encoding)
        for sentence in read_sentences(lines, options.input_format, True, options.columns):
            if sentence.words:
                lines.close()
                return sentence
    raise no_sentence_error(files[0])


def limited_client(scheduler: str) -> Client:
    """Connect; on this machine, `--max-memory` is shared: the optimiser here has the part of w + 2 of w workers."""
    from tagger.integrations.distributed.cluster import check_scheduler

    workers, limit = check_scheduler(scheduler), resources.allowed()
    if workers is None or limit is None or not is_given("max_memory"):
        return open_client(scheduler)
    worker_memory = limit // (2 * workers + 2)
    client = open_client(scheduler, worker_memory=worker_memory + UNTOUCHED)
    resources.limit(limit - workers * worker_memory + UNTOUCHED)
    resources.keep_no_freed_memory()
    return client
