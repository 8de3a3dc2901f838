"""String tables: every string is found, no other is, whatever the hash does."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tagger.arrays import string_spans
from tagger.arrays.string_spans import StringSpans, distinct, hashes
from tagger.arrays.string_table import StringTable
from tagger.words.vocabulary import Vocabulary

anything = st.text(st.characters(codec=None), max_size=6)


@settings(deadline=None, derandomize=True, max_examples=200)
@given(st.sets(anything, max_size=30), st.lists(anything, max_size=30))
def test_finds_exactly_what_it_holds(strings, others):
    table, ids = StringTable.build(sorted(strings))
    assert table.find(sorted(strings)).tolist() == ids.tolist()
    assert [table[i] for i in ids.tolist()] == sorted(strings)
    for other, found in zip(others, table.find(others).tolist(), strict=True):
        assert (found >= 0) == (other in strings)
        assert found < 0 or table[found] == other


def test_collisions_are_told_apart(monkeypatch):
    """With only two different hashes, every lookup has to compare strings."""
    monkeypatch.setattr(string_spans, "hashes", lambda blob, starts, ends: hashes(blob, starts, ends) & np.uint64(1))
    words = [f"word{i}" for i in range(40)] + [""]
    table, ids = StringTable.build(words)
    assert table.find(words).tolist() == ids.tolist()
    assert table.find(["word99", "word", "w" * 50]).tolist() == [-1, -1, -1]
    firsts, numbers = distinct(StringSpans.of([*words, *words]))
    assert sorted(firsts.tolist()) == list(range(41)) and firsts[numbers].tolist() == [*range(41), *range(41)]


def test_hashes_depend_on_the_string_alone():
    """They are part of the file format: strings keep their order on every machine and in every version."""
    found = StringSpans.of(["", "a", "b", "ab", "ba", "日本", "a"]).encoded().hashes.tolist()
    assert found[1] == found[6] and len(set(found)) == 6
    assert found[:4] == [0, 4596864348043169530, 18384713157422100250, 9935488307038637599]


def test_a_vocabulary_numbers_strings_as_they_come():
    numbers = Vocabulary()
    assert [numbers[s] for s in ("b", "a", "b", "")] == [0, 1, 0, 2] and list(numbers) == ["b", "a", ""]


def test_an_empty_table_finds_nothing():
    table, ids = StringTable.build([])
    assert len(table) == 0 and table.find(["a", ""]).tolist() == [-1, -1] and ids.tolist() == []


@settings(deadline=None, derandomize=True, max_examples=100)
@given(st.lists(st.lists(st.none() | anything, max_size=8), max_size=5))
def test_pieces_are_their_strings(several):
    joined = StringSpans.joined([StringSpans.of_some(strings) for strings in several])
    strings = [string for own in several for string in own]
    assert joined.strings() == strings
    firsts, numbers = distinct(joined)
    assert [None if number < 0 else strings[firsts[number]] for number in numbers.tolist()] == strings
    assert len(firsts) == len(set(strings) - {None})
    table, ids = StringTable.build(joined.take(firsts))
    assert table.find(joined).tolist() == [ids[number] if number >= 0 else -1 for number in numbers.tolist()]
