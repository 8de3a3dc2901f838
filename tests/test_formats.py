"""Models of every released format can still be read, and tag as they did when they were written.

`python tests/test_formats.py` writes examples of the present format, once, when a format is first released; files of
older formats stay as they are.
"""

import sys
from pathlib import Path

import pytest

from tagger import CRFTagger, HMMTagger, Sentence, load_model, save_model
from tagger.store import FORMAT, load_classes, save_classes

EXAMPLES = Path(__file__).parent / "models"
CORPUS = [
    Sentence(["the", "dog", "barks", "."], ["D", "N", "V", "."]),
    Sentence(["a", "cat", "naps", "."], ["D", "N", "V", "."]),
]
TEXT = [["the", "cat", "barks", "."], ["a", "dog", "naps"]]
TAGS = {
    "hmm": [["D", "N", "V", "."], ["D", "N", "V"]],
    "crf": [["D", "N", "V", "."], ["D", "N", "V"]],
}


def write_examples(folder):
    """As small as models get."""
    template = folder / "template.txt"
    template.write_text("word[0]\nlower[-1] & lower[0]\n")
    save_model(HMMTagger(suffix_length=1).fit(CORPUS), folder / f"format-{FORMAT}-hmm.npz")
    model = CRFTagger(features=str(template), min_pair_count=1).fit(CORPUS)
    save_model(model, folder / f"format-{FORMAT}-crf.npz")
    template.unlink()
    clusters = folder / "clusters.txt"
    clusters.write_text("00\tdog\t1\n01\tcat\t1\n1\tthe\t2\n")
    save_classes(load_classes(clusters), folder / f"format-{FORMAT}-classes.npz")
    clusters.unlink()


@pytest.mark.parametrize("format", range(1, FORMAT + 1))
@pytest.mark.parametrize("kind", TAGS)
def test_models_of_every_format_are_read(format, kind):
    model = load_model(EXAMPLES / f"format-{format}-{kind}.npz")
    assert model.kind == kind and model.predict(TEXT) == TAGS[kind]
    assert model.lexicon_.known(["dog", "dogs"]).tolist() == [True, False]


@pytest.mark.parametrize("format", range(1, FORMAT + 1))
def test_classes_of_every_format_are_read(format):
    classes = load_classes(EXAMPLES / f"format-{format}-classes.npz")
    assert classes.find(["dog", "The", "mouse"]).tolist().count(-1) == 1


def test_the_present_format_is_what_is_written(tmp_path):
    """Else the number must change."""
    write_examples(tmp_path)
    for kind in TAGS:
        now, then = load_model(tmp_path / f"format-{FORMAT}-{kind}.npz"), EXAMPLES / f"format-{FORMAT}-{kind}.npz"
        assert now.arrays().keys() == load_model(then).arrays().keys()


if __name__ == "__main__":
    sys.exit(write_examples(EXAMPLES))
