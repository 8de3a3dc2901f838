"""`tagger tag`."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from functools import partial
from typing import Any

import click

from tagger.cli.options import (
    PATH,
    TokenizingCommand,
    check_output,
    encoding_option,
    examples,
    input_format_option,
    map_option,
    model_option,
    output_option,
    quiet_option,
    say,
    say_unmapped,
    tag_map_of,
    tokenize_option,
)
from tagger.corpus import FORMATS, format_of, read_sentences, render
from tagger.errors import CorpusError, FileError
from tagger.files import Lines, exists, open_output
from tagger.sentence import Sentence
from tagger.store import load_model
from tagger.stream import tag_stream


@click.command(
    "tag",
    cls=TokenizingCommand,
    epilog=examples(
        "tagger tag < sentences.txt",
        'echo "The dog barks ." | tagger tag -m english.npz',
        "tagger tag corpus.conllu -o tagged.conllu",
        "tagger tag news.txt.gz --output-format tsv | less",
        "tagger tag --tokenize letter.txt --output-format jsonl",
    ),
)
@click.argument("files", nargs=-1, type=PATH)
@model_option
@output_option
@input_format_option
@click.option("--output-format", type=click.Choice(list(FORMATS)), help="How to write.  [default: as the input]")
@encoding_option
@tokenize_option
@map_option
@quiet_option
def command(
    files: tuple[str, ...],
    model_path: str,
    output: str,
    input_format: str | None,
    output_format: str | None,
    encoding: str,
    tokenize: str | None,
    map_path: str | None,
    quiet: bool,
) -> None:
    """Tag text: a line in is a line out.

    FILES default to standard input. It is plain lines, tokens between spaces, unless a suffix (.conllu, .jsonl) or
    --input-format says otherwise. With --tokenize it is text as people write it, and every sentence gets a line; jsonl
    and conllu tell where in the text its words stand.
    """
    files = files or ("-",)
    if tokenize and input_format:
        raise click.UsageError("--tokenize reads plain text: it does not go with --input-format.")
    check_output(output, model_path, map_path, *files)
    tag_map = tag_map_of(map_path)
    model = load_model(model_path)
    for path in files:
        if path != "-" and not exists(path):
            raise FileError(f"cannot read {path}: no such file")
    if "-" in files and sys.stdin is not None and sys.stdin.isatty():
        how = "Type text" if tokenize else "Type a sentence per line, words and marks between spaces"
        say(f"{how}; Ctrl-D ends.", quiet)
    write_as = output_format or input_format or ("slash" if tokenize else format_of(files[0]))
    with open_output(output) as stream:
        for path in files:
            lines = Lines(path, encoding)
            sentences, source = sentences_of(lines, tokenize, input_format, model.column_)
            for block in tag_stream(model, sentences, partial(getattr, source, "waiting")):
                block = [tag_map.sentence(sentence) for sentence in block] if tag_map else block
                stream.write(render_all(block, write_as, model.column_, lines.name))
                stream.flush()
    say_unmapped(tag_map, quiet)


def sentences_of(
    lines: Lines, tokenize: str | None, input_format: str | None, column: str
) -> tuple[Iterable[Sentence], Any]:
    """The sentences of an input, and who knows whether the next one has to be waited for."""
    if not tokenize:
        format = input_format or format_of(lines.path)
        return read_sentences(lines, format, tagged=False, column=column), lines
    from tagger.rawtext import RawText

    typed = lines.path == "-" and sys.stdin is not None and sys.stdin.isatty()
    text = RawText(lines, tokenize, by_line=typed)
    return text, text


def render_all(block: list[Sentence], format: str, column: str, name: str) -> bytes:
    try:
        return b"".join(render(sentence, format, column) for sentence in block)
    except CorpusError as error:
        raise CorpusError(f"{name}: {error}") from None
