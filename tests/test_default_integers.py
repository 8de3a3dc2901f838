"""NumPy 1 on Windows has default integers of 32 bits: no product of rows and columns may be computed in them.

Here the default integers have 16 bits, so that a small corpus has products that do not fit. Only those that begin with
`np.arange`, `np.array`, `np.cumsum` and `np.full` can be made short.
"""

import random

import numpy as np
import pytest

from tagger import CRFTagger, HMMTagger, PooledTagger

SHORT = np.iinfo(np.int16)


def corpus(sentences=150, words=1500, tags=40):
    """Sentences of words that have one to three of the tags each; words times tags are more than 2 to the 15th."""
    draw = random.Random(3)
    own = {f"{'aeiou'[i % 5]}w{i}": [f"T{(i * k) % tags:02}" for k in range(1, 2 + i % 3)] for i in range(words)}
    X = [draw.choices(list(own), k=draw.randint(1, 20)) for _ in range(sentences)]
    return X, [[draw.choice(own[word]) for word in sentence] for sentence in X]


def shortened(array):
    fits = array.dtype == np.int64 and array.size and array.min() >= SHORT.min and array.max() <= SHORT.max
    return array.astype(np.int16) if fits else array


def from_python(value):
    """Whether an array of this value, or of its first element, gets the default type of integers."""
    while isinstance(value, list | tuple) and len(value):
        value = value[0]
    return isinstance(value, int)


def short_integers(monkeypatch):
    arange, full, array, cumsum = np.arange, np.full, np.array, np.cumsum

    def short_arange(*bounds, **settings):
        made = arange(*bounds, **settings)
        return shortened(made) if not settings and all(map(from_python, bounds)) else made

    def short_full(shape, value, dtype=None):
        made = full(shape, value, dtype)
        return shortened(made) if dtype is None and from_python(value) else made

    def short_array(value, dtype=None, **settings):
        made = array(value, dtype, **settings)
        return shortened(made) if dtype is None and from_python(value) else made

    def short_cumsum(values, *rest, **settings):
        made = cumsum(values, *rest, **settings)
        return shortened(made) if not settings and np.asarray(values).dtype in (bool, np.int16) else made

    for name, function in (("arange", short_arange), ("full", short_full), ("array", short_array)):
        monkeypatch.setattr(np, name, function)
    monkeypatch.setattr(np, "cumsum", short_cumsum)


def answers(model):
    """All that the model learns, and its answers, together and one by one."""
    X, y = corpus()
    model.fit(X, y)
    text = [[*X[i], "new", f"uw{i}"] for i in range(30)]
    learned = {name: values.tolist() for name, values in model.arrays().items()}
    return learned, model.predict(text), [model.predict([words])[0] for words in text]


MODELS = {
    "hmm": lambda: HMMTagger(),
    "hmm of first order": lambda: HMMTagger(order=1),
    "crf": lambda: CRFTagger(max_iterations=3, threads=1),
    "crf of candidates": lambda: CRFTagger(order=2, max_iterations=3, threads=1),
    "pooled": lambda: PooledTagger(max_iterations=3, threads=1),
}


@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
def test_short_default_integers_change_nothing(make, monkeypatch):
    expected = answers(make())
    short_integers(monkeypatch)
    assert answers(make()) == expected
