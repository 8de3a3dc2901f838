"""`tagger tag`."""

from __future__ import annotations

import sys
from functools import partial

import click

from tagger.cli.options import (
    PATH,
    check_output,
    encoding_option,
    examples,
    input_format_option,
    model_option,
    output_option,
    quiet_option,
    say,
)
from tagger.corpus import FORMATS, format_of, read_sentences, render
from tagger.errors import CorpusError, FileError
from tagger.files import Lines, exists, open_output
from tagger.sentence import Sentence
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
@output_option
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
    files = files or ("-",)
    check_output(output, model_path, *files)
    model = load_model(model_path)
    for path in files:
        if path != "-" and not exists(path):
            raise FileError(f"cannot read {path}: no such file")
    if "-" in files and sys.stdin is not None and sys.stdin.isatty():
        say("Type a sentence per line, words and marks between spaces; Ctrl-D ends.", quiet)
    write_as = output_format or input_format or format_of(files[0])
    with open_output(output) as stream:
        for path in files:
            lines = Lines(path, encoding)
            sentences = read_sentences(lines, input_format or format_of(path), tagged=False, column=model.column_)
            for block in tag_stream(model, sentences, partial(getattr, lines, "waiting")):
                stream.write(render_all(block, write_as, model.column_, lines.name))
                stream.flush()


def render_all(block: list[Sentence], format: str, column: str, name: str) -> bytes:
    try:
        return b"".join(render(sentence, format, column) for sentence in block)
    except CorpusError as error:
        raise CorpusError(f"{name}: {error}") from None
