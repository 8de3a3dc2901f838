"""Tag many files into a folder: a file in is a file out, and what is finished is not done again.

Beside the outputs there is a folder `manifest` with one record per output: the input, the models and the options, each
by its hash, and size and hash of the output. A file is finished if its output has these and its record is the one that
this run would write. Records of different files never meet in one file, so that many machines may work on parts of the
same list at the same time.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePath
from typing import Any, NamedTuple

from tagger.corpus.formats import SUFFIXES, plain_name
from tagger.errors import FileError
from tagger.files.reading import exists, open_seekable, pipe_identity, reason
from tagger.files.remote import has_scheme, local_path, remote_key
from tagger.files.writing import atomic_writer, file_size, real_path
from tagger.tagging.workers import Executor
from tagger.version import __version__

MANIFEST = "manifest"  # folder of the records
HASHED_BLOCK = 1 << 20  # bytes
TEXT_SUFFIX = ".txt"  # of formats without a suffix of their own

Record = dict[str, Any]
TagFile = Callable[[str, str], int]  # from input and output to the number of tokens


class Part(NamedTuple):
    """Part `number` of `total` parts of a list, numbered from 1: every `total`-th item."""

    number: int
    total: int

    def of(self, items: Sequence[str]) -> Sequence[str]:
        return items[self.number - 1 :: self.total]


WHOLE = Part(1, 1)


class Done(NamedTuple):
    """Number of files that a task finished, and of tokens that it tagged."""

    files: int
    tokens: int


class Task(NamedTuple):
    """A file to tag: input, output, and the record that says how the output was made."""

    source: str
    target: str
    record_path: str
    record: Record


@dataclass(frozen=True)
class TaggingFolder:
    """A folder for tagged files.

    Parameters
    ----------
    folder : str
        Where the outputs go.
    models : sequence of str
        The model files.
    options : dict
        All that decides about the output beside input and models, as values for JSON.
    format : str
        The format of the outputs, which decides about their suffix.
    """

    folder: str
    models: Sequence[str]
    options: Record
    format: str

    def tasks(self, sources: Sequence[str], part: Part = WHOLE, others: Sequence[str] = ()) -> Iterator[Task]:
        """Yield the files of a part that are not finished, in the order of their names.

        Nothing is yielded if an output would replace an input, a model, or one of the `others`: files that the
        options name.
        """
        targets = self.targets(sorted(sources))
        self.check(targets, [*sources, *self.models, *others])
        return self.unfinished(targets, part)

    def check(self, targets: Mapping[str, str], inputs: Sequence[str]) -> None:
        """Refuse inputs that are no files, and outputs that are inputs or have the name of the folder of records."""
        for path in inputs:
            if pipe_identity(path) is not None:
                raise FileError(f"cannot read {path}: expected a file, which can be read twice, got a pipe or folder")
        protected = {local_name(path) for path in inputs}
        for name in targets.values():
            target = join(self.folder, name)
            if name == MANIFEST:
                raise FileError(f"cannot write {target}: it is the folder of the records. Rename the input")
            if local_name(target) in protected:
                raise FileError(f"cannot write {target}: it is an input of this command; choose another folder")

    def unfinished(self, targets: Mapping[str, str], part: Part) -> Iterator[Task]:
        """Yield the files of a part that are not finished."""
        models = [file_hash(path) for path in self.models]
        for source in part.of(list(targets)):
            name = targets[source]
            place = join(self.folder, f"{MANIFEST}/{name}.json")
            record = {
                "input": {"name": PurePath(source).name, "hash": file_hash(source)},
                "models": models,
                "options": self.options,
                "output": name,
                "program": __version__,
            }
            task = Task(source, join(self.folder, name), place, record)
            if not finished(task):
                yield task

    def targets(self, sources: Iterable[str]) -> dict[str, str]:
        """Return the name of the output of each input; two inputs of one name are refused."""
        names = {source: output_name(source, self.format) for source in sources}
        firsts: dict[str, str] = {}
        for source, name in names.items():
            if firsts.setdefault(name, source) != source:
                both = f"{firsts[name]} and {source}"
                raise FileError(f"cannot write {join(self.folder, name)} for both {both}. Use two folders")
        return names


def run(task: Task, tag_file: TagFile) -> int:
    """Tag a file, then write its record; return the number of tokens."""
    make_folder(task.target)
    tokens = tag_file(task.source, task.target)
    made = {"tokens": tokens, "bytes": file_size(task.target), "hash": file_hash(task.target)}
    text = json.dumps(task.record | made, ensure_ascii=False, indent=2, sort_keys=True) + "\n"
    make_folder(task.record_path)
    with atomic_writer(task.record_path) as stream:
        stream.write(text.encode())
    return tokens


def run_all(tasks: Iterable[Task], tag_file: TagFile, execute: Executor) -> Iterator[Done]:
    """Tag files where an executor does its work."""
    return map(partial(Done, 1), execute(partial(partial, run_task, tag_file), ((task, False) for task in tasks)))


def run_task(tag_file: TagFile, task: Task) -> int:
    """Tag a file: the function of a worker."""
    return run(task, tag_file)


def finished(task: Task) -> bool:
    """Return whether the output is there and was made as the record says."""
    if not (exists(task.target) and exists(task.record_path)):
        return False
    try:
        with open_seekable(task.record_path) as stream:
            record = json.loads(stream.read())
    except (OSError, ValueError, RecursionError):  # no record that can be read
        return False
    same = isinstance(record, dict) and {name: record.get(name) for name in task.record} == task.record
    same = same and record.get("bytes") == file_size(task.target)
    return same and record.get("hash") == file_hash(task.target)


def output_name(source: str, format: str) -> str:
    """Return the name of an output: that of its input, with the suffix of the output's format."""
    plain, whole = plain_name(source), PurePath(source).name
    suffix = next((suffix for suffix, name in SUFFIXES.items() if name == format), TEXT_SUFFIX)
    if SUFFIXES.get(plain.suffix) == format or (suffix == TEXT_SUFFIX and plain.suffix not in SUFFIXES):
        return whole
    return plain.stem + suffix + whole.removeprefix(plain.name)


def file_hash(path: str) -> str:
    """Return a hash of a file's bytes; of a file with an address, what its store says about its version."""
    local = local_path(path)
    if local is None:
        return remote_key(path)
    digest = hashlib.sha256()
    try:
        with Path(local).open("rb") as stream:
            while block := stream.read(HASHED_BLOCK):
                digest.update(block)
    except OSError as error:
        raise FileError(f"cannot read {path}: {reason(error)}") from error
    return digest.hexdigest()


def is_folder(path: str) -> bool:
    """Return whether a path names a folder: it ends with a slash, or there is a folder of that name."""
    return path.endswith(("/", os.sep)) or os.path.isdir(path)  # noqa: PTH112 (`Path.is_dir` raises on overlong names)


def join(folder: str, name: str) -> str:
    """Return the path of a file in a folder, which may have an address."""
    return f"{folder.rstrip('/')}/{name}" if has_scheme(folder) else str(Path(folder) / name)


def local_name(path: str) -> str:
    """Return a name that is equal for two names of one file; `file://` and the path mean the same."""
    local = local_path(path)
    return path if local is None else real_path(local)


def make_folder(path: str) -> None:
    """Make the local folder of a file; stores need none."""
    if has_scheme(path):
        return
    folder = Path(path).parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"cannot make the folder {folder}: {reason(error)}") from error
