"""`tagger split`."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import click

from tagger.cli.console import recognised, say, skipped
from tagger.cli.options import Finite, encoding_option, examples, input_format_option, on_error_option, quiet_option
from tagger.cli.paths import INPUT, OUTPUT, File, FileCommand, check_files
from tagger.corpus import plain_name, read_sentences, render
from tagger.corpus.split import REST, split_corpus
from tagger.errors import CorpusError, FileError
from tagger.files.reading import Lines, exists, reason
from tagger.files.writing import open_output
from tagger.sentence import Sentence

WITH_LAYOUT = ("conllu", "jsonl")  # written back from what was read: their tags need not be understood
SHARE = Finite(0, 1, max_open=True)


@click.command(
    "split",
    cls=FileCommand,
    epilog=examples(
        "tagger split corpus.txt",
        "tagger split corpus.conllu.gz --dev 0.05 --test 0 --output-folder parts",
    ),
)
@click.argument("corpus", type=INPUT)
@click.option("--dev", type=SHARE, default=0.1, show_default=True, help="Fraction of the tokens for the dev set.")
@click.option("--test", type=SHARE, default=0.1, show_default=True, help="Fraction of the tokens for the test set.")
@click.option("--seed", type=int, default=0, show_default=True, help="Another seed, another division.")
@click.option(
    "--output-folder",
    type=click.Path(file_okay=False),
    metavar="FOLDER",
    help="Made if need be.  [default: that of the corpus]",
)
@input_format_option
@encoding_option
@on_error_option
@quiet_option
def command(
    corpus: str,
    dev: float,
    test: float,
    seed: int,
    output_folder: str | None,
    input_format: str | None,
    encoding: str,
    quiet: bool,
) -> None:
    """Divide a corpus into train, dev and test files.

    corpus.txt becomes corpus.train.txt, corpus.dev.txt and corpus.test.txt, in the format and order of the corpus;
    files of these names are replaced. Sentences with the same words go to the same file. What is neither word nor tag
    is kept in conllu and jsonl. The same corpus and seed give the same files. CORPUS may be - for standard input.
    """
    if dev + test >= 1:
        raise click.UsageError(f"--dev {dev} and --test {test} leave nothing to train on.")
    shares = {name: share for name, share in (("dev", dev), ("test", test)) if share}
    files = {part: name_of(corpus, part, output_folder) for part in (REST, *shares)}
    folder = Path(output_folder or ".")
    made = list(files.values()) if exists(folder) else [str(folder)]
    check_files([File("CORPUS", corpus, INPUT), *(File("part", path, OUTPUT) for path in made)])
    lines = Lines(corpus, encoding, skipped())
    format = recognised(lines, input_format, quiet)
    sentences = [s for s in read_sentences(lines, format, tagged=format not in WITH_LAYOUT) if len(s)]
    parts = split_corpus(sentences, shares, seed)
    for part, path in files.items():
        if part not in parts:
            raise CorpusError(f"{path} would be empty: expected more sentences or other fractions")
    make_folder(folder)
    write(sentences, parts, files, format)
    say(table(sentences, parts, files), quiet)


def name_of(corpus: str, part: str, folder: str | None) -> str:
    """corpus.conllu.gz -> corpus.train.conllu.gz"""
    path = Path("corpus.txt" if corpus == "-" else corpus)
    plain = plain_name(path)
    return str((Path(folder) if folder else path.parent) / f"{plain.stem}.{part}{path.name.removeprefix(plain.stem)}")


def make_folder(folder: Path) -> None:
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise FileError(f"cannot make the folder {folder}: {reason(error)}") from error


def write(sentences: list[Sentence], parts: list[str], files: dict[str, str], format: str) -> None:
    """All files or none."""
    with ExitStack() as stack:
        streams = {part: stack.enter_context(open_output(path)) for part, path in files.items()}
        for sentence, part in zip(sentences, parts, strict=True):
            streams[part].write(render(sentence, format, "upos"))


def table(sentences: list[Sentence], parts: list[str], files: dict[str, str]) -> str:
    counts, tokens = Counter(parts), Counter[str]()
    for sentence, part in zip(sentences, parts, strict=True):
        tokens[part] += len(sentence)
    rows = [
        f"{part:<5} {counts[part]:>10,} {tokens[part]:>10,} {100 * tokens[part] / tokens.total():>7.2f} %  {path}"
        for part, path in files.items()
    ]
    return "\n".join([f"{'part':<5} {'sentences':>10} {'tokens':>10} {'share':>9}  file", *rows])
