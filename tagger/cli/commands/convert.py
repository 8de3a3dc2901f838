"""`tagger convert`."""

from __future__ import annotations

import click

from tagger.cli.console import no_sentence, say, say_unmapped, say_written, skipped, tag_map_of
from tagger.cli.options import corpus_options, examples, map_option, quiet_option
from tagger.cli.paths import INPUT, FileCommand, OutputFile
from tagger.corpus import FORMATS, SUFFIXES, format_of, plain_name, read_sentences, render
from tagger.corpus.conllu import COLUMNS
from tagger.errors import CorpusError, several
from tagger.files.reading import Lines
from tagger.files.writing import open_output
from tagger.sentence import Sentence


@click.command(
    "convert",
    cls=FileCommand,
    epilog=examples(
        "tagger convert corpus.conllu corpus.txt --column xpos",
        "tagger convert corpus.txt.gz - --output-format jsonl | head",
        "tagger convert tagged.txt - --strip-tags | tagger tag",
        "tagger convert penn.conllu both.conllu --column xpos --map penn-upos.tsv --to-column upos",
    ),
)
@click.argument("source", metavar="IN", type=INPUT)
@click.argument("target", metavar="OUT", type=OutputFile(stdout=True))
@corpus_options
@click.option(
    "--output-format", type=click.Choice(list(FORMATS)), help="How to write.  [default: as OUT's suffix says]"
)
@click.option("--to-column", type=click.Choice(list(COLUMNS)), help="Of CoNLL-U, to write.  [default: as --column]")
@click.option(
    "--untagged", is_flag=True, help="IN is text without tags: plain lines, unless its suffix says otherwise."
)
@click.option("--strip-tags", is_flag=True, help="Write the words alone: no tags, nor comments, lemmas and the like.")
@map_option
@quiet_option
def command(
    source: str,
    target: str,
    input_format: str | None,
    encoding: str,
    column: str,
    output_format: str | None,
    to_column: str | None,
    untagged: bool,
    strip_tags: bool,
    map_path: str | None,
    quiet: bool,
) -> None:
    """Write a corpus in another format.

    IN is recognised by its content. The suffix of OUT (.conllu, .jsonl, .tsv, before .gz, .bz2 or .xz) tells how to
    write it; any other means word/TAG. Either may be - for standard input or output.
    """
    tag_map = tag_map_of(map_path)
    lines = Lines(source, encoding, skipped())
    format = input_format or (format_of(source) if untagged else None)
    write_as = output_format or format_of(target)
    described = in_words(write_as, untagged or strip_tags)
    if not output_format and (ending := strange_ending(target)):
        say(f"hint: {ending} tells no format: written as {described}; --output-format has others", quiet)
    sentences = tokens = 0
    with open_output(target) as stream:
        for number, sentence in enumerate(read_sentences(lines, format, tagged=not untagged, column=column), 1):
            mapped = tag_map.sentence(sentence) if tag_map else sentence
            try:
                stream.write(render(Sentence(mapped.words) if strip_tags else mapped, write_as, to_column or column))
                sentences, tokens = sentences + 1, tokens + len(sentence)
            except CorpusError as error:
                place = f"{lines.name}: sentence {number:,} (up to line {lines.number:,})"
                fault = CorpusError(f"{place}: {error}")
                if lines.skipped is None:
                    raise fault from None
                lines.skipped.add(fault)
        if not tokens:
            raise no_sentence(lines.name, "sentences" if untagged else "tagged sentences")
    say_unmapped(tag_map, quiet)
    say_written(target, f"{several(sentences, 'sentence')}, {several(tokens, 'token')}, as {described}", quiet)


def in_words(format: str, words_alone: bool) -> str:
    """What a format looks like, where its name does not say it."""
    if format != "slash":
        return format
    return "plain lines" if words_alone else "slash (word/TAG)"


def strange_ending(path: str) -> str | None:
    """The suffix of a file, if it is neither that of a format nor of any text."""
    suffix = plain_name(path).suffix
    return None if suffix in ("", ".txt", *SUFFIXES) else suffix
