"""`tagger tag`: tags for text, in blocks on several processes."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click

from tagger.cli.console import display_name, print_message, report_written, skipped_lines
from tagger.cli.corpus_input import load_tag_map, report_unmapped
from tagger.cli.hints import STRIP_ADVICE, Check, InputHint, tag_check, token_check
from tagger.cli.options import (
    MODEL_TOKENIZER,
    NO_LIMIT,
    Finite,
    TokenizingCommand,
    choice_option,
    column_options,
    file_command,
    file_option,
    input_options,
    jobs_option,
    map_option,
    max_memory_option,
    models_option,
    tokenize_option,
    value_option,
)
from tagger.cli.paths import INPUT, TEXT
from tagger.cli.progress import open_bar, show_bar
from tagger.cli.scheduler import scheduler_option
from tagger.cli.tagging.folder import check_folder_options, output_or_folder_option, part_option, tag_into_folder
from tagger.cli.tagging.tables import is_for_tables, tag_tables
from tagger.cli.tagging.tools import check_tool_options, doubtful_options, inputs_of, write_doubtful
from tagger.corpus.column_names import ColumnNames
from tagger.corpus.formats import FORMATS, format_of
from tagger.corpus.formats.conllu import COLUMNS
from tagger.corpus.tokenizers import TOKENIZERS
from tagger.errors import FileError, several
from tagger.files.reading import Lines, exists
from tagger.files.writing import open_output
from tagger.models.predictor import Predictor
from tagger.models.store import load_model
from tagger.tagging.annotator import Annotator
from tagger.tagging.constraints import Constraints, read_lexicon
from tagger.tagging.fast_path import writable
from tagger.tagging.folder import WHOLE, Part, is_folder
from tagger.tagging.inputs import PlainLines, Sentences
from tagger.tagging.render import LineRenderer, SentenceRenderer
from tagger.tagging.text_job import TextJob, write_answers

PROBABILITY_FORMATS = ("tsv", "columns", "conllu", "jsonl")  # can hold probabilities
TEXT_FORMATS = ("jsonl", "conllu")  # can hold raw text
NBEST_FORMATS = ("slash", "jsonl")  # can hold several taggings


@file_command(
    "tag",
    "tagger tag < sentences.txt",
    'echo "Time flies like an arrow." | tagger tag -m english --tokenize',
    "tagger tag corpus.conllu -o tagged.conllu",
    "tagger tag news.txt.gz --output-format tsv --probabilities | less",
    'echo "Time flies ." | tagger tag --nbest 3',
    'echo "Time flies/VBZ like an arrow ." | tagger tag --keep-tags',
    "tagger tag --tokenize letter.txt --output-format jsonl",
    "tagger tag --tokenize news.jsonl --text-column body",
    "tagger tag -m crf.npz -m bilstm.npz < sentences.txt",
    "tagger tag words.tsv -m chunks.npz --columns word,pos",
    "tagger tag texts/*.txt -o tagged/ --part 3/100",
    "tagger tag --tokenize raw.txt --doubtful 100 --to-tool label-studio -o tasks.json",
    "tagger tag texts.parquet -m english --tokenize --text-column body -o tagged.parquet",
    cls=TokenizingCommand,
)
@click.argument("files", nargs=-1, type=TEXT, callback=lambda ctx, param, files: files or ("-",))
@models_option
@output_or_folder_option
@part_option
@input_options
@column_options
@choice_option("--output-format", FORMATS, "Format of the output.  [default: by the suffix of -o, else as the input]")
@choice_option("--to-column", COLUMNS, "CoNLL-U column that gets the tags.  [default: the one of the training corpus]")
@tokenize_option
@click.option(
    "--text-column",
    metavar="NAME",
    help="Column of the text in tables, or its key in jsonl with --tokenize, e.g. body.  [default: text]",
)
@map_option
@value_option("--nbest", click.IntRange(1, 1000), None, "Write the N best taggings and their probabilities.")
@click.option("--probabilities", is_flag=True, help="Write the probability of each tag (tsv, conllu, jsonl).")
@click.option(
    "--min-probability", type=Finite(0, 1), default=0.0, help="Write ? for tags with a lower probability, e.g. 0.5."
)
@click.option("--keep-tags", is_flag=True, help="Keep the tags of tokens given as word/TAG or word/NN|VB.")
@file_option("--lexicon", INPUT, "Tags allowed for words: lines word TAB TAG TAG …, e.g. words.tsv.")
@doubtful_options
@jobs_option
@scheduler_option("Tag files")
@max_memory_option(NO_LIMIT)
def command(
    files: tuple[str, ...],
    model_paths: tuple[str, ...],
    output: str,
    input_format: str | None,
    output_format: str | None,
    to_column: str | None,
    encoding: str,
    columns: ColumnNames,
    tokenize: str | None,
    text_column: str | None,
    map_path: str | None,
    nbest: int | None,
    probabilities: bool,
    min_probability: float,
    keep_tags: bool,
    lexicon: str | None,
    part: Part | None,
    doubtful: int | None,
    to_tool: str | None,
    jobs: int,
    scheduler: str | None,
    quiet: bool,
) -> None:
    """Tag text: one line of output per line of input.

    FILES default to standard input. They are plain lines, tokens between spaces, unless a suffix (.conllu, .jsonl,
    .tsv) or --input-format says otherwise. --tokenize reads raw text instead and writes a line per sentence; in jsonl
    it reads the text of each object and keeps the other keys, in conllu the comments "# text = ...". The outputs jsonl
    and conllu then give the position of each word in the text. In CoNLL-U, tags go into the column that the model was
    trained on, or UPOS if it was trained on another format.

    In tables (.parquet, .arrow, .arrows, .feather) a column of texts (--text-column) or of word lists (--word-column)
    is tagged; a row in is a row out, with new columns.

    With -o FOLDER/ each file gets an output of its own. Files that are finished, by the records in FOLDER/manifest, are
    not tagged again unless the file, the model or an option has changed; --part and --scheduler share the work among
    machines.
    """
    check_folder_options(files, output, part)
    if is_for_tables(files, output):
        return tag_tables(files, output, part, tagging_bar(files, output, quiet))
    write_as = output_format or format_of(output, otherwise=input_format or format_of(files[0]))
    check_tokenize_options(files, input_format, tokenize, text_column, keep_tags)
    check_output_options(write_as, to_column, nbest, probabilities, min_probability)
    check_tool_options(to_tool, doubtful, output)
    tag_map = load_tag_map(map_path)
    model = load_model(*model_paths)
    if tokenize == MODEL_TOKENIZER:
        tokenize = model.tokenizer_ or TOKENIZERS[0]
    check_inputs(files, encoding, tokenize, quiet)
    constraints = read_constraints(model, lexicon, encoding, keep_tags)
    names = tag_map.tags(model.classes_) if tag_map else None
    if nbest and names and len(set(names)) < len(names):
        raise click.UsageError("--nbest: expected a --map that joins no tags, since taggings would look alike.")
    report_unmapped(tag_map, quiet)
    annotator = Annotator(model, constraints, probabilities, min_probability, nbest or 0, names)
    plain = not tokenize and all((input_format or format_of(path)) == "slash" for path in files)
    reader = Sentences(tokenize, input_format, model.corpus_columns(columns), constraints, text_column)
    parts = choose_path(annotator, reader, plain and not doubtful, write_as, to_column)
    if doubtful and isinstance(parts[1], SentenceRenderer):
        lines = inputs_of(files, encoding)
        return write_doubtful(annotator, reader, parts[1], lines, doubtful, to_tool, output, quiet)
    hint = InputHint(*hint_checks(model, keep_tags), quiet=quiet or not plain)
    return write_output(TextJob(*parts, encoding), files, output, write_as, part or WHOLE, jobs, hint, quiet)


def write_output(
    job: TextJob,
    files: tuple[str, ...],
    output: str,
    write_as: str,
    part: Part,
    jobs: int,
    hint: InputHint,
    quiet: bool,
) -> None:
    """Tag all files, into one output or into a folder, and say what was written."""
    with tagging_bar(files, output, quiet) as advance:
        if is_folder(output):
            tag_file = partial(job.tag_file, skipped=skipped_lines())
            return tag_into_folder(files, output, write_as, part, tag_file, advance)
        with open_output(output) as stream:
            answers = job.answers(files, jobs, skipped_lines(), hint)
            tokens = write_answers(answers, stream, advance, skipped_lines())
    return report_written(output, f"{several(tokens, 'token')}, as {write_as}", quiet)


def read_constraints(model: Predictor, lexicon: str | None, encoding: str, keep_tags: bool) -> Constraints | None:
    """Return the constraints of `--lexicon` and `--keep-tags`, if any."""
    words = read_lexicon(lexicon, encoding, frozenset(model.classes_)) if lexicon else None
    return Constraints(model.classes_, words, keep_tags) if words or keep_tags else None


def choose_path(
    annotator: Annotator, reader: Sentences, plain: bool, write_as: str, to_column: str | None
) -> tuple[PlainLines | Sentences, LineRenderer | SentenceRenderer]:
    """Return reader and renderer: those of the fast path for plain input and word/TAG output, else the general ones."""
    skip = skipped_lines() is not None
    tags = annotator.names or annotator.model.classes_
    if plain and write_as == "slash" and annotator.only_tags and writable(tags) and not reader.columns.wanted:
        return PlainLines(), LineRenderer(annotator, skip)
    columns = replace(reader.columns, column=to_column or annotator.model.column_)
    return reader, SentenceRenderer(annotator, write_as, columns, skip)


def check_inputs(files: tuple[str, ...], encoding: str, tokenize: str | None, quiet: bool) -> None:
    """Refuse missing files and files that are no text, before anything is written; explain how to type text."""
    for path in files:
        if path != "-" and not exists(path):
            raise FileError(f"cannot read {path}: {os.strerror(errno.ENOENT)}")
        if Path(path).is_file():  # a pipe can be read once only
            Lines(path, encoding).check()
    if "-" in files and sys.stdin is not None and sys.stdin.isatty():
        how = "Type text" if tokenize else "Type a sentence per line, words and marks between spaces"
        print_message(f"{how}; Ctrl-D ends.", quiet)


def hint_checks(model: Predictor, keep_tags: bool) -> list[Check]:
    """List the checks for plain lines."""
    advice = f"--keep-tags keeps such tags, {STRIP_ADVICE}"
    return [token_check(model.lexicon_), *([] if keep_tags else [tag_check(model.classes_, advice)])]


def check_tokenize_options(
    files: tuple[str, ...], input_format: str | None, tokenize: str | None, text_column: str | None, keep_tags: bool
) -> None:
    """Refuse `--tokenize` for input without raw text, and `--text-column` for input without keys."""
    formats = {path: input_format or format_of(path) for path in files}
    if text_column is not None and not tokenize:
        raise click.UsageError("--text-column: expected --tokenize as well. It names the text to split into words.")
    for path, format in formats.items():
        if text_column is not None and format != "jsonl":
            got = f"{display_name(path)}, read as {'plain text' if format == 'slash' else format}"
            raise click.UsageError(f"--text-column: expected jsonl, got {got}. Use --input-format jsonl.")
        if tokenize and (keep_tags or input_format == "slash" or format not in ("slash", *TEXT_FORMATS)):
            other = "--keep-tags" if keep_tags else f"--input-format {format}" if input_format else None
            got = f"{other}. Leave out one of the two." if other else f"{display_name(path)}. Leave out --tokenize."
            raise click.UsageError(f"--tokenize: expected raw text, jsonl or conllu, got {got}")


def check_output_options(
    format: str, to_column: str | None, nbest: int | None, probabilities: bool, min_probability: float
) -> None:
    """Refuse options that the output format cannot express, or that exclude each other."""
    if to_column and format != "conllu":
        raise click.UsageError(
            f"--to-column: expected the output format conllu, got {format}. Use --output-format conllu."
        )
    if probabilities and format not in PROBABILITY_FORMATS:
        advice = "Use --output-format tsv, conllu or jsonl."
        raise click.UsageError(f"--probabilities: the output format {format} has no place for them. {advice}")
    if nbest and min_probability:
        raise click.UsageError("--min-probability: expected one tagging, got --nbest. Leave out one of the two.")
    if nbest and format not in NBEST_FORMATS:
        advice = "Use --output-format slash or jsonl."
        raise click.UsageError(f"--nbest: the output format {format} has no place for several taggings. {advice}")


@contextmanager
def tagging_bar(files: tuple[str, ...], output: str, quiet: bool) -> Iterator[Callable[[int], Any]]:
    """Open a bar unless text is typed, or tags appear, on the same terminal; yield the function that advances it."""
    if "-" in files or not show_bar(quiet) or (output == "-" and sys.stdout is not None and sys.stdout.isatty()):
        yield lambda tokens: None
        return
    with open_bar("tag", " tokens") as bar:
        yield bar.update
