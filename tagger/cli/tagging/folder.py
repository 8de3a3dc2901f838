"""`tag` into a folder: `-o FOLDER/` and `--part`, for lists of files and for arrays of jobs on many machines."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from tagger.cli.console import print_message, skipped_lines
from tagger.cli.options import is_given, value_option
from tagger.cli.paths import OutputFile
from tagger.cli.scheduler import open_executor
from tagger.errors import several
from tagger.files.remote import has_scheme
from tagger.pretrained import model_file
from tagger.tagging.folder import Done, Part, TaggingFolder, file_hash, is_folder, run, run_all
from tagger.tagging.workers import processes

if TYPE_CHECKING:
    from tagger.tagging.pieces import PieceJob

# Parameters that change no output.
NOT_IN_RECORDS = ("files", "model_paths", "output", "part", "jobs", "scheduler", "quiet")
FILES_IN_RECORDS = ("lexicon", "map_path")  # parameters that name files, which count by their content


class FolderOrFile(OutputFile):
    """A file to write, standard output (`-`), or a folder, which ends with a slash or exists."""

    def check(self, path: str) -> None:
        if has_scheme(path) or not is_folder(path):
            super().check(path)


class PartType(click.ParamType):
    """A part such as 3/100."""

    name = "part"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Part:
        match = re.fullmatch(r"(\d{1,9})/(\d{1,9})", str(value))
        if not match or not 1 <= int(match[1]) <= int(match[2]):
            self.fail(f"expected a part such as 3/100, got {value!r}.", param, ctx)
        return Part(int(match[1]), int(match[2]))


output_or_folder_option = click.option(
    "-o",
    "--output",
    type=FolderOrFile(stdout=True),
    metavar="FILE|FOLDER/",
    default="-",
    help="Output file, or folder for an output per input.  [default: standard output]",
)
part_option = value_option(
    "--part", PartType(), None, "With -o FOLDER/: tag only part K of N of the files, e.g. 3/100.", metavar="K/N"
)


def check_folder_options(files: Sequence[str], output: str, part: Part | None) -> None:
    """Refuse `--part` without a folder, and standard input with one."""
    if part and not is_folder(output):
        raise click.UsageError(f"--part: expected -o FOLDER/ as well, got -o {output}. A folder ends with a slash.")
    parameters = click.get_current_context().params
    if parameters["scheduler"]:
        if not is_folder(output):
            raise click.UsageError(f"--scheduler: expected -o FOLDER/ as well, got -o {output}. Files are its tasks.")
        if is_given("jobs") or skipped_lines() is not None:
            given = "--jobs" if is_given("jobs") else "--on-error skip"
            raise click.UsageError(f"--scheduler: expected workers elsewhere, got {given}. Leave out one of the two.")
    if is_folder(output) and "-" in files:
        raise click.UsageError(f"-o {output}: expected files to tag, got standard input. Name the files.")


def tag_into_folder(
    files: Sequence[str],
    output: str,
    format: str,
    part: Part,
    tag_file: Callable[..., int],
    advance: Callable[[int], Any],
    by_pieces: PieceJob | None = None,
) -> None:
    """Tag the files of a part that are not finished, each into its output, and print what was done.

    On a cluster, `by_pieces` tags pieces of large files.
    """
    parameters = click.get_current_context().params
    models = [model_file(name) for name in parameters["model_paths"]]
    folder = TaggingFolder(output, models, recorded_options(parameters), format)
    named = [parameters[name] for name in FILES_IN_RECORDS if parameters[name]]
    tasks = folder.tasks(files, part, named)
    # Many files are shared among processes, file by file; the blocks of one file, or of a few, are shared otherwise.
    by_file = len(part.of(files)) >= 2 * parameters["jobs"] > 2 and skipped_lines() is None
    if parameters["scheduler"]:
        from tagger.tagging.pieces import run_pieces

        execute = open_executor(parameters["scheduler"])
        results = run_pieces(tasks, by_pieces, execute) if by_pieces else run_all(tasks, tag_file, execute)
    elif by_file:
        results = run_all(tasks, tag_file, processes(parameters["jobs"]))
    else:
        tag_here = partial(tag_file, jobs=parameters["jobs"], advance=advance)
        results = (Done(1, run(task, tag_here)) for task in tasks)
    done = tokens = 0
    for result in results:
        done, tokens = done + result.files, tokens + result.tokens
        if parameters["scheduler"] or by_file:
            advance(result.tokens)
    before = len(part.of(list(dict.fromkeys(files)))) - done
    finished = f"; {several(before, 'file')} had been finished before" if before else ""
    print_message(f"wrote {output}: {several(done, 'file')}, {several(tokens, 'token')}{finished}", parameters["quiet"])


def recorded_options(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters that decide about the output, as values for JSON; of files, the hash."""
    values = {name: value for name, value in parameters.items() if name not in NOT_IN_RECORDS and value}
    if skipped_lines() is not None:  # a file with faults is then not finished for a run that stops at them
        values["on_error"] = "skip"
    return {name: file_hash(value) if name in FILES_IN_RECORDS else value for name, value in values.items()}
