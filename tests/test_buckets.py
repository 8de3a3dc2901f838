"""Buckets answer as `np.searchsorted` does, whatever the numbers."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tagger.arrays.hash_index import HashIndex, Keys

numbers = st.integers(0, 2**64 - 1) | st.integers(0, 20) | st.integers(2**64 - 20, 2**64 - 1)


@given(st.lists(numbers, max_size=40), st.lists(numbers, max_size=40))
def test_places_are_those_of_searchsorted(own, wanted):
    own, wanted = np.sort(np.array(own, np.uint64)), np.array(wanted, np.uint64)
    wanted = np.append(wanted, own)
    assert HashIndex(own).find(wanted).tolist() == np.searchsorted(own, wanted).tolist()


@given(st.sets(st.integers(0, 2**63 - 1), max_size=40), st.lists(st.integers(-1, 2**63 - 1), max_size=40))
def test_keys_are_found_by_their_place(own, others):
    keys = list(own)
    found = Keys(np.array(keys, np.int64)).find(np.array([*keys, *others], np.int64)).tolist()
    assert found == [keys.index(key) if key in own else -1 for key in [*keys, *others]]
