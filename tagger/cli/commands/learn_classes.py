"""`tagger learn-classes`: word classes from raw text."""

from __future__ import annotations

import shlex
import time
from typing import Any

import click

from tagger.cli.console import report_written
from tagger.cli.options import (
    FREE_MEMORY,
    encoding_option,
    file_command,
    max_memory_option,
    on_error_option,
    value_option,
)
from tagger.cli.paths import INPUT
from tagger.cli.raw_text import learn_from, learn_on_cluster
from tagger.cli.scheduler import open_client, scheduler_option
from tagger.cli.training import output_archive_option
from tagger.errors import several
from tagger.features.clustering import MIN_COUNT
from tagger.features.word_classes import SIZES
from tagger.files.writing import file_size
from tagger.models.store import save_classes


@file_command(
    "learn-classes",
    "tagger learn-classes raw.txt.gz -o classes.npz",
    "tagger learn-classes news.txt mails.txt --size 64 --size 1024",
    "tagger train-crf corpus.txt --classes classes.npz",
    "tagger learn-classes raw.txt.gz --vectors && tagger train corpus.txt --classes classes.npz",
    "tagger learn-classes raw/*.txt --scheduler local:2",
)
@click.argument("files", nargs=-1, required=True, type=INPUT)
@output_archive_option("classes.npz", "File of word classes to write.")
@value_option(
    "--size sizes",
    click.IntRange(2, 1 << 16),
    SIZES,
    "Number of classes. Repeat --size for finer and coarser classes.",
    multiple=True,
)
@value_option("--min-count", click.IntRange(1), MIN_COUNT, "Words that occur fewer than N times get no class.")
@click.option("--vectors", is_flag=True, help="Learn vectors, too, for the network of `train`: a much larger file.")
@encoding_option
@on_error_option
@max_memory_option(FREE_MEMORY)
@scheduler_option("Count words and their neighbours")
def command(
    files: tuple[str, ...],
    output: str,
    sizes: tuple[int, ...],
    min_count: int,
    vectors: bool,
    encoding: str,
    scheduler: str | None,
    quiet: bool,
) -> None:
    """Learn word classes from raw text.

    One file of classes serves several trainings. FILES have a sentence per line, words between spaces; the suffixes
    .conllu, .jsonl and .tsv mean these formats. Each file is read twice. `train-crf --unlabeled` learns classes in the
    same way and adds the words of its corpus. With --scheduler, workers read the files, in parts if they are large.
    """
    begin = time.perf_counter()
    settings: dict[str, Any] = {"sizes": sorted(set(sizes)), "min_count": min_count, "vectors": vectors}
    if scheduler:
        from tagger.cli.sharded_training import check_options

        check_options(*files)
        classes = learn_on_cluster(open_client(scheduler), files, encoding, quiet, **settings)
    else:
        classes = learn_from(files, encoding, quiet, **settings)
    save_classes(classes, output)
    content = f"{several(len(classes), 'word')} in {', '.join(map(str, classes.sizes))} classes"
    size, seconds = file_size(output) / 1e3, time.perf_counter() - begin
    option = f"--classes {shlex.quote(output)}"
    report_written(
        output, f"{size:,.0f} kB, {content}, {seconds:.1f} s. Try: tagger train-crf corpus.txt {option}", quiet
    )
