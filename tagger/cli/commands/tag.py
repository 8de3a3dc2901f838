"""`tagger tag`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Any

import click

from tagger.cli.console import name_of, say_unmapped, say_written, skipped, tag_map_of
from tagger.cli.hints import STRIP, InputHint, Look, tokenised, untagged
from tagger.cli.options import (
    NO_LIMIT,
    Finite,
    TokenizingCommand,
    encoding_option,
    examples,
    input_format_option,
    jobs_option,
    map_option,
    max_memory_option,
    models_option,
    on_error_option,
    output_option,
    quiet_option,
    tokenize_option,
)
from tagger.cli.paths import INPUT, TEXT
from tagger.cli.progress import open_bar, show_bar
from tagger.cli.tag_input import PlainLines, Sentences, check_inputs, named_blocks
from tagger.corpus import FORMATS, format_of
from tagger.corpus.conllu import COLUMNS
from tagger.errors import CorpusError, several
from tagger.files.reading import Lines, Skipped
from tagger.files.resources import available_cores
from tagger.files.writing import open_output
from tagger.models.base import Predictor
from tagger.models.store import load_models
from tagger.tagging.annotator import Annotator
from tagger.tagging.constraints import Constraints, read_lexicon
from tagger.tagging.fast_path import writable
from tagger.tagging.render import LineRenderer, SentenceRenderer
from tagger.tagging.workers import in_order

SURE_FORMATS = ("tsv", "conllu", "jsonl")  # have a place for probabilities
TEXT_FORMATS = ("jsonl", "conllu")  # have a place for raw text
SEVERAL_FORMATS = ("slash", "jsonl")  # have a place for several taggings


@click.command(
    "tag",
    cls=TokenizingCommand,
    epilog=examples(
        "tagger tag < sentences.txt",
        'echo "The dog barks ." | tagger tag -m english.npz',
        "tagger tag corpus.conllu -o tagged.conllu",
        "tagger tag news.txt.gz --output-format tsv --probabilities | less",
        'echo "Time flies ." | tagger tag --nbest 3',
        'echo "Time flies/VBZ like an arrow ." | tagger tag --keep-tags',
        "tagger tag --tokenize letter.txt --output-format jsonl",
        "tagger tag --tokenize news.jsonl --text-column body",
        "tagger tag -m crf.npz -m bilstm.npz < sentences.txt",
    ),
)
@click.argument("files", nargs=-1, type=TEXT, callback=lambda ctx, param, files: files or ("-",))
@models_option
@output_option
@input_format_option
@click.option(
    "--output-format",
    type=click.Choice(list(FORMATS)),
    help="How to write.  [default: as the suffix of -o says, else as the input]",
)
@click.option(
    "--to-column", type=click.Choice(list(COLUMNS)), help="Of CoNLL-U, to write.  [default: as the model was trained]"
)
@encoding_option
@on_error_option
@tokenize_option
@click.option("--text-column", metavar="NAME", help="Key of the text in .jsonl, with --tokenize.  [default: text]")
@map_option
@click.option(
    "--nbest", type=click.IntRange(1, 1000), metavar="N", help="The N best taggings with their probabilities."
)
@click.option("--probabilities", is_flag=True, help="How sure each tag is (tsv, conllu, jsonl).")
@click.option("--min-probability", type=Finite(0, 1), default=0.0, help="Write less sure tags as ?.")
@click.option("--keep-tags", is_flag=True, help="Tokens that come as word/TAG keep it; word/NN|VB is one of these.")
@click.option("--lexicon", metavar="FILE", type=INPUT, help="Lines word TAB TAG[ TAG…]: the tags words may have.")
@jobs_option
@max_memory_option(NO_LIMIT)
@quiet_option
def command(
    files: tuple[str, ...],
    model_paths: tuple[str, ...],
    output: str,
    input_format: str | None,
    output_format: str | None,
    to_column: str | None,
    encoding: str,
    tokenize: str | None,
    text_column: str | None,
    map_path: str | None,
    nbest: int | None,
    probabilities: bool,
    min_probability: float,
    keep_tags: bool,
    lexicon: str | None,
    jobs: int,
    quiet: bool,
) -> None:
    """Tag text: a line in is a line out.

    FILES default to standard input. It is plain lines, tokens between spaces, unless a suffix (.conllu, .jsonl, .tsv)
    or --input-format says otherwise. With --tokenize it is text as people write it, and every sentence gets a line; of
    .jsonl it is the text of each object, whose other keys are kept, of .conllu the comments "# text = ...". The outputs
    jsonl and conllu have the places of the words in the text. In CoNLL-U, tags go into the column that the model
    learned from, or UPOS if it learned from another format.
    """
    read_as = input_format or format_of(files[0])
    write_as = output_format or format_of(output, otherwise=read_as)
    check_tokenizing(files, input_format, tokenize, text_column, keep_tags)
    check_wishes(write_as, to_column, nbest, probabilities, min_probability)
    tag_map = tag_map_of(map_path)
    model = load_models(model_paths)
    check_inputs(files, encoding, tokenize, quiet)
    words = read_lexicon(lexicon, encoding, frozenset(model.classes_)) if lexicon else None
    constraints = Constraints(model.classes_, words, keep_tags) if words or keep_tags else None
    names = tag_map.tags(model.classes_) if tag_map else None
    if nbest and names and len(set(names)) < len(names):
        raise click.UsageError("--nbest does not go with a --map that joins tags: taggings would look alike.")
    say_unmapped(tag_map, quiet)
    annotator = Annotator(model, constraints, probabilities, min_probability, nbest or 0, names)
    lines_in = not tokenize and all((input_format or format_of(path)) == "slash" for path in files)
    hint = InputHint(*looks(model, keep_tags), quiet=quiet or not lines_in)
    left_out = skipped()
    reader: PlainLines | Sentences = Sentences(tokenize, input_format, model.column_, constraints, text_column)
    tagging: LineRenderer | SentenceRenderer = SentenceRenderer(
        annotator, write_as, to_column or model.column_, left_out is not None
    )
    if lines_in and write_as == "slash" and annotator.only_tags and writable(names or model.classes_):
        reader, tagging = PlainLines(), LineRenderer(annotator, left_out is not None)
    todo = chain.from_iterable(named_blocks(Lines(path, encoding, left_out), reader, hint) for path in files)
    written = 0
    with open_output(output) as stream, progress(files, output, quiet) as advance:
        for text, tokens, faults in in_order(tagging, todo, jobs or available_cores()):
            stream.write(text)
            stream.flush()
            report(faults, left_out)
            advance(tokens)
            written += tokens
    say_written(output, f"{several(written, 'token')}, as {write_as}", quiet)


def looks(model: Predictor, keep_tags: bool) -> list[Look]:
    """What is worth a hint in plain lines."""
    both = f"--keep-tags keeps such tags, {STRIP}"
    return [tokenised(model.lexicon_), *([] if keep_tags else [untagged(model.classes_, both)])]


def report(faults: list[str], left_out: Skipped | None) -> None:
    """What could not be written ends the run, or is counted."""
    for fault in map(CorpusError, faults):
        if left_out is None:
            raise fault
        left_out.add(fault)


def check_tokenizing(
    files: tuple[str, ...], input_format: str | None, tokenize: str | None, text_column: str | None, keep_tags: bool
) -> None:
    """Refuse to cut what has no text, and to look for a column where there are none."""
    formats = {path: input_format or format_of(path) for path in files}
    if text_column is not None and not tokenize:
        raise click.UsageError("--text-column names the text to cut into words: it needs --tokenize.")
    for path, format in formats.items():
        if text_column is not None and format != "jsonl":
            got = f"{name_of(path)}, read as {'plain text' if format == 'slash' else format}"
            raise click.UsageError(
                f"--text-column: expected jsonl, got {got}. Leave it out, or use --input-format jsonl."
            )
        if tokenize and (keep_tags or input_format == "slash" or format not in ("slash", *TEXT_FORMATS)):
            got = "--keep-tags" if keep_tags else f"words between spaces ({format})" if format == "slash" else format
            raise click.UsageError(
                f"--tokenize reads plain text, jsonl or conllu, got {got}. Leave out one of the two."
            )


def check_wishes(
    format: str, to_column: str | None, nbest: int | None, probabilities: bool, min_probability: float
) -> None:
    if to_column and format != "conllu":
        raise click.UsageError(f"{format} has no columns to choose from: --to-column is for --output-format conllu.")
    if probabilities and format not in SURE_FORMATS:
        raise click.UsageError(f"{format} has no place for probabilities: use --output-format tsv, conllu or jsonl.")
    if nbest and min_probability:
        raise click.UsageError("--min-probability is for one tagging: it does not go with --nbest.")
    if nbest and format not in SEVERAL_FORMATS:
        raise click.UsageError(f"{format} has no place for several taggings: use --output-format slash or jsonl.")


@contextmanager
def progress(files: tuple[str, ...], output: str, quiet: bool) -> Iterator[Callable[[int], Any]]:
    """What to call with the tokens done; a bar, if somebody can see it and is not looking at the answers instead."""
    if "-" in files or not show_bar(quiet) or (output == "-" and sys.stdout is not None and sys.stdout.isatty()):
        yield lambda tokens: None
        return
    with open_bar("tag", " tokens") as bar:
        yield bar.update
