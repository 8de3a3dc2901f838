"""A tagger in several threads and processes: every answer is that of one thread, and nothing is kept for too long."""

import copy
import gc
import multiprocessing
import pickle
import sys
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache

import pytest
from test_models import MODELS, TAGS, WORDS

from tagger import HMMTagger
from tagger.arrays import thread_turns as threads
from tagger.models.ensemble import Ensemble
from tagger.words import cache as word_cache

THREADS, BLOCK = 8, 50
WORD_LIST = [word for words in WORDS for word in words]


def sentence(i):
    """One of several hundred, most with a word that no other has."""
    words = [WORD_LIST[(i * step) % len(WORD_LIST)] for step in range(1, 3 + i % 9)]
    return [*words, f"{'xyz'[i % 3]}{i}ing", "the", f"Q{i % 50}s"]


TEXT = [sentence(i) for i in range(300)]
SINGLE = 90  # of them are also tagged one by one, which takes longer


def ensemble():
    return Ensemble([MODELS[kind]().fit(WORDS, TAGS) for kind in ("hmm", "crf")], ["hmm.npz", "crf.npz"])


FITTED = {kind: lambda make=make: make().fit(WORDS, TAGS) for kind, make in MODELS.items()} | {"ensemble": ensemble}


@cache
def fitted(kind):
    return FITTED[kind]()


@cache
def answers(kind):
    return copy.deepcopy(fitted(kind)).predict(TEXT)


@pytest.fixture(params=list(FITTED))
def kind(request):
    return request.param


@pytest.fixture
def model(kind):
    return copy.deepcopy(fitted(kind))


@pytest.fixture
def expected(kind):
    return answers(kind)


def in_threads(work):
    """The answers of `work`, called with 0, 1, … in threads that begin together and have all ended."""
    barrier = threading.Barrier(THREADS)

    def started(i):
        barrier.wait()
        return work(i)

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(started, range(THREADS)))


def test_every_answer_is_that_of_one_thread(model, expected, monkeypatch):
    monkeypatch.setattr(word_cache, "MIN_CAPACITY", 60)  # so that the caches are full again and again
    monkeypatch.setattr(word_cache, "CACHE_BYTES", 1)

    def work(i):
        """All sentences in blocks, from another place on in each thread."""
        begins = [(block * BLOCK + i * BLOCK) % len(TEXT) for block in range(len(TEXT) // BLOCK)]
        return dict(zip(begins, [model.predict(TEXT[begin : begin + BLOCK]) for begin in begins], strict=True))

    blocks = {begin: expected[begin : begin + BLOCK] for begin in range(0, len(TEXT), BLOCK)}
    assert all(found == blocks for found in in_threads(work))


def test_a_thread_keeps_its_scorer_and_shares_it_with_none(model):
    assert model.scorer() is model.scorer()
    kept = [model.scorer(), *in_threads(lambda i: model.scorer())]
    assert len(set(map(id, kept))) == THREADS + 1


def test_the_scorer_of_a_thread_ends_with_it(model):
    def work(i):
        model.predict(WORDS)
        return weakref.ref(model.scorer())

    kept = in_threads(work)
    gc.collect()
    assert [ref() for ref in kept] == [None] * THREADS


@pytest.mark.parametrize("kind", FITTED)
def test_scorers_end_with_their_tagger(kind):
    """Also those of threads that go on."""
    model = copy.deepcopy(fitted(kind))
    done, go_on, kept, given = threading.Event(), threading.Event(), [], [model]

    def work():
        given[0].predict(WORDS)
        kept.append(weakref.ref(given.pop().scorer()))
        done.set()
        go_on.wait(60)

    thread = threading.Thread(target=work)
    thread.start()
    assert done.wait(60)
    kept += [weakref.ref(model.scorer()), weakref.ref(model)]
    del model
    gc.collect()
    found = [ref() for ref in kept]
    go_on.set()
    thread.join()
    assert found == [None, None, None]


@pytest.mark.parametrize("twin_of", [copy.copy, copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_a_copy_has_its_own_scorers(model, expected, twin_of):
    assert model.predict(TEXT) == expected
    twin = twin_of(model)
    assert twin.predict(TEXT) == expected
    twin.classes_ = [f"{tag}!" for tag in twin.classes_]
    assert twin.scorer() is not model.scorer()
    assert twin.predict(TEXT) == [[f"{tag}!" for tag in tags] for tags in expected]
    assert model.predict(TEXT) == expected


def answer(given):
    return given.predict(TEXT)


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_process_may_be_forked_while_other_threads_tag(model, expected):
    model.predict(TEXT[::2])
    stop = threading.Event()

    def work():
        while not stop.is_set():
            model.predict(TEXT)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        with multiprocessing.get_context("fork").Pool(1) as pool:
            found = pool.apply_async(answer, (model,)).get(60)
    finally:
        stop.set()
        thread.join()
    assert found == expected


# Turns of threads that tag few words


@pytest.fixture
def patient(monkeypatch):
    """Threads wait for their turn longer than a test lasts."""
    monkeypatch.setattr(threads, "PATIENCE", 600.0)
    monkeypatch.setattr(threads, "has_gil", lambda: True)


@contextmanager
def another_thread_has_the_turn():
    taken, done = threading.Event(), threading.Event()

    def hold():
        turn = threads.TURN.take()
        taken.set()
        done.wait(60)
        threads.TURN.give_back(turn)

    thread = threading.Thread(target=hold)
    thread.start()
    try:
        assert taken.wait(60)
        yield
    finally:
        done.set()
        thread.join()


def one_by_one(given):
    return [given.predict([words])[0] for words in TEXT[:SINGLE]]


@pytest.mark.usefixtures("patient")
def test_threads_that_tag_single_sentences_share_one_scorer(model, expected):
    built = []
    build = model.build_scorer
    model.__dict__["build_scorer"] = lambda: built.append(1) or build()
    assert in_threads(lambda i: one_by_one(model)) == [expected[:SINGLE]] * THREADS
    assert len(built) == 1


@pytest.mark.usefixtures("patient")
def test_a_turn_ends_with_its_sentence_also_after_an_error(model):
    with pytest.raises(RuntimeError, match="in the middle"), model.one_at_a_time(WORDS[:1]):
        scorer = model.scorer()
        assert threads.TURN.take() is None  # the same thread has it already
        raise RuntimeError("in the middle")
    assert not threads.TURN.lock.locked()
    with model.one_at_a_time(WORDS[:1]):
        assert threads.TURN.lock.locked()
        assert model.scorer() is not scorer  # which may be half changed


def test_a_thread_that_waits_too_long_for_its_turn_goes_on_without(model, expected, monkeypatch):
    monkeypatch.setattr(threads, "PATIENCE", 0.01)
    monkeypatch.setattr(threads, "has_gil", lambda: True)
    with another_thread_has_the_turn():
        lost = threads.TURN.lock
        assert one_by_one(model) == expected[:SINGLE]
        assert threads.TURN.lock is not lost
    assert not threads.TURN.lock.locked()


@pytest.fixture
def queued(patient, monkeypatch):
    """The turn of this thread, and the list of turns, to which another thread in the queue will add its own."""
    monkeypatch.setattr(threads, "POLL", 600.0)
    monkeypatch.setattr(threads, "SLICE", 600.0)
    turn, turns = threads.Turn(), []

    def wait():
        lock = turn.take()
        turns.append("other")
        turn.give_back(lock)

    lock, thread = turn.take(), threading.Thread(target=wait)
    thread.start()
    while not turn.is_first_waiting:
        time.sleep(0.001)
    yield turn, lock, turns, thread
    thread.join(60)
    assert turns.count("other") == 1


def test_the_first_sentence_of_a_thread_ends_with_the_turn_of_the_next(queued):
    turn, lock, _, thread = queued
    turn.give_back(lock)
    thread.join(60)
    assert not thread.is_alive()


@pytest.mark.parametrize(("since", "expected"), [(0.0, ["this"]), (-900.0, ["other", "this"])])
def test_a_thread_that_had_many_turns_lets_others_have_one(queued, since, expected):
    turn, lock, turns, _ = queued
    turn.is_first_sentence = False
    turn.give_back(lock)
    turn.since += since
    lock = turn.take()
    turns.append("this")
    assert turns == expected
    turn.is_first_sentence = True
    turn.give_back(lock)


@pytest.mark.usefixtures("patient")
def test_many_sentences_need_no_turn(model, expected):
    with another_thread_has_the_turn():
        assert model.predict(TEXT) == expected


def test_without_a_global_lock_of_the_interpreter_there_are_no_turns(model, expected, monkeypatch):
    monkeypatch.setattr(threads, "PATIENCE", 600.0)
    monkeypatch.setattr(sys, "_is_gil_enabled", lambda: True, raising=False)
    with another_thread_has_the_turn():
        monkeypatch.setattr(sys, "_is_gil_enabled", lambda: False)
        assert one_by_one(model) == expected[:SINGLE]


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
@pytest.mark.usefixtures("patient")
def test_a_process_forked_in_the_turn_of_another_thread_begins_with_its_own(model, expected):
    model.predict(TEXT[:1])
    with another_thread_has_the_turn(), multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.apply_async(one_by_one, (model,)).get(60) == expected[:SINGLE]


def test_what_is_learned_anew_is_used(model, tmp_path):
    """Words and tags change; scorers of the first corpus must not answer for the second."""
    if isinstance(model, Ensemble):
        pytest.skip("an ensemble does not learn")
    model.predict(WORDS)
    other = [[tag.lower() for tag in tags[::-1]] for tags in TAGS]
    model.fit(WORDS, other)
    assert model.predict(TEXT) == type(model)(**model.get_params()).fit(WORDS, other).predict(TEXT)
    scorer = model.scorer()
    model.set_params(**model.get_params())
    assert model.scorer() is not scorer


def test_an_ensemble_follows_its_members():
    member = HMMTagger().fit(WORDS, TAGS)
    both = Ensemble([member, member], ["a", "b"])
    assert both.predict(WORDS) == TAGS
    rotated = [[TAGS[0][(TAGS[0].index(tag) + 1) % 4] if tag in TAGS[0] else tag for tag in tags] for tags in TAGS]
    member.fit(WORDS, rotated)
    assert both.predict(WORDS) == member.predict(WORDS) != TAGS
