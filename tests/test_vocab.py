"""String tables: every string is found, no other is, whatever the hash does."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tagger import vocab
from tagger.vocab import StringTable, Vocabulary, hashes

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
    monkeypatch.setattr(vocab, "hashes", lambda blob, starts, ends: hashes(blob, starts, ends) & np.uint64(1))
    words = [f"word{i}" for i in range(40)] + [""]
    table, ids = StringTable.build(words)
    assert table.find(words).tolist() == ids.tolist()
    assert table.find(["word99", "word", "w" * 50]).tolist() == [-1, -1, -1]


def test_hashes_depend_on_the_string_alone():
    """They are part of the file format: strings keep their order on every machine and in every version."""
    blob, lengths = vocab.encode(["", "a", "b", "ab", "ba", "日本", "a"])
    ends = np.cumsum(lengths)
    found = hashes(blob, ends - lengths, ends).tolist()
    assert found[1] == found[6] and len(set(found)) == 6
    assert found[:4] == [0, 4596864348043169530, 18384713157422100250, 9935488307038637599]


def test_a_vocabulary_numbers_strings_as_they_come():
    numbers = Vocabulary()
    assert [numbers[s] for s in ("b", "a", "b", "")] == [0, 1, 0, 2]
    table, ids = numbers.freeze()
    assert table.find(["b", "a", ""]).tolist() == ids.tolist()


def test_an_empty_table_finds_nothing():
    table, ids = StringTable.build([])
    assert len(table) == 0 and table.find(["a", ""]).tolist() == [-1, -1] and ids.tolist() == []
