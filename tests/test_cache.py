"""The cache of words: computes each once, keeps to its limit, changes nothing."""

import numpy as np
import pytest

from tagger import CRFTagger, HMMTagger, Sentence, cache
from tagger.cache import WordCache

CORPUS = [Sentence(f"w{i} x{i} y{i % 3} z".split(), ["A", "B", "C", "D"]) for i in range(40)]


def lengths(words):
    """A row for "always there", then one for each word."""
    return {"length": np.array([-1, *map(len, words)]), "pair": np.array([[0, 0], *([len(w), 1] for w in words)])}


def test_words_are_computed_once():
    asked = []
    found = WordCache(lambda words: asked.extend(words) or lengths(words))
    for words in (["a", "bbb"], ["bbb", "cc", "a"], ["cc"], [], [f"{i:05}" for i in range(100)], ["a"]):
        slots = found.find(words)
        assert found.arrays["length"][slots].tolist() == [len(word) for word in words]
        assert found.arrays["pair"][slots].tolist() == [[len(word), 1] for word in words]
        assert found.arrays["length"][0] == -1
    assert asked == ["a", "bbb", "cc", *(f"{i:05}" for i in range(100))]


def test_a_full_cache_starts_again(monkeypatch):
    monkeypatch.setattr(cache, "CACHE_BYTES", 100)
    found = WordCache(lengths)
    for i in range(0, 300, 3):
        words = [f"{j}" for j in range(i, i + 5)]
        slots = found.find(words)
        assert found.arrays["length"][slots].tolist() == [len(word) for word in words]
        assert len(found.slots) <= 15


@pytest.mark.parametrize("model", [HMMTagger(), CRFTagger(max_iterations=5)], ids=["hmm", "crf"])
def test_tagging_does_not_depend_on_what_is_cached(monkeypatch, model):
    model.fit(CORPUS)
    plain = model.predict(CORPUS)
    monkeypatch.setattr(cache, "CACHE_BYTES", 1)
    scorer = model.scorer()
    assert [model.predict([sentence], scorer)[0] for sentence in CORPUS] == plain
