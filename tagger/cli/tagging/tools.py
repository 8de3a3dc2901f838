"""Annotation tools on the command line: the options of `convert` and `tag`, and the sentences worth a look."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

import click

from tagger.cli.console import report_written, skipped_lines
from tagger.cli.options import choice_option, combine, value_option
from tagger.cli.paths import INPUT, OUTPUT, File, check_files, declared_files
from tagger.corpus.annotation import MEANINGS, TOOLS, write_annotations
from tagger.corpus.formats import header, render
from tagger.errors import FileError, several
from tagger.files.reading import Lines, exists
from tagger.files.writing import open_output
from tagger.tagging.annotator import Annotator
from tagger.tagging.folder import is_folder
from tagger.tagging.inputs import Sentences
from tagger.tagging.render import SentenceRenderer

BRAT = "brat"

to_tool_option = choice_option("--to-tool", TOOLS, "Write the file of an annotation tool.")
tool_options = combine(
    choice_option("--from-tool", TOOLS, "Read the file of an annotation tool."),
    to_tool_option,
    choice_option("--labels", MEANINGS, "Meaning of labels.  [default: tags if most words have one, else spans]"),
)
doubtful_options = combine(
    value_option(
        "--doubtful", click.IntRange(1), None, "Write only the N sentences that the model is least sure of, e.g. 100."
    ),
    to_tool_option,
)


def check_tool_options(to_tool: str | None, doubtful: int | None, output: str) -> None:
    """Refuse a tool's file for all of a text, on standard output, and over an input."""
    if to_tool and not doubtful:
        raise click.UsageError("--to-tool: expected --doubtful as well. To write all sentences, tag, then convert.")
    if doubtful and is_folder(output):
        raise click.UsageError(f"--doubtful: expected a file for its sentences, got the folder {output}.")
    if to_tool and output == "-":
        raise click.UsageError(f"--to-tool {to_tool}: expected -o FILE as well, got standard output.")
    check_tool_files(to_tool, output)


def check_tool_files(to_tool: str | None, output: str, from_tool: str | None = None, source: str = "-") -> None:
    """Refuse to replace the second file of brat, which stands beside the named one, if it is read or is another's."""
    if BRAT not in (from_tool, to_tool):
        return
    from tagger.corpus.annotation.brat import both_paths

    files = list(declared_files(click.get_current_context()))
    if from_tool == BRAT:
        files += [File("beside IN", path, INPUT) for path in both_paths(source) if path != source]
    if to_tool != BRAT:
        check_files(files)
        return
    [second] = [path for path in both_paths(output) if path != output]
    place = f"{output}: brat needs {second} beside it"
    try:
        check_files([*files, File("beside the output", second, OUTPUT)])
    except FileError as error:
        raise FileError(f"{place}: {error}") from None
    if exists(second) and not exists(output):
        raise FileError(f"{place}, but another file has this name. Choose another name.")


def write_doubtful(
    annotator: Annotator,
    reader: Sentences,
    renderer: SentenceRenderer,
    inputs: Iterable[Lines],
    count: int,
    to_tool: str | None,
    output: str,
    quiet: bool,
) -> None:
    """Tag the sentences that the model is least sure of, and write them: as suggestions if a tool is named."""
    from tagger.tagging.doubtful import pick_doubtful

    sentences = chain.from_iterable(reader.read(lines)[0] for lines in inputs)
    allowed = annotator.constraints.allowed if annotator.constraints else None
    picked = annotator.start()(pick_doubtful(annotator.model, sentences, count, allowed))
    if to_tool:
        write_annotations(output, picked, to_tool, suggested=True)
    else:
        with open_output(output) as stream:
            rendered = [render(sentence, renderer.format, renderer.columns) for sentence in picked]
            stream.write(b"".join([header(picked, renderer.format), *rendered]))
    report_written(output, f"{several(len(picked), 'sentence')}, as {to_tool or renderer.format}", quiet)


def inputs_of(files: Sequence[str], encoding: str) -> Iterator[Lines]:
    """Open the files one after the other."""
    return (Lines(path, encoding, skipped_lines()) for path in files)
