"""Models of every released format can still be read, and tag as they did when they were written.

`python tests/test_formats.py` writes examples of the present format, once, when a format is first released; files of
older formats stay as they are.
"""

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from tagger import CRFTagger, HMMTagger, PooledTagger, Sentence, load_model, save_model
from tagger.models.store import FORMAT, MODEL_KINDS, load_classes, save_classes
from tagger.neural.tagger import BiLSTMTagger
from tagger.words.overlap import overlap

EXAMPLES = Path(__file__).parent / "models"
CORPUS = [
    Sentence(["the", "dog", "barks", "."], ["D", "N", "V", "."]),
    Sentence(["a", "cat", "naps", "."], ["D", "N", "V", "."]),
    Sentence(["the", "cat", "naps", "today", "."], ["D", "N", "V", "A", "."]),
]
TEXT = [["the", "cat", "barks", "."], ["a", "dog", "naps"]]
TAGS = [["D", "N", "V", "."], ["D", "N", "V"]]


def write_examples(folder):
    """As small as models get."""
    template = folder / "template.txt"
    template.write_text("word[0]\nlower[-1] & lower[0]\n")
    save_model(HMMTagger(suffix_length=1).fit(CORPUS), folder / f"format-{FORMAT}-hmm.npz")
    model = CRFTagger(features=str(template), min_pair_count=1).fit(CORPUS)
    save_model(model, folder / f"format-{FORMAT}-crf.npz")
    model = CRFTagger(order=2, candidates=0.01, features=str(template), min_pair_count=1).fit(CORPUS)
    save_model(model, folder / f"format-{FORMAT}-crf-candidates.npz")
    pool = PooledTagger(candidates=0.01, features=str(template), min_pair_count=1)
    save_model(pool.fit(CORPUS, add=[model]), folder / f"format-{FORMAT}-pooled.npz")
    template.unlink()
    clusters = folder / "clusters.txt"
    clusters.write_text("00\tdog\t1\n01\tcat\t1\n1\tthe\t2\n")
    save_classes(load_classes(clusters), folder / f"format-{FORMAT}-classes.npz")
    clusters.unlink()


def write_network(folder):
    small = BiLSTMTagger(word_size=2, letter_size=1, spelling_size=1, hidden_size=2, epochs=60, learning_rate=0.1)
    save_model(small.fit(CORPUS), folder / f"format-{FORMAT}-bilstm.npz")


FIRST_FORMATS = {"pooled": 3}  # of kinds that format 1 lacks
FILES = [f"format-{format}-{kind}" for kind in MODEL_KINDS for format in range(FIRST_FORMATS.get(kind, 1), FORMAT + 1)]
FILES += [f"format-{format}-crf-candidates" for format in range(3, FORMAT + 1)]


@pytest.mark.parametrize("name", FILES)
def test_models_of_every_format_are_read(name):
    model = load_model(EXAMPLES / f"{name}.npz")
    assert model.kind == name.split("-")[2] and model.predict(TEXT) == TAGS
    assert (getattr(model, "proposer_", None) is not None) == name.endswith(("candidates", "pooled"))
    assert model.lexicon_.known(["dog", "dogs"]).tolist() == [True, False]
    assert overlap([sentence.words for sentence in CORPUS], model.seen_) == 1  # only one is long enough to tell


@pytest.mark.parametrize("format", range(1, FORMAT + 1))
def test_a_model_of_an_older_format_keeps_its_scores_when_it_is_saved_again(tmp_path, format):
    """The guesser of formats 1 and 2 has keys of 64 bits; the new words are guessed by their spelling."""
    model = load_model(EXAMPLES / f"format-{format}-hmm.npz")
    save_model(model, tmp_path / "again.npz")
    text = [["the", "cats", "nap", "."], ["Dogs", "barks", "2"]]
    marginals = load_model(tmp_path / "again.npz").predict_marginals(text)
    newest = load_model(EXAMPLES / f"format-{FORMAT}-hmm.npz").predict_marginals(text)
    for P, again, new in zip(model.predict_marginals(text), marginals, newest, strict=True):
        np.testing.assert_array_equal(P, again)
        if format > 1:  # training has changed since
            np.testing.assert_allclose(P, new, rtol=1e-6)


@pytest.mark.parametrize("format", range(1, FORMAT + 1))
def test_classes_of_every_format_are_read(format):
    classes = load_classes(EXAMPLES / f"format-{format}-classes.npz")
    assert classes.find(["dog", "The", "mouse"]).tolist().count(-1) == 1


def load_network(folder):
    """Without PyTorch: the arrays of a network have not changed since format 2."""
    save_model(load_model(EXAMPLES / "format-2-bilstm.npz"), folder / f"format-{FORMAT}-bilstm.npz")


@pytest.mark.parametrize(
    "write, count",
    [(write_examples, 5), (load_network, 1), pytest.param(write_network, 1, marks=pytest.mark.integration)],
)
def test_the_present_format_is_what_is_written(tmp_path, write, count):
    """Else the number must change."""
    if write is write_network:
        pytest.importorskip("torch")
    write(tmp_path)
    written = sorted(tmp_path.glob("*.npz"))
    for path in written:
        with np.load(path) as now, np.load(EXAMPLES / path.name) as then:
            assert set(now) == set(then)
    assert len(written) == count


if __name__ == "__main__":
    write_examples(EXAMPLES)
    (write_network if find_spec("torch") else load_network)(EXAMPLES)
