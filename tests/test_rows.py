"""Sparse rows: both ways of adding up give the same."""

from collections import Counter

import numpy as np
import pytest

from tagger.arrays import keyed
from tagger.arrays.keyed import KeyedValues, count_keys, find_keys, first_places, number_keys, stable_order, sum_by_key
from tagger.arrays.ragged import RaggedRows, sums_to


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("count", [0, 1, 300])
def test_keys_are_counted_and_their_weights_added_up(dense, count, monkeypatch):
    monkeypatch.setattr(keyed, "MAX_DENSE_CELLS", 1 << 22 if dense else 0)
    random = np.random.default_rng(count)
    keys, weights = random.integers(50, size=count), random.random(count) + 0.1
    sums = Counter()
    for key, weight in zip(keys.tolist(), weights.tolist(), strict=True):
        sums[key] += weight
    found, times = count_keys(keys, 50)
    assert dict(zip(found.tolist(), times.tolist(), strict=True)) == Counter(keys.tolist())
    assert found.tolist() == sorted(sums)
    found, of_key, of_each = sum_by_key(keys, weights, 50)
    assert found.tolist() == sorted(sums)
    np.testing.assert_allclose(of_key, [sums[key] for key in sorted(sums)])
    np.testing.assert_allclose(of_each, [sums[key] for key in keys.tolist()])


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("count", [0, 1, 40])
def test_values_are_found_under_their_keys_and_nowhere_else(dense, count, monkeypatch):
    monkeypatch.setattr(keyed, "MAX_DENSE_CELLS", 1 << 22 if dense else 0)
    monkeypatch.setattr(keyed, "SLOTS_PER_KEY", 1)  # slots are shared by several keys
    random = np.random.default_rng(count)
    keys, values = np.sort(random.choice(1000, count, replace=False)), random.random(count) + 0.1
    by_key = dict(zip(keys.tolist(), values.tolist(), strict=True))
    assert KeyedValues(keys, values, 1000)(np.arange(1000)).tolist() == [by_key.get(key, 0.0) for key in range(1000)]


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("count", [0, 1, 300])
def test_keys_are_numbered_in_ascending_order(dense, count, monkeypatch):
    monkeypatch.setattr(keyed, "MAX_DENSE_CELLS", 1 << 22 if dense else 0)
    keys = np.random.default_rng(count).integers(50, size=count)
    distinct, places = number_keys(keys, 50)
    assert distinct.tolist() == sorted(set(keys.tolist()))
    assert distinct[places].tolist() == keys.tolist()


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint32, np.uint64])
def test_keys_are_found_in_a_table_and_nowhere_else(dense, dtype, monkeypatch):
    monkeypatch.setattr(keyed, "MAX_DENSE_CELLS", 1 << 22 if dense else 0)
    table = np.array([0, 3, 4, 9], dtype)
    wanted = np.array([*range(12), np.iinfo(dtype).max], dtype)
    places = {0: 0, 3: 1, 4: 2, 9: 3}
    assert find_keys(table, wanted).tolist() == [places.get(key, -1) for key in wanted.tolist()]
    if dtype in (np.int32, np.int64):
        assert find_keys(table, np.full((2, 3), -1, dtype)).tolist() == [[-1] * 3] * 2
    assert find_keys(table, wanted[:0]).tolist() == []
    assert find_keys(np.array([50, 3], dtype), wanted).dtype == np.int64  # as of a damaged file: anything but an error


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint64])
@pytest.mark.parametrize("count", [0, 1, 2, 300, 5000])
def test_equal_keys_are_sorted_by_place(count, dtype, monkeypatch):
    monkeypatch.setattr(keyed, "MIN_VECTORIZED", 0)
    random, most = np.random.default_rng(count), np.iinfo(dtype).max
    for distinct in (1, 20, most):
        keys = random.integers(0, distinct, count, dtype, endpoint=True)
        assert stable_order(keys).tolist() == np.argsort(keys, kind="stable").tolist()
        _, *places = np.unique(keys, return_index=True, return_inverse=True)
        assert [own.tolist() for own in first_places(keys)] == [own.tolist() for own in places]


def test_cells_become_rows_and_rows_know_their_entries():
    own = RaggedRows.of(np.array([1, 2, 7]), 4, 3)  # row 0: tags 1 and 2, row 2: tag 1
    assert (own.widths.tolist(), own.tags.tolist(), own.owners.tolist()) == ([2, 0, 1, 0], [1, 2, 1], [0, 0, 2])
    entries, widths = own.entries(np.array([2, 1, 0]))
    assert (entries.tolist(), widths.tolist()) == ([2, 0, 1], [1, 0, 2])


def test_lengths_of_a_stranger_do_not_wrap_around():
    assert sums_to(np.array([1, 2], np.uint64), 3)
    assert not sums_to(np.array([2**64 - 1, 4], np.uint64), 3)
