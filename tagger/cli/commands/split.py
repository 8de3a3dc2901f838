"""`tagger split`: train, dev and test files from one corpus."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import click

from tagger.cli.console import print_message, skipped_lines
from tagger.cli.corpus_input import detect_format
from tagger.cli.options import Finite, file_command, input_options, value_option
from tagger.cli.paths import INPUT, OUTPUT, File, check_files
from tagger.corpus import read_sentences
from tagger.corpus.formats import header, plain_name, render
from tagger.corpus.split import REST, split_corpus
from tagger.errors import CorpusError, FileError
from tagger.files.reading import Lines, exists, reason
from tagger.files.writing import open_output
from tagger.sentence import Sentence

LAYOUT_FORMATS = ("conllu", "jsonl", "columns")  # written back as they were read: their tags need not be parsed
SHARE = Finite(0, 1, max_open=True)


@file_command(
    "split",
    "tagger split corpus.txt",
    "tagger split corpus.conllu.gz --dev 0.05 --test 0 --output-folder parts",
)
@click.argument("corpus", type=INPUT)
@value_option("--dev", SHARE, 0.1, "Fraction of the tokens for the dev set, e.g. 0.05; 0 for none.")
@value_option("--test", SHARE, 0.1, "Fraction of the tokens for the test set, e.g. 0.2; 0 for none.")
@value_option("--seed", click.INT, 0, "Seed of the division.")
@click.option(
    "--output-folder",
    type=click.Path(file_okay=False),
    metavar="FOLDER",
    help="Folder of the output files, created if needed.  [default: that of the corpus]",
)
@input_options
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
    existing files are replaced. The division is pseudo-random and deterministic: the same corpus and seed give the same
    files, and sentences with the same words go to the same file. In conllu and jsonl everything beside words and tags
    is kept. CORPUS may be - for standard input.
    """
    if dev + test >= 1:
        raise click.UsageError(
            f"--dev {dev} and --test {test}: expected a sum below 1, so that a training set is left."
        )
    shares = {name: share for name, share in (("dev", dev), ("test", test)) if share}
    files = {part: part_path(corpus, part, output_folder) for part in (REST, *shares)}
    folder = Path(output_folder or ".")
    outputs = list(files.values()) if exists(folder) else [str(folder)]
    check_files([File("CORPUS", corpus, INPUT), *(File("part", path, OUTPUT) for path in outputs)])
    lines = Lines(corpus, encoding, skipped_lines())
    format = detect_format(lines, input_format, quiet)
    sentences = [s for s in read_sentences(lines, format, tagged=format not in LAYOUT_FORMATS) if len(s)]
    parts = split_corpus(sentences, shares, seed)
    for part, path in files.items():
        if part not in parts:
            raise CorpusError(
                f"{path}: expected a sentence at least, got none. Use a larger corpus or other fractions."
            )
    make_folder(folder)
    write_parts(sentences, parts, files, format)
    print_message(table(sentences, parts, files), quiet)


def part_path(corpus: str, part: str, folder: str | None) -> str:
    """Return the path of a part: corpus.conllu.gz -> corpus.train.conllu.gz."""
    path = Path("corpus.txt" if corpus == "-" else corpus)
    plain = plain_name(path)
    return str((Path(folder) if folder else path.parent) / f"{plain.stem}.{part}{path.name.removeprefix(plain.stem)}")


def make_folder(folder: Path) -> None:
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise FileError(f"cannot create the folder {folder}: {reason(error)}") from error


def write_parts(sentences: list[Sentence], parts: list[str], files: dict[str, str], format: str) -> None:
    """Write all files, or none if one fails."""
    with ExitStack() as stack:
        streams = {part: stack.enter_context(open_output(path)) for part, path in files.items()}
        for stream in streams.values():
            stream.write(header(sentences, format))
        for sentence, part in zip(sentences, parts, strict=True):
            streams[part].write(render(sentence, format))


def table(sentences: list[Sentence], parts: list[str], files: dict[str, str]) -> str:
    """Format the sizes of the parts as a table."""
    counts, tokens = Counter(parts), Counter[str]()
    for sentence, part in zip(sentences, parts, strict=True):
        tokens[part] += len(sentence)
    rows = [
        f"{part:<5} {counts[part]:>10,} {tokens[part]:>10,} {100 * tokens[part] / tokens.total():>7.2f} %  {path}"
        for part, path in files.items()
    ]
    return "\n".join([f"{'part':<5} {'sentences':>10} {'tokens':>10} {'share':>9}  file", *rows])
