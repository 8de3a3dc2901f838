"""Large files in pieces: tasks smaller than a file, whose results are put together in order.

A piece is tagged into a file of its own beside the record of its output. When all pieces of an output are there, one
more task joins them and removes their files. Such a file is named after the record that its output will have, so a run
that was stopped goes on with the pieces it has, and a changed input, model or option gives other names. A piece that is
missing when a file is joined, because another run was faster and has removed it, is tagged there.
"""

from __future__ import annotations

import hashlib
import json
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import PurePath
from typing import NamedTuple, Protocol

from tagger.files.reading import exists
from tagger.files.writing import remove_files
from tagger.tagging.folder import Done, Task, make_folder, run
from tagger.tagging.workers import Executor

PIECE_SUFFIX = ".arrows"


class PieceJob(Protocol):
    """Tags files as a whole or by pieces."""

    def tag_file(self, source: str, target: str, *, piece: range | None = None) -> int: ...

    def pieces(self, source: str) -> Sequence[range]: ...

    def join(self, pieces: Sequence[tuple[range, str]], source: str, target: str) -> int: ...


class Piece(NamedTuple):
    """A piece of a file to tag, and the place for its result."""

    piece: range
    place: str


class Join(NamedTuple):
    """A file to put together from its pieces."""

    task: Task
    pieces: Sequence[Piece]


class PieceTask(NamedTuple):
    """A piece to tag; after the last one of a file comes the join."""

    source: str
    piece: Piece
    join: Join | None


Unit = Task | PieceTask | Join  # what one worker does at a time


def run_pieces(tasks: Iterable[Task], job: PieceJob, execute: Executor) -> Iterator[Done]:
    """Tag files where an executor does its work, large ones by pieces."""
    start = partial(partial, run_unit, job)
    units = chain.from_iterable(units_of(task, job) for task in tasks)
    submitted, joins = deque[Unit](), deque[Join]()

    def blocks() -> Iterator[tuple[Unit, bool]]:
        while unit := joins.popleft() if joins else next(units, None):
            submitted.append(unit)
            yield unit, False

    while True:
        for tokens in execute(start, blocks()):  # in order: with its last piece all pieces of a file are done
            unit = submitted.popleft()
            yield Done(int(not isinstance(unit, PieceTask)), tokens)
            if isinstance(unit, PieceTask) and unit.join:
                joins.append(unit.join)
        if not joins:
            return


def units_of(task: Task, job: PieceJob) -> Iterator[Unit]:
    """Yield the pieces of a file, or the file as a whole."""
    ranges = job.pieces(task.source)
    if len(ranges) < 2:
        yield task
        return
    pieces = [Piece(piece, f"{place_of(task)}.{piece.start}-{piece.stop - 1}{PIECE_SUFFIX}") for piece in ranges]
    for piece in pieces:
        yield PieceTask(task.source, piece, Join(task, pieces) if piece is pieces[-1] else None)


def place_of(task: Task) -> str:
    """Return the beginning of the names of pieces: a hash of the record, in its folder."""
    text = json.dumps(task.record, sort_keys=True)
    return task.record_path.removesuffix(PurePath(task.record_path).name) + hashlib.sha256(text.encode()).hexdigest()


def run_unit(job: PieceJob, unit: Unit) -> int:
    """Tag a file or a piece, or join pieces; return the number of tokens tagged."""
    if isinstance(unit, Task):
        return run(unit, job.tag_file)
    if isinstance(unit, PieceTask):
        if exists(unit.piece.place):
            return 0
        make_folder(unit.piece.place)
        return job.tag_file(unit.source, unit.piece.place, piece=unit.piece.piece)
    run(unit.task, partial(job.join, unit.pieces))
    remove_files([piece.place for piece in unit.pieces])
    return 0
