"""`tagger learn-classes`."""

from __future__ import annotations

import shlex
import time
from pathlib import Path

import click

from tagger.cli.console import say
from tagger.cli.options import FREE, encoding_option, examples, max_memory_option, on_error_option, quiet_option
from tagger.cli.paths import INPUT, FileCommand
from tagger.cli.raw_text import learn_from
from tagger.cli.training import ModelFile
from tagger.errors import several
from tagger.features.clustering import MIN_COUNT
from tagger.features.word_classes import SIZES
from tagger.models.store import save_classes


@click.command(
    "learn-classes",
    cls=FileCommand,
    epilog=examples(
        "tagger learn-classes raw.txt.gz -o classes.npz",
        "tagger learn-classes news.txt mails.txt --size 64 --size 1024",
        "tagger train-crf corpus.txt --classes classes.npz",
    ),
)
@click.argument("files", nargs=-1, required=True, type=INPUT)
@click.option(
    "-o",
    "--output",
    type=ModelFile(),
    metavar="FILE",
    default="classes.npz",
    show_default=True,
    help="Where to write them.",
)
@click.option(
    "--size",
    "sizes",
    type=click.IntRange(2, 1 << 16),
    multiple=True,
    default=SIZES,
    show_default=True,
    help="Make so many classes; give it several times for finer and coarser ones.",
)
@click.option(
    "--min-count",
    type=click.IntRange(1),
    default=MIN_COUNT,
    show_default=True,
    help="Words seen less often get no class.",
)
@encoding_option
@on_error_option
@max_memory_option(FREE)
@quiet_option
def command(
    files: tuple[str, ...], output: str, sizes: tuple[int, ...], min_count: int, encoding: str, quiet: bool
) -> None:
    """Learn word classes from raw text, once for many trainings.

    FILES hold a sentence per line, words between spaces (or CoNLL-U, JSON lines or TSV, if they are called so). Each is
    read twice. `train-crf --unlabeled` does the same in one go, and adds the words of the tagged corpus.
    """
    begin = time.perf_counter()
    classes = learn_from(files, encoding, quiet, sizes=sorted(set(sizes)), min_count=min_count)
    save_classes(classes, output)
    made = f"{several(len(classes), 'word')} in {', '.join(map(str, classes.sizes))} classes"
    size, seconds = Path(output).stat().st_size / 1e3, time.perf_counter() - begin
    option = f"--classes {shlex.quote(output)}"
    say(f"wrote {output}: {size:,.0f} kB, {made}, {seconds:.1f} s. Try: tagger train-crf corpus.txt {option}", quiet)
