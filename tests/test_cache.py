"""The cache of words: computes each once, keeps to its limit, changes nothing."""

from weakref import WeakSet

import numpy as np
import pytest

from tagger import CRFTagger, HMMTagger, Sentence
from tagger.crf.candidates import scorer as candidate_scorer
from tagger.words import cache
from tagger.words.cache import WordCache

CORPUS = [Sentence(f"w{i} x{i} y{i % 3} z".split(), ["A", "B", "C", "D"]) for i in range(40)]


def lengths(words):
    """A row for "always there", then one for each word."""
    return {"length": np.array([-1, *map(len, words)]), "pair": np.array([[0, 0], *([len(w), 1] for w in words)])}


def test_words_are_computed_once():
    asked = []
    found = WordCache(lambda words: asked.extend(words) or lengths(words))
    for words in (["a", "bbb"], ["bbb", "cc", "a", "cc"], ["cc"], [], [f"{i:05}" for i in range(100)], ["a"]):
        slots = found.find([words])
        assert found.arrays["length"][slots].tolist() == [len(word) for word in words]
        assert found.arrays["pair"][slots].tolist() == [[len(word), 1] for word in words]
        assert found.arrays["length"][0] == -1
    assert asked == ["a", "bbb", "cc", *(f"{i:05}" for i in range(100))]


@pytest.fixture
def small(monkeypatch):
    """Caches with room for ten words."""
    monkeypatch.setattr(cache, "CACHE_BYTES", 1)
    monkeypatch.setattr(cache, "MIN_CAPACITY", 10)
    monkeypatch.setattr(cache, "FULL_CACHES", 1_000_000)  # models of other tests may still be alive


def test_many_caches_share_the_room_of_a_few(monkeypatch):
    monkeypatch.setattr(cache, "ALIVE", WeakSet())
    row_bytes = sum(rows.nbytes for rows in lengths([]).values())
    caches = [WordCache(lengths) for _ in range(cache.FULL_CACHES)]
    assert {found.limit for found in caches} == {cache.CACHE_BYTES // row_bytes}
    caches += [WordCache(lengths) for _ in range(100)]
    assert sum(found.limit for found in caches) <= cache.FULL_CACHES * cache.CACHE_BYTES // row_bytes
    del caches[1:]
    assert caches[0].limit == cache.CACHE_BYTES // row_bytes


def test_a_full_cache_forgets_what_did_not_come_back(small):
    asked = []
    found = WordCache(lambda words: asked.extend(words) or lengths(words))
    for i in range(0, 300, 3):
        words = ["often", *(f"{j}" for j in range(i, i + 4))]
        slots = found.find([words])
        assert found.arrays["length"][slots].tolist() == [len(word) for word in words]
        assert found.arrays["pair"][slots].tolist() == [[len(word), 1] for word in words]
        assert len(found.words) <= 10 and len(found.arrays["length"]) <= 11
    assert asked.count("often") == 1


def test_a_block_larger_than_the_cache_is_served_all_the_same(small):
    found = WordCache(lengths)
    for words in (["a", "bb"], [f"{i:03}" for i in range(40)], ["a", "bb"], [f"{i:03}" for i in range(40)]):
        slots = found.find([words])
        assert found.arrays["length"][slots].tolist() == [len(word) for word in words]


@pytest.mark.parametrize("model", [HMMTagger(), CRFTagger(max_iterations=5)], ids=["hmm", "crf"])
def test_tagging_does_not_depend_on_what_is_cached(small, model):
    model.fit(CORPUS)
    plain = model.predict(CORPUS)
    assert [model.predict([sentence])[0] for sentence in CORPUS] == plain


def test_scores_of_words_with_a_tag_are_forgotten_when_the_words_get_other_rows(small, monkeypatch):
    monkeypatch.setattr(candidate_scorer, "ROW_SCORER_TAGS", 0)  # as for a large tag set
    tagged = [Sentence([f"w{i % 20}", f"v{i % 5}"], ["ABC"[i % 3], "DE"[i % 2]]) for i in range(60)]
    model = CRFTagger(candidates=1e-9, max_iterations=5, threads=1).fit(tagged)
    whole = model.predict_marginals(tagged)
    for sentence, expected in zip(tagged, whole, strict=True):
        np.testing.assert_allclose(model.predict_marginals([sentence])[0], expected, atol=1e-12)
