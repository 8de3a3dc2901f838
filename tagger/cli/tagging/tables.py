"""`tag` for tables: Parquet and Arrow files, a row in is a row out."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import PurePath
from typing import Any

import click

from tagger.cli.console import display_name, report_written
from tagger.cli.options import MODEL_TOKENIZER, is_given
from tagger.cli.tagging.folder import tag_into_folder
from tagger.corpus.tokenizers import TOKENIZERS
from tagger.errors import several
from tagger.integrations import TABLE_SUFFIXES, is_table
from tagger.models.store import load_model
from tagger.tagging.folder import WHOLE, Part, is_folder

FOR_TEXTS = (  # parameters that tables have no use for
    *("input_format", "output_format", "encoding", "on_error", "columns", "tag_column", "to_column"),
    *("map_path", "doubtful", "to_tool", "nbest", "min_probability", "keep_tags", "lexicon"),
)


def is_for_tables(files: Sequence[str], output: str) -> bool:
    """Return whether an input or the output is a table."""
    return any(map(is_table, files)) or (is_table(output) and not is_folder(output))


def check_table_options(files: Sequence[str], output: str) -> None:
    """Refuse tables among texts, options for texts, and an output that is no table."""
    context = click.get_current_context()
    if not all(map(is_table, files)):
        got = display_name(next(path for path in files if not is_table(path)))
        others = "other tables" if any(map(is_table, files)) else f"-o {output}"
        raise click.UsageError(f"FILES: expected tables only because of {others}, got {got}.")
    for param in context.command.params:
        if param.name in FOR_TEXTS and is_given(param.name):
            raise click.UsageError(f"{param.opts[-1]}: expected text to tag, got the table {files[0]}.")
    if is_given("word_column") and (other := next(filter(is_given, ("text_column", "tokenize")), None)):
        raise click.UsageError(f"--word-column: expected no --{other.replace('_', '-')}, which is for texts, got both.")
    if not is_table(output) and not is_folder(output):
        got = "standard output" if output == "-" else output
        raise click.UsageError(f"-o: expected a file that ends in {' or '.join(TABLE_SUFFIXES)}, got {got}.")
    if len(files) > 1 and not is_folder(output):
        raise click.UsageError(
            f"-o: expected a folder for {len(files)} tables, got {output}. A folder ends with a slash."
        )


def tag_tables(files: Sequence[str], output: str, part: Part | None, bar: AbstractContextManager[Any]) -> None:
    """Tag tables: words and tags of a column of texts, or tags of a column of word lists, become new columns."""
    from tagger.integrations.arrow import need_pyarrow
    from tagger.integrations.tables import table_job

    check_table_options(files, output)
    need_pyarrow()
    parameters = click.get_current_context().params
    model, tokenizer = load_model(parameters["model_paths"]), parameters["tokenize"]
    if tokenizer == MODEL_TOKENIZER:
        tokenizer = model.tokenizer_ or TOKENIZERS[0]
    columns = parameters["text_column"], parameters["word_column"]
    job = table_job(model, *columns, tokenizer, parameters["probabilities"])
    with bar as advance:
        if is_folder(output):
            suffix = PurePath(files[0]).suffix
            return tag_into_folder(files, output, suffix, part or WHOLE, job.tag_file, advance, job)
        tokens = job.tag_file(files[0], output, jobs=parameters["jobs"], advance=advance)
    return report_written(output, several(tokens, "token"), parameters["quiet"])
