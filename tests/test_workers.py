"""Blocks on several processes: the order is kept, nothing is lost in silence, nobody stays behind."""

import multiprocessing
import os
import random
import signal
import sys
import time
from itertools import chain

import pytest

from tagger.errors import CorpusError, TaggerError
from tagger.tagging import workers
from tagger.tagging.workers import in_order


def squares():
    """Must live here, so that a spawned process finds it."""
    return square


def square(block):
    if block == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if block == "fail":
        raise CorpusError("gold.txt:7: a bad line")
    time.sleep(random.random() / 100)
    return block * block, os.getpid()


def calm(blocks):
    return ((block, False) for block in blocks)


@pytest.mark.parametrize("jobs", [1, 2, 5])
def test_answers_come_in_the_order_of_the_blocks(jobs):
    found = list(in_order(squares, calm(range(60)), jobs))
    assert [answer for answer, _ in found] == [i * i for i in range(60)]
    assert len({process for _, process in found}) == (1 if jobs == 1 else jobs + 1)  # the first block is done here


def test_processes_can_be_spawned(monkeypatch):
    monkeypatch.setattr(sys, "platform", "other")
    assert [answer for answer, _ in in_order(squares, calm(range(5)), 2)] == [0, 1, 4, 9, 16]


@pytest.mark.parametrize(("count", "here"), [(1, 1), (2, 2), (3, 1)])
def test_one_block_and_another_are_done_here(count, here):
    processes = [process for _, process in in_order(squares, calm(range(count)), 4)]
    assert processes.count(os.getpid()) == here


def test_an_answer_does_not_wait_for_what_may_never_come():
    """The first block in any case; all of them, where there is one process."""
    for jobs in (1, 2):
        asked = []

        def blocks(asked=asked):
            for i in range(3):
                asked.append(i)
                yield i, False

        answers = in_order(squares, blocks(), jobs)
        assert next(answers)[0] == 0 and asked == [0]
        assert next(answers)[0] == 1 and asked == list(range(jobs + 1))
        answers.close()


def test_an_urgent_answer_is_out_before_more_is_read():
    given, answered = [], []

    def blocks():
        for i in range(20):
            given.append(i)
            yield i, i % 3 == 2
            if i % 3 == 2:
                assert answered == [k * k for k in given]

    for answer, _ in in_order(squares, blocks(), 3):
        answered.append(answer)
    assert len(answered) == 20


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_error_comes_after_the_answers_before_it(jobs):
    found = []
    with pytest.raises(CorpusError, match=r"gold.txt:7: "):
        for answer, _ in in_order(squares, calm([1, 2, 3, "fail", 5, 6]), jobs):
            found.append(answer)
    assert found == [1, 4, 9]
    assert multiprocessing.active_children() == []


@pytest.mark.parametrize("urgent", [True, False])  # `stream.blocks` says True
def test_an_error_of_the_input_loses_no_answer(urgent):
    def blocks():
        yield from calm([1, 2, 3])
        yield 4, urgent
        raise CorpusError("input.txt:9: half a character")

    found = []
    with pytest.raises(CorpusError, match=r"input.txt:9"):
        for answer, _ in in_order(squares, blocks(), 2):
            found.append(answer)
    assert found == [1, 4, 9, 16]


@pytest.mark.parametrize("jobs", [1, 2])
def test_nothing_is_read_after_an_error(jobs):
    """A chain of files would go on with the next."""

    def files(number):
        if number == 3:
            raise CorpusError("third.txt:9: half a character")
        yield number, False

    found = []
    with pytest.raises(CorpusError, match=r"third.txt:9"):
        for answer, _ in in_order(squares, chain.from_iterable(map(files, [1, 2, 3, 4])), jobs):
            found.append(answer)
    assert found == [1, 4]


def test_a_worker_that_dies_ends_the_run_with_a_message():
    found = []
    with pytest.raises(TaggerError):
        for answer, _ in in_order(squares, calm([1, 2, "die", 4, 5, 6, 7]), 2):
            found.append(answer)
    assert found == [1, 4]
    assert multiprocessing.active_children() == []


def test_a_worker_that_died_between_two_blocks_is_noticed_too():
    with pytest.raises(TaggerError):
        for _, process in in_order(squares, calm(range(1000)), 2):
            if process != os.getpid():
                os.kill(process, signal.SIGKILL)


def test_who_stops_listening_leaves_no_process_behind():
    answers = in_order(squares, calm(range(1000)), 3)
    for _ in range(5):
        next(answers)
    answers.close()
    assert multiprocessing.active_children() == []


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_workers_end_when_the_program_is_killed(tmp_path):
    """A child forks workers, tells their ids and is killed: its workers must end by themselves."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        for _, process in in_order(squares, calm(range(10**9)), 3):
            os.write(write, f"{process}\n".encode())
    found = set()
    while len(found) < 4:
        found.update(int(line) for line in os.read(read, 100).split(b"\n")[:-1] if len(line) > 1)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(write)
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and any(alive(process) for process in found):
        time.sleep(0.05)
    assert not any(alive(process) for process in found)


def alive(process):
    try:
        with open(f"/proc/{process}/stat") as file:  # noqa: PTH123
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def test_workers_are_only_imported_where_they_are_needed():
    assert "multiprocessing" not in vars(workers)
