"""The hash index answers as `np.searchsorted` does, whatever the numbers."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tagger.arrays.hash_index import HashIndex, KeyedCache, KeyIndex
from tagger.arrays.keyed import AscendingKeys

numbers = st.integers(0, 2**64 - 1) | st.integers(0, 20) | st.integers(2**64 - 20, 2**64 - 1)


@given(st.lists(numbers, max_size=40), st.lists(numbers, max_size=40))
def test_places_are_those_of_searchsorted(own, wanted):
    own, wanted = np.sort(np.array(own, np.uint64)), np.array(wanted, np.uint64)
    wanted = np.append(wanted, own)
    assert HashIndex(own).find(wanted).tolist() == np.searchsorted(own, wanted).tolist()


@given(st.sets(st.integers(0, 2**63 - 1), max_size=40), st.lists(st.integers(-1, 2**63 - 1), max_size=40))
def test_keys_are_found_by_their_place(own, others):
    keys = list(own)
    found = KeyIndex(np.array(keys, np.int64)).find(np.array([*keys, *others], np.int64)).tolist()
    assert found == [keys.index(key) if key in own else -1 for key in [*keys, *others]]


@given(st.sets(st.integers(0, 2**63 - 1), max_size=40), st.lists(st.lists(st.integers(-1, 2**63 - 1)), max_size=4))
def test_ascending_keys_are_found_by_search_and_then_by_an_index(own, others):
    keys = sorted(own)
    ascending = AscendingKeys(np.array(keys, np.int64))
    for wanted in [keys[:1], *others, keys]:
        found = ascending.find(np.array(wanted, np.int64)).tolist()
        assert found == [keys.index(key) if key in own else -1 for key in wanted]


@given(st.lists(st.lists(st.integers(0, 60), max_size=30), max_size=8), st.sampled_from([2, 4, 16]))
def test_a_cache_of_any_size_gives_the_right_numbers(asked, slots):
    """Each key is computed where it is missing, also if keys share a slot, and all hold until the cache is cleared."""
    cache = KeyedCache(slots)
    for keys in [[], *asked, *asked]:
        wanted = np.array(keys, np.int64)
        assert cache.find(wanted, lambda places, keys=wanted: keys[places] * 0.5).tolist() == [0.5 * k for k in keys]
    cache.clear()
    assert cache.find(np.arange(5), lambda places: places + 7.0).tolist() == [7.0, 8.0, 9.0, 10.0, 11.0]


def test_a_cache_computes_what_it_has_seen_only_once():
    cache, keys = KeyedCache(1 << 10), np.arange(40) * 1067
    assert cache.find(keys, lambda places: keys[places] + 0.0).tolist() == keys.tolist()
    again = []
    for _ in range(2):  # keys that share two slots with others take two rounds
        cache.find(keys, lambda places: again.extend(places.tolist()) or keys[places] + 0.0)
    assert len(again) < 4
