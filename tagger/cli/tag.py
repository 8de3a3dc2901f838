"""`tagger tag`."""

from __future__ import annotations

from pathlib import Path

import click

from tagger.cli.options import PATH, encoding_option, input_format_option, model_option, quiet_option
from tagger.corpus import FORMATS, SUFFIXES, read_sentences
from tagger.files import COMPRESSED, Lines, open_output
from tagger.store import load_model
from tagger.stream import tag_stream


@click.command("tag")
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
    """Tag FILES (default: standard input): a line in is a line out.

    The input is plain lines, tokens between spaces, unless a suffix (.conllu, .jsonl) or --input-format says otherwise.

    \b
    Examples:
      tagger tag < sentences.txt
      echo "The dog barks ." | tagger tag -m english.npz
      tagger tag corpus.conllu -o tagged.conllu
      tagger tag news.txt.gz --output-format tsv | less
    """
    model = load_model(model_path)
    with open_output(output) as stream:
        for path in files or ("-",):
            read_as = input_format or format_of(path)
            write = FORMATS[output_format or read_as].write
            lines = Lines(path, encoding)
            sentences = read_sentences(lines, read_as, tagged=False, column=model.column_)
            for block in tag_stream(model, sentences, lambda lines=lines: lines.waiting):  # type: ignore[misc]
                stream.write(
                    "".join(write(sentence, model.column_) for sentence in block).encode("utf-8", "surrogateescape")
                )
                stream.flush()


def format_of(path: str) -> str:
    """Plain lines, unless the name says otherwise."""
    name = Path(path)
    name = name.with_suffix("") if name.suffix in COMPRESSED else name
    return SUFFIXES.get(name.suffix, "slash")
