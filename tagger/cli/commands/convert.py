"""`tagger convert`: a corpus in another format, or with other tags."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import IO

import click

from tagger.cli.console import print_message, report_written, skipped_lines
from tagger.cli.corpus_input import CorpusOptions, load_tag_map, no_sentence_error, report_unmapped
from tagger.cli.options import choice_option, corpus_options, file_command, is_given, map_option
from tagger.cli.paths import INPUT, OutputFile
from tagger.cli.tagging.tools import check_tool_files, tool_options
from tagger.corpus import read_sentences
from tagger.corpus.annotation import read_annotations, write_annotations
from tagger.corpus.column_names import ColumnNames
from tagger.corpus.formats import FORMATS, SUFFIXES, format_of, header, plain_name, render
from tagger.corpus.formats.conllu import COLUMNS
from tagger.errors import CorpusError, several
from tagger.files.reading import Lines, raise_or_skip
from tagger.files.writing import open_output
from tagger.sentence import Sentence

# Parameters of formats, which files of annotation tools do not have.
OF_READING = ("input_format", "untagged", "on_error", "column", "columns", "word_column", "tag_column")
OF_WRITING = ("output_format", "to_column")


@file_command(
    "convert",
    "tagger convert corpus.conllu corpus.txt --column xpos",
    "tagger convert corpus.txt.gz - --output-format jsonl | head",
    "tagger convert tagged.txt - --strip-tags | tagger tag",
    "tagger convert chunks.txt chunks.jsonl --columns word,pos,tag",
    "tagger convert annotations.jsonl corpus.txt --from-tool doccano",
    "tagger convert penn.conllu both.conllu --column xpos --map penn-upos.tsv --to-column upos",
)
@click.argument("source", metavar="IN", type=INPUT)
@click.argument("target", metavar="OUT", type=OutputFile(stdout=True))
@corpus_options
@choice_option("--output-format", FORMATS, "Format of the output.  [default: by the suffix of OUT]")
@choice_option("--to-column", COLUMNS, "CoNLL-U column that gets the tags.  [default: that of --column]")
@click.option("--untagged", is_flag=True, help="Read IN as text without tags: plain lines, or by its suffix.")
@click.option("--strip-tags", is_flag=True, help="Write the words only: no tags, comments or lemmas.")
@tool_options
@map_option
def command(
    source: str,
    target: str,
    corpus_options: CorpusOptions,
    output_format: str | None,
    to_column: str | None,
    untagged: bool,
    strip_tags: bool,
    from_tool: str | None,
    to_tool: str | None,
    labels: str | None,
    map_path: str | None,
    quiet: bool,
) -> None:
    """Write a corpus in another format.

    The format of IN is recognised by its content. That of OUT is chosen by its suffix (.conllu, .jsonl, .tsv, before
    .gz, .bz2 or .xz); any other suffix means word/TAG. Either may be - for standard input or output. --from-tool and
    --to-tool read and write the files of annotation tools.
    """
    check_options(from_tool, to_tool)
    check_tool_files(to_tool, target, from_tool, source)
    tag_map = load_tag_map(map_path)
    lines = Lines(source, corpus_options.encoding, skipped_lines())
    format = corpus_options.input_format or (format_of(source) if untagged else None)
    write_as = to_tool or output_format or format_of(target)
    described = describe_format(write_as, untagged or strip_tags)
    if not (output_format or to_tool) and (suffix := unknown_suffix(target)):
        print_message(f"hint: {suffix} is no known suffix: written as {described}; see --output-format", quiet)
    columns = replace(corpus_options.columns, column=to_column or corpus_options.columns.column)
    if from_tool:
        read: Iterable[Sentence] = read_annotations(source, from_tool, corpus_options.encoding, labels)
    else:
        read = read_sentences(lines, format, not untagged, corpus_options.columns)
    mapped = (tag_map.sentence(sentence) if tag_map else sentence for sentence in read)
    stripped = (Sentence(sentence.words) if strip_tags else sentence for sentence in mapped)
    if to_tool:
        sentences, tokens = write_for_tool(target, stripped, to_tool)
    else:
        with open_output(target) as stream:
            sentences, tokens = write_sentences(stream, stripped, write_as, columns, lines)
            if not tokens:
                raise no_sentence_error(lines.name, "sentences" if untagged else "tagged sentences")
    report_unmapped(tag_map, quiet)
    report_written(target, f"{several(sentences, 'sentence')}, {several(tokens, 'token')}, as {described}", quiet)


def check_options(from_tool: str | None, to_tool: str | None) -> None:
    """Refuse options that do nothing where the file of an annotation tool is read or written, or none is."""
    idle = OF_READING if from_tool else ("labels",)
    for name in (*idle, *(OF_WRITING if to_tool else ())):
        if is_given(name):
            expected = "--from-tool" if name == "labels" else f"no {'--from-tool' if name in idle else '--to-tool'}"
            advice = "Add it" if name == "labels" else "Leave out one of the two"
            raise click.UsageError(f"--{name.replace('_', '-')}: expected {expected} with it. {advice}.")


def write_for_tool(target: str, sentences: Iterable[Sentence], tool: str) -> tuple[int, int]:
    """Write sentences as the file of an annotation tool; return their number and that of their words."""
    listed = list(sentences)
    write_annotations(target, listed, tool)
    return len(listed), sum(map(len, listed))


def write_sentences(
    stream: IO[bytes], sentences: Iterable[Sentence], format: str, columns: ColumnNames, lines: Lines
) -> tuple[int, int]:
    """Write sentences; return the number of those written, and that of their words."""
    written = tokens = 0
    for number, sentence in enumerate(sentences, 1):
        try:
            text = render(sentence, format, columns)
            stream.write(text if written else header([sentence], format) + text)
            written, tokens = written + 1, tokens + len(sentence)
        except CorpusError as error:
            place = f"{lines.name}: sentence {number:,}" + f" (up to line {lines.number:,})" * (lines.number > 0)
            raise_or_skip(CorpusError(f"{place}: {error}"), lines.skipped)
    return written, tokens


def describe_format(format: str, words_only: bool) -> str:
    """Return the name of a format, with an explanation where it needs one."""
    if format != "slash":
        return format
    return "plain lines" if words_only else "slash (word/TAG)"


def unknown_suffix(path: str) -> str | None:
    """Return the suffix of a file if it belongs neither to a format nor to plain text."""
    suffix = plain_name(path).suffix
    return None if suffix in ("", ".txt", *SUFFIXES) else suffix
