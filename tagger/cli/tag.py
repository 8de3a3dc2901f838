"""`tagger tag`."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import click

from tagger.cli.options import PATH, encoding_option, examples, input_format_option, model_option, quiet_option, say
from tagger.corpus import FORMATS, SUFFIXES, read_sentences, render
from tagger.errors import FileError
from tagger.files import COMPRESSED, Lines, exists, open_output
from tagger.store import load_model
from tagger.stream import tag_stream


@click.command(
    "tag",
    epilog=examples(
        "tagger tag < sentences.txt",
        'echo "The dog barks ." | tagger tag -m english.npz',
        "tagger tag corpus.conllu -o tagged.conllu",
        "tagger tag news.txt.gz --output-format tsv | less",
    ),
)
@click.argument("files", nargs=-1, type=PATH)
@model_option
@click.option("-o", "--output", metavar="FILE", default="-", help="Where to write.  [default: standard output]")
@input_format_option
@click.option("--output-format", type=click.Choice(list(FORMATS)), help="How to write.  [default: as the input]")
@encoding_option
@quiet_option
def command(
    files: tuple[str, ...],
    model_path: str,
    output: str,
    input_format: str | None,
    output_format: str | None,
    encoding: str,
    quiet: bool,
) -> None:
    """Tag text: a line in is a line out.

    FILES default to standard input. It is plain lines, tokens between spaces, unless a suffix (.conllu, .jsonl) or
    --input-format says otherwise.
    """
    model = load_model(model_path)
    for path in files:
        if path != "-" and not exists(path):
            raise FileError(f"cannot read {path}: no such file")
    if "-" in (files or "-") and sys.stdin is not None and sys.stdin.isatty():
        say("Type a sentence per line, words and marks between spaces; Ctrl-D ends.", quiet)
    with open_output(output) as stream:
        for path in files or ("-",):
            read_as = input_format or format_of(path)
            write_as = output_format or read_as
            lines = Lines(path, encoding)
            sentences = read_sentences(lines, read_as, tagged=False, column=model.column_)
            for block in tag_stream(model, sentences, partial(getattr, lines, "waiting")):
                stream.write(b"".join(render(sentence, write_as, model.column_) for sentence in block))
                stream.flush()


def format_of(path: str) -> str:
    """Plain lines, unless the name says otherwise."""
    name = Path(path)
    name = name.with_suffix("") if name.suffix in COMPRESSED else name
    return SUFFIXES.get(name.suffix, "slash")
